"""Views: ÂX of every fold is that of one machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.hcm.folds import hidden_edges
from hopsight.hcm.hop_detector import adjacency_of
from hopsight.nn.gcn import normalized_adjacency
from hopsight.spark.blocks import BLOCK, Layout, kept
from hopsight.spark.views import kept_views, neighborhoods
from spark_stages import Made, dense, number_of


def test_neighborhoods_are_those_of_one_machine(made: Made, network: AttributedGraph) -> None:
    number = number_of(made, network)
    x = dense(made.x, made, "x", np.float32, -1)[number]
    shown = made.x.filter("kind = 'x'").unionAll(made.degrees)
    found = kept(neighborhoods(shown, made.net.cells, made.layout, made.splits))
    for fold, hidden in enumerate(hidden_edges(network, made.splits.seed, 2, 2)):
        wanted = normalized_adjacency(adjacency_of(network, ~hidden, directed=False)) @ x
        np.testing.assert_allclose(dense(found, made, "ax", np.float32, fold)[number], wanted, rtol=1e-5, atol=1e-6)


def test_views_of_a_large_network_are_halved(spark: Any) -> None:
    rows = np.array([[1.0, 1 / 3]], dtype=np.float32)
    frame = spark.createDataFrame([(-1, 0, 0, "x", rows.tobytes())], BLOCK)
    assert kept_views(frame, Layout((200_000,), 1)) is frame
    (row,) = kept_views(frame, Layout((200_001,), 1)).collect()
    np.testing.assert_array_equal(np.frombuffer(row["payload"], dtype=np.float16), rows[0].astype(np.float16))
