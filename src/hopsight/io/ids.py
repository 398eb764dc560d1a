"""Node ids in files: whole numbers stay numbers, everything else is text, and each id finds its position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

_NO_ROW = "node {} is in a link but has no row in the node table"


def as_ids(column: pl.Series, *, typed: bool) -> pl.Series:
    """Return a column of node ids as Int64 if all are whole numbers, as text otherwise.

    Text of an untyped file counts as a number only in its usual form: ``007`` stays text, or it would not come
    back as it was.

    >>> import polars as pl
    >>> as_ids(pl.Series("id", ["7", "12"]), typed=False).to_list()
    [7, 12]
    >>> as_ids(pl.Series("id", ["007", "12"]), typed=False).to_list()
    ['007', '12']
    """
    import polars as pl

    if column.null_count():
        where = int(column.is_null().arg_true()[0])
        raise ValueError(f"column {column.name!r}, row {where + 1} has no node id")
    if column.dtype == pl.Int64:
        return column
    if column.dtype == pl.String and typed:
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
    """Return the columns as numbers if all of them are, and all as text otherwise."""
    import polars as pl

    if all(column.dtype == pl.Int64 for column in columns):
        return columns
    return tuple(column.cast(pl.String) for column in columns)


def check_unique(ids: pl.Series) -> None:
    """Refuse a node with two rows."""
    twice = ids.is_duplicated()
    if twice.any():
        first = int(twice.arg_true()[0])
        rows = (ids == ids[first]).arg_true().to_list()
        raise ValueError(f"node {shown(ids[first])} has two rows, {rows[0] + 1} and {rows[1] + 1}")


def positions(ids: pl.Series, sources: pl.Series, targets: pl.Series) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the position in ``ids`` of both ends of every link (the links may come in another order)."""
    import polars as pl

    if ids.dtype == pl.Int64:
        low, high = int(ids.min()), int(ids.max())  # type: ignore[arg-type]
        if high - low < 8 * len(ids) + 1000:
            table = np.full(high - low + 1, -1, dtype=np.int64)
            table[ids.to_numpy() - low] = np.arange(len(ids))
            return _look_up(table, low, sources), _look_up(table, low, targets)
    nodes = pl.DataFrame({"id": ids, "position": np.arange(len(ids), dtype=np.int64)})
    links = pl.DataFrame({"source": sources, "target": targets})
    for end in ("source", "target"):
        found = links.join(nodes, left_on=end, right_on="id", how="left")
        unknown = found["position"].is_null()
        if unknown.any():
            stranger = found[end].filter(unknown)[0]
            raise ValueError(_NO_ROW.format(shown(stranger)))
        links = found.drop(end).rename({"position": f"{end}_position"})
    return links["source_position"].to_numpy(), links["target_position"].to_numpy()


def _look_up(table: NDArray[np.int64], low: int, ends: pl.Series) -> NDArray[np.int64]:
    """Return the positions of ids that are close together, by a table of all numbers from the lowest on."""
    numbers = ends.to_numpy()
    known = (numbers >= low) & (numbers < low + table.size)
    found = table[np.where(known, numbers - low, 0)]
    known &= found >= 0
    if not known.all():
        raise ValueError(_NO_ROW.format(int(numbers[~known][0])))
    return found


def shown(node: object) -> str:
    """Return an id as it stands in a message, cut if it is long."""
    text = repr(node)
    return text if len(text) <= 80 else f"{text[:77]}…"
