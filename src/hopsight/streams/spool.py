"""Sort the events of a large table on the disk, so that only one chunk of them is in memory at a time."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.io.frames import Table
from hopsight.streams.events import Columns, Events, Wanted, event_rows, events_of, opened
from hopsight.streams.times import NO_EVENTS
from hopsight.system.lazy_polars import pl

CHUNK = 200_000  # events that are judged between two commits
EVERY = 64  # one of so many times decides where chunks begin
GROUP = 10_000  # rows that a reader of the parts can skip together
SPOOL = ".hopsight-events"


@dataclass(frozen=True)
class Spool:
    """Events in order of time, in chunks; events of the same time keep the order of the rows."""

    size: int
    rows: pl.DataFrame | None  # all, if there are few
    parts: tuple[Path, ...] = ()
    starts: tuple[float, ...] = ()  # times at which chunks begin, except the first
    whole_ids: tuple[bool, bool] = (False, False)
    times: str | None = None  # how times are written
    amounts: str | None = None

    def chunks(self, done: int = 0) -> Iterator[Events]:
        """Yield the events from number ``done`` on, in chunks that do not depend on ``done``."""
        before = 0
        for rows in self._chunks():
            if before + rows.height > done:
                yield events_of(rows.slice(max(0, done - before)))
            before += rows.height

    def _chunks(self) -> Iterator[pl.DataFrame]:
        if self.rows is not None:
            yield from self.rows.iter_slices(CHUNK)
            return
        kinds: Any = {name: pl.Int64 for name, whole in zip(("source", "target"), self.whole_ids, strict=True) if whole}
        lazy, seconds = pl.scan_parquet(list(self.parts), glob=False), pl.col("seconds")
        for low, high in zip((None, *self.starts), (*self.starts, None), strict=True):
            part = lazy if low is None else lazy.filter(seconds >= low)
            part = part if high is None else part.filter(seconds < high)
            yield from part.collect().sort("seconds", "row").cast(kinds).iter_slices(CHUNK)


@contextmanager
def spooled(source: Any, columns: Columns, folder: Path) -> Iterator[Spool]:
    """Check and sort the events of a table; ``folder`` gets a folder for them, which is removed in the end."""
    place = folder / SPOOL
    shutil.rmtree(place, ignore_errors=True)  # of a run that was killed
    try:
        with opened(source, columns) as (table, wanted):
            spool = replace(_spool(table, wanted, place), times=wanted.times, amounts=wanted.amounts)
        yield spool
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _spool(table: Table, wanted: Wanted, place: Path) -> Spool:
    size, samples, whole, held = 0, [], [True, True], None
    parts: list[Path] = []
    for rows in _blocks(table, wanted):
        if held is not None:
            _write(held, parts, place)
        held = rows
        size += rows.height
        samples.append(rows["seconds"].to_numpy()[EVERY - 1 :: EVERY].copy())
        whole = [each and rows[name].dtype == pl.Int64 for each, name in zip(whole, ("source", "target"), strict=True)]
    if held is None:
        raise ValueError(NO_EVENTS)
    if not parts:
        return Spool(size, held)
    _write(held, parts, place)
    times = np.sort(np.concatenate(samples))
    starts = np.unique(times[CHUNK // EVERY :: CHUNK // EVERY])
    return Spool(size, None, tuple(parts), tuple(starts.tolist()), (whole[0], whole[1]))


def _blocks(table: Table, wanted: Wanted) -> Iterator[pl.DataFrame]:
    """Yield blocks of checked rows, each in order of time."""
    first = 0
    for frame in table.blocks(wanted.names, CHUNK, text=wanted.as_text):
        try:
            rows = event_rows(frame, wanted, table.typed, first)
        except ValueError:
            if first:  # the message shall name the row of the table, not that of the block
                event_rows(table.read(wanted.names, text=wanted.as_text), wanted, table.typed)
            raise
        first += frame.height
        yield rows.sort("seconds", maintain_order=True)


def _write(rows: pl.DataFrame, parts: list[Path], place: Path) -> None:
    place.mkdir(exist_ok=True)
    parts.append(place / f"{len(parts):06}.parquet")
    same = rows.with_columns(pl.col("source", "target").cast(pl.String))
    same.write_parquet(parts[-1], row_group_size=GROUP, compression="lz4")
