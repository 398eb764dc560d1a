"""Read events from a table: source, target, time, and perhaps an amount and a label."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import shortened
from hopsight.io import ids
from hopsight.io.columns import read_flags
from hopsight.io.ends import find_ends
from hopsight.io.files import reading
from hopsight.io.frames import Table, open_table
from hopsight.io.nodes import check_column
from hopsight.io.rules import TextSummary, text_kind, text_numbers
from hopsight.io.written import WRITTEN
from hopsight.streams.times import BLOCK, NO_EVENTS, PLAIN, as_seconds, time_form
from hopsight.system.lazy_polars import pl

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
    ignore: Sequence[str] = ()
    header: bool | None = None  # whether a text file has one; by default it is recognized
    times: str | None = None  # how times are written, as the first file decided (hopsight.streams.times)
    amounts: str | None = None  # the same of amounts, such as 1.234,50


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
        both = pl.concat([self.sources.cast(pl.String), self.targets.cast(pl.String)])
        names = both.unique(maintain_order=True)
        table = pl.DataFrame({"id": names, "key": [_key(name) for name in names]}, schema_overrides={"key": pl.UInt64})
        found = both.rename("id").to_frame().join(table, on="id", how="left", maintain_order="left")["key"].to_numpy()
        return found[: self.size].copy(), found[self.size :].copy()


def read_events(source: Any, columns: Columns) -> Events:
    """Read a table (a path, an address or a data frame) and return its events in order of time.

    Events of the same time keep the order of the rows.
    """
    with opened(source, columns) as (table, wanted):
        return events_of(_sorted(event_rows(_read(table, wanted), wanted, table.typed)))


@dataclass(frozen=True)
class Wanted:
    """The columns to read, with both ends found."""

    source: str
    target: str
    time: str
    amount: str | None
    label: str | None
    times: str = PLAIN
    amounts: str = PLAIN

    @property
    def as_text(self) -> list[str]:
        """The names of the columns that no text file is to read as numbers."""
        written = [self.amount] if self.amount is not None and self.amounts in WRITTEN else []
        return [self.source, self.target, *written]

    @property
    def names(self) -> list[str]:
        """The names of the columns, each once."""
        return list(
            dict.fromkeys(n for n in (self.source, self.target, self.time, self.amount, self.label) if n is not None)
        )


@contextmanager
def opened(source: Any, columns: Columns) -> Iterator[tuple[Table, Wanted]]:
    """Open a table and find its columns."""
    with (
        reading(source) if isinstance(source, Path) else nullcontext(),
        open_table(source, header=columns.header, by_blocks=True) as table,
    ):
        for name, option in (
            (columns.time, "time_column"),
            (columns.amount, "weight_column"),
            (columns.label, "label"),
            *((name, "ignore") for name in columns.ignore),
        ):
            check_column(option, name, table.names)
        special = {columns.time, columns.amount, columns.label, *columns.ignore}
        names = [name for name in table.names if name not in special]
        ends = find_ends(names, columns.source, columns.target, head=table.head)
        times = time_form(table, columns.time) if columns.times is None else columns.times
        amounts = columns.amounts or (PLAIN if columns.amount is None else _amount_form(table, columns.amount))
        yield table, Wanted(*ends, columns.time, columns.amount, columns.label, times, amounts)


def event_rows(frame: pl.DataFrame, wanted: Wanted, typed: bool, first: int = 0) -> pl.DataFrame:
    """Return rows of a table as events, checked: source, target, time, seconds, amount, row, and label if there is one.

    ``first`` is the number of rows before these.
    """
    n_rows = frame.height
    rows = {
        "source": ids.as_ids(frame[wanted.source], typed=typed).alias("source"),
        "target": ids.as_ids(frame[wanted.target], typed=typed).alias("target"),
        "time": frame[wanted.time].alias("time"),
        "seconds": as_seconds(frame[wanted.time], wanted.times),
        "amount": np.full(n_rows, np.nan) if wanted.amount is None else _numbers(frame[wanted.amount], wanted.amounts),
        "row": np.arange(first + 1, first + n_rows + 1),
    }
    if wanted.label is not None:
        rows["label"] = read_flags(frame[wanted.label])
    return pl.DataFrame(rows)


def events_of(rows: pl.DataFrame) -> Events:
    """Return rows in order of time as events."""
    labels = rows["label"].to_numpy() if "label" in rows.columns else None
    return Events(
        rows["source"], rows["target"], rows["time"], rows["seconds"].to_numpy(), rows["amount"].to_numpy(), labels,
        rows["row"].to_numpy(),
    )  # fmt: skip


def _read(table: Table, wanted: Wanted) -> pl.DataFrame:
    frame = table.read(wanted.names, text=wanted.as_text)
    if not frame.height:
        raise ValueError(NO_EVENTS)
    return frame


def _sorted(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sort("seconds", maintain_order=True)


def _amount_form(table: Table, name: str) -> str:
    """Return how the amounts in a column are written; all rows decide whether 1.234 is more than a thousand."""
    first, summary = 0, None
    for block in table.blocks([name], BLOCK, text=()):
        column = block[name]
        if column.dtype != pl.String:
            return PLAIN
        found = TextSummary.of(column, np.arange(first, first + len(column)))
        summary = found if summary is None else summary + found
        first += len(column)
    holds = PLAIN if summary is None else text_kind(name, summary)
    return holds if holds in WRITTEN else PLAIN


def _numbers(column: pl.Series, form: str) -> FloatArray:
    """Return amounts; an empty cell is NaN and not judged."""
    if column.dtype == pl.String:
        numbers = text_numbers(column, "numbers" if form == PLAIN else form)  # type: ignore[arg-type]
        empty = column.is_null() | (column.str.strip_chars() == "")
    else:
        numbers, empty = column.cast(pl.Float64, strict=False), column.is_null()
    wrong = (numbers.is_null() & ~empty).arg_true()
    if len(wrong):
        raise ValueError(
            f"column {column.name!r}, row {int(wrong[0]) + 1}: {shortened(column[wrong[0]])} is not a number"
        )
    values = numbers.fill_null(np.nan).to_numpy().astype(np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def _key(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(errors="replace"), digest_size=8).digest(), "little") | 1
