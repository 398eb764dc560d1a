"""Read events from a table: source, target, time, and perhaps an amount and a label; sort them by time on the disk."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import Refusal, shortened
from hopsight.io import ids
from hopsight.io.edges import find_ends
from hopsight.io.frames import Table, open_table
from hopsight.io.nodes import check_column, read_flags
from hopsight.io.notices import notice
from hopsight.io.rules import TIME_NAMES, WRITTEN, TextSummary, first_known, is_time, text_kind, text_numbers
from hopsight.io.sources import reading
from hopsight.streams.times import NO_EVENTS, PLAIN, as_seconds, time_form
from hopsight.system.lazy_polars import pl

CHUNK = 200_000  # events that are judged between two commits
PLACE = ".hopsight-events"  # a folder for sorting


@dataclass(frozen=True)
class Columns:
    """Which columns of a table hold what; ends and a time that are not named are recognized."""

    time: str | None = None
    source: str | None = None
    target: str | None = None
    amount: str | None = None
    label: str | None = None
    ignore: Sequence[str] = ()
    header: bool | None = None  # whether a text file has one; by default it is recognized
    times: str | None = None  # how times are written, as the first file decided (hopsight.streams.times)
    amounts: str | None = None  # the same of amounts, such as 1.234,50

    @property
    def as_text(self) -> list[str]:
        """The names of the columns that no text file is to read as numbers."""
        return [name for name in (self.source, self.target, self.amounts in WRITTEN and self.amount) if name]

    @property
    def names(self) -> list[str]:
        """The names of the columns, each once."""
        names = (self.source, self.target, self.time, self.amount, self.label)
        return list(dict.fromkeys(name for name in names if name is not None))


@dataclass(frozen=True)
class SortedEvents:
    """Events in order of time; those of the same time keep the order of the rows.

    They are rows with the columns source, target, time (as given), seconds, amount, row (its number in the table,
    from 1) and, where there is one, label.
    """

    path: Path
    size: int
    columns: Columns  # as they were found
    kinds: Any  # types of the ids, by column

    def chunks(self, done: int = 0) -> Iterator[pl.DataFrame]:
        """Yield the events from number ``done`` on."""
        rows = pl.scan_parquet(self.path, glob=False)
        for first in range(done, self.size, CHUNK):
            yield rows.slice(first, CHUNK).collect().cast(self.kinds)


@contextmanager
def sorted_events(source: Any, columns: Columns, folder: Path) -> Iterator[SortedEvents]:
    """Check and sort the events of a table (a path, an address or a data frame).

    ``folder`` gets a folder for them, which is removed in the end. polars sorts, in files where memory runs short.
    """
    place = folder / PLACE
    shutil.rmtree(place, ignore_errors=True)  # of a run that was killed
    place.mkdir()
    try:
        with reading(source):
            table = open_table(source, header=columns.header)
            columns = _find(table, columns)
            size, kinds = 0, {"source": pl.Int64, "target": pl.Int64}
            for part, rows in enumerate(_blocks(table, columns)):
                size += rows.height
                kinds = {name: kind for name, kind in kinds.items() if rows[name].dtype == kind}
                texts = rows.with_columns(pl.col("source", "target").cast(pl.String))
                texts.write_parquet(place / f"{part:06}.parquet", compression="lz4")
        if not size:
            raise ValueError(NO_EVENTS)
        parts = pl.scan_parquet(sorted(place.iterdir()), glob=False)
        path = place / "sorted.parquet"
        parts.sort("seconds", "row").sink_parquet(path, compression="lz4", row_group_size=CHUNK)
        yield SortedEvents(path, size, columns, kinds)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def keys_of(events: pl.DataFrame) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return a number for each source and target, the same in every run: a hash of the id's text."""
    both = pl.concat([events["source"].cast(pl.String), events["target"].cast(pl.String)])
    names = both.unique(maintain_order=True)
    table = pl.DataFrame({"id": names, "key": [_key(name) for name in names]}, schema_overrides={"key": pl.UInt64})
    found = both.rename("id").to_frame().join(table, on="id", how="left", maintain_order="left")["key"].to_numpy()
    return found[: events.height].copy(), found[events.height :].copy()


