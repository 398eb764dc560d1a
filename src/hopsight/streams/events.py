"""Read events (source, target, time, perhaps an amount and a label), sorted on the disk, and attributes of nodes."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import Refusal, option, plural, shortened
from hopsight.io import ids
from hopsight.io.edges import edge_columns
from hopsight.io.ends import find_ends, state_ends
from hopsight.io.frames import Table, open_table
from hopsight.io.nodes import check_column, read_flags
from hopsight.io.notices import notice
from hopsight.io.rules import (
    MOST_WRONG,
    SECONDS_PER_DAY,
    SLASHED,
    WRITTEN,
    amount_span,
    are_currencies,
    are_void,
    as_currencies,
    check_none,
    is_filled,
    leaves_out_void,
    notice_ignored,
    notice_offsets,
    notice_undecided,
    notice_void,
    notice_written,
    rows_ignored,
    settle,
    text_kind,
    text_numbers,
    time_span,
    usual_times,
    without_ignored,
)
from hopsight.io.sources import reading
from hopsight.io.tables import find_id, find_joining, read_tables
from hopsight.io.textfile import with_encoding
from hopsight.io.times import find_clock, find_time, notice_clock, seconds_of_day
from hopsight.io.vocabulary import (
    WEIGHT_NAMES,
    currency_in,
    first_known,
    is_code_name,
    is_currency_name,
    is_money_name,
    is_row_id_name,
    is_status_name,
)
from hopsight.preprocess import AttributeTransform
from hopsight.streams.memory import N_ATTRIBUTES
from hopsight.streams.times import (
    ISO,
    NO_EVENTS,
    PLAIN,
    as_numbers,
    as_seconds,
    moment_words,
    time_form,
    time_pattern,
)
from hopsight.system.lazy_polars import pl

ROW = "hopsight row"
HEAD = 10_000  # rows by which columns are recognized
DATES_FROM = 3.15e8  # numbers of seconds after 1980 are dates
MOST_NAMED = 8  # of some columns
FEWEST_AMOUNTS = 10  # in a currency, before amounts in it are compared with others
LOG_UNIT = 1e8  # logarithms are summed as whole numbers of this fraction, so that no order of adding changes the sum
CHUNK = 200_000  # events that are judged between two commits
AHEAD, FEWEST_AHEAD, LONGER = 0.01, 100, 1.5  # share of events that may be dated ahead, of so many, and the gap before
PLACE = ".hopsight-events"  # a folder for sorting
MOST_COPIES = 1 << 18  # events of which a later file may have copies


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
    shown: str | None = None  # the pattern of times in results, as in the file
    amounts: str | None = None  # how amounts are written, such as 1.234,50
    currency: str | None = None
    unit: str = ""  # the currency of all amounts, without such a column
    void: Sequence[str] = ()  # columns of a status by which rows are left out
    category: Sequence[str] = ()  # columns that hold neither times nor amounts
    of_nodes: Sequence[str] = ()  # columns of the node table, which options may name as well
    clock: str | None = None  # the column of times of day beside days without them
    number: str | None = None  # the column that numbers events
    known: Sequence[str] | None = None  # the columns of the first file
    node_id: str | None = None  # the column of the node table with the ids of the events
    encoding: str | None = None  # of text files that are not UTF-8

    @property
    def as_text(self) -> list[str]:
        """The names of the columns that no text file is to read as numbers."""
        amount = self.amount if self.amounts in WRITTEN else None
        return [name for name in (self.source, self.target, self.currency, self.clock, amount) if name]

    @property
    def are_money(self) -> bool:
        """Whether the amounts are money: their column is called so, or they have a currency."""
        return self.amount is not None and bool(self.currency or self.unit or is_money_name(self.amount))

    @property
    def names(self) -> list[str]:
        """The names of the columns, each once."""
        names = (self.source, self.target, self.time, self.clock, self.amount, self.currency, self.label)
        return list(dict.fromkeys(name for name in names if name is not None))


@dataclass(frozen=True)
class SortedEvents:
    """Events in order of time; those of the same time keep the order of the rows, which is often that of finer times.

    They are rows with the columns source, target, time (as given), seconds, amount, currency, factor (1), row (its
    number in the table, from 1) and, where there is one, label.
    """

    path: Path
    size: int
    columns: Columns  # as they were found
    kinds: Any  # types of the ids, by column
    written: Mapping[str, str] = field(default_factory=dict)  # how a node table writes ids that it has in another form

    def ends(self) -> list[pl.Series]:
        """Return the different ids of both ends."""
        rows = pl.scan_parquet(self.path, glob=False)
        found = [rows.select(pl.col(end).unique()).collect()[end] for end in ("source", "target")]
        return [each.replace(self.written).unique() for each in found] if self.written else found

    def copies(self, before: pl.DataFrame | None) -> pl.DataFrame:
        """Return a number for each of the last events, here and before, by which a copy in a later file is known."""
        kept = MOST_COPIES if self.columns.number is not None else 0
        mine = pl.scan_parquet(self.path, glob=False).tail(kept).select("copy").collect()
        return mine if before is None else pl.concat([before, mine]).tail(MOST_COPIES)

    def as_in(self, known: pl.Series) -> SortedEvents:
        """Return the events with ids as a node table writes them, as ``detect`` reads them, after a notice."""
        every = pl.concat([each.alias("id") for each in self.ends()]).unique().sort()
        written = ids.written_differently(every.filter(~every.is_in(known.implode())), known)
        ids.notice_written(written, None)
        return replace(self, written=written)

    def chunks(self, done: int = 0) -> Iterator[pl.DataFrame]:
        """Yield the events from number ``done`` on."""
        rows = pl.scan_parquet(self.path, glob=False)
        for first in range(done, self.size, CHUNK):
            found = rows.slice(first, CHUNK).collect()
            if self.written:
                found = found.with_columns(pl.col("source", "target").replace(self.written))
            yield found.drop("copy").cast(self.kinds)


@contextmanager
def sorted_events(
    source: Any,
    columns: Columns,
    folder: Path,
    span: tuple[float, float] | None = None,
    before: pl.DataFrame | None = None,
) -> Iterator[SortedEvents]:
    """Check and sort the events of a table (a path, an address or a data frame).

    ``folder`` gets a folder for them, which is removed in the end. polars sorts, in files where memory runs short.
    Self-loops and rows without a time are left out with a notice, and so are times far outside ``span``, that of
    earlier events, or outside most of this table, and copies of the events ``before`` (:meth:`SortedEvents.copies`).
    """
    place = folder / PLACE
    shutil.rmtree(place, ignore_errors=True)  # of a run that was killed
    place.mkdir()
    try:
        with reading(source):
            named = source if columns.encoding is None else with_encoding(source, columns.encoding)
            table = open_table(named, header=columns.header)
            if columns.encoding is None and table.texts:
                columns = replace(columns, encoding=table.texts[0].encoding)
            continues = columns.times is not None
            if continues and (missing := [name for name in columns.names if name not in table.names]):
                raise ValueError(f"it has no column {missing[0]!r}: new events need the columns of the stream")
            columns = _find(table, columns)
            n_rows, n_loops, kinds = 0, 0, {"source": pl.Int64, "target": pl.Int64}
            for part, (rows, n_read) in enumerate(_blocks(table, columns, continues)):
                n_rows += n_read
                kinds = {name: kind for name, kind in kinds.items() if rows[name].dtype == kind}
                texts = rows.with_columns(pl.col("source", "target").cast(pl.String))
                apart = texts.filter(pl.col("source") != pl.col("target"))
                n_loops += texts.height - apart.height
                apart.write_parquet(place / f"{part:06}.parquet", compression="lz4")
            if n_rows == n_loops:
                raise ValueError("all its events are self-loops" if n_loops else NO_EVENTS)
            if n_loops:
                notice(f"Removed {plural(n_loops, 'self-loop')}.", None)
            all_of_it = pl.struct("number", "source", "target", "seconds", "amount", "currency")
            copy = pl.lit(0, pl.UInt64) if columns.number is None else all_of_it.hash()
            parts = pl.scan_parquet(sorted(place.iterdir()), glob=False).with_columns(copy=copy)
            parts, n_copies = _without_copies(parts, columns, before)
            parts, size = _in_time(parts, n_rows - n_loops - n_copies, columns, span)
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


def in_one_currency(events: pl.DataFrame, notes: dict[str, Any]) -> pl.DataFrame:
    """Return events with a column ``factor``, by which their amounts are multiplied to be compared.

    It is 1 for one currency: that of the first amount, until ten amounts are in another one, which then takes its
    place. An amount in another currency counts as many times the usual amount of that currency as it is, in the usual
    amount of the first: both are exp(mean of log amounts) of earlier events, and there must be ten of each, otherwise
    the amount is not judged. ``notes`` holds number and sum of these logarithms for each currency, and is changed.
    """
    known, continues = notes["currencies"], bool(notes["currencies"])
    table = pl.DataFrame(
        [(name, *values) for name, values in known.items()],
        schema={"currency": pl.String, "n": pl.Int64, "sum": pl.Int64}, orient="row",
    )  # fmt: skip
    here, log = pl.col("amount") > 0, (pl.col("amount").log() * LOG_UNIT).round()
    logs = events.select("currency", "amount").join(table, on="currency", how="left", maintain_order="left")
    logs = logs.with_columns(pl.col("n", "sum").fill_null(0), here=(here & pl.col("amount").is_finite()).cast(pl.Int64))
    logs = logs.with_columns(value=pl.when(here=1).then(log).otherwise(0).cast(pl.Int64))
    logs = logs.with_columns(
        n=pl.col("n") + (pl.col("here").cum_sum() - pl.col("here")).over("currency"),
        sum=pl.col("sum") + (pl.col("value").cum_sum() - pl.col("value")).over("currency"),
    )
    is_unit = _is_unit(logs, notes)
    n_unit, sum_unit = known.get(notes["unit"], (0, 0))
    ours = pl.col("currency").eq_missing(pl.lit(notes["unit"], dtype=pl.String)).cast(pl.Int64)
    logs = logs.with_columns(
        n_unit=n_unit + (pl.col("here") * ours).cum_sum() - pl.col("here") * ours,
        sum_unit=sum_unit + (pl.col("value") * ours).cum_sum() - pl.col("value") * ours,
    )
    factor = np.where(is_unit, 1.0, np.nan)
    enough = ~is_unit & (logs["n"] >= FEWEST_AMOUNTS) & (logs["n_unit"] >= FEWEST_AMOUNTS)
    n, total, n_unit, sum_unit = logs.filter(enough).select("n", "sum", "n_unit", "sum_unit").to_numpy().T
    factor[enough] = np.exp((sum_unit / n_unit - total / n) / LOG_UNIT)
    for name, number, log_sum in (
        logs.group_by("currency", maintain_order=True).agg(pl.col("here").sum(), pl.col("value").sum()).iter_rows()
    ):
        if continues and name not in known:
            new = name or "no currency"
            notice(f"Amounts in {new} are new to this stream: the first {FEWEST_AMOUNTS} of them are not judged.", None)
        before = known.get(name, [0, 0])
        known[name] = [before[0] + number, before[1] + log_sum]
    return events.with_columns(factor=factor)


def _is_unit(logs: pl.DataFrame, notes: dict[str, Any]) -> pl.Series:
    """Return which events are in the currency that others are compared with; ``notes`` gets the last such currency.

    ``logs`` has the number of earlier amounts in the same currency. No piece of a stream decides by what follows it.
    """
    if notes["unit"] is None:
        notes["unit"] = logs.filter(pl.col("amount").is_not_nan())["currency"].first()
    first, turn = notes["unit"], logs.height
    if notes["currencies"].get(first, (0, 0))[0] < FEWEST_AMOUNTS:
        tenth = ((logs["n"] == FEWEST_AMOUNTS - 1) & (logs["here"] == 1)).arg_true()
        if len(tenth):
            turn, notes["unit"] = tenth[0], logs["currency"][tenth[0]]
    units = (pl.lit(name, dtype=pl.String) for name in (first, notes["unit"]))
    unit = pl.when(pl.int_range(pl.len()) <= turn).then(next(units)).otherwise(next(units))
    return logs.select(pl.col("currency").eq_missing(unit)).to_series()


def have_hours(events: pl.DataFrame) -> bool:
    """Return whether the times have an hour of the day: they are dates, or numbers of seconds after 1980."""
    return as_numbers(events["time"]) is None or float(events["seconds"][0]) > DATES_FROM


def _find(table: Table, columns: Columns) -> Columns:
    """Find the columns of a table as ``detect`` does, and how times and amounts are written, unless that is known."""
    of_nodes = {*columns.of_nodes, *rows_ignored(columns.ignore, columns.of_nodes)}
    for name, parameter in (
        (columns.time, "time_column"),
        (columns.amount, "weight_column"),
        (columns.label, "label"),
        *((name, "ignore") for name in columns.ignore if name not in rows_ignored(columns.ignore, table.names)),
        *((name, "category") for name in columns.category),
    ):
        if parameter not in ("ignore", "category") or name not in of_nodes:
            check_column(parameter, name, table.names)
    special = {columns.time, columns.amount, columns.label, *columns.ignore}
    if columns.times is None:
        ends = {columns.source, columns.target}
        columns = _recognized(
            table, columns, [name for name in table.names if name not in (special | ends) - {columns.time}]
        )
    special |= {columns.time, columns.clock, columns.amount, columns.currency}
    names = [name for name in table.names if name not in special]
    source, target = find_ends(names, columns.source, columns.target, table)
    given = (columns.source, columns.target)
    columns = replace(columns, source=source, target=target)
    if columns.times is not None:
        return _with_new_columns(table, columns)
    assert columns.time is not None
    state_ends((source, target), given, None)
    if unused := [name for name in table.names if name not in {*columns.names, *columns.ignore, *columns.void}]:
        notice(f"Not used: {_listed(unused)}.{_hint(table, columns, unused)}", None)
    form = time_form(table, columns.time)
    shown = time_pattern(table.head([columns.time])[columns.time], form)
    if columns.clock is not None:
        shown = f"{'%Y-%m-%d' if shown == ISO else shown} %H:%M"
    amounts = PLAIN if columns.amount is None else _amount_form(table, columns.amount)
    number = next((name for name in names if is_row_id_name(name) and name not in (source, target)), None)
    return replace(columns, times=form, shown=shown, amounts=amounts, number=number, known=tuple(table.names))


def _with_new_columns(table: Table, columns: Columns) -> Columns:
    """Return the columns of a later file; those that the first did not have are not used, but for a status."""
    assert columns.time is not None and columns.times is not None
    times = table.read([columns.time], text=())[columns.time]
    notice_offsets(times, None)
    notice_undecided(times, next((kind for kind, order in SLASHED.items() if order == columns.times), ""), None)
    before = table.names if columns.known is None else columns.known  # of a stream of an older version
    new = [name for name in table.names if name not in {*before, *columns.ignore}]
    void = _void(table, columns, new)
    if unused := [name for name in new if name not in void]:
        notice(f"Not used, as the first file of the stream did not have it: {_listed(unused)}.", None)
    return replace(columns, void=(*columns.void, *void))


def _void(table: Table, columns: Columns, names: Sequence[str]) -> list[str]:
    """Return the columns of a status by which rows are left out: what is rare need not be among the first rows."""
    compared, found = {name for name, _ in rows_ignored(columns.ignore, table.names).values()}, []
    for name in filter(is_status_name, names):
        read = [*dict.fromkeys([name, *compared])]
        status = without_ignored(table.read(read, text=[name]), columns.ignore, {})[name]
        found += [name] if leaves_out_void(status, columns.ignore, None) else []
    return found


def _recognized(table: Table, columns: Columns, names: Sequence[str]) -> Columns:
    """Find the columns of times, amounts and currencies among these, by the first rows."""
    frame = next(table.blocks(names, HEAD, text=[]), None) if names else None
    if frame is None:
        frame = pl.DataFrame()
    names = [name for name in frame.columns if name not in columns.category]
    time = columns.time or find_time(frame, names) or find_time(_with_numbers(frame), names)
    if time is None:
        raise Refusal("time_column", f"is needed: no column looks like the time of an event, of {_listed(names)}")
    clock = find_clock(frame, names, time) if frame.height else None
    if clock is not None:
        notice_clock(time, clock, 0, None)
    weight = first_known(frame.columns, WEIGHT_NAMES)
    money = [
        name
        for name in frame.columns
        if name != time and (weight == name or is_money_name(name) or is_currency_name(name) or _are_codes(frame[name]))
    ]
    found = replace(edge_columns(frame, money, category=columns.category, notices=[]), time=time)
    amount = columns.amount or found.amount
    currency = None if amount is None else found.currency
    void = _void(table, columns, names)
    unit = "" if amount is None else found.units.get(amount) or currency_in(amount) or ""
    return replace(columns, time=time, clock=clock, amount=amount, currency=currency, unit=unit, void=void)


def _hint(table: Table, columns: Columns, unused: Sequence[str]) -> str:
    """Say how to give amounts, where there are none and a column may hold some."""
    frame = next(table.blocks(unused, HEAD, text=[]), pl.DataFrame())
    numbers = [column.name for column in _with_numbers(frame) if column.dtype.is_numeric() and column.count()]
    if columns.amount is not None or all(is_code_name(name) for name in numbers):
        return ""
    return f" If one of them is the size of an event, pass it as {option('weight_column')}."


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return f"{plural(len(names), 'column')} ({', '.join(map(repr, names[:MOST_NAMED]))}{more})"


def _are_codes(column: pl.Series) -> bool:
    return column.dtype == pl.String and are_currencies(column)


def _with_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table whose columns of numbers are numbers, also where all cells were read as text."""
    texts = [column for column in frame if column.dtype == pl.String]
    numbers = [(text, text.cast(pl.Float64, strict=False)) for text in texts]
    return frame.with_columns([number for text, number in numbers if number.null_count() == text.null_count()])


