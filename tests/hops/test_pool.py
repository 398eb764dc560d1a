"""Hops by search, classes by hand, pairs by hashes."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path

from hopsight.graph import AttributedGraph
from hopsight.hcm.splits import Splits, edge_hashes, pool_seed
from hopsight.hcm.views import adjacency_of
from hopsight.hops.pool import POOL_PER_FOLD, PairPool, merge_classes, pair_pool, plan_pool
from toys import refuses, two_groups

N_CLASSES = 4


def random_edges(n_nodes: int, n_edges: int, *, directed: bool = False, seed: int = 0) -> Any:
    """Return a 0/1 CSR adjacency; the last three nodes have no edge."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n_nodes - 3, size=(2, n_edges))
    return AttributedGraph.from_edges(ends[0], ends[1], np.zeros((n_nodes, 1)), directed=directed).adjacency


def brute_force(adjacency: Any, *, directed: bool = False) -> np.ndarray:
    """Return hop classes 1..4 of all ordered pairs by scipy's shortest paths, 0 on the diagonal."""
    hops = shortest_path(adjacency, directed=directed, unweighted=True)
    return np.minimum(hops, N_CLASSES).astype(int)


def all_pairs(n_nodes: int, directed: bool) -> tuple[np.ndarray, np.ndarray]:
    source, target = np.where(~np.eye(n_nodes, dtype=bool)) if directed else np.triu_indices(n_nodes, k=1)
    return source, target


def prepared(adjacency: Any, **settings: Any) -> PairPool:
    defaults = {"n_classes": N_CLASSES, "sampling_ratio": 0.3, "max_pairs": 100_000, "min_class_pairs": 1}
    directed = settings.get("directed", False)
    edges = np.stack((adjacency if directed else sp.triu(adjacency, k=1)).nonzero()).astype(np.int64)
    everything = np.ones(edges.shape[1], dtype=bool)
    hashes = np.arange(1, adjacency.shape[0] + 1, dtype=np.uint64)
    return pair_pool([adjacency], [everything], edges, edges[:, :0], hashes, np.uint64(7), **defaults | settings)


def test_sizes_by_hand(path_graph: AttributedGraph, star_graph: AttributedGraph, two_cliques: AttributedGraph) -> None:
    assert prepared(path_graph.adjacency, n_classes=5).sizes.tolist() == [5.0, 4.0, 3.0, 2.0, 1.0]
    assert prepared(star_graph.adjacency, n_classes=2).sizes.tolist() == [5.0, 10.0]
    assert prepared(two_cliques.adjacency, n_classes=4).sizes.tolist() == [13.0, 6.0, 9.0, 0.0]


@pytest.mark.parametrize("directed", [False, True])
def test_classes_and_sizes_are_those_of_brute_force(directed: bool) -> None:
    adjacency = random_edges(300, 450, directed=directed)
    truth = brute_force(adjacency, directed=directed)
    pairs = prepared(adjacency, directed=directed)
    counted = np.bincount(truth[all_pairs(300, directed)], minlength=5)[1:]
    assert pairs.sizes.tolist() == counted.tolist() and not pairs.errors.any()


def test_share_of_the_smallest_class_and_the_cap() -> None:
    adjacency = random_edges(300, 450)
    smallest = prepared(adjacency).sizes.min()
    assert prepared(adjacency, sampling_ratio=0.3).n_pairs == int(0.3 * smallest)
    capped = prepared(adjacency, max_pairs=82)
    assert capped.n_pairs == 20 and capped.labels.tolist() == [0] * 20 + [1] * 20 + [2] * 20 + [3] * 20


@pytest.mark.parametrize(("sizes", "smallest", "expected"), [
    ([137_395, 4.95e6, 8.21e6, 195_623, 3], 200, [0, 1, 2, 3, 3]),  # BlogCatalog at R = 0.2, C = 5
    ([1000, 1000, 1000, 1000], 200, [0, 1, 2, 3]), ([1000, 1000, 0, 1000], 200, [0, 1, 1, 2]),
    ([1000, 900, 150, 120], 200, [0, 1, 2, 2]),  # together they are large enough
    ([1000, 900, 50, 60], 200, [0, 1, 1, 1]),
    ([1000, 5, 900, 900], 200, [0, 1, 1, 2]),  # two hops never join the edges themselves
    ([1000, 5, 4, 3], 200, [0, 1, 1, 1]),
    ([10, 1000, 1000, 1000], 200, [0, 1, 2, 3]),  # the edges are one class however few
])  # fmt: skip
def test_small_classes_merge_downward(sizes: list[float], smallest: int, expected: list[int]) -> None:
    assert merge_classes(np.array(sizes, dtype=float), smallest).tolist() == expected


def test_pairs_of_merged_classes_are_drawn_from_all_their_hops(path_graph: AttributedGraph) -> None:
    """A path of six has 5, 4, 3, 2, 1 pairs at 1 to 5 hops: under 4 pairs a class, 3, 4 and 5 hops are one."""
    pairs = prepared(path_graph.adjacency, n_classes=5, min_class_pairs=4, sampling_ratio=1.0)
    assert (pairs.n_classes, pairs.n_pairs, pairs.class_of_hop.tolist()) == (3, 4, [0, 1, 2, 2, 2])
    drawn = pairs.draw(0, 50, rng=np.random.default_rng(0)).reshape(50, 2, 3, 4)
    hops = abs(drawn[:, 0] - drawn[:, 1])
    assert [sorted(set(hops[:, c].ravel().tolist())) for c in range(3)] == [[1], [2], [3, 4, 5]]


