"""Values of attributes as people read them: counts instead of logarithms, differences with a sign, times and dates."""

from __future__ import annotations

import math
from datetime import date, timedelta

from hopsight.checks import plural
from hopsight.explanations.text import number
from hopsight.io.derive import FOR_COUNT
from hopsight.io.rules import IN_DAYS, IN_SECONDS, SECONDS_PER_DAY, SINCE_1970

LOGARITHMS = (", mean log", ", log", ", log count")  # ends of the names of attributes that are log(1 + count)
UNITS = (
    ("year", 365.25 * SECONDS_PER_DAY), ("day", SECONDS_PER_DAY), ("hour", 3600.0), ("minute", 60.0), ("second", 1.0),
)  # fmt: skip
EPOCH = date(1970, 1, 1)


def said(name: str, value: float) -> str:
    """Return the value of an attribute as text.

    What is compared with nodes that have about as many edges is a difference, or a factor where it is one of
    logarithms.

    >>> said("in-degree, log", 3.0445), said("age", 31.0), said("opened, days since 1970", 19783.4)
    ('20', '31', '2024-03-01')
    >>> said("amount sent, maximum for its count", 1220.0), said("amount sent, log sum for its count", -0.6931)
    ('+1,220', '×0.5')
    >>> said("date sent, first in days for its count", -0.25)
    '-6 hours'
    """
    if name.endswith(FOR_COUNT):
        if ", log " in name:
            return f"×{math.exp(min(value, 300.0)):,.2g}"
        text = _difference(name, abs(value))
        return f"+{text}" if value > 0 else f"-{text}" if value < 0 else text
    if name.endswith(SINCE_1970):
        return _date(value)
    return number(round(math.expm1(value), 6)) if name.endswith(LOGARITHMS) and 0 <= value < 100 else number(value)


def named(name: str) -> str:
    """Return the name of an attribute without the logarithm or the unit that its values no longer have.

    >>> named("in-degree, log"), named("edges sent, log count"), named("amount sent, log sum for its count")
    ('in-degree', 'edges sent', 'amount sent, sum for its count')
    >>> named("date sent, first in days for its count"), named("opened, days since 1970")
    ('date sent, first for its count', 'opened')
    """
    if name.endswith(FOR_COUNT):
        short = name.removesuffix(FOR_COUNT).removesuffix(IN_DAYS).removesuffix(IN_SECONDS)
        return f"{short.replace(', log ', ', ')}{FOR_COUNT}"
    for end in (*LOGARITHMS, SINCE_1970):
        name = name.removesuffix(end)
    return name


def phrase(name: str, value: float) -> str:
    """Return an attribute with its value as a part of a sentence.

    >>> phrase("amount sent, maximum for its count", 1220.0)
    'amount sent, maximum: 1,220 more than usual for as many edges'
    >>> phrase("amount sent, log sum for its count", 2.92), phrase("in-degree, log", 3.0445)
    ('amount sent, sum: 19 times what is usual for as many edges', 'in-degree 20')
    >>> phrase("date sent, first in days for its count", 48.0)
    'date sent, first: 48 days later than usual for as many edges'
    """
    text, short = said(name, value), named(name)
    if not name.endswith(FOR_COUNT):
        return f"{short} {text}"
    short = short.removesuffix(FOR_COUNT)
    if text.startswith("×"):
        return f"{short}: {text[1:]} times what is usual for as many edges"
    if value == 0:
        return f"{short}: as usual for as many edges"
    words = ("later", "earlier") if is_time(name) else ("more", "less")
    return f"{short}: {_difference(name, abs(value))} {words[value < 0]} than usual for as many edges"


def is_time(name: str) -> bool:
    """Return whether the values of an attribute are later or earlier, not higher or lower.

    >>> is_time("opened, days since 1970"), is_time("date sent, last for its count"), is_time("amount sent, median")
    (True, True, False)
    """
    return name.endswith(SINCE_1970) or named(name).endswith((f", first{FOR_COUNT}", f", last{FOR_COUNT}"))


def length_of_time(seconds: float) -> str:
    """Return a length of time in the largest unit of which it has at least one, or two years.

    >>> [length_of_time(each) for each in (86400.0, 3.24 * 86400, 100 * 86400, 5400, 59.0, 0.5, 1e9)]
    ['1 day', '3.2 days', '100 days', '1.5 hours', '59 seconds', '0.5 seconds', '32 years']
    """
    unit, size = next((each for each in UNITS if seconds >= each[1] * (2 if each[0] == "year" else 1)), UNITS[-1])
    count = float(f"{seconds / size:.2g}") if seconds < 100 * size else round(seconds / size)
    return plural(int(count), unit) if count == int(count) else f"{count:g} {unit}s"


def _difference(name: str, size: float) -> str:
    """Return the size of a difference, as a length of time if the unit of the attribute is known."""
    start = name.removesuffix(FOR_COUNT)
    if size and start.endswith((IN_DAYS, IN_SECONDS)):
        return length_of_time(size * SECONDS_PER_DAY if start.endswith(IN_DAYS) else size)
    return number(size)


def _date(days: float) -> str:
    try:
        return (EPOCH + timedelta(days=math.floor(days))).isoformat()
    except OverflowError:  # before the year 1 or after 9999
        return number(days)
