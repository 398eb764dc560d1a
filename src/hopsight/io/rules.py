"""Decide what a table column holds: one rule, with its messages, for every engine that reads tables."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any, Literal

from hopsight.checks import listed, option, plural, shortened
from hopsight.io.notices import notice
from hopsight.io.vocabulary import (
    CASE,
    CURRENCIES,
    DATED,
    EMPTY_NUMBERS,
    ISO_CURRENCIES,
    NUMBERED,
    SUSPICION,
    TIME_NAMES,
    TRUTH,
    TRUTH_NAMES,
    VOID,
    WITH_POINTS,
    currency_in,
    first_known,
    is_code_name,
    is_money_name,
    is_row_id_name,
    is_status_name,
    normalized_name,
)
from hopsight.system.lazy_polars import pl

MOST_STATUSES, SHOWN_STATUSES = 10, 5  # values of a column that may be a status, and those in a message
ALL_COUNT, VOID_LEFT_OUT = "all rows count", "void rows are left out"  # forms of a status
MOST_VOID = 0.5  # of the rows: more that did not take place, and the table is about them
FEWEST_ROWS = 3  # of a table in which an id that differs in every row identifies rows
LEAST_ROWS = 10  # of a table in which a column of different texts is a column of names
ALL_BUT_FEW = 0.9  # of the numbers of rows that are there, as some rows may have been left out


def is_truth(column: pl.Series) -> bool:
    """Return whether a column is called like ground truth, or like a suspicion and has at most two values.

    Called like a case, it also has blank cells: of most nodes nothing is known.

    >>> import polars as pl
    >>> is_truth(pl.Series("confirmed_case", ["confirmed", ""])), is_truth(pl.Series("confirmed", ["yes", "no"]))
    (True, False)
    >>> is_truth(pl.Series("Fraude avérée", ["Oui", "Non", None])), is_truth(pl.Series("fraud team", ["a", "b", "c"]))
    (True, False)
    >>> [is_truth(pl.Series(name, [5, 6])) for name in ("Label", "label_source", "isFraud", "Laundering_type", "labor")]
    [True, True, True, True, False]
    """
    known = normalized_name(column.name)
    if known in TRUTH_NAMES or known.startswith("label_") or TRUTH.fullmatch(known) is not None:
        return True
    is_case = CASE.fullmatch(known) is not None
    if not (is_case or SUSPICION.search(column.name.lower())) or column.dtype.is_nested():
        return False
    values = filled(column)
    return values.n_unique() <= 2 and (not is_case or 0 < len(values) < len(column))


def are_code_numbers(column: pl.Series) -> bool:
    """Return whether whole numbers, as such or as text, are called like ids or codes: a file may be read either way."""
    if column.dtype != pl.String or not is_code_name(column.name):
        return column.dtype.is_integer() and is_code_name(column.name)
    words = filled(column)
    return len(words) > 0 and bool(words.str.contains(r"^[+-]?[0-9]+$").all())


def is_row_id(column: pl.Series) -> bool:
    """Return whether whole numbers or text only identify rows.

    Such a column is called like an id and differs in most rows, or it numbers the rows, perhaps of several parts: from
    0 or 1 on nearly without a gap, and no number occurs more often than there must be parts.

    >>> parts = [*range(1, 31), *range(1, 29), *range(1, 27)]
    >>> is_row_id(pl.Series("Lp.", parts)), is_row_id(pl.Series("pieces", [1, 2, 3] * 28))
    (True, False)
    """
    known = column.drop_nulls()
    if known.dtype == pl.String and known.str.contains(r"^[1-9]\d{0,17}$").all():  # text in another row, such as TOTAL
        known = known.cast(pl.Int64)
    n_rows = len(known)
    if n_rows < FEWEST_ROWS or not (known.dtype.is_integer() or known.dtype in (pl.String, pl.Categorical)):
        return False
    if is_row_id_name(column.name):
        return known.n_unique() > (n_rows / 2 if n_rows >= LEAST_ROWS else n_rows - 1)
    n_unique = known.n_unique()
    if not known.dtype.is_integer() or n_unique < 2 * LEAST_ROWS:
        return False
    first, last = int(known.min()), int(known.max())  # type: ignore[arg-type]
    if n_unique == n_rows and last - first == n_rows - 1:
        return True
    most = int(known.unique_counts().max())  # type: ignore[arg-type]
    return first in (0, 1) and n_unique > ALL_BUT_FEW * (last - first) and most <= math.ceil(n_rows / n_unique)


SECONDS_PER_DAY = 86400.0
IN_DAYS, IN_SECONDS = " in days", " in seconds"  # in the names of attributes derived from times whose unit is known
SINCE_1970 = ", days since 1970"  # ends the name of an attribute that holds dates
_YEAR = r"[1-9]\d{3}"  # 0001-01-01 is what programs write where there is no date
_DATE = rf"^\s*({_YEAR})[-/](\d{{1,2}})[-/](\d{{1,2}})"
_GERMAN_DATE = rf"^\s*(\d{{1,2}})\.(\d{{1,2}})\.({_YEAR})"
_SLASHED_DATE = rf"^\s*(\d{{1,2}})/(\d{{1,2}})/({_YEAR}|\d{{2}})"
SLASHED = {"day-first dates": "dmy", "month-first dates": "mdy"}  # 31/12/2024 and 12/31/2024
_TIME = r"([01]?\d|2[0-4]):([0-5]\d)(?::((?:[0-5]\d|60)(?:\.\d+)?))?\s*([AaPp]\.?\s?[Mm]\b\.?)?"
_CLOCK = rf"(?:[T ,:]+{_TIME})?\s*(?:Z|UTC|GMT|([+-])(\d{{2}}):?(\d{{2}}))?(?:\s*\([A-Za-z ]+\))?\s*$"
_NEW, _OLD = r"[0-3]\d", r"[4-9]\d"  # years 20.. and 19..: contracts end in the 2030s, few people were born before 1940
_LAST_CENTURY = rf"^\s*\d{{1,2}}(?:/\d{{1,2}}/|-\d{{1,2}}-|\.\d\d\.|[ -]\p{{L}}+\.?[ -])({_OLD})\b"
_WEEKDAY = r"^\s*(?:\p{L}+,\s+|\p{L}{2,3}\.?\s+)?"
_MONTH = r"(\p{L}{3,})\.?"
_PLAIN = {  # how dates, such as 31-May-24 and May 31, 2024, and times of day are rewritten before they are read
    rf"^\s*\p{{L}}+ {_MONTH} +(\d+) (\d\d:\d\d:\d\d)(?: [A-Z]{{3,4}})? (\d{{4}})$": "${2}.#${1}#.${4} ${3}",
    rf"{_WEEKDAY}\[?(\d{{1,2}})(?:st|nd|rd|th|er|º)?[ ./-]*(?:de |of )?{_MONTH},?[ ./-]*(?:del? )?(\d{{4}}|\d\d)\b": (
        "${1}.#${2}#.${3}"
    ),
    rf"{_WEEKDAY}{_MONTH}[ -]+(\d{{1,2}})(?:st|nd|rd|th)?,?[ -]+(\d{{4}})\b": "${2}.#${1}#.${3}",
    rf"^\s*(\d{{4}})-{_MONTH}-(\d{{1,2}})\b": "${3}.#${2}#.${1}",
    r"^\s*(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]\s*": "${1}-${2}-${3} ",
    r"^\s*(\d{4})(\d\d)(\d\d)[T _](\d\d):?(\d\d)": "${1}-${2}-${3}T${4}:${5}",  # of ISO 8601
    r"(T\d\d:\d\d)(\d\d)": "${1}:${2}",
    r"^\s*(\d{4})\. ?(\d{1,2})\. ?(\d{1,2})\.?": "${1}-${2}-${3}",  # 2024.05.31 and 2024. 5. 31.
    r"^\s*(\d{1,2})\. (\d{1,2})\. (\d{4})": "${1}.${2}.${3}",
    r"^\s*(\d{1,2}\.\d{1,2}\.\d{4})(?:\.| ?г\.?)": "${1}",
    rf"^\s*(\d\d\.\d\d|\d{{1,2}}\.#\p{{L}}+#)\.({_NEW})([ ,T:]|$)": "${1}.20${2}${3}",  # 31.05.24
    rf"^\s*(\d\d\.\d\d|\d{{1,2}}\.#\p{{L}}+#)\.({_OLD})([ ,T:]|$)": "${1}.19${2}${3}",
    r"^(\S*\d{4}),? \p{L}{1,3}\.? (\d{1,2}[.:hH]\d\d)": "${1} ${2}",  # 31.05.2024 um 17:30
    r"^(\S*\d)[ T-]([012]\d)\.([0-5]\d)\.([0-5]\d)": "${1} ${2}:${3}:${4}",  # of DB2 and Oracle
    r"^(\S*\d{4}) ([012]?\d)\.([0-5]\d)$": "${1} ${2}:${3}",
    r"(\d)\]$": "${1}",
    r"(\d{1,2})\s*[時时시]\s*(\d{1,2})\s*[分분]\s*(\d{1,2})\s*[秒초]": "${1}:${2}:${3}",
    r"(\d{1,2})\s*[時时시]\s*(\d{1,2})\s*[分분]": "${1}:${2}",
    r"\b(\d{1,2})\s?[hH]\s?([0-5]\d)(?:\s?(?:m|min))?$": "${1}:${2}",  # 17h30
    r"(:\d\d),(\d{3})\b": "${1}.${2}",
    r"(\d:\d\d)\s*Uhr\s*$": "${1}",
    r"(\d)\[\w+/\w+\]$": "${1}",  # +02:00[Europe/Berlin]
    r"(:\d\d(?:\.\d+)?\s*[+-]\d\d)$": "${1}:00",  # of PostgreSQL
}
_MONTHS = (  # how their names begin
    "jan|jän|ene|gen|ian|led|sty|oca|янв|січ|ιαν", "feb|fév|fev|úno|lut|şub|фев|лют|φεβ",
    "mar|mär|mrz|maa|mrt|már|bře|мар|бер|μαρ", "apr|avr|abr|ápr|dub|kwi|nis|апр|кві|απρ",
    "may|mai|maj|mei|mag|máj|kvě|май|мая|тра|μαΐ|μάι", "jun|juin|giu|iun|jún|cze|čvn|červn|haz|июн|чер|ιουν",
    "jul|juil|lug|iul|júl|lip|čvc|červenc|tem|июл|лип|ιουλ", "aug|aoû|aou|ago|srp|sie|ağu|авг|сер|αυγ",
    "sep|set|sze|zář|wrz|eyl|сен|вер|σεπ", "oct|okt|out|ott|říj|paź|eki|окт|жов|οκτ", "nov|noi|lis|kas|ноя|лис|νοε",
    "dec|déc|dez|dic|des|pro|gru|ara|дек|гру|δεκ",
)  # fmt: skip
_LIKE_CLOCKS = r"^\s*\d{1,2}\s*[:hH時时시]"
_ANY_PLAIN = "|".join(_PLAIN)
_ANY_DATE = rf"^\s*(?:\d{{4}}[-/.]|\d{{1,2}}\.)\d{{1,2}}[-/.]\d|{_ANY_PLAIN}"
_PHONE = r"^\+[\d ()/.-]{8,}$"  # +48 796 158 512
_ANY_SLASHED = r"^\s*\d{1,2}[-/]\d{1,2}[-/]\d"
COMPACT = (19000101, 21001231)  # dates as numbers, 20240531
PLACEHOLDERS = (  # 0001-01-01, 1753-01-01, 1899-12-30 to 1900-01-01, 1970-01-01, 2099-, 2999- and 9999-12-31, in days
    -719162.0, -79257.0, -25569.0, -25568.0, -25567.0, 0.0, 47481.0, 376199.0, 2932896.0,
)  # fmt: skip
LEAST_DATES = 5  # different numbers that are dates, whatever their column is called
UNIX = (3e8, 2.2e9)  # seconds from 1979 to 2039; 2401312359 is a day and a time
UNITS = ((1e17, 1e9, "nanoseconds"), (1e14, 1e6, "microseconds"), (1e11, 1e3, "milliseconds"))
SERIAL, EPOCH, SERIALS = (25_000, 75_000), 25_569, "days since 1900"  # of spreadsheets, from 1968 to 2105; 1970-01-01


MOST_SUMS = 6  # currencies of which each has its sum in a message
MOST_WRONG = 0.01  # share of the filled cells of a column that may be unreadable, such as February 30: they are empty


def nearly_all(fits: pl.Series) -> bool:
    """Return whether all values but a few are true; of none, no."""
    return len(fits) > 0 and int((~fits).sum()) <= MOST_WRONG * len(fits)


def is_time(column: pl.Series) -> bool:
    """Return whether a column holds dates or times, as such or as text."""
    if column.dtype.is_temporal():
        return True
    if column.dtype != pl.String:
        return False
    return any(map(nearly_all, date_readings(filled(column)).values()))


def filled(words: pl.Series) -> pl.Series:
    """Return the texts that are neither blank nor words for an empty cell, without spaces around them."""
    return words.str.strip_chars().filter(is_filled(words)) if words.dtype == pl.String else words.drop_nulls()


def is_filled(words: pl.Series) -> pl.Series:
    """Return which texts are neither blank nor words for an empty cell."""
    return ~words.str.strip_chars().str.to_lowercase().is_in(EMPTY_NUMBERS).fill_null(True)


def date_readings(words: pl.Series) -> dict[str, pl.Series]:
    """Return which texts are dates such as 2024-05-31 17:30 or 31.5.2024, and which are with slashes in either order.

    >>> import polars as pl
    >>> texts = pl.Series(["01/02/2024", "31/12/2024 17:30", "2024-02-29", "2023-02-29", "2024-05-31 25:61"])
    >>> {kind: readable.to_list() for kind, readable in date_readings(texts).items()}["dates"]
    [False, False, True, False, False]
    >>> {kind: readable.arg_true().to_list() for kind, readable in date_readings(texts).items()}
    {'dates': [2], 'day-first dates': [0, 1], 'month-first dates': [0]}
    """
    found = {}
    for kind, pattern in {"dates": _ANY_DATE, **dict.fromkeys(SLASHED, _ANY_SLASHED)}.items():
        found[kind] = words.str.contains(pattern).fill_null(False)
        if found[kind].any():
            right = as_seconds(words.filter(found[kind]), SLASHED.get(kind)).is_not_null()
            found[kind] = found[kind].scatter(found[kind].arg_true(), right)
    return found


def in_figures(words: pl.Series) -> pl.Series:
    """Return dates with names of months, of East Asia or without separators as others; other texts as they are.

    >>> import polars as pl
    >>> in_figures(pl.Series(["31 May 2024 17:30", "Mon, Jan 1, 2024", "Mayor", "2024年5月31日"])).to_list()
    ['31.05.2024 17:30', '1.01.2024', 'Mayor', '2024-5-31']
    >>> in_figures(pl.Series(["20240531T173000Z", "2024-05-31 17:30:00+02", "3 de março de 2024"])).to_list()
    ['2024-05-31T17:30:00Z', '2024-05-31 17:30:00+02:00', '3.03.2024']
    """
    if not words.str.contains(_ANY_PLAIN).any():
        return words
    for pattern, figures in _PLAIN.items():
        words = words.str.replace(pattern, figures).str.strip_chars()
    for number, name in enumerate(_MONTHS if words.str.contains(".#", literal=True).any() else (), 1):
        words = words.str.replace(rf"(?i)#(?:{name})\p{{L}}*#", f"{number:02}")
    return words


def are_clocks(words: pl.Series) -> bool:
    """Return whether values are texts, and those that are not blank are times of day such as 17:30."""
    return words.dtype == pl.String and nearly_all(_clocks(filled(words)))


def _clocks(words: pl.Series) -> pl.Series:
    found = words.str.contains(_LIKE_CLOCKS).fill_null(False)
    if not found.any():
        return found
    words = in_figures(words)
    return words.str.contains(rf"^{_TIME}$").fill_null(False) & clock_seconds(words).is_not_null()


def clock_seconds(words: pl.Series) -> pl.Series:
    """Return times of day as seconds since midnight.

    >>> import polars as pl
    >>> clock_seconds(pl.Series(["00:01", "01:00 pm"])).to_list()
    [60.0, 46800.0]
    """
    return as_seconds("1970-01-01 " + words.str.strip_chars())


def number_unit(numbers: pl.Series) -> str | None:
    """Return what numeric times are if not seconds, judged by their size: dates such as 20240531, or a finer unit.

    A date may have an hour or a time behind it, as in 2024053117, 202405311730, 20240531173000 and 20240531173000123.
    A column that is called like a date may hold the days that a spreadsheet counts, such as 45387.

    >>> import polars as pl
    >>> columns = [20240531173000, 20240531173005], [2024053117, 2024060123], [1.7e12, 1.8e12], [240531173000] * 2
    >>> [number_unit(pl.Series(numbers)) for numbers in columns]
    ['dates', 'dates', 'milliseconds', None]
    >>> number_unit(pl.Series([20240531] * 20 + [0, 99991231]))  # placeholders decide nothing
    'dates'
    """
    known = numbers.drop_nulls().cast(pl.Float64)
    if not len(known) or not known.is_finite().all():
        return None
    low, high = (float(known.quantile(each, "nearest")) for each in (0.1, 0.9))  # type: ignore[arg-type]
    is_date = any(
        COMPACT[0] * clock <= low and high < (COMPACT[1] + 1) * clock for clock in (1, 100, 10**4, 10**6, 10**9)
    )
    if is_date and bool((known == known.floor()).all()) and 2 * in_seconds(known, "dates").null_count() < len(known):
        return "dates"
    if SERIAL[0] <= low and high < SERIAL[1] and DATED.search(numbers.name.lower()):
        return SERIALS
    middle = float(known.median())  # type: ignore[arg-type]
    return next((name for least, factor, name in UNITS if middle > max(least, UNIX[0] * factor)), None)


def time_figures(words: pl.Series) -> pl.Series:
    """Return times that are written as numbers, with a decimal point or comma; null for any other text."""
    return words.str.strip_chars().str.replace(r"^(\d+),(\d{1,2}|\d{4,})$", "$1.$2").cast(pl.Float64, strict=False)


def notice_plain(numbers: pl.Series, notices: list[str] | None) -> None:
    """Say that times are numbers without a known unit, such as 240531: if they are dates, they are not read as such."""
    known = numbers.drop_nulls()
    if len(known) and number_unit(numbers) is None and not UNIX[0] < float(known.median()) < UNIX[1]:  # type: ignore[arg-type]
        what = f"The times in column {numbers.name!r}, such as {known[0]:g}"
        notice(f"{what}, are plain numbers: neither dates such as 2024-05-31 nor UNIX times.", notices)


def check_one_unit(numbers: pl.Series) -> None:
    """Refuse UNIX times of which some are in seconds and others in a finer unit."""
    known = numbers.drop_nulls()
    factors = [1.0, *(factor for _, factor, _ in UNITS)]
    inside = [known.is_between(UNIX[0] * factor, UNIX[1] * factor) for factor in factors]
    some = [fits for fits in inside if fits.sum() > 1 and not nearly_all(~fits)]
    if len(some) > 1 and sum(int(fits.sum()) for fits in some) > 0.9 * len(known):
        shown = " and ".join(f"{known.filter(fits)[0]:.0f}" for fits in some[:2])
        raise ValueError(f"column {numbers.name!r} has times in different units ({shown}); write all of them in one")


def usual_times(low: float, high: float, *, dated: bool) -> tuple[float, float]:
    """Return from when to when times are not far from a span: ten times its length, and ten years at least of dates.

    >>> [round(each / 366 / SECONDS_PER_DAY) for each in usual_times(0.0, 366 * SECONDS_PER_DAY, dated=True)]
    [-10, 11]
    """
    margin = max(10.0 * (high - low), 3660 * SECONDS_PER_DAY if dated else 1e4)
    return low - margin, high + margin


def in_seconds(numbers: pl.Series, unit: str | None) -> pl.Series:
    """Return numeric times of a unit that :func:`number_unit` returned as seconds."""
    if unit == "dates":
        text = numbers.cast(pl.Int64, strict=False).cast(pl.String).str.replace(r"^(\d{4})(\d\d)(\d\d)$", "$1-$2-$3")
        text = text.str.replace(r"^(\d{8})(\d{6})(\d{3})$", "$1$2.$3").str.replace(r"^(\d{8})(\d\d)$", "${1}${2}00")
        return as_seconds(text.str.replace(r"^(\d{8})(\d{4}|\d{6})(\.\d+)?$", "${1}T$2$3").rename(numbers.name))
    if unit == SERIALS:
        return ((numbers.cast(pl.Float64) - EPOCH) * SECONDS_PER_DAY).round(1)
    factor = next((factor for _, factor, name in UNITS if name == unit), 1.0)
    return numbers.cast(pl.Float64) / factor


def settled_seconds(column: pl.Series, numbers: pl.Series, unit: str | None, notices: list[str] | None) -> pl.Series:
    """Return numeric times as seconds; among dates such as 20240531, 0 is a placeholder, and few may be no dates."""
    seconds, is_zero = in_seconds(numbers, unit), (numbers == 0).fill_null(False) & (unit == "dates")
    settle_wrong(column, seconds.is_null() & numbers.is_not_null() & ~is_zero, "date", notices)
    return seconds.set(is_zero, SECONDS_PER_DAY * PLACEHOLDERS[0])


def are_placeholders(seconds: pl.Series) -> pl.Series:
    """Return which dates are those that programs write where there is none, a year or more from all others.

    >>> import polars as pl
    >>> days = pl.Series(["1970-01-01", "2003-05-06", "9999-12-31", "2031-01-01", None])
    >>> are_placeholders(as_seconds(days)).to_list(), are_placeholders(as_seconds(days[:1])).to_list()
    ([True, False, True, False, False], [False])
    """
    marks = (seconds / SECONDS_PER_DAY).floor().is_in(PLACEHOLDERS).fill_null(False)
    frame, year = pl.DataFrame({"all": seconds, "others": seconds.set(marks, None)}), 365 * SECONDS_PER_DAY
    near = pl.col("all").is_between(pl.col("others").min() - year, pl.col("others").max() + year)
    return marks & ~frame.select(near.fill_null(True)).to_series()


def notice_far(column: pl.Series, far: pl.Series, notices: list[str] | None) -> None:
    """Say which times count as empty because they are far from all others."""
    if far.any():
        where = place(column.cast(pl.String), far)
        _notice_empty(f"{where} is far from all other times", int(far.sum()), "time", notices)


def _notice_empty(what: str, n_cells: int, noun: str, notices: list[str] | None) -> None:
    them = "it counts" if n_cells == 1 else f"it and {plural(n_cells - 1, f'other {noun}')} count"
    notice(f"{what[0].upper()}{what[1:]}; {them} as empty.", notices)


def are_compact_dates(numbers: pl.Series) -> bool:
    """Return whether numbers that are not called like codes are dates such as 20240531: several, and nearly all.

    Called like dates, most of them must be; 0 stands for none.

    >>> import polars as pl
    >>> days = [20240530, 20240531, 20240601, 20240602, 19870304]
    >>> are_compact_dates(pl.Series("opened", days)), are_compact_dates(pl.Series("code", days))
    (True, False)
    >>> are_compact_dates(pl.Series("amount", [20240530, 20240573, 20241301, 20240600, 20240531]))
    False
    """
    known = numbers.filter(numbers != 0)
    if known.n_unique() < LEAST_DATES or is_code_name(numbers.name) or number_unit(known) != "dates":
        return False
    return DATED.search(numbers.name.lower()) is not None or nearly_all(in_seconds(known, "dates").is_not_null())


def date_pattern(column: pl.Series, order: str | None) -> str:
    """Return how a column writes its dates, one of ``DATE_PATTERNS``; ``order`` is that of day and month.

    >>> import polars as pl
    >>> texts = ("31.12.2024 08:00", "2024/12/31", "31 Dec 2024", "2024-12-31")
    >>> [date_pattern(pl.Series([text]), None) for text in texts], date_pattern(pl.Series(["12-31-2024"]), "mdy")
    (['%d.%m.%Y', '%Y/%m/%d', '%d %b %Y', '%Y-%m-%d'], '%m-%d-%Y')
    """
    known = column.drop_nulls() if column.dtype == pl.String else column.clear()
    known = known.filter(known.str.strip_chars() != "") if len(known) else known
    first = "" if not len(known) else str(known.sort()[len(known) // 2]).strip()  # in any order of rows
    if order is not None:
        mark = "-" if re.match(r"\d{1,2}-", first) else "/"
        return mark.join(f"%{part.upper() if part == 'y' else part}" for part in order)
    if re.search(r"[^\W\d_]{3}", first.partition(":")[0]):
        return "%d %b %Y"
    return "%d.%m.%Y" if re.match(r"\d+\.", first) else "%Y/%m/%d" if re.match(r"\d{4}/", first) else "%Y-%m-%d"


def amount_span(least: float, most: float, totals: Mapping[str, float] | None = None) -> str:
    """Return the smallest and the largest amount and sums by currency, to compare with what the user knows of a table.

    >>> amount_span(0.5, 1200.0, {"EUR": 4310.25}), amount_span(0.00012, 3.0), amount_span(7.0, 7.0, {"": 21.0})
    ('0.50 to 1,200 EUR, 4,310.25 EUR in all', '0.00012 to 3', '7, 21 in all')
    >>> amount_span(1.0, 900.0, {"EUR": 12.5, "PLN": 5000.0})
    '1 to 900, 12.50 EUR and 5,000 PLN in all'
    """
    unit = next(iter(totals)) if totals and len(totals) == 1 else ""
    span = f"{' to '.join(map(_figure, dict.fromkeys((least, most))))} {unit}".rstrip()
    sums = [f"{_figure(total)} {name}".rstrip() for name, total in (totals or {}).items()]
    if not sums or len(sums) > MOST_SUMS:
        return span
    return f"{span}, {listed(sums)} in all"


def _figure(value: float) -> str:
    if 0 < abs(value) < 0.01:
        return f"{value:.3g}"
    return f"{value:,.2f}".removesuffix(".00")


def time_span(first: float, last: float, pattern: str | None) -> str:
    """Return the first and the last time, to compare with what the user knows of a table; None stands for numbers.

    The month has its name where the day or the month may be first: a wrong order would look like the right one.

    >>> time_span(1709251200.0, 1709769660.0, "%d.%m.%Y"), time_span(1.0, 500.0, None)
    ('01.03.2024 00:00 to 07.03.2024 00:01', '1 to 500')
    >>> time_span(1709251200.0, 1709769600.0, "%m/%d/%Y")
    '01 Mar 2024 to 07 Mar 2024'
    """
    if pattern is None:
        return " to ".join(dict.fromkeys(map(_figure, (first, last))))
    pattern = "%d %b %Y" if re.match("%[dm][/-]%[dm]", pattern) else pattern
    clock = "" if first % SECONDS_PER_DAY == last % SECONDS_PER_DAY == 0 else " %H:%M"
    moments = (datetime(1970, 1, 1) + timedelta(seconds=math.floor(each)) for each in (first, last))
    return " to ".join(dict.fromkeys(f"{each:{pattern}{clock}}" for each in moments))


def notice_offsets(column: pl.Series, notices: list[str] | None) -> None:
    """Say that times with an offset, such as 17:30+02:00, are shown in UTC, where the clock and perhaps the day differ.

    >>> kept: list[str] = []
    >>> for text in ("2024-05-31", "2024-05-31T17:30Z", "2024-05-31 17:30+02:00"):
    ...     notice_offsets(pl.Series("time", [text]), kept)
    >>> kept
    ["Times of column 'time' have offsets from UTC and are shown in UTC."]
    """
    kind = column.dtype
    zone = kind.time_zone if isinstance(kind, pl.Datetime) else None
    written = kind == pl.String and bool(column.str.contains(r":\d\d(?:\.\d+)?\s*[+-](?:\d\d:?[1-9]|\d?[1-9])").any())
    if written or zone not in (None, "UTC"):
        notice(f"Times of column {column.name!r} have offsets from UTC and are shown in UTC.", notices)


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
    words = column.cast(pl.String)
    different = words.drop_nulls().unique(maintain_order=True)
    if 2 * len(different) < len(words):  # days repeat, and a table has millions of rows
        return words.replace_strict(different, as_seconds(different, order), default=None, return_dtype=pl.Float64)
    words = in_figures(words)
    if order is not None:
        words = words.str.replace(r"^\s*(\d{1,2})-(\d{1,2})-(\d{4}|\d\d)\b", "${1}/${2}/${3}")  # 31-12-2024
        return _seconds(words, _SLASHED_DATE, order)
    seconds = _seconds(words, _DATE, "ymd")
    german = words.str.contains(_GERMAN_DATE).fill_null(False)
    if german.any():
        seconds = seconds.scatter(german.arg_true(), _seconds(words.filter(german), _GERMAN_DATE, "dmy"))
    return seconds


def _seconds(words: pl.Series, pattern: str, order: str) -> pl.Series:
    """Return the seconds of dates written by a pattern whose first groups are year, month and day in some order."""
    groups = words.str.extract_groups(pattern + _CLOCK).struct.unnest()

    def group(number: int, default: float | None = 0.0) -> pl.Expr:
        found = pl.col(str(number)).cast(pl.Float64, strict=False)
        return found if default is None else found.fill_null(default)

    year, month, day = (group(order.index(part) + 1, None).cast(pl.Int32) for part in "ymd")
    year = pl.when(year < 40).then(year + 2000).when(year < 100).then(year + 1900).otherwise(year)
    right = month.is_between(1, 12)
    first = pl.date(year, pl.when(right).then(month).otherwise(1), 1)
    right &= day.is_between(1, first.dt.month_end().dt.day())
    offset = (group(9) * 3600.0 + group(10) * 60.0) * pl.when(pl.col("8") == "-").then(-1.0).otherwise(1.0)
    half = pl.col("7").str.to_lowercase().str.head(1)
    hour = pl.when(half.is_null()).then(group(4)).otherwise(group(4) % 12 + pl.when(half == "p").then(12).otherwise(0))
    clock = hour * 3600.0 + group(5) * 60.0 + group(6)
    days = first.cast(pl.Int32).cast(pl.Float64) + day - 1
    found = pl.when(right & (clock <= SECONDS_PER_DAY)).then(days * SECONDS_PER_DAY + clock - offset)
    return groups.select(found).to_series().rename(words.name)


WRITTEN = {"point numbers": ".", "comma numbers": ","}  # what a column of such numbers holds, and its decimal mark
_WORDS = r"kr\.?|zł|Rs\.?|S/\.?|B/\.|Kč|Ft|лв\.?|руб\.?|元|円|원"  # where no sign is usual
_MONEY = rf"(?:(?i:[A-Z]{{0,3}}\p{{Sc}}|{'|'.join(sorted(ISO_CURRENCIES))}|{_WORDS}))"
_SPACE = "\u00a0\u2009\u202f '’"  # between thousands
_AROUND = rf"^({_MONEY}|[\s\u00a0])+|(?:{_MONEY}|%|[\s\u00a0])+$"
_SIGNED_MONEY = rf"^([+-])\s*{_MONEY}\s*"


def plain_numbers(words: pl.Series) -> pl.Series:
    """Return written numbers without currency, percent sign and parentheses; separators remain.

    >>> import polars as pl
    >>> plain_numbers(pl.Series(["$1,234.50", "(5,00) €", "-$7", "\u22128", "12%", "3.5-", "50.-"])).to_list()
    ['1,234.50', '-5,00', '-7', '-8', '12', '-3.5', '50']
    """
    return (
        words.str.replace_all("[\u2212\u2013]", "-")  # a minus sign
        .str.replace(r"[.,][-—]+$", "")  # 50.- in Switzerland
        .str.replace_all(_AROUND, "")
        .str.replace(_SIGNED_MONEY, "$1")
        .str.replace(rf"^\((?:{_MONEY})?\s*(.+?)\s*(?:{_MONEY})?\)$", "-$1")
        .str.replace(r"^([^+-].*)-$", "-$1")
    )


def units_of(words: pl.Series) -> list[str]:
    """Return the currencies of written numbers, each once, and % if one is a percentage.

    >>> import polars as pl
    >>> units_of(pl.Series(["$7", "8 EUR", "9 €", "10", "-3 usd"]))
    ['EUR', 'USD']
    >>> units_of(pl.Series(["¥7", "8 JPY"])), units_of(pl.Series(["¥7", "8 CNY"])), units_of(pl.Series(["¥7"]))
    (['JPY'], ['CNY'], ['¥'])
    """
    found = words.str.extract(rf"({_MONEY}|%)").drop_nulls().unique().to_list()
    units = {CURRENCIES.get(unit.upper(), unit.upper()) for unit in found}
    return sorted(units - ({"¥"} if units & {"JPY", "CNY"} else set()))


def as_currencies(words: pl.Series) -> pl.Series:
    """Return the currencies of a column, where codes and signs are written in one way, and an empty cell as "".

    >>> import polars as pl
    >>> as_currencies(pl.Series(["EUR", "eur ", "€", "US Dollar", None])).to_list()
    ['EUR', 'EUR', 'EUR', 'US Dollar', '']
    """
    words = words.fill_null("").str.strip_chars()
    numbered = words.str.replace(r"^\d{1,2}$", "0$0").str.replace(r"^0\d$", "0$0").replace(NUMBERED)
    codes = numbered.str.to_uppercase().replace(CURRENCIES)
    return codes.zip_with(codes.is_in([*ISO_CURRENCIES]), words)


def are_currencies(words: pl.Series) -> bool:
    """Return whether all texts are codes or signs of currencies; of none, no."""
    known = words.drop_nulls().unique().str.to_uppercase()
    return bool(len(known)) and bool(known.is_in([*ISO_CURRENCIES, *CURRENCIES]).all())


def are_written(words: pl.Series) -> bool:
    """Return whether texts are numbers as people write them, all with the same decimal mark.

    >>> import polars as pl
    >>> are_written(pl.Series(["1.234,56", "7 €"])), are_written(pl.Series(["1.234,56", "7.5"]))
    (True, False)
    """
    plain = plain_numbers(words)
    return any(bool(plain.str.contains(_pattern(mark)).fill_null(True).all()) for mark in WRITTEN.values())


def as_numbers(words: pl.Series, mark: str) -> pl.Series:
    """Return written numbers with this decimal mark as numbers, null where there is none.

    >>> import polars as pl
    >>> as_numbers(pl.Series(["1.234,56 €", "(7)", None]), ",").to_list()
    [1234.56, -7.0, None]
    """
    plain = plain_numbers(words.str.strip_chars())
    bare = plain.str.replace_all(f"[{_SPACE}{'.' if mark == ',' else ','}]", "").str.replace(",", ".", literal=True)
    frame = pl.DataFrame({"bare": bare.cast(pl.Float64, strict=False), "known": plain.str.contains(_pattern(mark))})
    return frame.select(pl.when("known").then("bare")).to_series().rename(words.name)


def _pattern(mark: str) -> str:
    """Return what matches a number with a decimal mark and separators of thousands."""
    thousands, decimal = (".", ",") if mark == "," else (",", ".")
    lakhs = "[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}|" if mark == "." else ""  # 12,34,567.50, as in India
    whole = rf"(?:{lakhs}[0-9]{{1,3}}(?:[{thousands}{_SPACE}][0-9]{{3}})+|[0-9]+)"
    return rf"^[+-]?\s?(?:{whole}(?:[{decimal}][0-9]*)?|[{decimal}][0-9]+)$"


def groups_thousands(words: pl.Series, sign: str) -> bool:
    """Return whether a sign that may be a decimal mark separates thousands, as in 950, 1.200 and 12.500.

    All numbers that have it can be read so, and all others are below 1,000; several numbers are needed. Some programs
    write it from 10,000 on; then one must end with a 0, which no decimals would.

    >>> import polars as pl
    >>> columns = (["950", "1.200", "12.500"], ["1.200", "9.999"], ["950", "1.200", "7.5"], ["1500", "1.200", "9.999"])
    >>> [groups_thousands(pl.Series(texts), ".") for texts in columns]
    [True, False, False, False]
    >>> groups_thousands(pl.Series(["90", "810", "25.000"]), "."), groups_thousands(pl.Series(["90", "25.000"]), ".")
    (True, False)
    >>> columns = (["950", "4500", "12.340"], ["950", "4500", "12.345"], ["950", "4500", "2.340"])
    >>> [groups_thousands(pl.Series(texts), ".") for texts in columns]
    [True, False, False]
    """
    signed = words.str.contains(sign, literal=True)
    plain = words.filter(~signed)
    if not may_group_thousands(words, sign) or len(words) < FEWEST_ROWS or not (plain != "0").any():
        return False
    return bool(plain.str.len_chars().max() < 4 or words.filter(signed).str.ends_with("0").any())  # type: ignore[operator]


def may_group_thousands(words: pl.Series, sign: str) -> bool:
    """Return whether a sign separates thousands if other numbers of the column are as these."""
    signed = words.str.contains(sign, literal=True)
    grouped, plain = words.filter(signed), words.filter(~signed)
    forms = ((r"[1-9]\d{0,2}", r"\d{1,3}"), (r"[1-9]\d{1,2}", r"\d{1,4}"))  # from 1.000 or from 10.000 on
    return bool(signed.any()) and any(
        grouped.str.contains(rf"^[+-]?{first}(?:\{sign}\d{{3}})+$").all()
        and plain.str.contains(rf"^[+-]?{whole}$").all()
        for first, whole in forms
    )


def are_codes(words: pl.Series) -> bool:
    """Return whether texts are codes: digits, some of which begin with 0, all with the same number or with many.

    >>> import polars as pl
    >>> are_codes(pl.Series(["01", "12", "n/a"])), are_codes(pl.Series(["1", "12"])), are_codes(pl.Series(["10", "12"]))
    (True, False, False)
    >>> are_codes(pl.Series(["01234567890", "5250007738"])), are_codes(pl.Series(["007", "1500"]))  # PESEL and NIP
    (True, False)
    """
    return may_be_codes(words) and bool(filled(words).str.starts_with("0").any())


def may_be_codes(words: pl.Series) -> bool:
    """Return whether texts are digits, all of one length or many, so that others may make them codes; not times."""
    known = filled(words)
    if not known.str.contains(r"^[0-9]{2,}$").all():
        return False
    sizes = known.str.len_bytes()
    many = bool((sizes >= LEAST_DIGITS).all()) and first_known([words.name], TIME_NAMES) is None
    return sizes.n_unique() <= 1 or many


LEAST_DIGITS = 8  # of codes that do not all have the same number of digits
MAX_CATEGORIES = 50
LEAST_EMPTY, EMPTY_SHARE = 3, 0.05  # empty cells of a column that get an attribute
MISSING = ("fill", "refuse", "mean")
MISSING_CATEGORY, OTHER_CATEGORY = "(missing)", "(other)"
BOOLEANS, TRUE_OR_NOT = {"true": 1.0, "false": 0.0}, {"true": "1", "false": "0"}
TextKind = Literal[
    "numbers", "booleans", "dates", "day-first dates", "month-first dates", "times of day", "point numbers",
    "comma numbers", "categories", "empty",
]  # fmt: skip


_FORMS: ContextVar[tuple[Mapping[str, str], dict[str, Any]]] = ContextVar("forms")


@contextmanager
def remembered(known: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Read numbers and dates in text as they are ``known`` to be written, by table and column; yield how all were."""
    found: dict[str, Any] = {}
    token = _FORMS.set((known, found))
    try:
        yield found
    finally:
        _FORMS.reset(token)


