"""Leading eigenvectors by block Lanczos equal those of a dense decomposition, also after restarts and in torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hopsight.preprocess.krylov import leading_eigenvectors


def spectrum_of(values: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a symmetric matrix with these eigenvalues, and its eigenvectors as columns."""
    vectors = np.linalg.qr(rng.normal(size=(values.size, values.size)))[0]
    return vectors * values @ vectors.T, vectors


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_subspace_is_found_through_restarts(kind: str, rng: np.random.Generator) -> None:
    values = np.sort(rng.random(200))[::-1]  # nearly flat: the basis is reduced several times
    matrix, vectors = spectrum_of(values, rng)
    start = rng.normal(size=(200, 4))
    if kind == "numpy":
        found = leading_eigenvectors(lambda block: matrix @ block, start, 6)
    else:
        tensor = torch.from_numpy(matrix)
        found = leading_eigenvectors(lambda block: tensor @ block, torch.from_numpy(start), 6).numpy()
    np.testing.assert_allclose(found.T @ found, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(np.linalg.svd(vectors[:, :6].T @ found)[1], 1.0, atol=1e-14)
    np.testing.assert_allclose(abs((vectors[:, :6] * found).sum(axis=0)), 1.0, atol=1e-10)


def test_a_matrix_of_low_rank_leaves_orthonormal_vectors(rng: np.random.Generator) -> None:
    values = np.zeros(60)
    values[:3] = 3.0, 2.0, 1.0
    matrix, vectors = spectrum_of(values, rng)
    found = leading_eigenvectors(lambda block: matrix @ block, rng.normal(size=(60, 8)), 5)
    np.testing.assert_allclose(found.T @ found, np.eye(5), atol=1e-10)
    np.testing.assert_allclose(abs((vectors[:, :3] * found[:, :3]).sum(axis=0)), 1.0, atol=1e-10)


def test_wanting_nearly_everything_uses_the_whole_space(rng: np.random.Generator) -> None:
    values = np.arange(20.0, 0.0, -1.0)
    matrix, vectors = spectrum_of(values, rng)
    found = leading_eigenvectors(lambda block: matrix @ block, rng.normal(size=(20, 8)), 19)
    np.testing.assert_allclose(abs((vectors[:, :19] * found).sum(axis=0)), 1.0, atol=1e-10)
