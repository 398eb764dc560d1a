"""Refuse bad parameters: every message names the parameter, its range and the value; and word messages alike.

A refusal knows the name of its parameter. How it is written depends on who called: ``drop_ratio`` in Python,
``--set drop_ratio`` on the command line.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from numbers import Real

Spelling = Callable[[str, object], str | None]  # of a parameter and its value, which is None if only its name counts


def _in_python(name: str, value: object) -> str:
    return name if value is None else f"{name}={value!r}"


_spellings: ContextVar[tuple[Spelling, ...]] = ContextVar("spellings", default=())


@contextmanager
def spelling(spell: Spelling) -> Iterator[None]:
    """Have messages write parameters in another way while the block runs, or as before it where ``spell`` has none."""
    before = _spellings.set((spell, *_spellings.get()))
    try:
        yield
    finally:
        _spellings.reset(before)


def option(name: str, value: object = None) -> str:
    """Return how the caller gives a parameter (a value).

    >>> option("ignore", ["amount"]), option("directed", True), option("lr")
    ("ignore=['amount']", 'directed=True', 'lr')
    """
    return next(filter(None, (spell(name, value) for spell in _spellings.get())), _in_python(name, value))


class Refusal(ValueError):  # noqa: N818 (it is a ValueError, and reads better this way)
    """The value of a parameter is refused.

    >>> print(Refusal("drop_ratio", "must be at least 0 and below 1, got 2"))
    drop_ratio must be at least 0 and below 1, got 2
    """

    def __init__(self, parameter: str, problem: str) -> None:
        super().__init__(parameter, problem)
        self.parameter, self.problem = parameter, problem

    def __str__(self) -> str:
        return f"{option(self.parameter)} {self.problem}"


def check_positive(name: str, value: float) -> None:
    """Refuse a number that is not finite and above zero."""
    _check_number(name, value)
    if not value > 0:
        raise Refusal(name, f"must be above 0, got {value}")


def check_not_negative(name: str, value: float) -> None:
    """Refuse a number that is not finite or is below zero."""
    _check_number(name, value)
    if value < 0:
        raise Refusal(name, f"must be 0 or more, got {value}")


def check_ratio(name: str, value: float, *, low: float = 0.0, high: float = 1.0) -> None:
    """Refuse a number outside [low, high)."""
    _check_number(name, value)
    if not low <= value < high:
        raise Refusal(name, f"must be at least {low:g} and below {high:g}, got {value}")


def check_count(name: str, value: int, *, low: int = 1, high: int | None = None) -> None:
    """Refuse anything but a whole number in [low, high]."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise Refusal(name, f"must be a whole number, got {value!r}")
    most = sys.maxsize if high is None else high
    if not low <= value <= most:
        upper = "" if high is None and value < low else f" and at most {most}"
        raise Refusal(name, f"must be at least {low}{upper}, got {value}")


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Refuse a word that is not among the choices, and suggest the closest one."""
    if value not in choices:
        raise Refusal(name, f"must be one of {', '.join(choices)}, got {value!r}{suggest(value, choices)}")


def suggest(value: object, choices: Collection[str]) -> str:
    """Return ``"; did you mean …?"`` with the closest choice, or nothing if none is close.

    >>> suggest("drop_ration", ["drop_ratio", "lr"])
    '; did you mean drop_ratio?'
    """
    near = get_close_matches(str(value), list(choices), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


def plural(count: int, noun: str) -> str:
    """Return a count with its noun, in the singular or the plural.

    >>> plural(1, "edge"), plural(2400, "edge"), plural(0, "company"), plural(3, "address")
    ('1 edge', '2,400 edges', '0 companies', '3 addresses')
    """
    if count == 1:
        return f"1 {noun}"
    if re.search(r"[^aeiou]y$", noun):
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}{'es' if re.search(r'(s|x|z|ch|sh)$', noun) else 's'}"


def listed(names: Sequence[str]) -> str:
    """Join names as in a sentence.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def shortened(value: object, limit: int = 60) -> str:
    """Return the ``repr`` of a value for a message, cut if it is long.

    >>> shortened("x" * 100, limit=8)
    "'xxxxx…'"
    """
    text = repr(value)
    end = text[-1] if text[0] == text[-1] else ""  # a quote
    return text if len(text) <= limit else f"{text[: limit - 1 - len(end)]}…{end}"


def _check_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise Refusal(name, f"must be a finite number, got {value!r}")


def duration(seconds: float) -> str:
    """Format a duration.

    >>> duration(0.25), duration(42.0), duration(125.0), duration(7400.0)
    ('0.2 s', '42 s', '2 min 5 s', '2 h 3 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def printable(name: object) -> str:
    r"""Escape control characters in a name from the user's data, so that they cannot reach the terminal.

    >>> print(printable("a\x1b[2J"))
    a\x1b[2J
    """
    text = str(name)
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def one_line(text: str) -> str:
    r"""Put a text from the user's data on one line and escape control characters.

    >>> one_line("a\nb\x1b[31m")
    'a b\\x1b[31m'
    """
    return printable(" ".join(text.split()))