def text_kind(column: pl.Series, notices: list[str] | None) -> TextKind:
    """Return what a text column holds, as :func:`remembered` if all of its cells but a few fit that."""
    known: Any = known_form(column.name)
    if known is not None:
        words = filled(column)
        odd = words.filter(~_have_form(words, known))
        if len(words) and len(odd) <= MOST_WRONG * len(words):
            wrong = column.str.strip_chars().is_in(odd.unique().implode()).fill_null(False)
            settle_wrong(column, wrong, NOUNS.get(known, "number"), notices)
            notice_undecided(column, known, notices)
            return known
    kind = _text_kind(column, notices)
    if kind == "numbers" or kind in WRITTEN or kind in SLASHED:
        keep_form(column.name, kind)
    return kind


def notice_undecided(column: pl.Series, kind: str, notices: list[str] | None) -> None:
    """Say that dates such as 02/03/2024 are read as in an earlier file, where nothing in this one tells the order.

    >>> kept: list[str] = []
    >>> for day in ("02/03/2024", "31/03/2024"):
    ...     notice_undecided(pl.Series("day", [day, "01/03/2024"]), "day-first dates", kept)
    >>> kept
    ["Column 'day': read '02/03/2024' as day/month/year as in the earlier file: no row of this one decides."]
    """
    words = filled(column) if column.dtype == pl.String else column.clear()
    if kind not in SLASHED or not len(words) or not nearly_all(as_seconds(words, "dmy").is_not_null()):
        return
    if nearly_all(as_seconds(words, "mdy").is_not_null()):
        order = "/".join({"d": "day", "m": "month", "y": "year"}[part] for part in SLASHED[kind])
        read = f"read {shortened(words[0])} as {order} as in the earlier file"
        notice(f"Column {column.name!r}: {read}: no row of this one decides.", notices)


