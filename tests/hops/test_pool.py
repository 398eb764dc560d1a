"""The pool of pairs: right classes, the same pairs whatever the order of the nodes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path

from hopsight.graph import AttributedGraph
from hopsight.hcm.folds import hidden_edges, mix, node_hashes
from hopsight.hcm.hop_detector import adjacency_of
from hopsight.hops.pairs import hop_pairs
from hopsight.hops.pool import POOL_PER_FOLD, PairPool, deal, pair_pool, plan_pool, source_count
from toys import renumbered, two_groups

SETTINGS = {"n_classes": 4, "sampling_ratio": 0.3, "max_pairs": 400, "min_class_pairs": 5}


def pool_of(graph: AttributedGraph, **settings: float) -> PairPool:
    return pair_pool(
        adjacency_of(graph, np.ones(graph.n_edges, dtype=bool), directed=False),
        hidden_edges(graph, 0, 2, 2),
        graph.edges,
        node_hashes(graph.node_ids),
        mix(np.uint64(1))[0],
        **SETTINGS | settings,
    )


def named(graph: AttributedGraph, pairs: np.ndarray) -> set[tuple[str, ...]]:
    return {tuple(sorted(pair)) for pair in graph.node_ids[pairs].T.tolist()}


def test_pairs_are_of_their_class() -> None:
    graph = two_groups(3)
    pool = pool_of(graph)
    hops = np.minimum(shortest_path(graph.adjacency, unweighted=True), 4)
    for pools in pool.pools:
        for number, pairs in enumerate(pools):
            wanted = np.flatnonzero(pool.class_of_hop == number) + 1
            assert np.isin(hops[pairs[0], pairs[1]], wanted).all()
            assert pairs.shape[1] > 0


def test_one_hop_pairs_are_edges_that_the_fold_hides() -> None:
    graph = two_groups(3)
    for hidden, pools in zip(hidden_edges(graph, 0, 2, 2), pool_of(graph).pools, strict=True):
        assert named(graph, pools[0]) == named(graph, graph.edges[:, hidden])


def test_sizes_are_those_of_all_pairs_where_all_nodes_are_sources() -> None:
    graph = two_groups(4)
    exact = hop_pairs(graph.adjacency, rng=np.random.default_rng(0), **SETTINGS)
    pool = pool_of(graph)
    np.testing.assert_allclose(pool.sizes, exact.sizes)
    assert (pool.n_classes, pool.n_pairs) == (exact.n_classes, exact.n_pairs)
    assert not pool.errors.any()


def test_another_order_of_the_nodes_gives_the_same_pairs() -> None:
    graph = two_groups(5)
    other = renumbered(graph, np.random.default_rng(0).permutation(graph.n_nodes))
    for one, two in zip(pool_of(graph).pools, pool_of(other).pools, strict=True):
        for pairs, same in zip(one, two, strict=True):
            assert named(graph, pairs) == named(other, same)


def test_epochs_draw_from_their_fold_without_repetition() -> None:
    pool = pool_of(two_groups(6))
    drawn = pool.draw(1, 4, rng=np.random.default_rng(0)).reshape(4, 2, pool.n_classes, -1)
    assert drawn.shape[-1] == pool.n_pairs
    for step in range(4):
        near = {tuple(pair) for pair in pool.pools[(1 + step) % 4][0].T.tolist()}
        taken = [tuple(pair) for pair in drawn[step, :, 0].T.tolist()]
        assert set(taken) <= near
        assert len(set(taken)) == len(taken)
    assert pool.labels.tolist() == np.repeat(np.arange(pool.n_classes), pool.n_pairs).tolist()


def test_many_pairs_are_dealt_out_and_bounded() -> None:
    counts = np.tile([[10, 10_000, 1_000_000, 98_990_000]], (1000, 1))
    plan = plan_pool(
        counts, 100_000_000, 500_000_000, 12, n_classes=4, sampling_ratio=0.3, max_pairs=16_384, min_class_pairs=200
    )
    taken = plan.limits[1:] / 2.0**64 * counts.sum(axis=0)[1:]
    assert (taken < 1.1 * 12 * POOL_PER_FOLD).all()
    assert plan.n_pairs == 4096
    many = np.arange(2 * 12 * POOL_PER_FOLD).reshape(2, -1)
    assert sum(deal(many, fold, 12, plan.n_pairs).shape[1] for fold in range(12)) == 12 * POOL_PER_FOLD


def test_large_networks_have_fewer_sources() -> None:
    assert source_count(50) == 50
    assert source_count(10**9) == 2048


def test_a_complete_network_is_refused() -> None:
    graph = AttributedGraph(np.ones((6, 6)) - np.eye(6), np.eye(6))
    with pytest.raises(ValueError, match="every pair of nodes is connected"):
        pool_of(graph)
