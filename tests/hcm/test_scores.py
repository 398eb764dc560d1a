"""Scores: AHP, IV and HAV from a small table, rings against brute force, deviation beyond degree."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from hopsight.graph import AttributedGraph
from hopsight.hcm.scores import (
    ahp,
    beyond_degree,
    degree_trend,
    fill_unjudged,
    hav,
    inferred_variance,
    neighbor_mean,
    neighbor_sum,
    rings,
)

# Edges 0–1, 0–2, 1–2, 2–3 and node 4 alone; three posterior samples of each edge's hop count.
EDGES = np.array([[0, 0, 1, 2], [1, 2, 2, 3]])
SAMPLES = np.array([[1.0, 2.0, 1.0, 4.0], [1.0, 3.0, 1.0, 2.0], [1.0, 4.0, 4.0, 3.0]])
HOPS = np.array([1.0, 3.0, 2.0, 3.0])
VARIANCES = np.array([0.0, 2 / 3, 2.0, 2 / 3])


def test_the_table_is_what_it_says() -> None:
    np.testing.assert_allclose(SAMPLES.mean(axis=0), HOPS)
    np.testing.assert_allclose(SAMPLES.var(axis=0), VARIANCES)


def test_ahp_iv_and_hav_of_the_table() -> None:
    mean, variance = ahp(EDGES, HOPS, 5), inferred_variance(EDGES, VARIANCES, 5)
    np.testing.assert_allclose(mean, [2.0, 1.5, 8 / 3, 3.0, np.nan])
    np.testing.assert_allclose(variance, [1 / 3, 1.0, 10 / 9, 2 / 3, np.nan])
    expected = [2 / 3 + 0.3, 0.5 + 0.9, 8 / 9 + 1.0, 1.0 + 0.6, np.nan]
    np.testing.assert_allclose(hav(mean, variance), expected)


def test_a_node_without_neighbors_gets_the_median() -> None:
    assert fill_unjudged(np.array([4.0, 1.0, np.nan, 2.0])).tolist() == [4.0, 1.0, 2.0, 2.0]
    assert fill_unjudged(np.array([np.nan, np.nan])).tolist() == [0.0, 0.0]


def test_hav_without_any_variance_is_ahp_alone() -> None:
    assert hav(np.array([1.0, 2.0]), np.zeros(2)).tolist() == [0.5, 1.0]


def test_arcs_count_at_both_ends() -> None:
    arcs = np.array([[0, 1, 1], [1, 0, 2]])
    assert ahp(arcs, np.array([1.0, 3.0, 5.0]), 3).tolist() == [2.0, 3.0, 5.0]
    assert neighbor_sum(arcs, np.array([1.0, 3.0, 5.0]), 4).tolist() == [4.0, 9.0, 5.0, 0.0]


def test_renumbered_nodes_have_renumbered_scores(random_graph: AttributedGraph, rng: np.random.Generator) -> None:
    n_nodes, edges = random_graph.n_nodes, random_graph.edges
    hops, variances = rng.uniform(1, 4, random_graph.n_edges), rng.random(random_graph.n_edges)
    order = rng.permutation(n_nodes)  # new position p holds old node order[p]
    moved = np.argsort(order)[edges]
    shuffled = rng.permutation(random_graph.n_edges)
    for score in (ahp, neighbor_sum):
        after = score(moved[:, shuffled], hops[shuffled], n_nodes)
        np.testing.assert_allclose(after, score(edges, hops, n_nodes)[order])
    both = [
        hav(ahp(e, h, n_nodes), inferred_variance(e, v, n_nodes))
        for e, h, v in ((edges, hops, variances), (moved[:, shuffled], hops[shuffled], variances[shuffled]))
    ]
    np.testing.assert_allclose(both[1], both[0][order])
    ring = rings(edges, variances, n_nodes)
    np.testing.assert_allclose(rings(moved[::-1, shuffled], variances[shuffled], n_nodes), ring[shuffled])


def test_rings_of_a_hand_made_graph() -> None:
    """Triangles 0-1-2 and 1-2-3 share the edge 1–2; the tail 3–4 closes none."""
    edges = np.array([[0, 0, 1, 1, 2, 3], [1, 2, 2, 3, 3, 4]])
    strangeness = np.array([1.0, 0.5, 0.2, 1.0, 0.5, 1.0])
    np.testing.assert_allclose(rings(edges, strangeness, 5), [0.1, 0.1, 0.2, 0.1, 0.1, 0.0])


def test_one_familiar_side_breaks_a_ring() -> None:
    triangle = np.array([[0, 0, 1], [1, 2, 2]])
    assert rings(triangle, np.array([1.0, 1.0, 0.0]), 3).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("seed", range(4))
def test_rings_equal_enumerated_triangles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_nodes = 25
    graph = AttributedGraph(rng.random((n_nodes, n_nodes)) < (0.05, 0.15, 0.3, 0.6)[seed], np.zeros((n_nodes, 1)))
    strangeness = rng.random(graph.n_edges)
    side = {frozenset(ends): i for i, ends in enumerate(graph.edges.T.tolist())}
    expected = np.zeros(graph.n_edges)
    for corners in combinations(range(n_nodes), 3):
        sides = [side.get(frozenset(ends)) for ends in combinations(corners, 2)]
        found = [i for i in sides if i is not None]
        if len(found) == 3:
            expected[found] += strangeness[found].prod()
    assert expected.any()
    np.testing.assert_allclose(rings(graph.edges, strangeness, n_nodes), expected)


def test_deviation_beyond_a_parabola_in_log_degree(rng: np.random.Generator) -> None:
    """A trend in log degree counts for nothing; what rises above it counts in interquartile ranges / 1.349."""
    degrees = rng.integers(1, 200, size=400)
    level = np.log(degrees)
    noise = rng.normal(size=400)
    found = beyond_degree(3.0 + 2.0 * level - level**2 + noise, degrees)
    assert abs(np.corrcoef(found, level)[0, 1]) < 0.1
    np.testing.assert_allclose(np.subtract(*np.quantile(found, [0.75, 0.25])), 1.349, rtol=1e-9)
    assert abs(np.median(found)) < 1e-9
    noise[7] += 50.0
    assert beyond_degree(3.0 + 2.0 * level - level**2 + noise, degrees).argmax() == 7


def test_deviation_of_equal_degrees_by_hand() -> None:
    """Quartiles of 1, 2, 3, 4, 5 are 2 and 4, the median 3: one step is 1.349 / 2."""
    found = beyond_degree(np.array([1.0, 2.0, 3.0, 4.0, 5.0, np.nan]), np.array([4, 4, 4, 4, 4, 0]))
    np.testing.assert_allclose(found, [-1.349, -0.6745, 0.0, 0.6745, 1.349, np.nan], atol=1e-9)


@pytest.mark.parametrize("n_nodes", [6, 7, 10, 49])
def test_equal_degrees_have_no_trend_whatever_their_rounding(n_nodes: int) -> None:
    """Log 7 averaged over some numbers of nodes is not log 7 to the last bit: that is no spread of degrees."""
    values, degrees = np.linspace(0.0, 1.0, n_nodes), np.full(n_nodes, 7)
    trend = degree_trend(values, degrees)
    assert trend[1] == 1.0
    assert abs(beyond_degree(np.array([0.5]), np.array([6]), trend)).max() < 10


def test_constant_values_deviate_by_nothing() -> None:
    np.testing.assert_allclose(beyond_degree(np.full(4, 2.0), np.array([1, 2, 3, 4])), 0.0, atol=1e-6)


def test_mean_over_no_edges_at_all() -> None:
    assert np.isnan(neighbor_mean(np.empty((2, 0), dtype=np.int64), np.empty(0), 3)).all()
