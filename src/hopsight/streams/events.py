"""Read events from a table: source, target, time, and perhaps an amount and a label."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import shortened
from hopsight.io import ids
from hopsight.io.files import reading
from hopsight.io.frames import Table, open_table
from hopsight.io.nodes import check_column
from hopsight.io.tables import find_ends

if TYPE_CHECKING:
    import polars as pl

FloatArray = NDArray[np.float64]
KeyArray = NDArray[np.uint64]


@dataclass(frozen=True)
class Columns:
    """Which columns of a table hold what; ends that are not named are recognized."""

    time: str
    source: str | None = None
    target: str | None = None
    amount: str | None = None
    label: str | None = None


@dataclass(frozen=True)
class Events:
    """Events in order of time; ``rows`` are their row numbers in the table, from 1."""

    sources: pl.Series
    targets: pl.Series
    times: pl.Series  # as given
    seconds: FloatArray
    amounts: FloatArray
    labels: NDArray[np.int8] | None
    rows: NDArray[np.int64]

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self.seconds.size)

    @property
    def has_hours(self) -> bool:
        """Whether the times have an hour of the day: they are dates, or numbers of seconds after 1980."""
        return self.times.dtype.is_temporal() or (self.size > 0 and float(self.seconds[0]) > 3.15e8)

    def part(self, start: int, stop: int) -> Events:
        """Return a slice."""
        labels = None if self.labels is None else self.labels[start:stop]
        length = stop - start
        return Events(
            self.sources.slice(start, length), self.targets.slice(start, length), self.times.slice(start, length),
            self.seconds[start:stop], self.amounts[start:stop], labels, self.rows[start:stop],
        )  # fmt: skip

    def keys(self) -> tuple[KeyArray, KeyArray]:
        """Return a number for each source and target, the same in every run: a hash of the id's text."""
        import polars as pl

        both = pl.concat([self.sources.cast(pl.String), self.targets.cast(pl.String)])
        names = both.unique(maintain_order=True)
        table = pl.DataFrame({"id": names, "key": [_key(name) for name in names]}, schema_overrides={"key": pl.UInt64})
        found = both.rename("id").to_frame().join(table, on="id", how="left", maintain_order="left")["key"].to_numpy()
        return found[: self.size].copy(), found[self.size :].copy()


def read_events(source: Any, columns: Columns) -> Events:
    """Read a table (a path or a data frame) and return its events in order of time, ties in the order of the rows.

    Raises
    ------
    ValueError
        If a column is missing, or a time, an amount or an id is not what it should be.
    """
    if not isinstance(source, Path):
        with open_table(source) as table:
            return _events(table, columns)
    with reading(source), open_table(source) as table:
        return _events(table, columns)


def _events(table: Table, columns: Columns) -> Events:
    for name, option in ((columns.time, "time_column"), (columns.amount, "weight_column"), (columns.label, "label")):
        check_column(option, name, table.names)
    special = {columns.time, columns.amount, columns.label}
    names = [name for name in table.names if name not in special]
    source, target = find_ends(names, columns.source, columns.target)
    wanted = [source, target, *(name for name in special if name is not None)]
    frame = table.read(wanted, text=[source, target])
    if not frame.height:
        raise ValueError("it has a header but no events")
    seconds = as_seconds(frame[columns.time])
    order = np.argsort(seconds, kind="stable")
    amounts = np.full(frame.height, np.nan) if columns.amount is None else _numbers(frame[columns.amount])
    labels = None if columns.label is None else _flags(frame[columns.label])[order]
    return Events(
        ids.as_ids(_plain(frame[source]), typed=table.typed).gather(order),
        ids.as_ids(_plain(frame[target]), typed=table.typed).gather(order),
        frame[columns.time].gather(order),
        seconds[order],
        amounts[order],
        labels,
        order + 1,
    )


def as_seconds(column: pl.Series) -> FloatArray:
    """Return a column of times as UNIX seconds: dates of any kind, text that holds dates, or numbers of seconds."""
    import polars as pl

    empty = column.is_null()
    if empty.any():
        raise ValueError(f"column {column.name!r}, row {int(empty.arg_true()[0]) + 1} has no time")
    if column.dtype == pl.String:
        numbers = column.cast(pl.Float64, strict=False)
        column = _dates(column) if numbers.null_count() else numbers
    if column.dtype.is_temporal() and column.dtype not in (pl.Duration, pl.Time):
        return np.asarray(column.cast(pl.Datetime("us")).dt.epoch("us").to_numpy() / 1e6)
    if not column.dtype.is_numeric():
        raise ValueError(f"column {column.name!r} holds {column.dtype}, not times: dates or UNIX seconds are needed")
    seconds = column.cast(pl.Float64).to_numpy()
    bad = np.flatnonzero(~np.isfinite(seconds))
    if bad.size:
        raise ValueError(f"column {column.name!r}, row {bad[0] + 1}: {seconds[bad[0]]} is not a time")
    return np.asarray(seconds, dtype=np.float64)


def _dates(column: pl.Series) -> pl.Series:
    import polars as pl

    try:
        found = column.str.to_datetime(strict=False)
    except pl.exceptions.PolarsError:
        found = pl.Series(column.name, [None] * len(column), dtype=pl.Datetime)
    if found.null_count():
        row = int(found.is_null().arg_true()[0])
        raise ValueError(
            f"column {column.name!r}, row {row + 1}: {shortened(column[row])} is not a time: "
            "dates such as 2024-05-01 12:30:00 or UNIX seconds are needed"
        )
    return found


def _numbers(column: pl.Series) -> FloatArray:
    """Return amounts; an empty cell is NaN and not judged."""
    import polars as pl

    numbers = column.cast(pl.Float64, strict=False)
    wrong = (numbers.is_null() & column.is_not_null()).arg_true()
    if len(wrong):
        raise ValueError(
            f"column {column.name!r}, row {int(wrong[0]) + 1}: {shortened(column[wrong[0]])} is not a number"
        )
    values = numbers.fill_null(np.nan).to_numpy().astype(np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def _flags(column: pl.Series) -> NDArray[np.int8]:
    from hopsight.io.columns import read_flags

    return read_flags(column)


def _plain(column: pl.Series) -> pl.Series:
    import polars as pl

    return column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column


def _key(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(errors="replace"), digest_size=8).digest(), "little") | 1