def known_form(name: str) -> str | None:
    """Return how a column of this table was written in an earlier file; None if that is not known."""
    known, _ = _FORMS.get(({}, {}))
    return known.get(f"{_TABLE.get()}: {name}")


def keep_form(name: str, form: str) -> None:
    """Keep how a column of this table is written, for later files."""
    _FORMS.get(({}, {}))[1][f"{_TABLE.get()}: {name}"] = form


def _have_form(words: pl.Series, kind: Any) -> pl.Series:
    """Return which texts are written in the form of a kind that :func:`text_kind` returned."""
    if kind in SLASHED:
        return date_readings(words)[kind]
    if kind in WRITTEN:
        return plain_numbers(words).str.contains(_pattern(WRITTEN[kind]))
    return words.cast(pl.Float64, strict=False).is_not_null()


def _text_kind(column: pl.Series, notices: list[str] | None) -> TextKind:
    """Return what a text column holds; its few cells that hold something else count as empty, with a notice.

    Raises
    ------
    ValueError
        If more than 1% of the cells of a column of numbers, dates or times of day are something else, if numbers have a
        comma that may mean two things, as in 1,234, if dates may have their day or their month first, or if amounts
        have different currencies: as categories they would say nothing.
    """
    known = filled(column)
    if not len(known):
        return "empty"
    words, counts = known.unique(maintain_order=True), known.unique_counts()
    numbers = words.cast(pl.Float64, strict=False).is_not_null()
    if numbers.all():
        return _point_or_thousands(column, words, notices)
    if words.str.to_lowercase().is_in([*BOOLEANS]).all():
        return "booleans"
    if is_code_name(column.name) or words.str.contains(_PHONE).all() or are_codes(words.filter(numbers)):
        return "categories"
    plain = plain_numbers(words)
    written = {kind: plain.str.contains(_pattern(mark)) for kind, mark in WRITTEN.items()}
    written["point numbers"] |= numbers
    named = [unit] if (unit := currency_in(column.name)) else []
    dates = date_readings(words)
    fits: dict[Any, pl.Series] = {"numbers": numbers, **written, **dates, "times of day": _clocks(words)}
    size = {kind: int(counts.filter(fit).sum()) for kind, fit in fits.items()}
    best = max(fits, key=lambda kind: size[kind])
    n_wrong, name, instead = len(known) - size[best], column.name, _instead(column.name)
    if n_wrong > MOST_WRONG * len(known):
        if pl.select(pl.any_horizontal(dates.values())).to_series().all():
            raise _in_different_forms(name, words, dates)
        point, comma = written.values()
        if is_money_name(name) and (point | comma).all():  # but not in one form
            shown = " and ".join(shortened(words.filter(~other)[0]) for other in (comma, point))
            raise ValueError(
                f"column {name!r} has numbers in different forms ({shown}); write all of them with a decimal point, or "
                f"pass {instead}"
            )
        if n_wrong > len(known) * (0.1 if best in WRITTEN else 0.5):  # words with commas may look like numbers
            return "categories"
    elif best in WRITTEN:
        both, commas = written["point numbers"] & written["comma numbers"], words.str.contains(",", literal=True)
        undecided = size["comma numbers"] == size["point numbers"]
        if undecided and any(groups_thousands(plain.filter(both), sign) for sign in WRITTEN.values()):
            best = "comma numbers" if groups_thousands(plain.filter(both), ".") else "point numbers"
        elif undecided and (marks := units_of(words.filter(both & commas)) or named) and WITH_POINTS.issuperset(marks):
            best = "point numbers"
        elif undecided and (both & commas).any():
            doubtful = column.str.strip_chars().is_in(words.filter(both & commas).implode())
            raise ValueError(
                f"{place(column, doubtful)} has a comma that may stand for a decimal point or "
                f"separate thousands; write numbers with a decimal point and without separators, or pass "
                f"{option('ignore', [name])}"
            )
        units = units_of(words.filter(fits[best]))
        if len(units) > 1:
            raise ValueError(
                f"column {name!r} has amounts in different currencies ({', '.join(units)}); convert them to one, or "
                f"pass {instead}"
            )
    elif is_dates(best) and _years_first(words.filter(fits[best])):
        raise ValueError(
            f"column {name!r}: {shortened(words.filter(fits[best])[0])} seems to begin with the year; write dates as "
            f"2024-05-31, or pass {instead}"
        )
    elif best in SLASHED and size["day-first dates"] == size["month-first dates"]:
        sure = words.filter(fits[best])
        if (fits["day-first dates"] & ~fits["month-first dates"]).any():  # and as many with the month first
            raise _in_different_forms(name, words, dates)
        if not as_seconds(sure, "dmy").equals(as_seconds(sure, "mdy")):
            raise ValueError(
                f"column {name!r}: {shortened(sure[0])} may have its day or its month first, and no row decides; write "
                f"dates as 2024-05-31, or pass {instead}"
            )
    wrong = column.str.strip_chars().is_in(words.filter(~fits[best]).implode())
    settle_wrong(column, wrong.fill_null(False), NOUNS.get(best, "number"), notices)
    if best == "numbers":
        return _point_or_thousands(column, words.filter(numbers), notices)
    if is_dates(best) and len(old := words.filter(fits[best] & words.str.contains(_LAST_CENTURY))):
        year = f"19{old.str.extract(_LAST_CENTURY)[0]}"
        notice(f"Column {name!r}: read {shortened(old[0])} as {year}; two-digit years are from 1940 to 2039.", notices)
    return best


