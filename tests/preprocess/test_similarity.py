"""Similarity of connected nodes, by hand and against SciPy's distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from hopsight.preprocess import edge_similarity, similarity

ROWS = np.array(
    [
        [1.0, 1.0, 0.0, 0.0],
        [0.0, 1.0, 1.0, 0.0],
        [1.0, 1.0, 1.0, 1.0],
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ]
)
EDGES = np.array([[0, 0, 1, 2, 3], [1, 2, 2, 3, 4]])


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("jaccard", [1 / 3, 2 / 4, 2 / 4, 0.0, 1.0]),
        ("cosine", [1 / 2, 2 / np.sqrt(8), 2 / np.sqrt(8), 0.0, 0.0]),
        ("euclidean", [1 / (1 + np.sqrt(2)), 1 / (1 + np.sqrt(2)), 1 / (1 + np.sqrt(2)), 1 / 3, 1.0]),
    ],
)
def test_given_rows(kind: str, name: str, expected: list[float]) -> None:
    rows: Any = sp.csr_array(ROWS) if kind == "sparse" else ROWS
    np.testing.assert_allclose(edge_similarity(rows, EDGES, name), expected, atol=1e-12)


def test_auto_is_jaccard_for_binary_attributes_and_cosine_otherwise() -> None:
    assert np.array_equal(edge_similarity(ROWS, EDGES), edge_similarity(ROWS, EDGES, "jaccard"))
    assert np.array_equal(edge_similarity(2 * ROWS, EDGES), edge_similarity(2 * ROWS, EDGES, "cosine"))
    sparse = sp.csr_array(ROWS)
    assert np.array_equal(edge_similarity(sparse, EDGES), edge_similarity(ROWS, EDGES, "jaccard"))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("at_once", [1, 7, 1 << 24])
def test_blocks_of_edges_equal_scipy(
    kind: str, at_once: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similarity, "BLOCK_VALUES", at_once)
    X = rng.normal(size=(30, 5)) * (rng.random((30, 5)) < 0.8)
    X[:, 0] += 0.1
    edges = rng.integers(0, 30, size=(2, 50))
    rows: Any = sp.csr_array(X) if kind == "sparse" else X
    expected = 1 - cdist(X, X, "cosine")[edges[0], edges[1]]
    np.testing.assert_allclose(edge_similarity(rows, edges, "cosine"), expected, atol=1e-12)
    expected = 1 / (1 + cdist(X, X)[edges[0], edges[1]])
    np.testing.assert_allclose(edge_similarity(rows, edges, "euclidean"), expected, atol=1e-7)
    expected = 1 - cdist(X != 0, X != 0, "jaccard")[edges[0], edges[1]]
    np.testing.assert_allclose(edge_similarity(rows, edges, "jaccard"), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["jaccard", "cosine", "euclidean"])
def test_renumbered_nodes_keep_the_similarity_of_their_edges(name: str, rng: np.random.Generator) -> None:
    X, edges = rng.normal(size=(20, 4)), rng.integers(0, 20, size=(2, 40))
    order = rng.permutation(20)  # new position p holds old node order[p]
    moved = np.argsort(order)[edges]
    assert np.array_equal(edge_similarity(X[order], moved, name), edge_similarity(X, edges, name))
    np.testing.assert_allclose(edge_similarity(X, edges[::-1], name), edge_similarity(X, edges, name), atol=1e-15)


def test_graphs_without_edges_and_wrong_names() -> None:
    assert edge_similarity(ROWS, np.empty((2, 0), dtype=np.int64)).shape == (0,)
    with pytest.raises(ValueError, match="similarity must be one of auto, jaccard, cosine, euclidean, got 'cosin'"):
        edge_similarity(ROWS, EDGES, "cosin")
