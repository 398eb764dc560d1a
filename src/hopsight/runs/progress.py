"""Progress of a run on standard error: bars on a terminal, plain lines in a log."""

from __future__ import annotations

import time
from collections import deque
from typing import IO, TYPE_CHECKING

from hopsight.checks import duration, one_line

if TYPE_CHECKING:
    from hopsight.detectors.base import Epoch

SECONDS_BETWEEN_LINES = 5.0
SECONDS_OF_SPEED = 30.0
STAGES = {
    "load": "Reading the graph",
    "fit": "Fitting",
    "score": "Scoring",
    "explain": "Explaining",
    "write": "Writing the results",
    "bench": "Benchmark",
}
FIT_STAGES = {  # the parts of a fit that may take long
    "attributes": "Reducing attributes",
    "hops": "Counting hops",
    "views": "Collecting neighborhoods",
    "pairs": "Drawing pairs",
    "train": "Training",
    "judge": "Judging edges",
    "scores": "Scoring nodes",
}


class Progress:
    """Report nothing: the behavior of ``--quiet`` and the base of the other two."""

    def begin(self, stage: str) -> None:
        """Begin a stage of the run."""
        self.stage = STAGES.get(stage, stage)
        self.marks: deque[tuple[float, int]] = deque()

    def part(self, name: str) -> None:
        """Begin a part of the fit."""
        self.stage = FIT_STAGES.get(name, name)
        self.show(0, 0, "…")

    def __call__(self, epoch: Epoch) -> None:
        """Act as the callback of a detector."""
        self.epoch(epoch)

    def epoch(self, epoch: Epoch) -> None:
        """Report one epoch of the fit."""
        self.step(epoch.number, epoch.total, "epoch", f"loss {epoch.loss:.4g}")

    def step(self, number: int, total: int, unit: str, detail: str) -> None:
        """Report step ``number`` of ``total``; the speed is that of the last half minute."""
        now = time.perf_counter()
        if self.marks and number < self.marks[-1][1]:  # another fit begins
            self.marks.clear()
        self.marks.append((now, number))
        while len(self.marks) > 2 and now - self.marks[0][0] > SECONDS_OF_SPEED:
            self.marks.popleft()
        since, first = self.marks[0]
        speed = (number - first) / (now - since) if now > since else 0.0
        rate = f", {speed:.3g}/s, {duration((total - number) / speed)} left" if speed > 0 else ""
        self.show(number, total, f"{unit} {number:,} of {total:,}, {detail}{rate}")

    def show(self, number: int, total: int, text: str) -> None:
        """Show the progress of the stage."""

    def end(self, stage: str, seconds: float) -> None:
        """Report how long a stage took."""
        self.say(f"{STAGES.get(stage, stage)} took {duration(seconds)}")

    def say(self, text: str) -> None:
        """Show a message."""

    def close(self) -> None:
        """Restore the terminal."""


class LineProgress(Progress):
    """Write plain lines for a log: each stage, and every few seconds its progress, speed and time left."""

    def __init__(self, stream: IO[str], *, seconds_between: float = SECONDS_BETWEEN_LINES) -> None:
        self.stream = stream
        self.seconds_between = seconds_between
        self.last_line = time.perf_counter()

    def show(self, number: int, total: int, text: str) -> None:
        """Write a line if the last one was a few seconds ago."""
        if time.perf_counter() - self.last_line >= self.seconds_between:
            self.say(f"{self.stage}: {text}")

    def say(self, text: str) -> None:
        """Write one line."""
        self.last_line = time.perf_counter()
        self.stream.write(f"{one_line(text)}\n")
        self.stream.flush()


class BarProgress(Progress):
    """Show a bar with stage, steps, loss, speed and time left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Display

        self.console = Console(stderr=True)
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[detail]}", markup=False),
            TimeElapsedColumn(),
        )
        self.display = Display(*columns, console=self.console, transient=True)
        self.display.start()
        self.task = self.display.add_task("", total=None, detail="")

    def begin(self, stage: str) -> None:
        """Start a new bar for the stage."""
        super().begin(stage)
        self.display.remove_task(self.task)
        self.task = self.display.add_task(self.stage, total=None, detail="")

    def show(self, number: int, total: int, text: str) -> None:
        """Move the bar."""
        self.display.update(
            self.task, description=self.stage, total=total or None, completed=number, detail=one_line(text)
        )

    def say(self, text: str) -> None:
        """Print above the bar, never reading the text as markup."""
        self.console.print(one_line(text), markup=False, highlight=False)

    def close(self) -> None:
        """Remove the bar."""
        self.display.stop()


def make_progress(stream: IO[str], *, quiet: bool = False) -> Progress:
    """Return bars when ``stream`` is a terminal, lines otherwise, nothing when ``quiet``."""
    if quiet:
        return Progress()
    return BarProgress() if stream.isatty() else LineProgress(stream)