def _point_or_thousands(column: pl.Series, numbers: pl.Series, notices: list[str] | None) -> TextKind:
    """Return what numbers with points are whose point may separate thousands."""
    if groups_thousands(numbers, "."):
        return "comma numbers"
    pointed = numbers.filter(numbers.str.contains(".", literal=True))
    if len(pointed) and may_group_thousands(pointed, "."):
        read = f"read {shortened(pointed[0])} as {float(pointed[0]):g}"
        notice(f"Column {column.name!r}: {read}; if the point separates thousands, remove it.", notices)
    return "numbers"


def without_mark(column: pl.Series) -> tuple[pl.Series, str] | None:
    """Return amounts without the letters that stand before or behind each, and these; None if they are not the same.

    >>> import polars as pl
    >>> cells, mark = without_mark(pl.Series(["R 90,11", "R1 200,50", None]))
    >>> cells.to_list(), mark
    (['90,11', '1 200,50', None], 'R')
    >>> without_mark(pl.Series(["90.11 CR", "20.00 DR"])) is None
    True
    """
    form = r"^\s*(\p{L}{1,5}\.?)?\s*([+-]?\d[\d.,\s'’]*?)\s*(\p{L}{1,5}\.?)?\s*$"
    before, number, behind = column.str.extract_groups(form).struct.unnest()
    marks = pl.select(pl.concat_str(before, behind, ignore_nulls=True)).to_series().filter(number.is_not_null())
    if number.null_count() > column.null_count() or marks.n_unique() != 1 or not marks[0]:
        return None
    return number.rename(column.name), str(marks[0])


