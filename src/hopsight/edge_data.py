"""What edges carry besides their two ends: weight, time and attributes; and how duplicate edges are merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopsight.checks import check_choice, plural

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

DUPLICATES = ("sum", "count", "last")
LARGE = 1_000_000  # rows that are sorted by counting


@dataclass(frozen=True)
class EdgeData:
    """Weight, time and attributes of edges, each None if they have none; rows are aligned with the edges.

    Attributes
    ----------
    weight, time
        (n_edges,) numbers.
    attributes
        (n_edges, n_columns) numbers.
    """

    weight: Any = None
    time: Any = None
    attributes: Any = None

    def checked(self, n_edges: int) -> EdgeData:
        """Return the same data as read-only float64 arrays; refuse those that do not match the edges."""
        return EdgeData(
            _numbers("edge_weight", self.weight, n_edges, 1),
            _numbers("edge_time", self.time, n_edges, 1),
            _numbers("edge_attributes", self.attributes, n_edges, 2),
        )

    def rows(self, chosen: NDArray[Any]) -> EdgeData:
        """Return the data of some edges, by positions or by a mask."""
        parts = (self.weight, self.time, self.attributes)
        return EdgeData(*(None if part is None else np.asarray(part)[chosen] for part in parts))

    def __bool__(self) -> bool:
        return any(part is not None for part in (self.weight, self.time, self.attributes))


def merged(source: NDArray[Any], target: NDArray[Any], n_nodes: int, data: EdgeData, rule: str) -> EdgeData:
    """Return the data of distinct edges, in the order of (source, target).

    Rows with the same two ends become one edge. Its weight is the ``"sum"`` of their weights, the ``"count"`` of the
    rows, or that of the ``"last"`` row: the latest one if rows have times, otherwise the last one given. Its time is
    that of the latest row; its attributes are the mean over the rows, or with ``"last"`` those of the last row.

    >>> rows = EdgeData(weight=np.array([5.0, 2.0, 1.0]), time=np.array([30.0, 10.0, 20.0]))
    >>> found = merged(np.array([0, 0, 1]), np.array([1, 1, 2]), 3, rows, "sum")
    >>> found.weight.tolist(), found.time.tolist()
    ([7.0, 1.0], [30.0, 20.0])
    """
    check_choice("duplicates", rule, DUPLICATES)
    data = data.checked(source.size)
    key = source.astype(np.int64) * n_nodes + target
    order = _order(source, target, key, data.time, n_nodes)
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    last = np.append(first[1:], key.size) - 1
    count = np.diff(np.append(first, key.size)).astype(np.float64)
    sorted_rows = data.rows(order)
    if rule == "last":
        return sorted_rows.rows(last)
    weight = count if rule == "count" else _sums(sorted_rows.weight, first)
    attributes = _sums(sorted_rows.attributes, first)
    return EdgeData(
        weight,
        None if data.time is None else sorted_rows.time[last],
        None if attributes is None else attributes / count[:, None],
    )


def _order(source: NDArray[Any], target: NDArray[Any], key: IntArray, time: Any, n_nodes: int) -> IntArray:
    """Return the order of rows by source, target and time; rows that are alike stay in the order given."""
    if key.size < LARGE:
        return np.argsort(key, kind="stable") if time is None else np.lexsort([time, key])
    from hopsight.system.kernels import order_by  # a third of the time, and not worth compiling for less

    order = np.arange(key.size) if time is None else np.argsort(time, kind="stable")
    order = order.astype(np.int32 if key.size < 2**31 else np.int64)
    found: IntArray = order_by(source, order_by(target, order, n_nodes), n_nodes)
    return found


def edge_names(names: Sequence[str] | None, attributes: Any) -> tuple[str, ...]:
    """Return the names of the edge attributes; by default ``e0, e1, …``."""
    n_columns = 0 if attributes is None else attributes.shape[1]
    if names is None or (not len(names) and n_columns):
        return tuple(f"e{column}" for column in range(n_columns))
    if len(names) != n_columns:
        raise ValueError(f"edge_attribute_names must have {plural(n_columns, 'name')}, got {len(names)}")
    return tuple(str(name) for name in names)


def _sums(values: FloatArray | None, first: IntArray) -> FloatArray | None:
    return values if values is None or not first.size else np.add.reduceat(values, first, axis=0)


def _numbers(field: str, values: ArrayLike | None, n_edges: int, n_dims: int) -> FloatArray | None:
    if values is None:
        return None
    try:
        given = np.asarray(values)
        numbers = given.astype(np.float64, copy=given.flags.writeable)
    except (TypeError, ValueError):
        raise ValueError(f"{field} must be numbers") from None
    if numbers.ndim != n_dims or numbers.shape[0] != n_edges:
        raise ValueError(f"{field} must have one row for each of the {n_edges} edges, got shape {numbers.shape}")
    if not np.isfinite(numbers).all():
        where = int(np.argwhere(~np.isfinite(numbers))[0][0])
        raise ValueError(f"{field} must be finite, but that of edge {where} is NaN or infinite")
    view = numbers.view()
    view.flags.writeable = False
    return view
