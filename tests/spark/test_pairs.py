"""Pairs: the links that stay and the pool are those of one machine."""

from __future__ import annotations

import numpy as np

from hopsight.detectors.cross_hcm import CrossHCM
from hopsight.graph import AttributedGraph
from spark_stages import Made, number_of


def test_the_pool_is_that_of_one_machine(made: Made, network: AttributedGraph, reference: CrossHCM) -> None:
    from hopsight.detectors.splits import mix
    from hopsight.preprocess import drop_edges, edge_similarity

    attributes = reference._transformed(network)
    likeness = edge_similarity(attributes, network.edges, "euclidean")
    stays = drop_edges(likeness, reference.drop_ratio, rng=np.random.default_rng(0))
    wanted = reference._hop_pairs(network, stays, None)
    found = made.engine._pairs(made.net, made.x, made.splits, mix(np.uint64(reference.seed + 1))[0])
    np.testing.assert_allclose(found.sizes, wanted.sizes)
    assert (found.n_classes, found.n_pairs) == (wanted.n_classes, wanted.n_pairs)
    number = number_of(made, network)
    for one, two in zip(found.pools, wanted.pools, strict=True):
        for pairs, same in zip(one, two, strict=True):
            ends = np.sort(pairs, axis=0), np.sort(number[same], axis=0)
            np.testing.assert_array_equal(*ends)  # in the same order, too