def _without_copies(parts: pl.LazyFrame, columns: Columns, before: pl.DataFrame | None) -> tuple[pl.LazyFrame, int]:
    """Leave out events that repeat the number of another, and all else of it, and say so; none if others share numbers.

    The other may be one of an earlier file. Returns the events that remain, and how many were left out.
    """
    if columns.number is None:
        return parts, 0
    numbers = parts.select("row", "number", "copy").collect()
    repeats = ~numbers["number"].is_first_distinct()
    if before is not None:
        repeats |= numbers["copy"].is_in(before["copy"].implode())
    again = numbers.filter(repeats)
    if not again.height:
        return parts, 0
    shared = parts.filter(pl.col("number").is_in(again["number"].unique().implode()))
    if shared.select(pl.col("copy").n_unique()).collect().item() > again["number"].n_unique():
        return parts, 0
    are = "1 event is an exact copy" if again.height == 1 else f"{again.height:,} events are exact copies"
    first = f"first in row {again['row'][0]}, with the same {columns.number!r}"
    notice(f"{are} of earlier ones, {first}: {'it is' if again.height == 1 else 'they are'} left out.", None)
    return parts.filter(~pl.col("row").is_in(again["row"].implode())), again.height


def _in_time(
    parts: pl.LazyFrame, n_rows: int, columns: Columns, span: tuple[float, float] | None
) -> tuple[pl.LazyFrame, int]:
    """Leave out events far outside the span of the others, and say so; return the others and their number.

    Far is ten times as long as the span, and ten years at least where times are dates. The span is that of earlier
    files, or of 90% of the rows.
    """
    seconds = pl.col("seconds")
    middle = parts.select(
        seconds.quantile(0.05, "higher").alias("low"), seconds.quantile(0.95, "lower").alias("high"),
        seconds.len().alias("size"),
    ).collect().row(0, named=True)  # fmt: skip
    if not middle["size"]:
        raise ValueError("none of its events has a time")
    low, high = span or (middle["low"], middle["high"])
    dated = low > DATES_FROM or as_numbers(parts.select("time").head(1).collect()["time"]) is None
    inside = seconds.is_between(*usual_times(low, high, dated=dated))
    far = parts.filter(~inside).select("row", pl.col("time").cast(pl.String)).sort("row").collect()
    empty = n_rows - middle["size"]
    if empty:
        either = f"{columns.time!r}{'' if columns.clock is None else f' or {columns.clock!r}'}"
        notice(f"Left out {plural(empty, 'row')} without a time in column {either}.", None)
    if far.height:
        row, time = far.row(0)
        notice(
            f"Left out {plural(far.height, 'event')} with a time far from all others, such as {time} in row {row}.",
            None,
        )
    if far.height == middle["size"]:
        raise ValueError("all its events are far outside the time of the stream so far")
    inside_it = parts.filter(inside)
    _say_read(inside_it, columns, dated=dated)
    inside_it = _not_ahead(inside_it, columns) if dated else inside_it
    if 2 * inside_it.select(seconds.n_unique()).collect().item() < middle["size"] - far.height:
        notice("Most events share their time with others: the order of rows decides which of them comes first.", None)
    return inside_it, middle["size"] - far.height


