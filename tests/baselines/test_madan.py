"""MADAN: closed forms of an edge and a star, the direct formula, degenerate graphs."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.linalg import expm
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from hopsight.baselines.madan import GRID, MADAN, concentrations, edge_weights, heat_kept, mean_rank
from hopsight.graph import AttributedGraph
from toys import refuses


def naive_concentrations(graph: AttributedGraph, times: np.ndarray, sigma: float) -> np.ndarray:
    """Every formula as printed, dense."""
    X = graph.attributes
    X = (X - X.min(axis=0)) / np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1.0)
    gaps = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    W = graph.adjacency.toarray() * np.exp(-gaps / (2 * sigma**2))
    L = np.diag(W.sum(axis=1)) - W
    L /= np.linalg.eigvalsh(L)[-1] * W.sum(axis=1).mean()
    return np.array([np.linalg.norm(expm(-time * L), axis=0) for time in times])


def test_single_edge_of_weight_w() -> None:
    graph = AttributedGraph([[0, 1], [1, 0]], [[0.0], [5.0]])  # scaled: 0 and 1, distance 1
    sigma, t = 0.8, 0.3
    w = np.exp(-1 / (2 * sigma**2))
    expected = np.sqrt(0.5 * (1 + np.exp(-2 * t / w)))
    np.testing.assert_allclose(MADAN(t=t, sigma=sigma).fit(graph).decision_score_, expected, atol=1e-12)


def test_star_of_four_leaves() -> None:
    graph = AttributedGraph.from_edges([0] * 4, range(1, 5), np.arange(5.0)[:, None])
    scores = MADAN(t=0.8, sigma=0.0).fit(graph).decision_score_  # sigma 0: every edge weighs 1
    np.testing.assert_allclose(scores, [0.703067] + [0.912383] * 4, atol=1e-6)


def test_equals_the_direct_formula(random_graph: AttributedGraph) -> None:
    times = np.array([0.0, 1.0, 30.0, 400.0])
    expected = naive_concentrations(random_graph, times, 0.3)
    kept, _ = concentrations(edge_weights(random_graph, 0.3)[0], times)
    np.testing.assert_allclose(kept, expected, atol=1e-8)
    one = MADAN(t=30.0, sigma=0.3).fit(random_graph)
    np.testing.assert_allclose(one.decision_score_, expected[2], atol=1e-8)


def test_multi_is_the_mean_mid_rank_over_the_grid(random_graph: AttributedGraph) -> None:
    kept, _ = concentrations(edge_weights(random_graph)[0], GRID)
    ranks = [rankdata(row.round(10)) for row in kept if np.ptp(row) >= 1e-9]
    model = MADAN().fit(random_graph)
    np.testing.assert_allclose(model.decision_score_, np.mean(ranks, axis=0) / 60)
    assert model.n_times_ == len(ranks) == 200  # t = 0 leaves all nodes alike


@pytest.mark.parametrize("time", [1e9, 1e15, 1e30, 1e300])
def test_after_a_long_time_heat_is_spread_over_the_component(time: float) -> None:
    """A path of three, a pair and a node alone: 1/√3, 1/√2 and 1."""
    adjacency = np.zeros((6, 6))
    adjacency[[0, 1, 3], [1, 2, 4]] = 1.0
    scores = MADAN(t=time, sigma=0.0).fit((adjacency, np.arange(6.0)[:, None])).decision_score_
    np.testing.assert_allclose(scores, [3**-0.5] * 3 + [2**-0.5] * 2 + [1.0], rtol=1e-6)


def test_a_graph_and_its_copy_get_the_same_scores(rng: np.random.Generator) -> None:
    """In 22 columns the edges weigh about 10⁻⁵, so that times are long and magnify rounding."""
    edges = np.triu(rng.random((40, 40)) < 0.15, k=1)
    both = sp.block_diag([edges, edges]).toarray()
    attributes = np.tile(rng.normal(size=(40, 22)), (2, 1))
    weights, _ = edge_weights(AttributedGraph(both, attributes))
    assert weights.sum() / 80 < 1e-4
    order = rng.permutation(80)
    scores = MADAN().fit((both[order][:, order], attributes[order])).decision_score_
    scores = scores[np.argsort(order)]
    np.testing.assert_allclose(scores[:40], scores[40:], atol=0.01)
    assert np.ptp(scores) > 0.5


def test_default_sigma_is_the_deviation_of_all_scaled_values() -> None:
    graph = AttributedGraph([[0, 1], [1, 0]], [[0.0, 7.0], [1.0, 7.0]])  # scaled: 0, 0, 1, 0
    assert MADAN().fit(graph).sigma_ == pytest.approx(np.sqrt(3) / 4)


def test_a_node_unlike_its_neighbors_comes_first(two_cliques: AttributedGraph) -> None:
    attributes = two_cliques.attributes.copy()
    attributes[1] = [1.0, 0.25]  # in the left clique, dressed like the right
    model = MADAN().fit(AttributedGraph(two_cliques.adjacency, attributes))
    assert model.decision_score_.argmax() == 1


def test_isolated_nodes_score_highest_or_the_median(random_graph: AttributedGraph) -> None:
    assert MADAN(t=50.0).fit(random_graph).decision_score_[59] == pytest.approx(1.0)
    scores = MADAN(t=50.0, isolated="median").fit(random_graph).decision_score_
    assert scores[59] == pytest.approx(np.median(scores[:59]))


def test_without_edges_all_nodes_score_alike() -> None:
    graph = AttributedGraph(np.zeros((4, 4)), np.arange(4.0)[:, None])
    assert MADAN(t=3.0).fit(graph).decision_score_.tolist() == [1.0] * 4
    model = MADAN().fit(graph)
    assert model.decision_score_.tolist() == [0.625] * 4 and model.n_times_ == 0


def test_vanishing_weights_fall_back_with_a_warning(rng: np.random.Generator) -> None:
    words = (rng.random((20, 900)) < 0.02).astype(float)  # connected nodes are about 6 apart, sigma is 0.14
    graph = AttributedGraph(np.triu(np.ones((20, 20)), k=1), words)
    with pytest.warns(UserWarning, match="median distance of connected nodes"):
        model = MADAN().fit(graph)
    assert model.sigma_ == pytest.approx(6, abs=0.5) and np.ptp(model.decision_score_) > 0.5
    refuses(r"sigma must be larger: with 0\.1", MADAN(sigma=0.1).fit, graph)
    assert np.ptp(MADAN(n_components=3).fit(graph).decision_score_) > 0.5


def test_symmetric_nodes_are_ties() -> None:
    ring = AttributedGraph.from_edges(range(9), [*range(1, 9), 0], np.ones((9, 1)))
    assert len(set(MADAN().fit(ring).decision_score_.round(12).tolist())) == 1
    assert mean_rank(np.array([[0.3, 0.3 + 1e-13, 0.9]]))[0].tolist() == [0.5, 0.5, 1.0]


def test_a_graph_too_large_is_refused_before_the_work() -> None:
    ends = np.arange(100_000)
    graph = AttributedGraph.from_edges(ends[:-1], ends[1:], np.arange(100_000.0)[:, None])
    refuses(r"would take about .* and .* GB", MADAN().fit, graph)


def test_beats_chance_on_disney(data_dir: object) -> None:
    from scipy.io import loadmat

    stored = loadmat(f"{data_dir}/Disney.mat")
    model = MADAN().fit(AttributedGraph(stored["A"], stored["X"]))
    assert roc_auc_score(stored["gnd"].ravel(), model.decision_score_) > 0.7


@pytest.fixture
def laplacian(rng: np.random.Generator) -> sp.csr_array:
    """90 nodes with random weights on about 4 edges each, the last node isolated."""
    weights = np.triu(rng.random((90, 90)) * (rng.random((90, 90)) < 0.05), k=1)
    weights[:, 89] = 0.0
    weights += weights.T
    return sp.csr_array(np.diag(weights.sum(axis=1)) - weights)


def test_a_very_long_time_takes_little_memory(laplacian: sp.csr_array) -> None:
    """Weights near zero make times of 10¹⁸."""
    tracemalloc.start()
    kept = heat_kept(laplacian, np.array([1e18]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(kept).all() and peak < 1e7


def test_the_heats_do_not_depend_on_the_number_of_threads(rng: np.random.Generator) -> None:
    adjacency = np.triu(rng.random((300, 300)) < 0.05, 1).astype(float)
    adjacency += adjacency.T
    graph = sp.csr_array(np.diag(adjacency.sum(axis=1)) - adjacency)
    before, found = torch.get_num_threads(), []
    for count in (1, 2):
        torch.set_num_threads(count)
        with threadpool_limits(count):
            found.append(heat_kept(graph, np.array([0.5, 20.0])))
            assert torch.get_num_threads() == count
    torch.set_num_threads(before)
    assert np.array_equal(*found)
