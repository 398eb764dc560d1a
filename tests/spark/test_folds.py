"""Hidden edges: every engine hides the same."""

from __future__ import annotations

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.hcm.folds import hidden_edges, node_hashes
from hopsight.spark.folds import Splits


def test_folds_are_those_of_one_machine(network: AttributedGraph) -> None:
    hashes = node_hashes(network.node_ids)
    sums = hashes[network.edges[0]] + hashes[network.edges[1]]
    splits = Splits(11, 3, 4)
    assert len(splits.folds) == 12
    for fold, hidden in zip(splits.folds, hidden_edges(network, 11, 3, 4), strict=True):
        np.testing.assert_array_equal(splits.hidden(sums, fold), hidden)
        np.testing.assert_array_equal(splits.visible(sums, fold), ~hidden)