def _years_first(words: pl.Series) -> bool:
    """Return whether the last of three numbers of two digits differs more often than the first, as a day does.

    >>> import polars as pl
    >>> forms = ("24/05/%d", "24-05-%d", "%d/05/24", "24.05.%d", "%d.05.24")
    >>> [_years_first(pl.Series([text % day for day in range(10, 30)])) for text in forms]
    [True, True, False, True, False]
    """
    parts = words.str.extract_groups(r"^\s*(\d\d)[/.-](\d\d)[/.-](\d\d)\b").struct.unnest()
    first, _, last = (part.drop_nulls().n_unique() for part in parts)
    may_be_days = nearly_all(parts.to_series(2).cast(pl.Int64).is_between(1, 31).fill_null(False))
    return may_be_days and last > max(3, 2 * first)


def _in_different_forms(name: str, words: pl.Series, dates: Mapping[Any, pl.Series]) -> ValueError:
    plain, day_first, month_first = dates.values()
    odd = (plain, day_first & ~month_first, month_first & ~day_first)
    shown = [shortened(words[at]) for at in sorted(each.arg_true()[0] for each in odd if each.any())[:2]]
    return ValueError(
        f"column {name!r} has dates in different forms ({' and '.join(shown)}); write all of them as "
        f"2024-05-31, or pass {_instead(name)}"
    )


