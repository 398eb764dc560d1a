"""Times of events as UNIX seconds (dates of any kind, numbers of seconds or finer units), and windows of time.

How times are written is decided once, by the first file of a stream, and remembered: a later file may be too short to
tell whether 3/4/2024 is in March.
"""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import Refusal, plural
from hopsight.io import rules
from hopsight.io.frames import Table
from hopsight.io.notices import notice
from hopsight.system.lazy_polars import pl

PLAIN = "plain"  # seconds, dates as such, or text that can mean one thing only
NO_EVENTS = "it has a header but no events"
TICKS = 96  # per window, at least
LONGEST_TICK = 60.0  # seconds
SPANS = 4  # per window
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
NAMES = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}
_WINDOW = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([smhdw]?)\s*")
USUAL, PER_SPAN = ("1d", "1h", "1m"), 120  # windows where times are dates, and how many a record has otherwise
FEWEST_WINDOWS = 7  # that a record has, if possible
LATEST = 1e15  # seconds: beyond that, minutes are no longer told apart
ISO = "%Y-%m-%d %H:%M:%S"
WORDS = {"dmy": "day/month/year", "mdy": "month/day/year"}


def time_form(table: Table, name: str) -> str:
    """Return how the times in a column are written, with a notice unless they are plain; all rows decide."""
    column = table.read([name], text=())[name]
    if not len(column):
        raise ValueError(NO_EVENTS)
    rules.notice_offsets(column, None)
    kind = rules.text_kind(column, []) if column.dtype == pl.String else None
    if kind in rules.SLASHED:
        return _stated(rules.SLASHED[kind], column)
    numbers = rules.time_figures(column) if kind == "numbers" or kind in rules.WRITTEN else column
    if not numbers.dtype.is_numeric():
        return PLAIN
    rules.check_one_unit(numbers)
    rules.notice_plain(numbers, None)
    return _stated(rules.number_unit(numbers) or PLAIN, column)


def as_seconds(column: pl.Series, form: str) -> pl.Series:
    """Return times as UNIX seconds, null where there is none; ``form`` is what :func:`time_form` returned."""
    numbers = as_numbers(column)
    if column.null_count() == len(column):
        seconds = column.cast(pl.Float64)
    elif numbers is not None:
        seconds = rules.in_seconds(numbers, form)
    elif column.dtype == pl.String:
        seconds = _text_seconds(column, form)
        if seconds.null_count():  # of a few words among numbers, the words are wrong
            seconds = min(seconds, rules.in_seconds(rules.time_figures(column), form), key=pl.Series.null_count)
    elif not column.dtype.is_temporal() or column.dtype in (pl.Duration, pl.Time):
        raise ValueError(f"column {column.name!r} holds {column.dtype}, not times: dates or UNIX seconds are needed")
    else:
        seconds = column.cast(pl.Datetime("us")).dt.epoch("us") / 1e6
    return seconds.cast(pl.Float64).set(~(seconds.abs() < LATEST), None)


def time_pattern(column: pl.Series, form: str) -> str:
    """Return the strftime pattern of times as a file writes them; that of ISO dates for numbers.

    >>> [time_pattern(pl.Series([text]), "plain") for text in ("31.05.2024 17:30", "2024-05-31", "1717176600")]
    ['%d.%m.%Y %H:%M', '%Y-%m-%d', '%Y-%m-%d %H:%M:%S']
    """
    if column.dtype == pl.Date:
        return "%Y-%m-%d"
    if column.dtype != pl.String or as_numbers(column) is not None:
        return ISO
    first = next((text for text in column if text and text.strip()), "")
    clock = ("", " %H:%M", " %H:%M:%S")[min(first.count(":"), 2)]
    return rules.date_pattern(column, form if form in WORDS else None) + clock


def moment_words(seconds: float, pattern: str) -> str:
    """Return a time as a date.

    >>> moment_words(5400.0, "%d.%m.%Y %H:%M")
    '01.01.1970 01:30'
    """
    if not math.isfinite(seconds) or not -6e10 < seconds < 2.5e11:
        return f"{seconds:g}"
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=math.floor(seconds))).strftime(pattern)


def as_numbers(column: pl.Series) -> pl.Series | None:
    """Return numbers, also those written as text, or None."""
    if column.dtype == pl.String:
        numbers = rules.time_figures(column)
        return numbers if numbers.null_count() == column.null_count() else None
    return column if column.dtype.is_numeric() else None


def _text_seconds(column: pl.Series, form: str) -> pl.Series:
    """Return dates in text as seconds, exact to the microsecond, null where there is none."""
    order = form if form in WORDS else None
    if order is None and not column.str.contains(r"^\s*\d{1,2}[-/]").any():  # which polars would take for a day
        try:  # several times as fast, for the forms that polars knows
            found = column.str.to_datetime(strict=False, time_unit="us")
            if not found.null_count():
                return found.dt.epoch("us") / 1e6
        except pl.exceptions.PolarsError:
            pass
    return (rules.as_seconds(column, order) * 1e6).round() / 1e6


def _stated(form: str, column: pl.Series) -> str:
    if form != PLAIN:
        first = column.drop_nulls()[0]
        shown = f"{first:.0f}" if isinstance(first, float) else first
        notice(f"Read the times in column {column.name!r}, such as {shown}, as {WORDS.get(form, form)}.", None)
    return form


