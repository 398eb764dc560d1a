"""Scores: AHP, IV and HAV from a small table, sums over triangles against brute force."""

from itertools import combinations

import numpy as np
import pytest

from hopsight.graph import AttributedGraph
from hopsight.hcm.evidence import effective_count, triangle_sums
from hopsight.hcm.posterior import ahp, fill_unjudged, hav, neighbor_mean, neighbor_sum

# Edges 0–1, 0–2, 1–2, 2–3 and node 4 alone; mean and variance of three posterior samples of each edge’s hop count.
EDGES = np.array([[0, 0, 1, 2], [1, 2, 2, 3]])
HOPS = np.array([1.0, 3.0, 2.0, 3.0])
VARIANCES = np.array([0.0, 2 / 3, 2.0, 2 / 3])


def test_ahp_iv_and_hav_of_the_table() -> None:
    mean, variance = ahp(EDGES, HOPS, 5), neighbor_mean(EDGES, VARIANCES, 5)
    np.testing.assert_allclose(mean, [2.0, 1.5, 8 / 3, 3.0, np.nan])
    np.testing.assert_allclose(variance, [1 / 3, 1.0, 10 / 9, 2 / 3, np.nan])
    expected = [2 / 3 + 0.3, 0.5 + 0.9, 8 / 9 + 1.0, 1.0 + 0.6, np.nan]
    np.testing.assert_allclose(hav(mean, variance), expected)


def test_a_node_without_neighbors_gets_the_median_and_hav_without_any_variance_is_ahp_alone() -> None:
    assert fill_unjudged(np.array([4.0, 1.0, np.nan, 2.0])).tolist() == [4.0, 1.0, 2.0, 2.0]
    assert fill_unjudged(np.array([np.nan, np.nan])).tolist() == [0.0, 0.0]
    assert hav(np.array([1.0, 2.0]), np.zeros(2)).tolist() == [0.5, 1.0]


def test_arcs_count_at_both_ends() -> None:
    arcs = np.array([[0, 1, 1], [1, 0, 2]])
    assert ahp(arcs, np.array([1.0, 3.0, 5.0]), 3).tolist() == [2.0, 3.0, 5.0]
    assert neighbor_sum(arcs, np.array([1.0, 3.0, 5.0]), 4).tolist() == [4.0, 9.0, 5.0, 0.0]


def test_two_arcs_between_the_same_nodes_are_one_side() -> None:
    """Arcs 0 → 1, 1 → 0, 1 → 2, 2 → 0: the first side is (.2 + .6) / 2, whatever the order of the arcs."""
    arcs = np.array([[0, 1, 1, 2], [1, 0, 2, 0]])
    sides = np.array([[0.2, 0.6, 0.5, 1.0]])
    for order in ([0, 1, 2, 3], [1, 0, 2, 3], [3, 1, 2, 0]):
        np.testing.assert_allclose(triangle_sums(arcs[:, order], sides[:, order], 3), [[0.2, 0.2, 0.2]])


@pytest.mark.parametrize("seed", range(4))
def test_triangle_sums_equal_enumerated_triangles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_nodes = 25
    graph = AttributedGraph(rng.random((n_nodes, n_nodes)) < (0.05, 0.15, 0.3, 0.6)[seed], np.zeros((n_nodes, 1)))
    sides = rng.random((2, graph.n_edges))
    number = {frozenset(ends): i for i, ends in enumerate(graph.edges.T.tolist())}
    expected = np.zeros((2, n_nodes))
    for corners in combinations(range(n_nodes), 3):
        found = [number[frozenset(ends)] for ends in combinations(corners, 2) if frozenset(ends) in number]
        if len(found) == 3:
            expected[:, corners] += sides[:, found].prod(axis=1)[:, None]
    assert expected.any()
    np.testing.assert_allclose(triangle_sums(graph.edges, sides, n_nodes), expected)


def test_sums_and_means_over_no_edges_at_all() -> None:
    nothing = np.empty((2, 0), dtype=np.int64)
    assert np.isnan(neighbor_mean(nothing, np.empty(0), 3)).all()
    assert triangle_sums(nothing, np.empty((2, 0)), 3).tolist() == [[0.0] * 3] * 2


def test_effective_count_by_hand() -> None:
    """Node 0 has weights 3, −1 and 1: (3 + 1 + 1)² / (9 + 1 + 1); node 4 has two equal ones; 6 and 7 have none."""
    edges = np.array([[0, 0, 0, 4, 4, 6], [1, 2, 3, 1, 2, 7]])
    found = effective_count(edges, np.array([3.0, -1.0, 1.0, 2.0, 2.0, 0.0]) * 1e200, 9)
    np.testing.assert_allclose(found, [25 / 11, 25 / 13, 9 / 5, 1.0, 2.0, 0.0, 1.0, 1.0, 0.0])
