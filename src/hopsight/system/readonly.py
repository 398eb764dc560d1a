"""Read-only views of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view; the array of the caller stays writeable."""
    view = array.view()
    view.flags.writeable = False
    return view


def frozen_csr(matrix: Any) -> Any:
    """Return a CSR array over read-only views of the three parts."""
    parts = tuple(frozen(part) for part in (matrix.data, matrix.indices, matrix.indptr))
    return sp.csr_array(parts, shape=matrix.shape, copy=False)


def simple_csr(matrix: Any) -> Any:
    """Return a symmetric 0/1 CSR matrix without a diagonal, read-only and marked as such.

    The caller knows that it is one; finding out would take as long as making one.
    """
    simple = frozen_csr(matrix)
    simple.is_simple = (simple.data, simple.indices, simple.indptr)
    return simple


def is_simple(matrix: Any) -> bool:
    """Return whether a matrix is from :func:`simple_csr` and still has the same three read-only parts.

    >>> path = simple_csr(sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]], dtype=np.float32)))
    >>> is_simple(path), is_simple(path.copy())
    (True, False)
    """
    parts = getattr(matrix, "is_simple", None)
    return parts is not None and all(
        part is now and not now.flags.writeable
        for part, now in zip(parts, (matrix.data, matrix.indices, matrix.indptr), strict=True)
    )


def still_writeable(array: NDArray[Any], given: Any) -> bool:
    """Return whether the caller could still change this array; a read-only array needs no copy."""
    return isinstance(given, np.ndarray) and given.flags.writeable and np.may_share_memory(array, given)
