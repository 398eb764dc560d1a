"""Triangles: the sums at every node are those of one machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.hcm.scores import neighbor_sum, rings
from hopsight.spark.blocks import added
from hopsight.spark.judging import JUDGED
from hopsight.spark.rings import ring_blocks
from spark_stages import Made, number_of


def test_rings_of_every_node(spark: Any, made: Made, network: AttributedGraph) -> None:
    number = number_of(made, network)
    strangeness = {}
    rows = []
    rng = np.random.default_rng(0)
    first = np.concatenate([[0], np.cumsum(made.layout.sizes)])
    for row in made.net.cells.collect():
        i, j = made.layout.pairs[row["cell"]]
        u, v = (np.frombuffer(row[name], dtype=np.int32) for name in ("u", "v"))
        probability = rng.random(u.size)
        values = np.zeros((4, u.size))
        values[2] = probability
        ends = zip((first[i] + u).tolist(), (first[j] + v).tolist(), strict=True)
        strangeness |= dict(zip((frozenset(pair) for pair in ends), (1 - probability) ** 2, strict=True))
        rows.append((row["cell"], 0, bytes(row["u"]), bytes(row["v"]), values.tobytes()))
    partial = ring_blocks(spark.createDataFrame(rows, JUDGED), made.degrees, made.layout)
    found = np.zeros(network.n_nodes)
    for row in added(partial, made.layout, np.float64).collect():
        part = np.frombuffer(row["payload"])
        found[first[row["block"]] : first[row["block"]] + part.size] = part
    values = np.array([strangeness[frozenset(pair)] for pair in number[network.edges].T.tolist()])
    wanted = neighbor_sum(network.edges, rings(network.edges, values, network.n_nodes), network.n_nodes)
    assert wanted.max() > 1
    np.testing.assert_allclose(2 * found[number], wanted)
