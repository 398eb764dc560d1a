"""Dates and times as tables hold them: as such, as text in many forms, or as numbers."""

from __future__ import annotations

from hopsight.checks import option
from hopsight.system.lazy_polars import pl

SECONDS_PER_DAY = 86400.0
IN_DAYS, IN_SECONDS = " in days", " in seconds"  # in the names of attributes derived from times whose unit is known
SINCE_1970 = ", days since 1970"  # ends the name of an attribute that holds dates
_DATE = r"^\s*(\d{4})[-/](\d{1,2})[-/](\d{1,2})"
_GERMAN_DATE = r"^\s*(\d{1,2})\.(\d{1,2})\.(\d{4})"
_SLASHED_DATE = r"^\s*(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})"
SLASHED = {"day-first dates": "dmy", "month-first dates": "mdy"}  # 31/12/2024 and 12/31/2024
_TIME = r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?\s*([AaPp][Mm])?"
_CLOCK = rf"(?:[T ,]+{_TIME})?\s*(?:Z|UTC|GMT|([+-]\d{{2}}):?(\d{{2}}))?(?:\s*\([A-Za-z ]+\))?\s*$"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_REST = "(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?"  # of the name of a month
_WEEKDAY = r"(?i)^\s*(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+)?"
_ENGLISH = {  # 31 May 2024, 31-May-2024 and May 31, 2024
    rf"{_WEEKDAY}(\d{{1,2}})[ -]+({'|'.join(_MONTHS)}){_REST}\.?[ ,-]+(\d{{4}})": "${1}.#${2}#.${3}",
    rf"{_WEEKDAY}({'|'.join(_MONTHS)}){_REST}\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})": "${2}.#${1}#.${3}",
}
_EAST_ASIAN = r"^\s*(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]\s*"  # 2024年5月31日
COMPACT = (19000101, 21001231)  # dates as numbers, 20240531
UNIX = (3e8, 5e9)  # seconds from 1979 to 2128
UNITS = ((1e17, 1e9, "nanoseconds"), (1e14, 1e6, "microseconds"), (1e11, 1e3, "milliseconds"))


def is_time(column: pl.Series) -> bool:
    """Return whether a column holds dates or times, as such or as text."""
    if column.dtype.is_temporal():
        return True
    if column.dtype != pl.String:
        return False
    words = column.drop_nulls()
    return bool(len(words)) and (are_dates(words) or any(are_slashed(words, kind) for kind in SLASHED))


def are_dates(words: pl.Series) -> bool:
    """Return whether every text that is not blank is a date such as 2024-05-31, 2024-05-31 17:30 or 31.5.2024."""
    stripped = in_figures(words.str.strip_chars())
    filled = stripped.filter(stripped != "")
    either = filled.str.contains(_DATE + _CLOCK) | filled.str.contains(_GERMAN_DATE + _CLOCK)
    return bool(either.fill_null(True).all())


def are_slashed(words: pl.Series, kind: str) -> bool:
    """Return whether every text that is not blank is a date with slashes, its day or its month first.

    >>> import polars as pl
    >>> dates = pl.Series(["01/02/2024", "31/12/2024 17:30"])
    >>> are_slashed(dates, "day-first dates"), are_slashed(dates, "month-first dates")
    (True, False)
    """
    stripped = _with_slashes(words.str.strip_chars())
    filled = stripped.filter(stripped != "")
    parts = [filled.str.extract(_SLASHED_DATE + _CLOCK, number).cast(pl.Int32) for number in (1, 2)]
    day, month = (parts[SLASHED[kind].index(part)] for part in "dm")
    return bool((day.is_between(1, 31) & month.is_between(1, 12)).fill_null(False).all())


def in_figures(words: pl.Series) -> pl.Series:
    """Return dates with the English name of a month, or written in East Asia, in figures; other texts as they are.

    >>> import polars as pl
    >>> in_figures(pl.Series(["31 May 2024 17:30", "Mon, Jan 1, 2024", "Mayor", "2024年5月31日"])).to_list()
    ['31.05.2024 17:30', '1.01.2024', 'Mayor', '2024-5-31']
    """
    if words.head(100).str.contains(_EAST_ASIAN).any():
        words = words.str.replace(_EAST_ASIAN, "${1}-${2}-${3} ").str.strip_chars()
    if not words.head(100).str.contains(r"[A-Za-z]{3}").any():
        return words
    for pattern, figures in _ENGLISH.items():
        words = words.str.replace(pattern, figures)
    numbers = [f"{number + 1:02}" for number in range(12)]
    return words.str.replace_many([f"#{month}#" for month in _MONTHS], numbers, ascii_case_insensitive=True)


def _with_slashes(words: pl.Series) -> pl.Series:
    """Return dates such as 31-12-2024 with slashes."""
    return words.str.replace(r"^\s*(\d{1,2})-(\d{1,2})-(\d{4})\b", "${1}/${2}/${3}")


def are_clocks(words: pl.Series) -> bool:
    """Return whether every text that is not blank is a time of day such as 17:30."""
    stripped = words.drop_nulls().str.strip_chars()
    filled = stripped.filter(stripped != "")
    return bool(len(filled)) and bool(filled.str.contains(rf"^{_TIME}$").all())


def clock_seconds(words: pl.Series) -> pl.Series:
    """Return times of day as seconds since midnight.

    >>> import polars as pl
    >>> clock_seconds(pl.Series(["00:01", "01:00 pm"])).to_list()
    [60.0, 46800.0]
    """
    return as_seconds("1970-01-01 " + words.str.strip_chars())


