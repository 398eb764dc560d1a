"""Principal axes equal scikit-learn's up to sign, for dense and sparse attributes with few or many columns."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from hopsight.preprocess.pca import principal_axes
from hopsight.preprocess.scale import column_moments


def matrix_of(n_rows: int, n_columns: int, density: float, rng: np.random.Generator) -> np.ndarray:
    """Return rows around a few directions of clearly different length, so that the leading axes are well defined."""
    strengths = np.array([9.0, 6.0, 4.0, 2.5])
    rows = rng.normal(size=(n_rows, 4)) * strengths @ rng.normal(size=(4, n_columns))
    return (rows + 3.0 + 0.1 * rng.normal(size=rows.shape)) * (rng.random(rows.shape) < density)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("n_columns", [12, 552])
@pytest.mark.parametrize("standardize", [True, False])
def test_axes_are_those_of_scikit_learn(kind: str, n_columns: int, standardize: bool, rng: np.random.Generator) -> None:
    X = matrix_of(90, n_columns, 0.9, rng)
    center, scale = column_moments(X)
    if not standardize:
        scale = np.ones_like(scale)
    theirs = PCA(n_components=4, svd_solver="full").fit((X - center) / scale)
    given: Any = sp.csr_array(X) if kind == "sparse" else X
    axes = principal_axes(given, center, scale, 4, rng=rng)
    signs = np.sign((axes * theirs.components_).sum(axis=1))
    np.testing.assert_allclose(axes * signs[:, None], theirs.components_, atol=1e-6)


def test_axes_are_orthonormal_and_their_sign_is_fixed(rng: np.random.Generator) -> None:
    X = matrix_of(60, 20, 1.0, rng)
    axes = principal_axes(X, X.mean(axis=0), np.ones(20), 6, rng=rng)
    np.testing.assert_allclose(axes @ axes.T, np.eye(6), atol=1e-9)
    assert (axes[np.arange(6), abs(axes).argmax(axis=1)] > 0).all()
    upside_down = principal_axes(-X, -X.mean(axis=0), np.ones(20), 6, rng=rng)
    np.testing.assert_allclose(upside_down, axes, atol=1e-9)


def test_no_more_axes_than_nodes_or_columns(rng: np.random.Generator) -> None:
    assert principal_axes(rng.normal(size=(3, 8)), np.zeros(8), np.ones(8), 20, rng=rng).shape == (3, 8)
    assert principal_axes(rng.normal(size=(9, 2)), np.zeros(2), np.ones(2), 20, rng=rng).shape == (2, 2)
    wide = rng.normal(size=(4, 522))
    axes = principal_axes(wide, wide.mean(axis=0), np.ones(522), 3, rng=rng)
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-9)


def test_a_large_sparse_matrix_stays_sparse(rng: np.random.Generator) -> None:
    """20,000 × 50,000 would take 8 GB; its 200,000 entries take 3 MB, and so should the axes."""
    n_rows, n_columns, n_entries = 20_000, 50_000, 200_000
    heads = np.minimum(rng.geometric(0.0005, size=n_entries), n_columns) - 1
    entries = (np.ones(n_entries), (rng.integers(0, n_rows, n_entries), heads))
    X = sp.coo_array(entries, shape=(n_rows, n_columns)).tocsr()
    tracemalloc.start()
    center, scale = column_moments(X)
    axes = principal_axes(X, center, np.ones_like(scale), 3, rng=rng)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert axes.shape == (3, n_columns) and np.isfinite(axes).all()
    assert peak < 100e6


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_few_nodes_with_many_columns_need_no_large_matrix(kind: str, rng: np.random.Generator) -> None:
    """60 nodes have 59 directions: those of scikit-learn, without 2,000 × 2,000 covariances."""
    X = rng.normal(size=(60, 2000))
    given = sp.csr_array(X) if kind == "sparse" else X
    tracemalloc.start()
    axes = principal_axes(given, X.mean(axis=0), np.ones(2000), 256, rng=rng)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert axes.shape == (60, 2000) and peak < 2e7
    wanted = PCA(59, svd_solver="full").fit(X).components_
    np.testing.assert_allclose(abs(np.sum(axes[:59] * wanted, axis=1)), 1.0, atol=1e-8)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("turned", [True, False])
def test_many_rows_and_columns_have_the_axes_of_the_dense_decomposition(
    kind: str, turned: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopsight.preprocess.pca.SMALL", 100)
    X = matrix_of(*((150, 260) if turned else (260, 150)), 0.9, rng)
    center, scale = column_moments(X)
    axes = principal_axes(sp.csr_array(X) if kind == "sparse" else X, center, scale, 30, rng=rng)
    wanted = np.linalg.svd((X - center) / scale, full_matrices=False)[2][:30]
    np.testing.assert_allclose(abs((axes[:4] * wanted[:4]).sum(axis=1)), 1.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.svd(axes @ wanted.T)[1], 1.0, atol=1e-12)  # the same subspace


@pytest.mark.parametrize("shape", [(700, 600), (2100, 2080)])
def test_axes_are_the_same_for_any_number_of_threads(shape: tuple[int, int], rng: np.random.Generator) -> None:
    X = sp.random_array(shape, density=0.02, rng=rng, format="csr")
    center = np.asarray(X.mean(axis=0)).ravel()
    found = []
    for count in (1, 2):
        with threadpool_limits(count):
            found.append(principal_axes(X, center, np.ones(shape[1]), 4, rng=np.random.default_rng(0)))
    assert np.array_equal(found[0], found[1])


def test_equal_rows_have_axes_too(rng: np.random.Generator) -> None:
    """A large sparse matrix without any variance: ARPACK cannot start."""
    X = sp.csr_array(np.outer(np.ones(1200), np.arange(1000) == 3))
    axes = principal_axes(X, np.asarray(X.mean(axis=0)).ravel(), np.ones(1000), 5, rng=rng)
    np.testing.assert_allclose(axes @ axes.T, np.eye(5), atol=1e-9)
