"""One place that refuses bad parameters: every message names the parameter, the range and the value."""

from __future__ import annotations

import math
from collections.abc import Collection
from difflib import get_close_matches
from numbers import Real


def check_positive(name: str, value: float) -> None:
    """Refuse a number that is not finite and above zero."""
    _check_number(name, value)
    if not value > 0:
        raise ValueError(f"{name} must be above 0, got {value}")


def check_not_negative(name: str, value: float) -> None:
    """Refuse a number that is not finite or is below zero."""
    _check_number(name, value)
    if value < 0:
        raise ValueError(f"{name} must be 0 or more, got {value}")


def check_ratio(name: str, value: float, *, low: float = 0.0, high: float = 1.0) -> None:
    """Refuse a share outside [low, high)."""
    _check_number(name, value)
    if not low <= value < high:
        raise ValueError(f"{name} must be at least {low:g} and below {high:g}, got {value}")


def check_count(name: str, value: int, *, low: int = 1, high: int | None = None) -> None:
    """Refuse anything but a whole number in [low, high]."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    if value < low or (high is not None and value > high):
        upper = "" if high is None else f" and at most {high}"
        raise ValueError(f"{name} must be at least {low}{upper}, got {value}")


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Refuse a word that is not on the list, naming the nearest one that is."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}{suggest(value, choices)}")


def suggest(value: object, choices: Collection[str]) -> str:
    """Return ``"; did you mean …?"`` for the nearest choice, or nothing.

    >>> suggest("drop_ration", ["drop_ratio", "lr"])
    '; did you mean drop_ratio?'
    """
    near = get_close_matches(str(value), list(choices), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


def _check_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}")
