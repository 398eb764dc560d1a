"""Node ids in tables: whole numbers stay numbers, everything else is text; and the position of each id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import shortened
from hopsight.system.lazy_polars import pl


def as_ids(column: pl.Series, *, typed: bool) -> pl.Series:
    """Return a column of node ids as Int64 if all are whole numbers, and as text otherwise.

    Text in an untyped file counts as a number only in its usual form: ``007`` stays text, because as a number it would
    be written as ``7``.

    >>> import polars as pl
    >>> as_ids(pl.Series("id", ["7", "12"]), typed=False).to_list()
    [7, 12]
    >>> as_ids(pl.Series("id", ["007", "12"]), typed=False).to_list()
    ['007', '12']
    """
    if column.dtype.is_nested():
        raise ValueError(f"column {column.name!r} holds {column.dtype}, not node ids; name another column")
    if column.null_count():
        where = int(column.is_null().arg_true()[0])
        raise ValueError(f"column {column.name!r}, row {where + 1} has no node id; fill it in, or remove the row")
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.Int64 or (column.dtype == pl.String and typed):
        return column
    numbers = column.cast(pl.Int64, strict=False)
    text = column.cast(pl.String)
    if column.dtype.is_float():
        same = bool((numbers.cast(pl.Float64) == column).fill_null(False).all())
    elif column.dtype.is_integer():
        same = not numbers.null_count()
    else:
        same = column.dtype == pl.String and bool((numbers.cast(pl.String) == text).fill_null(False).all())
    return numbers if same else text


def same_type(*columns: pl.Series) -> tuple[pl.Series, ...]:
    """Return the columns unchanged if all hold numbers, and all as text otherwise."""
    if all(column.dtype == pl.Int64 for column in columns):
        return columns
    return tuple(column.cast(pl.String) for column in columns)


def distinct_numbers(*columns: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return all numbers once, sorted, or None if they are too far apart for a table of those between.

    >>> distinct_numbers(np.array([7, 5]), np.array([7, 6])).tolist()
    [5, 6, 7]
    """
    low, high = min(int(column.min()) for column in columns), max(int(column.max()) for column in columns)
    if high - low > sum(column.size for column in columns):
        return None
    present = np.zeros(high - low + 1, dtype=bool)
    for column in columns:
        present[column - low] = True
    return np.flatnonzero(present) + low


def check_unique(ids: pl.Series) -> None:
    """Refuse an id that occurs twice."""
    twice = ids.is_duplicated()
    if twice.any():
        first = int(twice.arg_true()[0])
        rows = (ids == ids[first]).arg_true().to_list()
        raise ValueError(f"node {shortened(ids[first])} has two rows, {rows[0] + 1} and {rows[1] + 1}")


def positions(
    ids: pl.Series, *ends: pl.Series, others: Mapping[str, pl.Series] | None = None
) -> tuple[NDArray[Any], ...]:
    """Return the position of every edge end among the ids, which have the same type; refuse unknown ends.

    ``others`` are the other columns of the node table, in which ids are looked for if most are unknown.
    """
    look_up = _by_table if ids.dtype == pl.Int64 and len(ids) and _are_close(ids) else _by_hash
    found = tuple(look_up(ids, end) for end in ends)
    if any(place.size and place.min() < 0 for place in found):
        from hopsight.io.strangers import describe_strangers

        raise ValueError(describe_strangers(ids, ends, found, others or {}))
    return found


def _are_close(ids: pl.Series) -> bool:
    return int(ids.max()) - int(ids.min()) < 8 * len(ids) + 1000  # type: ignore[arg-type]


def _by_table(ids: pl.Series, ends: pl.Series) -> NDArray[Any]:
    """Look up numbers in a table of all numbers between the lowest and the highest id; -1 where absent."""
    numbers, nodes = ends.to_numpy(), ids.to_numpy()
    low, kind = nodes.min(), np.int32 if nodes.size < 2**31 else np.int64
    inside = True if not numbers.size else bool(numbers.min() >= low and numbers.max() <= nodes.max())
    if inside and nodes.size > 1 and bool((np.diff(nodes) == 1).all()):
        return (numbers - low).astype(kind)
    table = np.full(nodes.max() - low + 1, -1, dtype=kind)
    table[nodes - low] = np.arange(nodes.size)
    if inside:
        return table[numbers - low]
    within = (numbers >= low) & (numbers <= nodes.max())
    return np.where(within, table[np.where(within, numbers - low, 0)], -1)


def _by_hash(ids: pl.Series, ends: pl.Series) -> NDArray[np.int64]:
    """Look up ids by their hashes, which is three times as fast as joining text; -1 where absent."""
    found = _join(ids.hash(), ends.hash())
    same = found.size == len(ends) and bool((ids.gather(np.maximum(found, 0)) == ends).to_numpy()[found >= 0].all())
    return found if same else _join(ids, ends)  # two ids share a hash


def _join(ids: pl.Series, ends: pl.Series) -> NDArray[np.int64]:
    nodes = pl.DataFrame({"id": ids, "position": np.arange(len(ids))})
    edges = pl.DataFrame({"id": ends, "row": np.arange(len(ends))})
    found = edges.join(nodes, on="id", how="left")  # in any order
    result = np.empty(found.height, dtype=np.int64)
    if found.height == len(ends):
        result[found["row"].to_numpy()] = found["position"].fill_null(-1).to_numpy()
    return result
