"""Normalized columns and smoothed residuals, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import laplacian

from hopsight.baselines.residuals import (
    Smoother,
    column_normalized,
    conjugate_gradient,
)
from hopsight.graph import AttributedGraph


def test_columns_have_norm_one_and_zero_columns_stay_zero(rng: np.random.Generator) -> None:
    X = rng.normal(size=(9, 4)) * [1.0, 1e12, 1e-3, 0.0]
    out = column_normalized(X)
    np.testing.assert_allclose(np.linalg.norm(out, axis=0), [1, 1, 1, 0], atol=1e-12)
    np.testing.assert_allclose(out[:, :3], X[:, :3] / np.linalg.norm(X[:, :3], axis=0), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_extreme_columns_neither_overflow_nor_vanish(scale: float) -> None:
    out = column_normalized(np.array([[0.3], [0.4]]) * scale)
    assert np.isfinite(out).all()
    if scale > 1:
        np.testing.assert_allclose(out, [[0.6], [0.8]])


def test_sparse_columns_are_normalized_alike_and_stay_sparse(rng: np.random.Generator) -> None:
    X = sp.random_array((12, 7), density=0.3, rng=rng, format="csr")
    out = column_normalized(X)
    assert sp.issparse(out)
    np.testing.assert_allclose(out.toarray(), column_normalized(X.toarray()), atol=1e-15)


def test_smoother_solves_the_system(random_graph: AttributedGraph, rng: np.random.Generator) -> None:
    B, weights = rng.normal(size=(60, 3)), rng.random(60)
    R = Smoother(random_graph, sparsity=0.3, smoothness=0.7).solve(B, weights, np.zeros_like(B))
    system = np.eye(60) + 0.3 * np.diag(weights) + 0.7 * laplacian(random_graph.adjacency.toarray().astype(float))
    np.testing.assert_allclose(R, np.linalg.solve(system, B), atol=1e-9)


def test_smoother_solves_with_vanishing_residuals(random_graph: AttributedGraph, rng: np.random.Generator) -> None:
    B = rng.normal(size=(60, 2))
    weights = np.where(np.arange(60) % 2, 2e15, 1.0)  # 1 / (2ε): rows that have reached zero
    R = Smoother(random_graph, sparsity=0.01, smoothness=0.1).solve(B, weights, np.zeros_like(B))
    system = np.eye(60) + 0.01 * np.diag(weights) + 0.1 * laplacian(random_graph.adjacency.toarray().astype(float))
    np.testing.assert_allclose(R, np.linalg.solve(system, B), atol=1e-9)


def test_an_isolated_node_keeps_its_own_residual(random_graph: AttributedGraph) -> None:
    B = np.arange(60.0)[:, None]
    R = Smoother(random_graph, sparsity=1.0, smoothness=5.0).solve(B, np.ones(60), B)
    assert R[59, 0] == pytest.approx(59.0 / 2.0)


def test_a_directed_graph_is_symmetrized() -> None:
    directed = AttributedGraph.from_edges([0, 2], [1, 1], np.eye(3), directed=True)
    undirected = AttributedGraph.from_edges([0, 2], [1, 1], np.eye(3))
    solved = [Smoother(graph, 0.1, 0.5).solve(np.eye(3), np.ones(3), np.eye(3)) for graph in (directed, undirected)]
    np.testing.assert_array_equal(*solved)


def test_penalty_is_that_of_the_papers(random_graph: AttributedGraph, rng: np.random.Generator) -> None:
    R = rng.normal(size=(60, 3))
    expected = 0.3 * np.linalg.norm(R, axis=1).sum() + 0.7 * np.trace(
        R.T @ laplacian(random_graph.adjacency.toarray().astype(float)) @ R
    )
    assert Smoother(random_graph, sparsity=0.3, smoothness=0.7).penalty(R) == pytest.approx(expected)


def test_conjugate_gradient_solves_a_map_of_matrices(rng: np.random.Generator) -> None:
    left, right = (m @ m.T + np.eye(4) for m in rng.normal(size=(2, 4, 4)))
    B = rng.normal(size=(4, 4))
    out = conjugate_gradient(lambda Z: left @ Z @ right, B, np.zeros((4, 4)), tolerance=1e-13)
    np.testing.assert_allclose(out, np.linalg.solve(left, B) @ np.linalg.inv(right), atol=1e-9)
