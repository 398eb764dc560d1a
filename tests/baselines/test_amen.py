"""AMEN: scores from normality, scaling of attributes, and refusals."""

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.baselines.amen import AMEN, normality
from hopsight.graph import AttributedGraph


@pytest.fixture
def triangles() -> AttributedGraph:
    edges = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)]
    return AttributedGraph.from_edges(*zip(*edges, strict=True), np.repeat([[1.0], [0.0]], 3, axis=0))


def test_the_score_is_minus_the_normality_of_the_ego_network(triangles: AttributedGraph) -> None:
    expected = [-12 / 25, -12 / 25, -11 / 52, -91 / 324 + 8 / 39, 0, 0]
    np.testing.assert_allclose(AMEN(norm="l1").fit(triangles).decision_score_, expected, atol=1e-12)


def test_a_node_among_strangers_scores_above_its_community() -> None:
    clique = [(i, j) for i in range(8) for j in range(i)]
    edges = clique + [(i + 8, j + 8) for i, j in clique] + [(16, 0), (16, 3), (16, 9), (16, 12)]
    X = np.zeros((17, 3))
    X[:8, 0] = X[8:16, 1] = X[16, 2] = 1.0
    scores = AMEN().fit(AttributedGraph.from_edges(*zip(*edges, strict=True), X)).decision_score_
    assert scores.argmax() == 16


def test_constant_columns_are_left_out(random_graph: AttributedGraph) -> None:
    X = np.column_stack([random_graph.attributes, np.full(60, 3.0)])
    scores = AMEN().fit((random_graph.adjacency, X)).decision_score_
    np.testing.assert_allclose(scores, AMEN().fit(random_graph).decision_score_)
    np.testing.assert_array_equal(AMEN().fit((random_graph.adjacency, X[:, -1:])).decision_score_, 0.0)


def test_the_similarity_follows_the_kind_of_attributes(random_graph: AttributedGraph) -> None:
    assert AMEN().fit(random_graph).boundary_sim_ == "dot"
    words = (random_graph.attributes > 1.5).astype(float)
    fitted = AMEN().fit((random_graph.adjacency, words))
    assert fitted.boundary_sim_ == "presence"
    expected = normality(random_graph.adjacency, words, boundary_sim="presence")
    np.testing.assert_array_equal(fitted.decision_score_, -expected)
    forced = AMEN(boundary_sim="dot").fit((random_graph.adjacency, words))
    assert not np.allclose(forced.decision_score_, fitted.decision_score_)


TRIANGLES = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)]


def adjacency_of(edges: list[tuple[int, int]], n_nodes: int) -> sp.csr_array:
    A = np.zeros((n_nodes, n_nodes))
    for i, j in edges:
        A[i, j] = A[j, i] = 1
    return sp.csr_array(A)


def by_definition(A: np.ndarray, X: np.ndarray, norm: str, boundary_sim: str) -> np.ndarray:
    k, n = A.sum(axis=1), len(A)
    if k.sum() == 0:
        return np.zeros(n)
    p = np.outer(k, k) / k.sum()
    s = 1 - np.minimum(1, p)
    out = np.zeros(n)
    for v in range(n):
        C = [v, *np.flatnonzero(A[v])]
        outside = [b for b in range(n) if b not in C]
        i_min = -sum(p[i, j] for i in C for j in C)
        P = sum(s[i, j] for i in C for j in C if A[i, j])
        y = []
        for f in range(X.shape[1]):
            if not X[C, f].any():
                continue
            internal = sum((A[i, j] - p[i, j]) * X[i, f] * X[j, f] for i in C for j in C)
            boundary = 0.0
            for i in C:
                for b in outside:
                    if A[i, b]:
                        same = (X[i, f] != 0) == (X[b, f] != 0)
                        boundary += s[i, b] * (same if boundary_sim == "presence" else X[i, f] * X[b, f])
            y.append((internal - i_min) / (len(C) ** 2 - i_min) - boundary / (P + max(boundary, 1e-5)))
        if y:
            positive = np.linalg.norm(np.maximum(y, 0))
            out[v] = positive if norm == "l2" and positive > 0 else max(y)
    return out


def test_two_triangles_with_one_common_attribute_are_half_normal() -> None:
    out = normality(adjacency_of(TRIANGLES, 6), np.ones((6, 1)), norm="l1")
    np.testing.assert_allclose(out, 0.5, atol=1e-12)


@pytest.mark.parametrize("boundary_sim", ["presence", "dot"])
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("density", [0.3, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_it_equals_the_definition(seed: int, density: float, norm: str, boundary_sim: str) -> None:
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((22, 22)) < 0.15, k=1).astype(float)
    A += A.T
    X = rng.random((22, 5)) * (rng.random((22, 5)) < density)
    out = normality(sp.csr_array(A), X, norm=norm, boundary_sim=boundary_sim)
    np.testing.assert_allclose(out, by_definition(A, X, norm, boundary_sim), atol=1e-10)


@pytest.mark.parametrize("boundary_sim", ["presence", "dot"])
def test_hubs_in_small_ego_networks(rng: np.random.Generator, boundary_sim: str) -> None:
    edges = [(0, leaf) for leaf in range(1, 70)] + [(1, 2), (5, 9)] + [(70, leaf) for leaf in range(60, 70)]
    A = adjacency_of(edges, 71)
    X = rng.random((71, 3)) * (rng.random((71, 3)) < 0.6)
    out = normality(A, X, boundary_sim=boundary_sim)  # the hub's 69 edges are more than 16 times 2 or 3 members
    np.testing.assert_allclose(out, by_definition(A.toarray(), X, "l2", boundary_sim), atol=1e-10)


def test_egos_without_edges_or_attributes_have_normality_zero() -> None:
    np.testing.assert_array_equal(normality(sp.csr_array((4, 4)), np.ones((4, 2))), 0.0)
    np.testing.assert_array_equal(normality(adjacency_of(TRIANGLES, 6), np.zeros((6, 2))), 0.0)
    np.testing.assert_array_equal(normality(adjacency_of(TRIANGLES, 6), np.zeros((6, 0))), 0.0)
    assert normality(adjacency_of(TRIANGLES, 7), np.ones((7, 1)))[6] == 0.0