def have_hours(events: pl.DataFrame) -> bool:
    """Return whether the times have an hour of the day: they are dates, or numbers of seconds after 1980."""
    return events["time"].dtype.is_temporal() or float(events["seconds"][0]) > 3.15e8


def _find(table: Table, columns: Columns) -> Columns:
    """Find the columns of a table, and how times and amounts are written."""
    for name, option in (
        (columns.time, "time_column"),
        (columns.amount, "weight_column"),
        (columns.label, "label"),
        *((name, "ignore") for name in columns.ignore),
    ):
        check_column(option, name, table.names)
    special = {columns.source, columns.target, columns.time, columns.amount, columns.label, *columns.ignore}
    time = columns.time or _find_time(table, [name for name in table.names if name not in special])
    special -= {columns.source, columns.target}
    names = [name for name in table.names if name not in special | {time}]
    source, target = find_ends(names, columns.source, columns.target, head=table.head)
    times = time_form(table, time) if columns.times is None else columns.times
    amounts = columns.amounts or (PLAIN if columns.amount is None else _amount_form(table, columns.amount))
    return replace(columns, time=time, source=source, target=target, times=times, amounts=amounts)


def _find_time(table: Table, names: Sequence[str]) -> str:
    """Return the first column of dates, or a column with a usual name."""
    head = table.head(names)
    dated = [name for name in head.columns if is_time(head[name])]
    found = first_known(dated, TIME_NAMES) or next(iter(dated), None) or first_known(names, TIME_NAMES)
    if found is None:
        raise Refusal("time_column", "is needed: no column looks like the time of an event")
    notice(f"Read column {found!r} as the time of each event.", None)
    return found


def _blocks(table: Table, columns: Columns) -> Iterator[pl.DataFrame]:
    """Yield blocks of checked rows."""
    first = 0
    for frame in table.blocks(columns.names, CHUNK, text=columns.as_text):
        try:
            yield _event_rows(frame, columns, table.typed, first)
        except ValueError:
            if first:  # the message shall name the row of the table, not that of the block
                _event_rows(table.read(columns.names, text=columns.as_text), columns, table.typed)
            raise
        first += frame.height


def _event_rows(frame: pl.DataFrame, columns: Columns, typed: bool, first: int = 0) -> pl.DataFrame:
    """Return rows of a table as events, checked; ``first`` is the number of rows before these."""
    assert columns.source and columns.target and columns.time
    time, amount = frame[columns.time], None if columns.amount is None else frame[columns.amount]
    rows = {
        "source": frame[columns.source],
        "target": frame[columns.target],
        "time": time.alias("time"),
        "seconds": as_seconds(time, columns.times),
        "amount": np.full(len(time), np.nan) if amount is None else _numbers(amount, columns.amounts),
        "row": np.arange(first + 1, first + len(time) + 1),
    }
    if columns.label is not None:
        rows["label"] = read_flags(frame[columns.label])
    return ids.with_ids(pl.DataFrame(rows), ("source", "target"), typed=typed, notices=None, first=first)


def _amount_form(table: Table, name: str) -> str:
    """Return how the amounts in a column are written; all rows decide whether 1.234 is more than a thousand."""
    first, summary = 0, None
    for block in table.blocks([name], CHUNK, text=()):
        column = block[name]
        if column.dtype != pl.String:
            return PLAIN
        found = TextSummary.of(column, np.arange(first, first + len(column)))
        summary = found if summary is None else summary + found
        first += len(column)
    holds = PLAIN if summary is None else text_kind(name, summary)
    return holds if holds in WRITTEN else PLAIN


def _numbers(column: pl.Series, form: str | None) -> NDArray[np.float64]:
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
