"""Triangles: the sums at each node are those of the local engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.hcm.evidence import EdgeBaseline, EdgeFeatures
from hopsight.spark.blocks import sum_over_cells
from hopsight.spark.judging import JUDGED, VALUES, edge_readings
from hopsight.spark.rings import ring_blocks
from spark_stages import FirstStages, cluster_numbers


def test_rings_of_each_node(spark: Any, first_stages: FirstStages, graph: AttributedGraph) -> None:
    number = cluster_numbers(first_stages)
    readings: dict[frozenset[int], np.ndarray] = {}
    rows = []
    rng = np.random.default_rng(0)
    first = first_stages.layout.offsets
    for row in first_stages.graph.cells.collect():
        i, j = first_stages.layout.pairs[row["cell"]]
        u, v = (np.frombuffer(row[name], dtype=np.int32) for name in ("u", "v"))
        values = rng.random((len(VALUES), u.size))
        ends = zip((first[i] + u).tolist(), (first[j] + v).tolist(), strict=True)
        edges = edge_readings({"values": values.tobytes()})
        of_cell = np.stack([edges.hop, edges.surprise, edges.dissimilarity])
        readings |= dict(zip((frozenset(pair) for pair in ends), of_cell.T, strict=True))
        rows.append((row["cell"], 0, bytes(row["u"]), bytes(row["v"]), bytes(row["hash"]), b"", values.tobytes()))
    edges = EdgeFeatures(*np.array([readings[frozenset(pair)] for pair in number[graph.edges].T.tolist()]).T)
    laws = EdgeBaseline.fit(edges)
    partial = ring_blocks(spark.createDataFrame(rows, JUDGED), first_stages.degrees, first_stages.layout, laws)
    found = np.zeros((graph.n_nodes, 2))
    for row in sum_over_cells(partial, first_stages.layout, np.float64).collect():
        part = np.frombuffer(row["payload"]).reshape(-1, 2)
        found[first[row["block"]] : first[row["block"]] + len(part)] = part
    wanted = laws.triangles(graph.edges, edges, graph.n_nodes)
    assert (wanted.max(axis=1) > 1).all()
    np.testing.assert_allclose(found[number], wanted.T)