def test_nothing_to_learn_from_is_refused() -> None:
    refuses("no edges to learn hop counts from", prepared, sp.csr_array((5, 5)))
    complete = sp.csr_array(np.ones((5, 5)) - np.eye(5))
    refuses("every pair of nodes is connected", prepared, complete)


SETTINGS: dict[str, Any] = {"n_classes": 4, "sampling_ratio": 0.3, "max_pairs": 400, "min_class_pairs": 5}
SPLITS = Splits(0, 2, 3)


def positives_of(graph: AttributedGraph) -> list[np.ndarray]:
    return [SPLITS.of(edge_hashes(graph)).positives(fold) for fold in SPLITS.folds]


def shown_to(graph: AttributedGraph, network: int, kept: np.ndarray | bool = True) -> Any:
    """Return the matrix of the edges that a network counts hops along."""
    shown = (SPLITS.of(edge_hashes(graph)).part != network) & kept
    return adjacency_of(graph.edges[:, shown], graph.n_nodes, directed=False)


def judged_by(pair_hashes: np.ndarray) -> np.ndarray:
    return SPLITS.of(pair_hashes).part


def pool_of(graph: AttributedGraph, kept: np.ndarray | None = None, **settings: Any) -> PairPool:
    chosen = np.ones(graph.n_edges, dtype=bool) if kept is None else kept
    return pair_pool(
        [shown_to(graph, network, chosen) for network in range(SPLITS.n_folds)],
        [mask & chosen for mask in positives_of(graph)], graph.edges, graph.edges, graph.node_hashes, pool_seed(0),
        judged_by=judged_by, **SETTINGS | settings,
    )  # fmt: skip


def named(graph: AttributedGraph, pairs: np.ndarray) -> set[tuple[str, ...]]:
    return {tuple(sorted(pair)) for pair in graph.node_ids[pairs].T.tolist()}


def test_pairs_are_of_their_class_in_the_graph_of_their_network_which_judges_none_of_them() -> None:
    graph = two_groups(3)
    pool = pool_of(graph)
    for fold, pools in enumerate(pool.pools):
        network = fold // SPLITS.n_inner
        hops = np.minimum(shortest_path(shown_to(graph, network), unweighted=True), 4)
        for number, pairs in enumerate(pools):
            wanted = np.flatnonzero(pool.class_of_hop == number) + 1
            assert np.isin(hops[pairs[0], pairs[1]], wanted).all() and pairs.shape[1] > 0
            assert not (judged_by(graph.node_hashes[pairs].sum(axis=0)) == network).any()
    for mask, pools in zip(positives_of(graph), pool.pools, strict=True):  # those of one hop
        assert named(graph, pools[0]) == named(graph, graph.edges[:, mask])


def test_no_edge_is_ever_a_farther_pair_though_it_was_dropped() -> None:
    """Without the guard a third of the dropped edges would be taught as two or more hops."""
    graph = two_groups(3)
    kept = np.random.default_rng(0).random(graph.n_edges) < 0.6
    edges = named(graph, graph.edges)
    taught = [named(graph, pairs) for pools in pool_of(graph, kept).pools for pairs in pools[1:]]
    assert all(pairs and not pairs & edges for pairs in taught)
    hops = shortest_path(adjacency_of(graph.edges[:, kept], graph.n_nodes, directed=False), unweighted=True)
    assert (hops[graph.edges[0, ~kept], graph.edges[1, ~kept]] >= 2).all()  # by the search they are farther pairs


def test_pairs_set_aside_are_never_drawn_in_training() -> None:
    graph = two_groups(6)
    pool = pool_of(graph)
    rng = np.random.default_rng(0)
    trained = pool.draw(0, 50, rng=rng)
    for network in range(2):
        aside, labels = pool.draw_aside(network, 30, rng=rng)
        counts = np.bincount(labels)
        assert aside.shape == (2, labels.size) and counts.size == pool.n_classes
        assert (counts == min(30, *(pairs.shape[1] for pairs in pool.pools[3 * network]))).all()
        mine = np.concatenate(list(trained[:, network]), axis=1)
        assert not named(graph, aside) & named(graph, mine)


def test_many_pairs_are_bounded() -> None:
    counts = np.tile([[10, 10_000, 1_000_000, 98_990_000]], (1000, 1))
    plan = plan_pool(
        counts, 100_000_000, 500_000_000, 12, n_classes=4, sampling_ratio=0.3, max_pairs=4096, min_class_pairs=200
    )
    taken = plan.limits[1:] / 2.0**64 * counts.sum(axis=0)[1:]
    assert (taken < 1.1 * 12 * POOL_PER_FOLD).all()
    assert plan.n_pairs == 1024 and plan.wanted == 12 * POOL_PER_FOLD
    many = np.arange(4 * 12 * POOL_PER_FOLD).reshape(2, -1)
    near = [np.array([[0], [1]])] * 24
    pool = plan.pool(near, [[many] * 3] * 2)
    for fold in range(24):
        assert pool.pools[fold][1].shape == (2, POOL_PER_FOLD)
        assert pool.pools[fold][1][0, :2].tolist() == [fold % 12, fold % 12 + 12]