NOUNS = {"dates": "date", "day-first dates": "date", "month-first dates": "date", "times of day": "time of day"}


def settle_wrong(column: pl.Series, wrong: pl.Series, noun: str, notices: list[str] | None) -> None:
    """Say that a few wrong cells of a column count as empty, or refuse it if they are more than a few."""
    if wrong.any():
        where = place(column, wrong)
        different = column.filter(wrong).unique(maintain_order=True)[1:]
        if len(different):
            more = ", ".join(map(shortened, different[:3])) + (", …" if len(different) > 3 else "")
            where += f" (elsewhere {more})"
        settle(column.name, where, (int(wrong.sum()), len(filled(column))), noun, notices)


def settle(name: str, where: str, counts: tuple[int, int], noun: str, notices: list[str] | None) -> None:
    """Do what :func:`settle_wrong` does for a column with this number of wrong and of filled cells.

    >>> kept: list[str] = []
    >>> settle("day", "column 'day', row 7: '2024-02-30'", (2, 900), "date", kept)
    >>> kept
    ["Column 'day', row 7: '2024-02-30' cannot be read as a date; it and 1 other cell count as empty."]
    """
    n_wrong, n_filled = counts
    if n_wrong > MOST_WRONG * n_filled:
        them = "it" if n_wrong == 1 else f"this and {plural(n_wrong - 1, 'other cell')}"
        raise ValueError(
            f"{where} is not a {noun}, unlike the rest of the column; correct {them}, or pass {_instead(name)}"
        )
    _notice_empty(f"{where} cannot be read as a {noun}", n_wrong, "cell", notices)


