"""Stages are timed, add up when they come again, and are announced once."""

from __future__ import annotations

import time

from hopsight.hcm.train import StageClock


class Watcher:
    """A callback that also wants to know the stages."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def part(self, name: str) -> None:
        """Note a stage."""
        self.heard.append(name)


def test_stages_add_up_and_are_announced_once() -> None:
    watcher = Watcher()
    clock = StageClock(watcher)
    start = time.perf_counter()
    for stage in ("train", "judge", "train", "judge"):
        clock.begin(stage)
        time.sleep(0.02)
    seconds = clock.end()
    assert watcher.heard == ["train", "judge"]
    assert seconds["train"] >= 0.04 and seconds["judge"] >= 0.04
    assert sum(seconds.values()) <= time.perf_counter() - start
