"""Views: ÂX of each fold is that of the local engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.hcm.splits import edge_hashes
from hopsight.hcm.views import adjacency_of
from hopsight.nn.gcn import normalized_adjacency
from hopsight.spark.blocks import BLOCK, Layout, cached
from hopsight.spark.views import compress_views, neighborhoods
from spark_stages import FirstStages, cluster_numbers, dense


def test_neighborhoods_are_those_of_the_local_engine(first_stages: FirstStages, graph: AttributedGraph) -> None:
    number = cluster_numbers(first_stages)
    x = dense(first_stages.x, first_stages, "x", np.float32, -1)[number]
    shown = first_stages.x.filter("kind = 'x'").unionAll(first_stages.degrees)
    found = cached(neighborhoods(shown, first_stages.graph.cells, first_stages.layout, first_stages.splits))
    assert len(first_stages.splits.folds) == 6
    for fold in first_stages.splits.folds:
        hidden = first_stages.splits.of(edge_hashes(graph)).hidden(fold)
        wanted = normalized_adjacency(adjacency_of(graph.edges[:, ~hidden], graph.n_nodes, directed=False)) @ x
        np.testing.assert_allclose(
            dense(found, first_stages, "ax", np.float32, fold)[number], wanted, rtol=1e-5, atol=1e-6
        )


def test_views_of_a_large_graph_are_in_half_precision(spark: Any) -> None:
    rows = np.array([[1.0, 1 / 3]], dtype=np.float32)
    frame = spark.createDataFrame([(-1, 0, 0, "x", rows.tobytes())], BLOCK)
    assert compress_views(frame, Layout((200_000,), 1)) is frame
    (row,) = compress_views(frame, Layout((200_001,), 1)).collect()
    np.testing.assert_array_equal(np.frombuffer(row["payload"], dtype=np.float16), rows[0].astype(np.float16))