def _instead(name: str) -> str:
    return f"{option('category', [name])} to read the column as text, or {option('ignore', [name])} to leave it out"


def notice_written(column: pl.Series, kind: str, notices: list[str] | None) -> None:
    """Say how numbers of a text column are read that are not written as programs write them.

    One with a point or a comma comes first, which may be a decimal mark or separate thousands.
    """
    if kind in WRITTEN:
        words = filled(column)
        numbers = as_numbers(words, WRITTEN[kind])
        words = words.filter(numbers.is_not_null() & numbers.ne_missing(words.cast(pl.Float64, strict=False)))
        marked = words.filter(words.str.contains("[.,]"))
        first = (marked if len(marked) else words).head(1)
        number = as_numbers(first, WRITTEN[kind])[0]
        doubtful = kind == "point numbers" and may_group_thousands(plain_numbers(marked), ".")
        remedy = "; if the point separates thousands, remove it" if doubtful else ""
        notice(
            f"Column {column.name!r}: read {shortened(first[0])} as {number:.12g}{remedy}.",
            notices,
            detail=not doubtful,
        )


def text_numbers(column: pl.Series, kind: str) -> pl.Series:
    """Return the numbers that a text column holds, null where it is empty; a date becomes days since 1970."""
    if is_dates(kind):
        return as_seconds(column, SLASHED.get(kind)) / SECONDS_PER_DAY
    if kind == "times of day":
        return clock_seconds(column).rename(column.name) / SECONDS_PER_DAY
    words = column.str.strip_chars()
    if kind in WRITTEN:
        numbers = as_numbers(column, WRITTEN[kind])
        return numbers.fill_null(words.cast(pl.Float64, strict=False)) if kind == "point numbers" else numbers
    if kind == "numbers":
        return words.cast(pl.Float64, strict=False)
    return words.str.to_lowercase().replace_strict(BOOLEANS, default=None, return_dtype=pl.Float64)


def is_dates(kind: str) -> bool:
    """Return whether texts of this kind are dates."""
    return kind == "dates" or kind in SLASHED


def are_whole(numbers: pl.Series) -> bool:
    """Return whether all numbers are whole and small enough to be codes or counts; empty cells do not count.

    >>> import polars as pl
    >>> [are_whole(pl.Series(numbers)) for numbers in ([0.0, 1.0, None], [0.5], [1e300])]
    [True, False, False]
    """
    known = numbers.cast(pl.Float64).fill_nan(None).drop_nulls()
    return bool(((known == known.floor()) & (known.abs() < 2**53)).all())