def number_seconds(numbers: pl.Series) -> tuple[pl.Series, str | None]:
    """Return numeric times as seconds, and what they were if not seconds: 20240531, milliseconds and finer units.

    >>> import polars as pl
    >>> number_seconds(pl.Series([19700102, 19700103]))[0].to_list()
    [86400.0, 172800.0]
    >>> seconds, unit = number_seconds(pl.Series([1.7e12, 1.8e12]))
    >>> seconds.to_list(), unit
    ([1700000000.0, 1800000000.0], 'milliseconds')
    """
    unit = number_unit(numbers)
    return in_seconds(numbers, unit), unit


def number_unit(numbers: pl.Series) -> str | None:
    """Return what numeric times are if not seconds, judged by their size: dates, or a finer unit."""
    known = numbers.drop_nulls().cast(pl.Float64)
    if not len(known) or not known.is_finite().all():
        return None
    low, high = float(known.min()), float(known.max())  # type: ignore[arg-type]
    if COMPACT[0] <= low and high <= COMPACT[1] and bool((known == known.floor()).all()):
        return None if in_seconds(known, "dates").null_count() else "dates"
    return next((name for least, _, name in UNITS if low > least), None)


def in_seconds(numbers: pl.Series, unit: str | None) -> pl.Series:
    """Return numeric times of a unit that :func:`number_unit` returned as seconds."""
    if unit == "dates":
        text = numbers.cast(pl.Int64, strict=False).cast(pl.String).str.replace(r"^(\d{4})(\d\d)(\d\d)$", "$1-$2-$3")
        return as_seconds(text.rename(numbers.name))
    factor = next((factor for _, factor, name in UNITS if name == unit), 1.0)
    return numbers.cast(pl.Float64) / factor


def slashed_order(words: pl.Series) -> str | None:
    """Return the order of day and month in dates with slashes, or None if they are other dates.

    Dates of which no row decides between both orders are refused.
    """
    found = slashed_orders(words)
    if len(found) > 1 and not as_seconds(words, found[0]).equals(as_seconds(words, found[1])):
        raise ValueError(ambiguous_date(words.name, words.drop_nulls()[0]))
    return found[0] if found else None


def slashed_orders(words: pl.Series) -> list[str]:
    """Return the orders of day and month in which dates with slashes can be read; none if they are other dates."""
    return [order for kind, order in SLASHED.items() if are_slashed(words, kind)]


def ambiguous_date(name: str, value: str) -> str:
    """Return the message for a column of dates in which no row has a day after the 12th."""
    return (
        f"column {name!r}: {value} may have its day or its month first, and no row decides; write dates as 2024-05-31, "
        f"or pass {option('category', [name])} or {option('ignore', [name])}"
    )


def as_seconds(column: pl.Series, order: str | None = None) -> pl.Series:
    """Return dates and times as seconds since 1970 (of a time of day: since midnight), null where there is none.

    ``order`` is that of dates with slashes, ``"dmy"`` or ``"mdy"``; without it they are not read.

    >>> import polars as pl
    >>> as_seconds(pl.Series(["1970-01-02", "1970-01-01 00:01:30", "1970-01-01T01:00+01:00", "2.1.1970"])).to_list()
    [86400.0, 90.0, 0.0, 86400.0]
    """
    kind = column.dtype
    if kind == pl.Date:
        return column.cast(pl.Int32).cast(pl.Float64) * SECONDS_PER_DAY
    if kind == pl.Time:
        return column.cast(pl.Int64).cast(pl.Float64) / 1e9
    if isinstance(kind, pl.Datetime | pl.Duration):
        return column.cast(pl.Int64).cast(pl.Float64) / {"ns": 1e9, "us": 1e6, "ms": 1e3}[kind.time_unit]
    frame = pl.DataFrame({"text": in_figures(column.cast(pl.String))})
    if order is not None:
        frame = pl.DataFrame({"text": _with_slashes(frame["text"])})
        return frame.select(_parts(_SLASHED_DATE, order)).to_series().rename(column.name)
    iso, german = _parts(_DATE, "ymd"), _parts(_GERMAN_DATE, "dmy")
    return frame.select(pl.coalesce(iso, german)).to_series().rename(column.name)


def _parts(pattern: str, order: str) -> pl.Expr:
    """Return the seconds of dates written by a pattern whose first groups are year, month and day in some order."""

    def group(number: int, default: float | None = 0.0) -> pl.Expr:
        found = pl.col("text").str.extract(pattern + _CLOCK, number).cast(pl.Float64, strict=False)
        return found if default is None else found.fill_null(default)

    year, month, day = (group(order.index(part) + 1, None).cast(pl.Int32) for part in "ymd")
    year = pl.when(year < 70).then(year + 2000).when(year < 100).then(year + 1900).otherwise(year)
    right = month.is_between(1, 12) & day.is_between(1, 31)
    first = pl.date(year, pl.when(right).then(month).otherwise(1), 1).cast(pl.Int32).cast(pl.Float64)
    offset = group(8) * 3600.0 + group(8).sign() * group(9) * 60.0
    half = pl.col("text").str.extract(pattern + _CLOCK, 7).str.to_lowercase()
    hour = pl.when(half.is_null()).then(group(4)).otherwise(group(4) % 12 + pl.when(half == "pm").then(12).otherwise(0))
    clock = hour * 3600.0 + group(5) * 60.0 + group(6) - offset
    return pl.when(right).then((first + day - 1) * SECONDS_PER_DAY + clock)
