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


def still_writeable(array: NDArray[Any], given: Any) -> bool:
    """Return whether the caller could still change this array; a read-only array needs no copy."""
    return isinstance(given, np.ndarray) and given.flags.writeable and np.may_share_memory(array, given)
