"""Triangles: the sums at each node are those of the local engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.hcm.scores import neighbor_sum, rings
from hopsight.spark.blocks import sum_over_cells
from hopsight.spark.judging import JUDGED
from hopsight.spark.rings import ring_blocks
from spark_stages import FirstStages, cluster_numbers


def test_rings_of_each_node(spark: Any, first_stages: FirstStages, graph: AttributedGraph) -> None:
    number = cluster_numbers(first_stages)
    strangeness = {}
    rows = []
    rng = np.random.default_rng(0)
    first = first_stages.layout.offsets
    for row in first_stages.graph.cells.collect():
        i, j = first_stages.layout.pairs[row["cell"]]
        u, v = (np.frombuffer(row[name], dtype=np.int32) for name in ("u", "v"))
        probability = rng.random(u.size)
        values = np.zeros((4, u.size))
        values[2] = probability
        ends = zip((first[i] + u).tolist(), (first[j] + v).tolist(), strict=True)
        strangeness |= dict(zip((frozenset(pair) for pair in ends), (1 - probability) ** 2, strict=True))
        rows.append((row["cell"], 0, bytes(row["u"]), bytes(row["v"]), values.tobytes()))
    partial = ring_blocks(spark.createDataFrame(rows, JUDGED), first_stages.degrees, first_stages.layout)
    found = np.zeros(graph.n_nodes)
    for row in sum_over_cells(partial, first_stages.layout, np.float64).collect():
        part = np.frombuffer(row["payload"])
        found[first[row["block"]] : first[row["block"]] + part.size] = part
    values = np.array([strangeness[frozenset(pair)] for pair in number[graph.edges].T.tolist()])
    wanted = neighbor_sum(graph.edges, rings(graph.edges, values, graph.n_nodes), graph.n_nodes)
    assert wanted.max() > 1
    np.testing.assert_allclose(2 * found[number], wanted)
