"""Principal axes of dense or sparse attributes; sparse ones are not made dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, svds
from threadpoolctl import threadpool_limits

FloatArray = NDArray[np.float64]

SMALL = 512  # columns up to which the covariance matrix is the faster way


def principal_axes(
    attributes: Any, center: FloatArray, scale: FloatArray, n_components: int, *, rng: np.random.Generator
) -> FloatArray:
    """Return the ``(n_components, n_attributes)`` principal axes of ``(attributes − center) / scale``.

    A sparse X is not centered to M = (X − 1μᵀ)D⁻¹ unless nearly all axes of many columns are wanted. With few columns
    the axes come from MᵀM, with many from products of M and Mᵀ with vectors (Lanczos). The largest entry of each axis
    is made positive.
    """
    n_nodes, n_columns = attributes.shape
    n_components = min(n_components, n_columns, n_nodes)
    if n_columns <= SMALL:
        axes = _from_covariance(attributes, center, scale, n_components)
    elif n_components >= min(n_nodes, n_columns) - 1:
        dense = attributes.toarray() if sp.issparse(attributes) else attributes
        axes = np.linalg.svd((dense - center) / scale, full_matrices=False)[2][:n_components]
    else:
        axes = _from_products(attributes, center, scale, n_components, rng)
    largest = axes[np.arange(len(axes)), abs(axes).argmax(axis=1)]
    return axes * np.where(largest < 0, -1.0, 1.0)[:, None]


def _from_covariance(attributes: Any, center: FloatArray, scale: FloatArray, n_components: int) -> FloatArray:
    if sp.issparse(attributes):
        gram = np.asarray((attributes.T @ attributes).todense(), dtype=np.float64)
        gram -= attributes.shape[0] * np.outer(center, center)
        gram /= np.outer(scale, scale)
    else:
        centered = (attributes - center) / scale
        gram = centered.T @ centered
    _, vectors = np.linalg.eigh(gram)
    return vectors[:, ::-1][:, :n_components].T


def _from_products(
    attributes: Any, center: FloatArray, scale: FloatArray, n_components: int, rng: np.random.Generator
) -> FloatArray:
    matrix = sp.csr_array(attributes).astype(np.float64)
    transposed = sp.csr_array(matrix.T)

    def forward(v: FloatArray) -> Any:
        v = v.ravel() / scale
        return matrix @ v - center @ v

    def backward(u: FloatArray) -> Any:
        u = u.ravel()
        return (transposed @ u - center * u.sum()) / scale

    operator = LinearOperator(matrix.shape, matvec=forward, rmatvec=backward, dtype=np.float64)
    start = rng.normal(size=min(matrix.shape))
    with threadpool_limits(1, user_api="blas"):  # a second thread does not help with single vectors
        _, values, axes = svds(operator, k=n_components, v0=start, solver="arpack", return_singular_vectors="vh")
    return np.asarray(axes[np.argsort(-values)])