def _not_ahead(parts: pl.LazyFrame, columns: Columns) -> pl.LazyFrame:
    """Let the few events that are dated ahead count as if they came with the last of the others, and say so.

    Because of some days of value in the future, all of the next file would come late. They are at most 1% of the
    events, and three of a few hundred, after a gap of a day at least that is half as long again as any before: what
    happens in the night after a day of events keeps its time.
    """
    found = parts.select("row", "seconds").sort("seconds", "row").collect()
    if found.height < FEWEST_AHEAD:
        return parts
    gaps, first = found["seconds"].diff().to_numpy(), found.height - max(3, int(AHEAD * found.height))
    long = np.flatnonzero(gaps[first:] > max(LONGER * gaps[1:first].max(), SECONDS_PER_DAY))
    if not long.size:
        return parts
    place = first + int(long[0])
    (_, last), (row, moment), n_ahead = found.row(place - 1), found.row(place), found.height - place
    shown, until = (moment_words(each, columns.shown or ISO) for each in (moment, last))
    those, it = ("1 event is", "it counts") if n_ahead == 1 else (f"{n_ahead:,} events are", "they all count")
    notice(f"{those} dated ahead of all others, from {shown} on in row {row:,}: {it} as of {until}.", None)
    return parts.with_columns(pl.col("seconds").clip(upper_bound=last))


