"""Find the columns of an edge table that say when: dates, UNIX times, and times of day beside dates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import time, timedelta

from hopsight.checks import plural
from hopsight.io import rules
from hopsight.io.notices import notice
from hopsight.io.rules import are_clocks, number_unit
from hopsight.io.vocabulary import (
    CLOCK,
    LASTING,
    LATER,
    NEAR,
    TIME_NAMES,
    TIMELY,
    date_parts,
    first_known,
    is_amount_name,
    is_code_name,
    is_event_name,
    is_money_name,
    is_row_id_name,
    normalized_name,
    words_of,
)
from hopsight.system.lazy_polars import pl

RECENT = (1e9, 2.2e9)  # seconds from 2001 to 2039: in milliseconds, no phone number with a country code, EAN or ISBN
LONGEST_SPAN = 1e9  # seconds, of times under any name
_MIDNIGHT = r"[T ]+(?:0?0:00(?::00(?:\.0+)?)?|12:00(?::00)?\s?[Aa][Mm])Z?\s*$"
_PLACEHOLDER = (  # the first days of calendars of Excel, Access, SQL Server and UNIX, before a time
    r"^\s*(?:1899-12-3[01]|(?:1900|1970)-01-01|31[./]12[./]1899|30[./]12[./]1899|0?1[./]0?1[./](?:1900|1970))[T ]+"
)
LOOKED_AT = 10_000  # rows that tell whether dates are those of events


def find_time(frame: pl.DataFrame, names: Sequence[str]) -> str | None:
    """Return the column with the times of edges: of dates, called so, or of UNIX seconds; None without any."""
    moments = [name for name in names if not isinstance(frame[name].dtype, pl.Duration | pl.Time)]
    dated = [name for name in moments if rules.is_time(frame[name])]
    whole = [name for name in names if name not in date_parts(names)]
    numeric = {name: figures for name in whole if (figures := _figures(frame[name])) is not None}
    of_events = [name for name in dated if not _is_of_another(frame, name)] if len(dated) > 1 else dated
    dated = of_events or dated
    dated = [name for name in dated if 2 * len(rules.filled(frame[name])) > frame.height] or dated
    dated = [
        name for name in dated if frame[name].n_unique() > 1 and _without_placeholder(frame[name]) is None
    ] or dated
    sure = [name for name, figures in numeric.items() if is_unix_time(figures)]
    far = {each: bool(LATER.search(each.lower())) * (2 - bool(NEAR.search(each.lower()))) for each in dated}
    now = [name for name in dated if far[name] == min(far.values())]  # best neither not yet nor long ago
    named = first_known(now, TIME_NAMES) or next(iter(now), None) or first_known(sure, TIME_NAMES)
    return named or first_known([*numeric], TIME_NAMES) or next(iter(sure), None)


def _is_of_another(frame: pl.DataFrame, name: str) -> bool:
    """Return whether each text of some column goes with one date, as an account does with when it was opened."""
    rows = frame.head(LOOKED_AT)
    for other in rows.select(pl.selectors.string()):
        n_values = other.n_unique()
        if (
            other.name != name
            and 1 < 2 * n_values <= rows.height
            and not (is_event_name(other.name) or rules.is_time(other))
            and pl.DataFrame({"one": other, "date": rows[name]}).n_unique() == n_values
        ):
            return rows[name].n_unique() > 1
    return False


def _figures(column: pl.Series) -> pl.Series | None:
    """Return the numbers of a column, also of text that holds nothing else but a few words; None of another one."""
    if column.dtype.is_numeric():
        return column
    if column.dtype != pl.String:
        return None
    words = rules.filled(column)
    whole = words.cast(pl.Int64, strict=False)
    numbers = rules.time_figures(words) if whole.null_count() else whole
    return numbers if rules.nearly_all(numbers.is_not_null()) else None


def is_unix_time(column: pl.Series) -> bool:
    """Return whether numbers are UNIX times, or dates such as 20240531: called so, or hardly anything else."""
    return (TIMELY.search(normalized_name(column.name)) is not None and are_unix(column)) or are_moments(column)


def are_moments(column: pl.Series) -> bool:
    """Return whether numbers that are not called like codes or amounts are dates, or UNIX times in a finer unit.

    They are whole, and most times differ. Ids of 19 digits look like nanoseconds, but not all of them end in zeros.

    >>> are_moments(pl.Series("Valuta", [20240531, 20240602]))
    True
    >>> [are_moments(pl.Series(name, [1759708800033, 1759708800061])) for name in ("x", "tweet_id", "EAN", "Betrag")]
    [True, False, False, False]
    >>> [are_moments(pl.Series("x", [number, number + 9])) for number in (4915112345678, 4006381333931, 1759708800)]
    [False, False, False]
    """
    name = column.name
    known, unit = column.drop_nulls(), number_unit(column)
    if is_code_name(name) or is_row_id_name(name):
        return False
    if unit != "dates" and (is_amount_name(name) or is_money_name(name)):
        return False
    if unit is None or not (column.dtype.is_integer() or bool((known == known.floor()).all())):
        return False
    seconds = rules.in_seconds(known, unit)
    if unit == "dates":
        return known.n_unique() > 1 and _mostly(seconds.is_between(*RECENT))
    if 2 * known.n_unique() < len(known) or not _mostly(inside := seconds.is_between(*RECENT)):
        return False
    seconds = seconds.filter(inside)
    span = float(seconds.max()) - float(seconds.min())  # type: ignore[arg-type]
    return 0 < span < LONGEST_SPAN and (unit != "nanoseconds" or bool((known % 1000 == 0).all()))


def _mostly(fits: pl.Series) -> bool:
    """Return whether at least nine of ten are true: others may be placeholders, such as 0."""
    return len(fits) > 0 and int(fits.sum()) >= 0.9 * len(fits)


def are_unix(column: pl.Series) -> bool:
    """Return whether numbers look like UNIX times of our time, in seconds or a finer unit."""
    known, unit = column.drop_nulls(), number_unit(column)
    low, high = rules.UNIX if unit in (None, "dates") else (1e9, rules.UNIX[1])  # 491701234567 is a phone number
    return known.n_unique() > 1 and _mostly(rules.in_seconds(known, unit).is_between(low, high).fill_null(False))


def find_clock(frame: pl.DataFrame, names: Sequence[str], date: str) -> str | None:
    """Return a column of times of day beside a column of days without them, one that is called so if there is one."""
    if not _are_days(frame[date]):
        return None
    others = [frame[name] for name in names if name != date and not LASTING.search(name.lower())]
    others = [each for each in others if 2 * each.null_count() <= len(each)]
    clocks = [each.name for each in others if _are_times_of_day(each)]
    called = [name for name in clocks if CLOCK.search(name.lower())]
    return min(called, key=lambda name: len(words_of(name)), default=next(iter(clocks), None))


def notice_clock(date: str, clock: str, n_lacking: int, notices: list[str] | None) -> None:
    """Say that times of day were added to dates, and how many rows lack one: when on that day is unknown."""
    lack = (
        f"; {plural(n_lacking, 'row')} without one {'has' if n_lacking == 1 else 'have'} no time" if n_lacking else ""
    )
    notice(f"Added the time of day in column {clock!r} to the date in column {date!r}{lack}.", notices, detail=True)


def _are_days(days: pl.Series) -> bool:
    """Return whether dates have no time of day, or midnight in every row."""
    if days.dtype.is_numeric():
        return number_unit(days) in ("dates", rules.SERIALS) and bool(days.median() <= rules.COMPACT[1])  # type: ignore[operator]
    if isinstance(days.dtype, pl.Datetime):
        return bool((days.dt.time() == time()).all())
    return days.dtype == pl.Date or (
        days.dtype == pl.String and not days.str.replace(_MIDNIGHT, "").str.contains(":", literal=True).any()
    )


def _are_times_of_day(column: pl.Series) -> bool:
    """Return whether values are times of day, also behind a placeholder for a day, or as long since midnight."""
    if column.dtype == pl.Duration:
        return CLOCK.search(column.name.lower()) is not None and bool((column < timedelta(days=1)).all())
    forms = (_compact_clocks, _without_placeholder)
    return column.dtype == pl.Time or are_clocks(column) or any(form(column) is not None for form in forms)


def _without_placeholder(column: pl.Series) -> pl.Series | None:
    """Return times of day without the day that a program has put before all of them; None if there is no such day.

    >>> _without_placeholder(pl.Series("at", ["1899-12-30 09:15:00", "1899-12-30 23:40:10"])).to_list()
    ['09:15:00', '23:40:10']
    """
    if isinstance(column.dtype, pl.Datetime):
        known = column.drop_nulls()
        days = known.dt.strftime("%Y-%m-%d ")
        is_placed = len(known) > 0 and bool(days.str.contains(_PLACEHOLDER).all()) and known.n_unique() > 1
        return column.dt.time() if is_placed else None
    if column.dtype != pl.String or not rules.nearly_all(rules.filled(column).str.contains(_PLACEHOLDER)):
        return None
    return column.str.replace(_PLACEHOLDER, "")


def _compact_clocks(column: pl.Series) -> pl.Series | None:
    """Return seconds since midnight of a column called like a time of day that holds 72300 or 072300; else None."""
    if not CLOCK.search(column.name.lower()) or not (column.dtype.is_integer() or column.dtype == pl.String):
        return None
    numbers = column.cast(pl.String).str.strip_chars().cast(pl.Int64, strict=False)
    if numbers.null_count() > column.null_count() or not numbers.count():
        return None
    hours, minutes, seconds = numbers // 10_000, numbers // 100 % 100, numbers % 100
    fits = hours.is_between(0, 23) & minutes.is_between(0, 59) & seconds.is_between(0, 59)
    is_one = fits.all() and int(numbers.max()) > 9_999  # type: ignore[arg-type]
    return (hours * 3600.0 + minutes * 60.0 + seconds).rename(column.name) if is_one else None


def seconds_of_day(column: pl.Series, notices: list[str] | None) -> pl.Series:
    """Return seconds since midnight, null where a cell is empty."""
    placed = _without_placeholder(column)
    column = column if placed is None else placed
    if (compact := _compact_clocks(column)) is not None:
        return compact
    if column.dtype != pl.String:
        return rules.as_seconds(column)
    rules.text_kind(column, notices)
    return rules.clock_seconds(column).rename(column.name)
