"""Similarity of connected nodes, by hand and against SciPy's distances."""

from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from hopsight.preprocess import drop_edges, edge_similarity, similarity
from hopsight.preprocess.similarity import N_KNOTS, N_REFERENCES, References

ROWS = np.array(
    [[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
)
EDGES = np.array([[0, 0, 1, 2, 3], [1, 2, 2, 3, 4]])


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(("name", "expected"), [
    ("jaccard", [1 / 3, 2 / 4, 2 / 4, 0.0, 1.0]),
    ("cosine", [1 / 2, 2 / np.sqrt(8), 2 / np.sqrt(8), 0.0, 0.0]),
    ("euclidean", [1 / (1 + np.sqrt(2)), 1 / (1 + np.sqrt(2)), 1 / (1 + np.sqrt(2)), 1 / 3, 1.0]),
])  # fmt: skip
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


def test_graphs_without_edges_and_wrong_names() -> None:
    assert edge_similarity(ROWS, np.empty((2, 0), dtype=np.int64)).shape == (0,)
    with pytest.raises(ValueError, match="similarity must be one of auto, jaccard, cosine, euclidean, got 'cosin'"):
        edge_similarity(ROWS, EDGES, "cosin")


def test_the_least_similar_edges_are_dropped() -> None:
    similarity = np.array([0.9, 0.1, 0.5, 0.4, 0.8])
    kept = drop_edges(similarity, 0.4, rng=np.random.default_rng(0))
    assert kept.tolist() == [True, False, True, False, True]
    assert drop_edges(similarity, 0.0, rng=np.random.default_rng(0)).all()


@pytest.mark.parametrize("n_edges", [1, 7, 10, 100, 1003])
@pytest.mark.parametrize("ratio", ["0", "0.1", "0.2", "0.3", "0.5", "0.7", "0.99"])
def test_exactly_the_floor_of_the_share_is_dropped(n_edges: int, ratio: str, rng: np.random.Generator) -> None:
    """Counted with fractions: 0.3 · 10 is 3, whatever floating point makes of it."""
    similarity = rng.choice([0.0, 0.5, 1.0], size=n_edges)  # ties throughout
    kept = drop_edges(similarity, float(ratio), rng=rng)
    assert (~kept).sum() == floor(Fraction(ratio) * n_edges)
    if kept.any() and not kept.all():
        assert similarity[~kept].max() <= similarity[kept].min()


def test_ties_are_broken_fairly_and_by_the_seed() -> None:
    ties = np.zeros(10)
    first, again = (drop_edges(ties, 0.5, rng=np.random.default_rng(4)) for _ in range(2))
    assert np.array_equal(first, again)
    rng = np.random.default_rng(0)
    kept = np.sum([drop_edges(ties, 0.5, rng=rng) for _ in range(400)], axis=0)
    assert (abs(kept - 200) < 4 * 10).all()  # four standard deviations of a fair coin thrown 400 times


PAIRS = np.random.default_rng(9).integers(0, 400, size=(2, 600))


@pytest.mark.parametrize("cosine", [False, True])
def test_shares_are_those_of_brute_force(cosine: bool, rng: np.random.Generator) -> None:
    """33 knots read the share of 256 references to about 1/32."""
    attributes = rng.gamma(1.0, size=(400, 6))
    order = rng.permutation(400)
    metric = "cosine" if cosine else "euclidean"
    to_references = cdist(attributes, attributes[order[:N_REFERENCES]], metric)
    apart = np.diag(cdist(attributes[PAIRS[0]], attributes[PAIRS[1]], metric))
    expected = np.mean([(to_references[end] < apart[:, None]).mean(axis=1) for end in PAIRS], axis=0)
    found = References.choose(attributes, order, cosine=cosine).relative_dissimilarity(attributes, PAIRS)
    np.testing.assert_allclose(found, expected, atol=1.5 / N_KNOTS)
    assert ((found >= 0) & (found <= 1)).all() and np.corrcoef(found, expected)[0, 1] > 0.995


def test_a_dense_crowd_is_judged_by_its_own_distances(rng: np.random.Generator) -> None:
    """Half a unit is far within a crowd, and near for nodes that are far from everybody."""
    attributes = np.concatenate([0.01 * rng.normal(size=(300, 2)), 50.0 * rng.normal(size=(300, 2))])
    attributes[[0, 1]], attributes[[300, 301]] = [[0.0, 0.0], [0.5, 0.0]], [[90.0, 90.0], [90.5, 90.0]]
    chosen = References.choose(attributes, rng.permutation(600), cosine=False)
    crowd, loners = chosen.relative_dissimilarity(attributes, np.array([[0, 300], [1, 301]]))
    assert crowd > 0.3 and loners < 0.05  # a loner that is a reference itself counts as one of 33 knots