def _say_read(parts: pl.LazyFrame, columns: Columns, *, dated: bool) -> None:
    """Say how far times and amounts reach, as ``detect`` does: whoever knows the table sees what is wrong."""
    seconds, amount = pl.col("seconds"), pl.col("amount").fill_nan(None)
    values = {"first": seconds.min(), "last": seconds.max(), "least": amount.min(), "most": amount.max()}
    found = parts.select(**values).collect().row(0, named=True)
    pattern = (columns.shown or ISO).partition(" %H")[0] if dated else None
    spans = {(columns.time, "time"): time_span(found["first"], found["last"], pattern)}
    if found["least"] is not None:
        sums = parts.filter(amount.is_not_null()).group_by("currency").agg(amount.sum()).sort("currency").collect()
        totals = {unit or "": total for unit, total in sums.rows()}
        spans[columns.amount, "amount"] = amount_span(found["least"], found["most"], totals)
    for (name, role), span in spans.items():
        notice(f"Read column {name!r} as the {role} of each event: {span}.", None)


def _blocks(table: Table, columns: Columns, continues: bool) -> Iterator[tuple[pl.DataFrame, int]]:
    """Yield blocks of checked rows that have ids and a time, and how many rows with ids there were.

    If the table ``continues`` a stream, an earlier one has decided how times and amounts are written.
    """
    first, lacking, wrong = 0, list[int](), {"time": _Wrong(), "time of day": _Wrong(), "number": _Wrong()}
    names = columns.names + [name for name in table.names if name == columns.number]
    names += [name for name, _ in rows_ignored(columns.ignore, table.names).values()]
    void = {name: list[pl.Series]() for name in columns.void if name in table.names}
    names, left_out = list(dict.fromkeys([*names, *void])), dict[str, int]()
    for frame in table.blocks(names, CHUNK, text=columns.as_text):
        numbered = frame.with_columns(pl.int_range(first + 1, first + 1 + pl.len()).alias(ROW))
        numbered, n_before = without_ignored(numbered, columns.ignore, left_out), len(lacking)
        for name in void:
            did_not = are_void(numbered[name].cast(pl.String))
            void[name].append(numbered[name].filter(did_not))
            numbered = numbered.filter(~did_not)
        try:
            rows = _event_rows(numbered, columns, table.typed, lacking, wrong)
        except ValueError:
            if first:  # the message shall name the row of the table, not that of the block
                whole = table.read(names, text=columns.as_text).with_row_index(ROW, 1)
                _event_rows(whole, columns, table.typed, [], wrong)
            raise
        yield rows, numbered.height - len(lacking) + n_before
        first += frame.height
    notice_ignored({entry: n for entry, n in left_out.items() if n or not continues}, None)
    for parts in void.values() if continues else ():
        notice_void(pl.concat(parts), None)
    if lacking:
        ids.notice_missing(len(lacking), lacking[0] - 1, None)
    for noun, found in wrong.items():
        if continues and found.n_wrong > MOST_WRONG * found.n_filled:
            raise ValueError(
                f"{found.where} is not a {noun} as the stream has them: write new events as those of its first file, "
                "or start a new stream with hopsight stream"
            )
        if found.where:
            settle(found.name, found.where, (found.n_wrong, found.n_filled), noun, None)


