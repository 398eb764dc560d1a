"""Times of events as UNIX seconds: dates of any kind, numbers of seconds or finer units.

How times are written is decided once, by the first file of a stream, and remembered: a later file may be too short to
tell whether 3/4/2024 is in March.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import shortened
from hopsight.io import dates
from hopsight.io.frames import Table
from hopsight.io.notices import notice
from hopsight.system.lazy_polars import pl

PLAIN = "plain"  # seconds, dates as such, or text that can mean one thing only
NO_EVENTS = "it has a header but no events"
WORDS = {"dmy": "day/month/year", "mdy": "month/day/year"}


def time_form(table: Table, name: str) -> str:
    """Return how the times in a column are written, with a notice unless they are plain."""
    head = table.head([name])
    if not head.height:  # then it has no columns either
        raise ValueError(NO_EVENTS)
    first = head[name]
    numbers = _as_numbers(first)
    if numbers is not None:
        return _stated(dates.number_unit(numbers) or PLAIN, first)
    orders = [] if first.dtype.is_temporal() else dates.slashed_orders(first.drop_nulls().cast(pl.String))
    if len(orders) < 2:
        return _stated(orders[0] if orders else PLAIN, first)
    for block in table.blocks([name], 200_000, text=[name]):
        found = dates.slashed_orders(block[name].drop_nulls())
        if len(found) == 1:
            return _stated(found[0], first)
    raise ValueError(
        f"column {name!r}: {shortened(first.drop_nulls()[0])} may have its day or its month first, and no row decides; "
        "write dates as 2024-05-31"
    )


def as_seconds(column: pl.Series, form: str | None = None) -> NDArray[np.float64]:
    """Return a column of times as UNIX seconds; ``form`` is what :func:`time_form` returned, by default found here."""
    empty = column.is_null()
    if empty.any():
        raise ValueError(f"column {column.name!r}, row {int(empty.arg_true()[0]) + 1} has no time")
    numbers = _as_numbers(column)
    if numbers is not None:
        if form is None:
            form = dates.number_unit(numbers)
        return _checked(dates.in_seconds(numbers, form), column)
    if column.dtype == pl.String:
        seconds = _text_seconds(column, form)
        if seconds.null_count():  # of a few words among numbers, the words are wrong
            seconds = min(seconds, _cast(column), key=pl.Series.null_count)
        return _checked(seconds, column)
    if not column.dtype.is_temporal() or column.dtype in (pl.Duration, pl.Time):
        raise ValueError(f"column {column.name!r} holds {column.dtype}, not times: dates or UNIX seconds are needed")
    return np.asarray(column.cast(pl.Datetime("us")).dt.epoch("us").to_numpy() / 1e6)


def _as_numbers(column: pl.Series) -> pl.Series | None:
    """Return numbers, also those written as text, or None."""
    if column.dtype == pl.String:
        numbers = _cast(column)
        return numbers if numbers.null_count() == column.null_count() else None
    return column if column.dtype.is_numeric() else None


def _cast(column: pl.Series) -> pl.Series:
    """Return numbers written as text, null for any other text."""
    return column.str.strip_chars().cast(pl.Float64, strict=False)


def _text_seconds(column: pl.Series, form: str | None) -> pl.Series:
    """Return dates in text as seconds, exact to the microsecond, null where there is none."""
    order = form if form in WORDS else dates.slashed_order(column) if form is None else None
    if order is None:
        try:  # several times as fast, for the forms that polars knows
            found = column.str.to_datetime(strict=False, time_unit="us")
            if not found.null_count():
                return found.dt.epoch("us") / 1e6
        except pl.exceptions.PolarsError:
            pass
    return (dates.as_seconds(column, order) * 1e6).round() / 1e6


def _checked(seconds: pl.Series, column: pl.Series) -> NDArray[np.float64]:
    """Refuse a cell that is not a time."""
    wrong = (seconds.is_null() | ~seconds.is_finite().fill_null(False)).arg_true()
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(
            f"column {column.name!r}, row {row + 1}: {shortened(column[row])} is not a time: "
            "dates such as 2024-05-01 12:30:00 or UNIX seconds are needed"
        )
    return np.asarray(seconds.to_numpy(), dtype=np.float64)


def _stated(form: str, column: pl.Series) -> str:
    if form != PLAIN:
        first = column.drop_nulls()[0]
        shown = f"{first:.0f}" if isinstance(first, float) else first
        notice(f"Read the times in column {column.name!r}, such as {shown}, as {WORDS.get(form, form)}.", None)
    return form
