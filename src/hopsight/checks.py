"""One place that refuses bad parameters: every message names the parameter, the range and the value."""

from __future__ import annotations

import math
from collections.abc import Collection
from contextlib import suppress
from difflib import get_close_matches
from numbers import Real
from pathlib import Path


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


def check_memory(name: str, n_bytes: float) -> None:
    """Refuse, before any work, what needs more memory than the machine has free."""
    free = available_memory()
    if free is not None and n_bytes > free:
        raise ValueError(
            f"{name} would need about {n_bytes / 1e9:.1f} GB of memory on this network, "
            f"and only {free / 1e9:.1f} GB are available"
        )


def available_memory() -> int | None:
    """Return the bytes that a new computation may use, or None where the system does not say (Linux does)."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    fields = {name: value for name, _, value in (line.partition(":") for line in lines)}
    free = int(fields["MemAvailable"].split()[0]) * 1024 if "MemAvailable" in fields else None
    with suppress(OSError, ValueError):  # a container may allow less than the machine has
        group = Path("/sys/fs/cgroup")
        limit, used = ((group / f"memory.{word}").read_text(encoding="ascii") for word in ("max", "current"))
        inside = int(limit) - int(used)
        return inside if free is None else min(free, inside)
    return free


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