@dataclass
class _Wrong:
    """The cells of a column so far that are something else than a time or a number."""

    name: str = ""
    where: str = ""  # the first of them
    n_wrong: int = 0
    n_filled: int = 0

    def count(self, column: pl.Series, values: pl.Series, rows: pl.Series) -> None:
        """Count the cells that are filled and have no value; ``rows`` are the numbers of the rows."""
        is_text = column.dtype == pl.String
        is_known = is_filled(column) if is_text else column.is_not_null() & ~column.cast(pl.Float64).is_nan()
        wrong = values.is_null() & is_known
        if wrong.any() and not self.where:
            at = int(wrong.arg_true()[0])
            self.name = column.name
            self.where = f"column {column.name!r}, row {rows[at]}: {shortened(column[at])}"
        self.n_wrong += int(wrong.sum())
        self.n_filled += int(is_known.sum())


def _event_rows(
    frame: pl.DataFrame, columns: Columns, typed: bool, lacking: list[int], wrong: dict[str, _Wrong]
) -> pl.DataFrame:
    """Return numbered rows of a table as events, checked.

    Rows without a node id, such as a total below the table, are left out first; ``lacking`` gets their numbers. Cells
    that are no times or numbers are counted as ``wrong``.
    """
    assert columns.source and columns.target and columns.time and columns.times
    ends = (columns.source, columns.target)
    frame = frame.with_columns(ids.as_ids(frame[name], typed=typed) for name in ends)
    has_ids = frame.select(pl.all_horizontal(pl.col(name).is_not_null() for name in ends)).to_series()
    lacking += frame.filter(~has_ids)[ROW].to_list()
    frame = frame.filter(has_ids)
    seconds = as_seconds(frame[columns.time], columns.times).rename("seconds")
    wrong["time"].count(frame[columns.time], seconds, frame[ROW])
    time = frame[columns.time].alias("time")
    if columns.clock is not None:
        since_midnight = seconds_of_day(frame[columns.clock], [])
        wrong["time of day"].count(frame[columns.clock].cast(pl.String), since_midnight, frame[ROW])
        seconds += since_midnight
        time = time.cast(pl.String) + (" " + frame[columns.clock].cast(pl.String)).fill_null("")
    if columns.amount is not None:
        amount = _numbers(frame[columns.amount], columns.amounts)
        wrong["number"].count(frame[columns.amount], amount, frame[ROW])
    else:
        amount = pl.repeat(None, frame.height, dtype=pl.Float64, eager=True)
    currency = pl.repeat(columns.unit, frame.height, eager=True)
    if columns.currency is not None:
        currency = as_currencies(frame[columns.currency].cast(pl.String))
    rows = {
        "source": frame[columns.source],
        "target": frame[columns.target],
        "time": time,
        "seconds": seconds,
        "amount": amount.fill_null(np.nan),
        "currency": currency,
        "factor": np.ones(frame.height),
        "row": frame[ROW],
        "number": (frame[columns.number] if columns.number in frame.columns else frame[ROW]).cast(pl.String).hash(),
    }
    if columns.label is not None:
        rows["label"] = read_flags(frame[columns.label])
    return pl.DataFrame(rows).filter(seconds.is_not_null())


