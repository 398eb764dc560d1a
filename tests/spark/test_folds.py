"""Both engines hide the same edges."""

from __future__ import annotations

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.hcm.folds import hidden_edges, node_hashes
from hopsight.spark.folds import Splits


def test_folds_are_those_of_the_local_engine(graph: AttributedGraph) -> None:
    hashes = node_hashes(graph.node_ids)
    sums = hashes[graph.edges[0]] + hashes[graph.edges[1]]
    splits = Splits(11, 3, 4)
    assert len(splits.folds) == 12
    for fold, hidden in zip(splits.folds, hidden_edges(graph, 11, 3, 4), strict=True):
        np.testing.assert_array_equal(splits.hidden(sums, fold), hidden)
        np.testing.assert_array_equal(splits.visible(sums, fold), ~hidden)
