"""Measure how long each stage of a fit takes."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any


class StageClock:
    """Clock for stages that follow one another and may recur.

    A callback with a method ``part`` receives the name of every stage when it first begins.

    >>> clock = StageClock(None)
    >>> clock.begin("hops"); clock.begin("train"); clock.begin("hops")
    >>> list(clock.end())
    ['hops', 'train']
    """

    def __init__(self, callback: Any) -> None:
        self._announce = getattr(callback, "part", None)
        self._seconds: dict[str, float] = defaultdict(float)
        self._stage: str | None = None
        self._since = 0.0

    def begin(self, stage: str) -> None:
        """End the current stage and begin another."""
        if self._announce is not None and stage not in self._seconds:
            self._announce(stage)
        self._switch(stage)

    def end(self) -> dict[str, float]:
        """End the last stage and return the seconds of each stage."""
        self._switch(None)
        return dict(self._seconds)

    def _switch(self, stage: str | None) -> None:
        now = time.perf_counter()
        if self._stage is not None:
            self._seconds[self._stage] += now - self._since
        self._stage, self._since = stage, now
