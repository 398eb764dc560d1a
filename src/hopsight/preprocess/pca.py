"""Principal axes of dense or sparse attributes; sparse ones are not made dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from hopsight.preprocess.krylov import leading_eigenvectors
from hopsight.preprocess.products import CenteredMatrix, DeviceMatrix
from hopsight.system.threads import few_threads

FloatArray = NDArray[np.float64]

SMALL = 512  # columns up to which a cluster adds up the covariance matrix
FEW = 2048  # rows or columns up to which the matrix of their products is decomposed at once


def principal_axes(
    attributes: Any, center: FloatArray, scale: FloatArray, n_components: int, **options: Any
) -> FloatArray:
    """Return the ``(n_components, n_attributes)`` principal axes of ``(attributes − center) / scale``.

    A sparse X is not centered to M = (X − 1μᵀ)D⁻¹. With few columns the axes are eigenvectors of MᵀM, with few rows
    they come from those of MMᵀ. With many of both, from products of M and Mᵀ with blocks of vectors (block Lanczos)
    until the residuals show that they span the right subspace. The largest entry of each axis is made positive.

    Sums are added up in fixed blocks, so that the axes are the same for any number of threads. ``options`` are those of
    :func:`axes_and_places`.
    """
    return axes_and_places(attributes, center, scale, n_components, places=False, **options)[0]


def axes_and_places(
    attributes: Any,
    center: FloatArray,
    scale: FloatArray,
    n_components: int,
    *,
    rng: np.random.Generator,
    device: Any = "cpu",
    places: bool = True,
) -> tuple[FloatArray, FloatArray | None]:
    """Return the principal axes and, where a GPU found them, (n_rows, n_components) places of the rows on them.

    ``places=False`` leaves the latter out. ``device`` is a torch device; a GPU without enough memory leaves the work to
    the CPU.
    """
    n_components = min(n_components, *attributes.shape)
    if str(device).startswith("cuda"):
        import torch

        try:
            matrix = DeviceMatrix(attributes, center, scale, device)
            turned = _upright(_axes(matrix, n_components, rng))
            return turned.cpu().numpy(), matrix.forward(turned.T).cpu().numpy() if places else None
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
    with few_threads(1):  # each block of rows has a thread of its own
        return _upright(_axes(CenteredMatrix(attributes, center, scale), n_components, rng)), None


def _upright(axes: Any) -> Any:
    """Return axes, in NumPy or torch, turned so that the largest entry of each is positive."""
    largest = abs(axes).argmax(1)
    return axes * (1.0 - 2.0 * (axes[range(len(axes)), largest] < 0))[:, None]


def _axes(matrix: Any, n_components: int, rng: np.random.Generator) -> Any:
    """Return the axes as rows; the matrix decides whether NumPy or torch computes them."""
    n_rows, n_columns = matrix.shape
    if n_columns <= FEW and (n_columns <= n_rows or n_columns <= SMALL):
        return _top(matrix.column_products(), n_components).T
    if n_rows <= FEW:
        vectors = _top(matrix.row_products(), n_components)
    else:
        width = max(8, min(16, n_components // 4))  # enough for fast products, few enough for a high degree
        start = matrix.array(rng.normal(size=(min(n_rows, n_columns), width)))
        vectors = leading_eigenvectors(matrix.squared, start, n_components)
    if vectors.shape[0] == n_columns and n_columns < n_rows:
        return vectors.T
    # Mᵀ times the left vectors, longest first, so that directions without variance do not disturb the others.
    return matrix.linalg.qr(matrix.backward(vectors))[0].T


def _top(products: Any, n_components: int) -> Any:
    """Return the eigenvectors of the largest eigenvalues of a symmetric matrix as columns, largest first."""
    size = products.shape[0]
    if not isinstance(products, np.ndarray):
        import torch

        return torch.linalg.eigh(products)[1][:, size - n_components :].flip(1)
    if size <= SMALL:
        return np.linalg.eigh(products)[1][:, ::-1][:, :n_components]
    chosen = [size - n_components, size - 1] if 2 * n_components < size else None
    vectors = scipy.linalg.eigh(products, subset_by_index=chosen, overwrite_a=True, check_finite=False)[1]
    return vectors[:, ::-1][:, :n_components]