def rows_ignored(ignore: Sequence[str], names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the column and the value of each entry that stands for rows of a table, as ``status=cancelled`` does.

    >>> rows_ignored(["status=cancelled", "status", "city=Rome"], ["payer", "payee", "status"])
    {'status=cancelled': ('status', 'cancelled')}
    """
    pairs = {each: each.partition("=") for each in ignore if each not in names}
    return {each: (name, value.strip()) for each, (name, sign, value) in pairs.items() if sign and name in names}


def without_ignored(rows: pl.DataFrame, ignore: Sequence[str], left_out: dict[str, int]) -> pl.DataFrame:
    """Leave out the rows that entries such as ``status=cancelled`` stand for, and add their numbers to ``left_out``."""
    for entry, (name, value) in rows_ignored(ignore, rows.columns).items():
        wanted = have_value(rows[name], value)
        left_out[entry] = left_out.get(entry, 0) + int(wanted.sum())
        rows = rows.filter(~wanted)
    return rows


def have_value(column: pl.Series, value: str) -> pl.Series:
    """Return which cells have the value of an entry such as ``status=cancelled``, in upper or lower case."""
    if column.dtype.is_numeric() and re.fullmatch(r"[+-]?\d+(\.\d*)?", value):
        return (column == float(value)).fill_null(False)
    words = column.cast(pl.String).str.strip_chars().fill_null("").str.to_lowercase().replace(TRUE_OR_NOT)
    return words == TRUE_OR_NOT.get(value.lower(), value.lower())


def notice_ignored(left_out: Mapping[str, int], notices: list[str] | None) -> None:
    """Say how many rows each entry has left out."""
    for entry, n_rows in left_out.items():
        none = f"No row has {entry}: look up how the table writes that value."
        notice(f"Left out {plural(n_rows, 'row')} with {entry}." if n_rows else none, notices)


def leaves_out_void(column: pl.Series, ignore: Sequence[str], notices: list[str] | None) -> bool:
    """Return whether rows are left out whose status says that they did not take place, as ``cancelled`` does.

    If they are most of the table, it is about them, and they count. Say so, and which other values there are, unless
    the user leaves some of them out.

    >>> kept: list[str] = []
    >>> leaves_out_void(pl.Series("state", ["ok", "Failed", "failed"]), [], kept), kept[0].partition(" to leave")[0]
    (False, "Rows whose state is 'Failed' count, as most rows are such;")
    >>> leaves_out_void(pl.Series("state", ["ok", "ok", "late"]), [], kept), kept[1].partition(" to leave")[0]
    (True, "Rows count whatever their state is ('ok': 2, 'late': 1);")
    """
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum) or not is_status_name(column.name):
        return False
    column = column.cast(pl.String)
    void, known = column.filter(are_void(column)), known_form(column.name)
    all_count = known == ALL_COUNT or (known is None and len(void) > MOST_VOID * len(column))
    keep_form(column.name, ALL_COUNT if all_count else VOID_LEFT_OUT)
    if all_count and len(void):
        called, entries = _kinds(void), [f"{column.name}={word}" for word in _kinds(void)]
        advice = f"to leave them out, pass {option('ignore', entries)}"
        which = f"Rows whose {column.name} is {' or '.join(map(repr, called))}"
        why = "as most rows are such" if known is None else "as they did in the table that the model has learned from"
        notice(f"{which} count, {why}; {advice}.", notices)
        return False
    notice_void(void, notices)
    if not rows_ignored(ignore, [column.name]):
        others = column.filter(~are_void(column)).str.strip_chars()
        counts = in_one_case(filled(others), []).value_counts().sort("count", column.name, descending=[True, False])
        n_blank = len(others) - int(counts["count"].sum())
        sizes = counts["count"].to_list()
        is_usual = len(sizes) == 1 and sizes[0] > n_blank  # a word that most rows have, and all others none
        if 2 <= len(sizes) + (n_blank > 0) <= MOST_STATUSES and max([n_blank, *sizes]) > 1 and not is_usual:
            said = [f"{shortened(word)}: {count:,}" for word, count in counts.head(SHOWN_STATUSES).rows()]
            said += [f"empty: {n_blank:,}"] if n_blank else []
            listed = ", ".join([*said, *(["…"] if counts.height > SHOWN_STATUSES else [])])
            advice = f"pass {option('ignore', [f'{column.name}={counts[column.name][-1]}'])}, for example"
            which = f"count whatever their {column.name} is" if not len(void) else f"of any other {column.name} count"
            notice(f"Rows {which} ({listed}); to leave some out, {advice}.", notices)
    return True


def are_void(column: pl.Series) -> pl.Series:
    """Return which cells of a status say that the event did not take place.

    >>> are_void(pl.Series("status", ["ok", " Not_Executed", None])).to_list()
    [False, True, False]
    """
    plain = column.cast(pl.String).str.strip_chars().str.to_lowercase().str.replace_all("_", " ", literal=True)
    return plain.is_in([*VOID]).fill_null(False)


def notice_void(void: pl.Series, notices: list[str] | None) -> None:
    """Say how many rows were left out by these cells of a status.

    >>> notice_void(pl.Series("state", ["Failed", "void", "failed "]), kept := [])
    >>> kept[0].partition(";")[0]
    "Left out 3 rows whose state is 'Failed' or 'void', as these did not take place"
    """
    if len(void):
        which = f"{plural(len(void), 'row')} whose {void.name} is {' or '.join(map(repr, _kinds(void)))}"
        advice = f"to count them, pass {option('ignore', [void.name])}"
        notice(f"Left out {which}, as these did not take place; {advice}.", notices)


def _kinds(words: pl.Series) -> list[str]:
    """Return different words in one spelling each: entries such as ``status=failed`` do not tell case apart."""
    known = words.cast(pl.String).str.strip_chars().unique().sort(descending=True)
    return sorted({word.lower(): word for word in known}.values())


def in_one_case(words: pl.Series, notices: list[str] | None) -> pl.Series:
    """Return words that differ only in upper and lower case in the most frequent spelling, with a notice.

    >>> import polars as pl
    >>> in_one_case(pl.Series("kind", ["Private", "PRIVATE", "Firm", "Private"]), kept := []).to_list(), kept
    (['Private', 'Private', 'Firm', 'Private'], ["Column 'kind': read 'PRIVATE' as 'Private'."])
    """
    counts = words.alias("word").drop_nulls().value_counts().with_columns(form=pl.col("word").str.to_lowercase())
    several = counts.filter(pl.col("form").is_duplicated()).sort("count", "word", descending=[True, False])
    if not several.height:
        return words
    spelling: dict[str, str] = {}
    pairs = ((word, spelling.setdefault(form, word)) for word, _, form in several.rows())
    other = {word: first for word, first in pairs if word != first}
    word, first = next(iter(other.items()))
    more = f", and {plural(len(other) - 1, 'other value')} in one case as well" if len(other) > 1 else ""
    notice(f"Column {words.name!r}: read {shortened(word)} as {shortened(first)}{more}.", notices)
    return words.replace(other)


def leave_out_truth(name: str, which: str, notices: list[str] | None, advice: str = "") -> None:
    """Give notice that a column looks like ground truth, and what it is good for."""
    learn = f"; pass {option('learn_from', name)} to learn from it"
    leave_out(name, f"{which}looks like ground truth", notices, learn + advice)


def leave_out(name: str, reason: str, notices: list[str] | None, advice: str = "", *, can_keep: bool = False) -> None:
    """Give notice that a column does not become an attribute, together with others of its table."""
    alike = {} if (known := _LEFT_OUT.get()) is None else known
    alike.setdefault((reason, advice, can_keep), []).append(name)
    if known is None:
        _notice_left_out(alike, notices)


def _notice_left_out(found: Mapping[tuple[str, str, bool], Sequence[str]], notices: list[str] | None) -> None:
    """Say which columns are left out, all that have one reason in one sentence.

    >>> _notice_left_out({(ROW_ID, "", False): ["id", "no"], ("holds neither", "", True): ["raw"]}, kept := [])
    >>> kept[0]
    "Columns 'id' and 'no' only identify rows and are left out."
    >>> kept[1]
    "Column 'raw' holds neither and is left out; pass category=['raw'] to keep it."
    """
    for (reason, advice, can_keep), names in found.items():
        kept = f"; pass {option('category', names)} to keep {'it' if len(names) == 1 else 'them'}" if can_keep else ""
        if len(names) == 1:
            notice(f"Column {names[0]!r} {reason} and is left out{kept}{advice}.", notices, detail=not advice)
            continue
        reason = re.sub("^(has|holds|only identifies)", lambda verb: SEVERAL[verb[1]], reason)
        notice(
            f"Columns {listed([*map(repr, names)])} {reason} and are left out{kept}{advice}.",
            notices,
            detail=not advice,
        )


SEVERAL = {"has": "have", "holds": "hold", "only identifies": "only identify"}


ROW_ID = "only identifies rows"  # reasons to leave out a column
NO_VALUE = "has no value at all"


_ROWS: ContextVar[pl.Series | None] = ContextVar("rows", default=None)
_TABLE: ContextVar[str] = ContextVar("table", default="")
_LEFT_OUT: ContextVar[dict[tuple[str, str, bool], list[str]] | None] = ContextVar("left out", default=None)


@contextmanager
def rows_of(table: str, rows: pl.Series, notices: list[str] | None) -> Iterator[None]:
    """Name the table that is read; messages give the numbers of its rows, of which some may have been left out."""
    left_out: dict[tuple[str, str, bool], list[str]] = {}
    tokens = _TABLE.set(table), _ROWS.set(rows), _LEFT_OUT.set(left_out)
    try:
        yield
    finally:
        _notice_left_out(left_out, notices)
        _TABLE.reset(tokens[0])
        _ROWS.reset(tokens[1])
        _LEFT_OUT.reset(tokens[2])


def row_number(chosen: pl.Series) -> int:
    """Return the number of the first chosen row in its table, from 1."""
    first, rows = int(chosen.arg_true()[0]), _ROWS.get()
    return first + 1 if rows is None or len(rows) != len(chosen) else int(rows[first])


def place(column: pl.Series, chosen: pl.Series) -> str:
    """Return where the first chosen cell is and what it holds, for a message.

    >>> import polars as pl
    >>> ages = pl.Series("age", ["31", "old"])
    >>> place(ages, ages == "old")
    "column 'age', row 2: 'old'"
    """
    return f"column {column.name!r}, row {row_number(chosen)}: {shortened(column.filter(chosen)[0])}"


def check_none(wrong: pl.Series, column: pl.Series, problem: str) -> None:
    """Refuse a column if some of its cells are wrong, and name the first one."""
    if wrong.any():
        raise ValueError(f"{place(column, wrong)} {problem}")


def check_missing(empty: pl.Series, name: str, missing: str) -> None:
    """Refuse an empty cell unless it is to be imputed."""
    if missing == "refuse" and empty.any():
        raise ValueError(
            f"column {name!r}, row {row_number(empty)} is empty or NaN; fill it in, pass "
            f"{option('ignore', [name])}, or have empty cells filled with {option('missing', 'fill')}"
        )


def are_many_empty(n_empty: int, n_cells: int) -> bool:
    """Return whether empty cells get an attribute; one that few nodes have would make an outlier of each of them."""
    return n_empty >= max(LEAST_EMPTY, EMPTY_SHARE * n_cells)


def check_finite(numbers: pl.Series, reason: str) -> None:
    """Refuse infinite numbers."""
    infinite = numbers.is_infinite().fill_null(False)
    if infinite.any():
        raise ValueError(f"column {numbers.name!r}, row {row_number(infinite)} is infinite; {reason}")
