"""Decide what the columns of an edge table are: weight, time, numbers, categories, or nothing to learn from."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import option, plural
from hopsight.io import dates, rules
from hopsight.io.end_words import is_amount_name
from hopsight.io.notices import notice
from hopsight.io.roles import FEWEST_ROWS, TIME_NAMES, WEIGHT_NAMES, first_known, is_code_name, is_row_id, is_truth_name
from hopsight.system.lazy_polars import pl

NUMBERED = re.compile(r"column\d+")  # names of columns in a file without a header


@dataclass(frozen=True)
class EdgeColumns:
    """The usable columns of an edge table, one cell per row."""

    weight: str | None = None  # names of the columns among the others that hold the weight and the time of an edge
    time: str | None = None
    numbers: dict[str, pl.Series] = field(default_factory=dict)  # null where a cell is empty
    times: dict[str, pl.Series] = field(default_factory=dict)  # seconds since 1970, or the table's own numbers
    categories: dict[str, pl.Series] = field(default_factory=dict)  # text
    dated: set[str] = field(default_factory=set)  # names of the columns of times that hold dates

    def summarized(self) -> tuple[list[pl.Series], ...]:
        """Return the columns of numbers, of times and of categories, with dates in days, as people count."""
        days = [column / dates.SECONDS_PER_DAY if name in self.dated else column for name, column in self.times.items()]
        return [*self.numbers.values()], days, [*self.categories.values()]

    @property
    def units(self) -> dict[str, str]:
        """The units of the summarized columns of times; numbers that are no UNIX seconds have one of their own."""
        known = {name: dates.IN_SECONDS for name, column in self.times.items() if _are_unix(column)}
        return known | dict.fromkeys(self.dated, dates.IN_DAYS)

    def __bool__(self) -> bool:
        return bool(self.numbers or self.times or self.categories)

    def edge_fields(self, notices: list[str] | None) -> dict[str, Any]:
        """Return weight, time and attributes of every row, empty cells filled, for ``AttributedGraph.from_edges``."""
        weight = None if self.weight is None else _filled(self.numbers[self.weight], notices)
        time = None if self.time is None else _filled(self.times[self.time], notices)
        names = [name for name in self.numbers if name != self.weight]
        columns = [_filled(self.numbers[name], notices) for name in names]
        return {
            "edge_weight": weight,
            "edge_time": time,
            "edge_attributes": np.column_stack(columns) if columns else None,
            "edge_attribute_names": names,
        }


def edge_columns(
    frame: pl.DataFrame,
    names: Sequence[str],
    *,
    weight_column: str | None = None,
    time_column: str | None = None,
    category: Collection[str] = (),
    notices: list[str] | None = None,
) -> EdgeColumns:
    """Return what these columns of an edge table hold.

    A column called ``weight`` is the weight of an edge, and the first column of dates, or called ``timestamp``,
    ``time``, ``date`` and the like, is its time, unless others are named. Columns that look like ground truth, only
    tell rows apart, or cannot be used are left out with a notice.
    """
    weight = weight_column or first_known(names, WEIGHT_NAMES)
    time = time_column or _find_time(frame, [name for name in names if name != weight])
    found = EdgeColumns(weight, time)
    named = {weight_column, time_column, *category}
    clock = _find_clock(frame, names, time) if time is not None and time not in category else None
    for name in names:
        column = frame[name]
        if name == clock:
            continue
        if column.null_count() == len(column):
            rules.leave_out(name, "has no value at all", notices)
        elif name in category:
            found.categories[name] = _words(column)
        elif name == time:
            _put_times(column, found, notices)
        elif name == weight:
            found.numbers[name] = _weights(column, notices)
        elif name not in named and not _is_left_out(column, notices):
            _sort_in(column, found, notices)
    if clock is not None and time is not None and time in found.dated:
        found.times[time] += _clock(frame[clock])
        notice(f"Add the time of day in column {clock!r} to the date in column {time!r}.", notices)
    for guessed, role, given in ((weight, "weight", weight_column), (time, "time", time_column)):
        if guessed is not None and given is None:
            notice(f"Read column {guessed!r} as the {role} of each edge.", notices)
    return found


def _find_time(frame: pl.DataFrame, names: Sequence[str]) -> str | None:
    moments = [name for name in names if not isinstance(frame[name].dtype, pl.Duration)]
    dated = [name for name in moments if dates.is_time(frame[name].head(100)) and dates.is_time(frame[name])]
    numeric = [name for name in names if frame[name].dtype.is_numeric()]
    named = first_known(dated, TIME_NAMES) or next(iter(dated), None) or first_known(numeric, TIME_NAMES)
    return named or next((name for name in numeric if NUMBERED.fullmatch(name) and _are_unix(frame[name])), None)


def _are_unix(column: pl.Series) -> bool:
    """Return whether numbers look like UNIX seconds of our time."""
    known = column.drop_nulls()
    return len(known) > 1 and bool(known.is_between(*dates.UNIX).all()) and known.n_unique() > 1


def _find_clock(frame: pl.DataFrame, names: Sequence[str], date: str) -> str | None:
    """Return a column of times of day beside a column of days without them."""
    days = frame[date]
    if days.dtype != pl.Date and not (days.dtype == pl.String and not days.str.contains(":", literal=True).any()):
        return None
    others = [frame[name] for name in names if name != date]
    return next((each.name for each in others if each.dtype == pl.Time or _is_clock_text(each)), None)


def _is_clock_text(column: pl.Series) -> bool:
    return column.dtype == pl.String and dates.are_clocks(column.head(100)) and dates.are_clocks(column)


def _clock(column: pl.Series) -> pl.Series:
    """Return seconds since midnight, 0 where a cell is empty."""
    return (dates.as_seconds(column) if column.dtype == pl.Time else dates.clock_seconds(column)).fill_null(0.0)


def _is_left_out(column: pl.Series, notices: list[str] | None) -> bool:
    """Return whether a column looks like ground truth or only tells rows apart, with a notice if so."""
    fractions = column.dtype.is_float() and bool((column != column.floor()).any())
    if is_truth_name(column.name) and not fractions:
        rules.leave_out(column.name, "of the edge list looks like ground truth", notices)
        return True
    if is_row_id(column) and not is_amount_name(column.name):
        rules.leave_out_row_id(column.name, notices)
        return True
    return False


def _sort_in(column: pl.Series, found: EdgeColumns, notices: list[str] | None) -> None:
    """Put a column where it belongs by its type and its values."""
    name, kind = column.name, column.dtype
    if isinstance(kind, pl.Duration):
        found.numbers[name] = dates.as_seconds(column)
    elif kind.is_temporal():
        _put_times(column, found, notices)
    elif kind.is_integer() and is_code_name(name):
        notice(f"Column {name!r} holds ids or codes; they are read as categories.", notices)
        found.categories[name] = _words(column)
    elif _is_clock_text(column):
        found.numbers[name] = dates.clock_seconds(column).rename(name)
    elif kind == pl.Boolean or kind.is_numeric():
        found.numbers[name] = _finite(column.cast(pl.Float64))
    elif kind in (pl.Categorical, pl.Enum, pl.String):
        column = column.cast(pl.String)
        summary = rules.TextSummary.of(column)
        holds = rules.text_kind(name, summary) if kind == pl.String else "categories"
        if holds == "categories" and FEWEST_ROWS <= len(column) == column.n_unique():
            rules.leave_out_row_id(name, notices)
        elif holds == "categories":
            found.categories[name] = _words(column)
        elif holds == "dates" or holds in dates.SLASHED:
            _put_times(column, found, notices)
        elif holds == "empty":
            rules.leave_out(name, "has no value at all", notices)
        else:
            rules.notice_written(name, holds, summary, notices)
            found.numbers[name] = _finite(rules.text_numbers(column, holds))
    else:
        rules.leave_out(name, f"holds neither numbers nor text but {kind}", notices)


def _weights(column: pl.Series, notices: list[str] | None) -> pl.Series:
    if column.dtype == pl.String and (holds := _written_kind(column)) is not None:
        rules.notice_written(column.name, holds, rules.TextSummary.of(column), notices)
        return _finite(rules.text_numbers(column, holds))
    numbers = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    numbers = column.cast(pl.Float64) if column.dtype.is_numeric() else numbers
    wrong = rules.first_cell(numbers.is_null() & column.is_not_null(), column=column)
    if wrong is not None:
        raise ValueError(f"column {column.name!r}, row {wrong.row + 1}: {wrong.value} is not a number, so no weight")
    return _finite(numbers)


def _written_kind(column: pl.Series) -> rules.TextKind | None:
    """Return how the numbers of a text column are written if not as programs write them."""
    summary = rules.TextSummary.of(column)
    if not summary.n_text or not (summary.all_point_numbers or summary.all_comma_numbers):
        return None
    kind = rules.text_kind(column.name, summary)
    return kind if kind in ("point numbers", "comma numbers") else None


def _put_times(column: pl.Series, found: EdgeColumns, notices: list[str] | None) -> None:
    """Add a column of times: numbers as they are, dates and finer units than seconds as seconds."""
    is_text = column.dtype in (pl.String, pl.Categorical)
    numbers = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False) if is_text else column
    if column.dtype.is_numeric() or (is_text and numbers.null_count() == column.null_count()):
        seconds, unit = dates.number_seconds(_finite(numbers.cast(pl.Float64)))
        found.times[column.name] = seconds
        if unit is not None:
            found.dated.add(column.name)
            notice_unit(column, unit, notices)
        return
    seconds = dates.as_seconds(column, dates.slashed_order(column) if column.dtype == pl.String else None)
    wrong = rules.first_cell(seconds.is_null() & column.is_not_null(), column=column)
    if wrong is not None:
        raise ValueError(
            f"column {column.name!r}, row {wrong.row + 1}: {wrong.value} is not a time; write numbers, or dates such "
            "as 2024-05-31 17:30"
        )
    found.times[column.name] = seconds
    found.dated.add(column.name)


def notice_unit(column: pl.Series, unit: str, notices: list[str] | None) -> None:
    """Say that numeric times were taken for dates, or for a unit other than seconds."""
    first = column.drop_nulls()[0]
    shown = first if isinstance(first, str) else f"{first:.0f}"
    notice(f"Read the times in column {column.name!r}, such as {shown}, as {unit}.", notices)


def _words(column: pl.Series) -> pl.Series:
    words = column.cast(pl.String).str.strip_chars()
    return words.replace("", None)


def _finite(numbers: pl.Series) -> pl.Series:
    """Refuse infinite numbers, and return NaN as null."""
    infinite = numbers.is_infinite().fill_null(False)
    if infinite.any():
        row = int(infinite.arg_true()[0])
        raise ValueError(
            f"column {numbers.name!r}, row {row + 1} is infinite; edges need finite numbers: correct it, or pass "
            f"{option('ignore', [numbers.name])}"
        )
    return numbers.fill_nan(None)


def _filled(column: pl.Series, notices: list[str] | None) -> NDArray[np.float64]:
    """Return numbers with the median in empty cells."""
    n_empty = column.null_count()
    if n_empty:
        median = column.median()
        notice(
            f"Column {column.name!r} of the edge list: filled {plural(n_empty, 'empty cell')} with the median, "
            f"{float(median):.6g}.",  # type: ignore[arg-type]
            notices,
        )
        column = column.fill_null(median)
    return column.to_numpy()