@dataclass(frozen=True)
class Window:
    """The length of a window, in seconds or in events."""

    text: str
    seconds: float | None
    events: int | None

    @property
    def n_ticks(self) -> int:
        """Ticks per window: 96, or as many as it takes for a tick of at most a minute.

        What is known is brought up to date from tick to tick, so that scores hardly depend on the length of a window.
        """
        return max(TICKS, round((self.seconds or 0.0) / LONGEST_TICK))

    def places(self, seconds: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        """Return the time of each event in windows; ``first`` is the number of events before these."""
        if self.events is not None:
            return (first + np.arange(seconds.size)) / self.events
        return seconds / float(self.seconds or 1.0)

    def number(self, seconds: NDArray[np.float64], first: int, parts: int = 1) -> NDArray[np.int64]:
        """Return in which window, or part of one, each event is; ``first`` is the number of events before these."""
        if self.events is not None:
            return (first + np.arange(seconds.size, dtype=np.int64)) * parts // self.events
        return np.floor(seconds * (parts / float(self.seconds or 1.0))).astype(np.int64)

    def ticks(self, seconds: NDArray[np.float64], first: int, *, dated: bool) -> NDArray[np.int64]:
        """Return the tick of each event; where times are dates it is a minute at most, also if windows count events.

        In a tick that is a number of events nothing could come more often than before.
        """
        if self.events is not None and dated:
            return np.floor(seconds / LONGEST_TICK).astype(np.int64)
        return self.number(seconds, first, self.n_ticks)

    def title(self, number: int, dated: bool, pattern: str) -> str:
        """Return the span of a window, by its number.

        >>> parse_window("1d").title(19730, True, "%Y-%m-%d"), parse_window("6h").title(5, True, "%d/%m/%Y")
        ('2024-01-08', '02/01/1970 06:00 to 12:00')
        >>> parse_window("1w").title(0, True, "%Y-%m-%d"), parse_window("500").title(2, True, "%Y-%m-%d")
        ('1970-01-01 to 1970-01-07', 'events 1,001 to 1,500')
        """
        if self.seconds is None:
            events = self.events or 1
            return f"events {number * events + 1:,} to {(number + 1) * events:,}"
        low, high = number * self.seconds, (number + 1) * self.seconds
        if not dated:
            return f"{low:g} to {high:g}"
        day = pattern.partition("T")[0].partition(" ")[0]
        first, last = moment_words(low, day), moment_words(high - 1.0, day)
        if self.seconds % UNITS["d"] == 0:
            return first if first == last else f"{first} to {last}"
        begin, end = moment_words(low, "%H:%M"), moment_words(high, "%H:%M")
        return f"{first} {begin} to {end}" if first == last else f"{first} {begin} to {moment_words(high, day)} {end}"

    def span_words(self, *, dated: bool) -> tuple[str, str]:
        """Return how long the two scales of counting are, in words: a tick, and a quarter of a window."""
        tick = "1 minute" if self.events is not None and dated else self.words_of(1.0 / self.n_ticks, dated=dated)
        return tick, self.words_of(1.0 / SPANS, dated=dated)

    def words_of(self, share: float, *, dated: bool) -> str:
        """Return how long a part or a multiple of a window is, in words: ``1 day``, ``500 events``."""
        if self.events is not None:
            return plural(max(1, int(self.events * share)), "event")
        length = float(self.seconds or 1.0) * share
        if not dated:
            return f"{length:,.3g} unit{'' if length == 1 else 's'} of time"
        unit = next(unit for unit in ("d", "h", "m", "s") if length >= UNITS[unit] or unit == "s")
        count = length / UNITS[unit]
        return f"{count:.3g} {NAMES[unit]}{'' if count == 1 else 's'}"


def parse_window(text: str) -> Window:
    """Return the window that a text such as ``1d`` or ``1000`` stands for.

    >>> parse_window("12h").seconds, parse_window("1000").events
    (43200.0, 1000)
    """
    match = _WINDOW.fullmatch(text)
    if not match or float(match[1]) == 0.0 or not (match[2] or match[1].isdigit()):
        raise Refusal(
            "window", f"must be a duration such as 30d, 12h or 15m, or a number of events such as 1000, got {text!r}"
        )
    number, unit = match[1], match[2]
    return Window(text.strip(), None if not unit else float(number) * UNITS[unit], None if unit else int(number))


def usual_window(first: float, last: float, *, dated: bool, daily: bool = False) -> str:
    """Return the window of a record from its first to its last time: a 120th if times have no unit.

    Otherwise it is the longest of day, hour and minute of which the record has seven, or a day if it is ``daily``.

    >>> [usual_window(0, hours * 3600, dated=True) for hours in (168, 167, 7, 1)], usual_window(1, 14500, dated=False)
    (['1d', '1h', '1h', '1m'], '120.8s')
    """
    if daily or not last > first:
        return USUAL[0]
    if dated:
        fits = (each for each in USUAL if last - first >= FEWEST_WINDOWS * UNITS[each[-1]])
        return next(fits, USUAL[-1])
    return f"{np.format_float_positional((last - first) / PER_SPAN, 4, fractional=False, trim='-')}s"
