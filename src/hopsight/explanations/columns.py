"""Where values stand among those of all nodes; sorted once, because a report looks up thousands of nodes."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

MAX_COMPARED_VALUES = 8_000_000  # larger tables are compared with an even sample of their rows


class Places:
    """The shares of some values that lie below and above others.

    >>> places = Places(np.array([3, 1, 2, 2]))
    >>> places.lower(2), places.higher(2)
    (0.25, 0.25)
    """

    def __init__(self, values: NDArray[Any]) -> None:
        self._sorted = np.sort(values)

    def lower(self, value: float) -> float:
        """Return the share of values below a value; an unknown one is above nothing."""
        if math.isnan(value):
            return 0.0
        return float(self._sorted.searchsorted(self._sorted.dtype.type(value), "left")) / self._size

    def higher(self, value: float) -> float:
        """Return the share of values above a value."""
        place = self._sorted.searchsorted(self._sorted.dtype.type(value), "right")
        return float(self._sorted.size - place) / self._size

    def shares(self, values: FloatArray) -> FloatArray:
        """Return (2, n) shares of values below and above each of several; an unknown one is above nothing."""
        some = values.astype(self._sorted.dtype)
        low, high = self._sorted.searchsorted(some, "left"), self._sorted.searchsorted(some, "right")
        return np.stack([np.where(np.isnan(values), 0, low), self._sorted.size - high]) / self._size

    @property
    def _size(self) -> int:
        return max(1, self._sorted.size)


class Columns:
    """The columns of an attribute matrix, each sorted when it is first asked for.

    >>> Columns(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 7.0]])).lower(np.array([0, 1]), np.array([3.0, 7.0])).round(3)
    array([0.667, 0.667])
    """

    def __init__(self, attributes: Any) -> None:
        self._attributes = attributes
        self._known: dict[int, Places] = {}

    @cached_property
    def rows(self) -> Any:
        """The rows that are compared: all of them, or an even sample of a large dense matrix."""
        n, width = self._attributes.shape
        most = max(1, MAX_COMPARED_VALUES // max(1, width))
        return self._attributes[:: max(1, math.ceil(n / most))]

    def lower(self, columns: NDArray[np.int64], values: FloatArray) -> FloatArray:
        """Return for each column the share of nodes below a value."""
        pairs = zip(columns.tolist(), values.tolist(), strict=True)
        if sp.issparse(self._attributes):
            return np.array([self._lower_sparse(column, value) for column, value in pairs])
        return np.array([self.places(column).lower(value) for column, value in pairs])

    def places(self, column: int) -> Places:
        """Return the values of one column of a dense matrix, sorted."""
        if column not in self._known:
            self._known[column] = Places(self.rows[:, column])
        return self._known[column]

    def _lower_sparse(self, column: int, value: float) -> float:
        matrix = self._by_column
        stored = matrix.data[matrix.indptr[column] : matrix.indptr[column + 1]]
        n_zeros = matrix.shape[0] - stored.size
        return float((stored < value).sum() + (n_zeros if value > 0 else 0)) / max(1, matrix.shape[0])

    @cached_property
    def _by_column(self) -> Any:
        columns = self._attributes.tocsc(copy=True)
        columns.sum_duplicates()
        return columns