def _amount_form(table: Table, name: str) -> str:
    """Return how the amounts in a column are written; all rows decide whether 1.234 is more than a thousand."""
    column = table.read([name], text=())[name]
    holds = text_kind(column, []) if column.dtype == pl.String else PLAIN
    notice_written(column, holds, None)
    return holds if holds in WRITTEN else PLAIN


def _numbers(column: pl.Series, form: str | None) -> pl.Series:
    """Return amounts, null where there is none; it is not judged."""
    if column.dtype == pl.String:
        numbers = text_numbers(column, "numbers" if form == PLAIN else str(form))
    else:
        numbers = column.cast(pl.Float64, strict=False)
    check_none(numbers.is_infinite().fill_null(False), column, "is not a finite number")
    return numbers.cast(pl.Float64).fill_nan(None)


def _key(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(errors="replace"), digest_size=8).digest(), "little") | 1


def joining_column(path: Path, ends: Sequence[pl.Series], columns: Columns) -> str:
    """Return the column of a node table with the ids of the events, as ``detect`` finds it; another notice names it."""
    names = (columns.source or "", columns.target or "")
    with reading(path):
        named = [end.alias(name) for end, name in zip(ends, names, strict=True)]
        return find_joining(open_table(path, notices=[]), named, [])


def check_joined(path: Path, name: str, known: pl.Series, ends: Sequence[pl.Series]) -> None:
    """Say how many ids of the events a node table has; none is refused."""
    every = pl.concat([each.alias("id") for each in ends]).unique()
    n_known = int(every.is_in(known.implode()).sum())
    if not n_known:
        raise ValueError(f"{path}: none of the ids of the events is in its column {name!r}")
    notice(f"{n_known:,} of {plural(len(every), 'id')} have a row in the node table, by column {name!r}.", None)


