"""ANOMALOUS: values by hand, the dense form, the objective, memory and refusals."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse.csgraph import laplacian

from hopsight.baselines import anomalous
from hopsight.baselines.anomalous import ANOMALOUS
from hopsight.baselines.prepare import column_normalized
from hopsight.graph import AttributedGraph

EPS = np.finfo(np.float64).eps
WEIGHTS = {"alpha": 0.02, "beta": 0.03, "gamma": 0.05, "phi": 0.4}


def solve_stacked(Y: np.ndarray, H: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Solve YᵀY·W·YYᵀ + diag(rows)W + W diag(columns) = H as one system for the stacked entries of W."""
    n, d = H.shape
    system = np.kron(Y @ Y.T, Y.T @ Y) + np.kron(np.eye(d), np.diag(rows)) + np.kron(np.diag(columns), np.eye(n))
    return np.linalg.solve(system, H.ravel(order="F")).reshape((n, d), order="F")


def published(graph: AttributedGraph, n_rounds: int) -> tuple[np.ndarray, list[float]]:
    """Return the residual norms and the objective after every round, in the paper's transposed form Y = Xᵀ."""
    Y = column_normalized(graph.attributes).T
    d, n = Y.shape
    L = laplacian(graph.adjacency.toarray().astype(float))
    a, b, g, phi = WEIGHTS["alpha"], WEIGHTS["beta"], WEIGHTS["gamma"], WEIGHTS["phi"]
    D1, D2, D_R = np.ones(n), np.ones(d), np.ones(n)
    R = Y @ np.linalg.inv(np.eye(n) + g * np.diag(D_R) + phi * L)
    objective = []
    for _ in range(n_rounds):
        W = solve_stacked(Y, Y.T @ (Y - R) @ Y.T, a * D1, b * D2)
        D1 = 0.5 / np.sqrt((W**2).sum(axis=1) + EPS)
        D2 = 0.5 / np.sqrt((W**2).sum(axis=0) + EPS)
        R = (Y - Y @ W @ Y) @ np.linalg.inv(np.eye(n) + g * np.diag(D_R) + phi * L)
        norms = np.linalg.norm(R, axis=0)
        D_R = 0.5 / (norms + EPS)
        chosen = a * np.linalg.norm(W, axis=1).sum() + b * np.linalg.norm(W, axis=0).sum()
        fit = np.linalg.norm(Y - Y @ W @ Y - R) ** 2
        objective.append(fit + chosen + g * norms.sum() + phi * np.trace(R @ L @ R.T))
    return norms, objective


@pytest.fixture
def graph() -> AttributedGraph:
    rng = np.random.default_rng(5)
    return AttributedGraph(np.triu(rng.random((15, 15)) < 0.25, k=1), rng.normal(size=(15, 5)))


@pytest.mark.parametrize(("alpha", "gamma", "weight", "residual"), [(0.1, 0.5, 0.9, 0.0), (0.4, 0.5, 0.0, 0.75)])
def test_one_node_and_one_attribute_by_hand(alpha: float, gamma: float, weight: float, residual: float) -> None:
    # two copies of the one-node network X = 1: the identity matrix without an edge
    detector = ANOMALOUS(alpha=alpha, beta=alpha, gamma=gamma, n_rounds=400, tolerance=0.0)
    detector.fit((np.zeros((2, 2)), np.eye(2)))
    np.testing.assert_allclose(detector.node_weights_, weight, atol=1e-6)
    np.testing.assert_allclose(detector.attribute_weights_, weight, atol=1e-6)
    np.testing.assert_allclose(detector.decision_score_, residual, atol=1e-6)


@pytest.mark.parametrize("n_rounds", [1, 2, 6])
def test_it_equals_the_dense_form(graph: AttributedGraph, n_rounds: int) -> None:
    norms, objective = published(graph, n_rounds)
    detector = ANOMALOUS(**WEIGHTS, n_rounds=n_rounds, tolerance=0.0).fit(graph)
    np.testing.assert_allclose(detector.decision_score_, norms, atol=1e-8)
    np.testing.assert_allclose(detector.objective_, objective, atol=1e-6)


@pytest.mark.parametrize("solve", [anomalous._solve_few_columns, anomalous._solve_many_columns])
def test_both_ways_to_solve_for_w_are_exact(rng: np.random.Generator, solve: Callable[..., np.ndarray]) -> None:
    X, R = rng.normal(size=(2, 12, 4)) / 3
    rows, columns = rng.random(12) + 0.01, rng.random(4) * 0.1
    arguments = (X, X.T @ X, (X - R).T @ X, rows, columns, np.zeros((12, 4)))
    W = solve(*arguments) if solve is anomalous._solve_many_columns else solve(*arguments[:-1])
    np.testing.assert_allclose(W, solve_stacked(X.T, X @ (X - R).T @ X, rows, columns), atol=1e-8)


def test_defaults_are_those_of_the_authors_script() -> None:
    model = ANOMALOUS()
    assert (model.alpha, model.beta, model.gamma, model.phi, model.n_rounds) == (0.015, 0.01, 0.009, 0.6, 100)


@pytest.mark.parametrize("n_columns", [3, 70])  # few and many
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_never_increases(seed: int, n_columns: int) -> None:
    rng = np.random.default_rng(seed)
    graph = AttributedGraph(np.triu(rng.random((40, 40)) < 0.1, k=1), rng.normal(size=(40, n_columns)))
    a, b, g, phi = 10 ** rng.uniform(-3, 0, size=4)
    detector = ANOMALOUS(alpha=a, beta=b, gamma=g, phi=phi, n_rounds=40, tolerance=0.0).fit(graph)
    assert len(detector.objective_) == 40 and max(np.diff(detector.objective_)) <= 1e-8 * detector.objective_[0]


def test_a_noise_attribute_is_not_chosen(rng: np.random.Generator) -> None:
    shared = rng.normal(size=(60, 1))
    X = np.hstack([shared + 0.01 * rng.normal(size=(60, 3)), rng.normal(size=(60, 1))])
    detector = ANOMALOUS(alpha=0.05, beta=0.3, gamma=0.01).fit((np.zeros((60, 60)), X))
    assert detector.attribute_weights_[:3].max() > 2 * detector.attribute_weights_[3]
