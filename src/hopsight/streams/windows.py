"""Windows of a stream: a duration such as 30d, 12h or 15m, or a number of events."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import Refusal, plural

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

TICKS = 96  # per window, at least
LONGEST_TICK = 60.0  # seconds
SPANS = 4  # per window
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
NAMES = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}
_WINDOW = re.compile(r"\s*([0-9]+)\s*([smhdw]?)\s*")


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

    def number(self, seconds: FloatArray, first: int, parts: int = 1) -> IntArray:
        """Return in which window, or part of one, each event is; ``first`` is the number of events before these."""
        if self.events is not None:
            return (first + np.arange(seconds.size, dtype=np.int64)) * parts // self.events
        return np.floor(seconds * (parts / float(self.seconds or 1.0))).astype(np.int64)

    def ticks(self, seconds: FloatArray, first: int, *, dated: bool) -> IntArray:
        """Return the tick of each event; where times are dates it is a minute at most, also if windows count events.

        In a tick that is a number of events nothing could come more often than before.
        """
        if self.events is not None and dated:
            return np.floor(seconds / LONGEST_TICK).astype(np.int64)
        return self.number(seconds, first, self.n_ticks)

    @property
    def words(self) -> str:
        """How long a window is, in words: ``1 day``, ``500 events``."""
        return self._words(1)

    def span_words(self, *, dated: bool) -> tuple[str, str]:
        """Return how long the two scales of counting are, in words: a tick, and a quarter of a window."""
        tick = "1 minute" if self.events is not None and dated else self._words(self.n_ticks)
        return tick, self._words(SPANS)

    def _words(self, parts: int) -> str:
        if self.events is not None:
            return plural(max(1, self.events // parts), "event")
        length = float(self.seconds or 1.0) / parts
        unit = next(unit for unit in ("d", "h", "m", "s") if length >= UNITS[unit] or unit == "s")
        count = length / UNITS[unit]
        return f"{count:.3g} {NAMES[unit]}{'' if count == 1 else 's'}"


def parse_window(text: str) -> Window:
    """Return the window that a text such as ``1d`` or ``1000`` stands for.

    >>> parse_window("12h").seconds, parse_window("1000").events
    (43200.0, 1000)
    """
    match = _WINDOW.fullmatch(text)
    if not match or int(match[1]) == 0:
        raise Refusal(
            "window", f"must be a duration such as 30d, 12h or 15m, or a number of events such as 1000, got {text!r}"
        )
    number, unit = int(match[1]), match[2]
    return Window(text.strip(), None if not unit else number * UNITS[unit], None if unit else number)