class NodeAttributes:
    """Attributes of a node table as ``detect`` reads them: standardized, on at most eight principal axes.

    An id without a row has NaN. ``left_out`` are the ids on which no alert is raised.
    """

    def __init__(self, path: Any, columns: Columns) -> None:
        with reading(path):
            table = open_table(path)
            name = columns.node_id or find_id(table.names, None)
            two = table.read([name], text=[name])[name].drop_nulls().head(2)
        if len(two) < 2:
            raise ValueError(f"{path}: a node table needs two rows at least")
        pair = pl.DataFrame({"source": two[:1], "target": two[1:2]})
        of_rows = rows_ignored(columns.ignore, table.names)
        category, ignore = (
            [each for each in some if each in {*table.names, *of_rows}] for some in (columns.category, columns.ignore)
        )
        graph = read_tables(pair, path, id_column=name, derive="none", category=category, ignore=ignore, notices=[])
        _, values = AttributeTransform.fit_apply(
            graph.attributes, graph.attribute_names, scaling="standard", n_components=N_ATTRIBUTES,
            rng=np.random.default_rng(0),
        )  # fmt: skip
        values = np.asarray(values.todense() if hasattr(values, "todense") else values, dtype=np.float32)
        # The last row is that of ids without one; columns beyond those of the table are zero.
        self.values = np.zeros((len(values) + 1, N_ATTRIBUTES), np.float32)
        self.values[:-1, : values.shape[1]] = values
        self.values[-1] = np.nan
        self.rows = pl.DataFrame({"id": [str(each) for each in graph.node_ids], "row": np.arange(len(values))})
        self.left_out = self.rows["id"].filter(
            np.zeros(len(values), bool) if graph.unranked is None else graph.unranked
        )
        if of_rows:
            notice(f"No alerts are raised on {plural(len(self.left_out), 'node')} with {' or '.join(of_rows)}.", None)

    def of(self, events: pl.DataFrame) -> NDArray[np.float32]:
        """Return (events, 2, axes): the attributes of sources and targets."""
        ends = []
        for name in ("source", "target"):
            found = events.select(pl.col(name).cast(pl.String).alias("id")).join(
                self.rows, on="id", how="left", maintain_order="left"
            )["row"]
            ends.append(self.values[found.fill_null(-1).to_numpy()])
        return np.stack(ends, axis=1)
