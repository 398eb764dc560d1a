"""Radar: values by hand, the published n × n updates, the objective, memory and refusals."""

import numpy as np
import pytest
from scipy.sparse.csgraph import laplacian

from hopsight.baselines.anomalous import ANOMALOUS
from hopsight.baselines.prepare import column_normalized
from hopsight.baselines.radar import Radar
from hopsight.graph import AttributedGraph

NO_EDGES = np.zeros((3, 3))


def published(graph: AttributedGraph, X: np.ndarray, alpha: float, beta: float, gamma: float, n_rounds: int):
    """Return R and the objective after every round, by the paper's own n × n updates."""
    n, eps, L = len(X), np.finfo(np.float64).eps, laplacian(graph.adjacency.toarray().astype(np.float64))
    D_W, D_R = np.eye(n), np.eye(n)
    R = np.linalg.solve(np.eye(n) + beta * D_R + gamma * L, X)
    objective = []
    for _ in range(n_rounds):
        W = np.linalg.solve(X @ X.T + alpha * D_W, X @ X.T - X @ R.T)
        D_W = np.diag(0.5 / np.sqrt((W**2).sum(axis=1) + eps))
        R = np.linalg.solve(np.eye(n) + beta * D_R + gamma * L, X - W.T @ X)
        D_R = np.diag(0.5 / (np.linalg.norm(R, axis=1) + eps))
        fit = np.linalg.norm(X - W.T @ X - R) ** 2
        sparse = alpha * np.linalg.norm(W, axis=1).sum() + beta * np.linalg.norm(R, axis=1).sum()
        objective.append(fit + sparse + gamma * np.trace(R.T @ L @ R))
    return R, objective


@pytest.mark.parametrize("detector", [Radar(beta=1.0), ANOMALOUS(beta=0.0, gamma=1.0)])
def test_without_edges_and_with_a_prohibitive_alpha_it_is_the_group_soft_threshold(detector: Radar | ANOMALOUS) -> None:
    detector.set_params(alpha=1e9, scaling="none", n_rounds=200, tolerance=0.0)
    found = detector.fit((NO_EDGES, np.array([[3.0], [0.2], [-1.0]]))).decision_score_
    np.testing.assert_allclose(found, [2.5, 0.0, 0.5], atol=1e-8)


def test_one_edge_shares_the_residual() -> None:
    graph = AttributedGraph.from_edges([0], [1], np.array([[1.0], [0.0]]))
    radar = Radar(alpha=1e9, beta=0.0, gamma=1.0, scaling="none").fit(graph)
    np.testing.assert_allclose(radar.decision_score_, [2 / 3, 1 / 3], atol=1e-8)


@pytest.mark.parametrize("alpha", [0.01, 0.5])
@pytest.mark.parametrize("n_rounds", [1, 2, 7])
def test_it_equals_the_published_updates(random_graph: AttributedGraph, alpha: float, n_rounds: int) -> None:
    X = column_normalized(random_graph.attributes)
    R, objective = published(random_graph, X, alpha, 0.05, 0.3, n_rounds)
    radar = Radar(alpha=alpha, beta=0.05, gamma=0.3, n_rounds=n_rounds, tolerance=0.0).fit(random_graph)
    np.testing.assert_allclose(radar.decision_score_, np.linalg.norm(R, axis=1), atol=1e-8)
    np.testing.assert_allclose(radar.objective_, objective, atol=1e-6)


def test_more_attributes_than_nodes_equal_the_published_updates(rng: np.random.Generator) -> None:
    adjacency = np.triu(rng.random((15, 15)) < 0.3, k=1)
    graph = AttributedGraph(adjacency, rng.normal(size=(15, 40)))
    R, _ = published(graph, column_normalized(graph.attributes), 0.1, 0.01, 0.1, 5)
    radar = Radar(n_rounds=5, tolerance=0.0).fit(graph)
    np.testing.assert_allclose(radar.decision_score_, np.linalg.norm(R, axis=1), atol=1e-8)
    assert radar.retained_energy_ == 1.0


def test_truncation_keeps_the_share_it_reports(rng: np.random.Generator) -> None:
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 30)) + 1e-3 * rng.normal(size=(40, 30))
    graph = AttributedGraph(np.triu(rng.random((40, 40)) < 0.2, k=1), X)
    exact, truncated = Radar().fit(graph), Radar(max_rank=3).fit(graph)
    values = np.linalg.svd(column_normalized(X))[1]
    assert truncated.retained_energy_ == pytest.approx((values[:3] ** 2).sum() / (values**2).sum(), rel=1e-6)
    np.testing.assert_allclose(truncated.decision_score_, exact.decision_score_, atol=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_the_objective_never_increases(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = AttributedGraph(np.triu(rng.random((50, 50)) < 0.1, k=1), rng.normal(size=(50, 5)))
    weights = 10 ** rng.uniform(-3, 1, size=3)
    radar = Radar(alpha=weights[0], beta=weights[1], gamma=weights[2], n_rounds=60, tolerance=0.0).fit(graph)
    assert len(radar.objective_) == 60 and max(np.diff(radar.objective_)) <= 1e-9 * radar.objective_[0]


def test_it_stops_when_the_objective_settles(random_graph: AttributedGraph) -> None:
    radar = Radar(n_rounds=500, tolerance=1e-2).fit(random_graph)
    drops = -np.diff(radar.objective_)
    assert drops[-1] < 1e-2 <= drops[:-1].min()


def test_a_planted_residual_comes_first(rng: np.random.Generator) -> None:
    X = np.repeat(np.eye(2), 15, axis=0) + 0.05 * rng.normal(size=(30, 2))
    X[7] = [-3.0, -3.0]
    ring = [(i, (i + 1) % 15) for i in range(15)] + [(15 + i, 15 + (i + 1) % 15) for i in range(15)]
    graph = AttributedGraph.from_edges(*zip(*ring, strict=True), X)
    assert Radar().fit(graph).decision_score_.argmax() == 7
