"""What a person sees while a run goes on: bars on a terminal, plain lines in a log, on standard error."""

from __future__ import annotations

import time
from collections import deque
from typing import IO, TYPE_CHECKING

from hopsight.explain.text import printable

if TYPE_CHECKING:
    from hopsight.detectors.base import Epoch

SECONDS_BETWEEN_LINES = 5.0
SECONDS_OF_SPEED = 30.0
VERBS = {"load": "reading", "fit": "fitting", "score": "scoring", "explain": "explaining", "write": "writing"}
PARTS = {  # of a fit that takes long before its first epoch
    "attributes": "reducing attributes",
    "hops": "counting hops",
    "views": "looking at neighborhoods",
    "pairs": "drawing pairs",
    "train": "learning",
    "judge": "learning and judging edges",
    "scores": "scoring nodes",
}


class Progress:
    """Say nothing; what ``--quiet`` gets and what the other two extend."""

    def begin(self, stage: str) -> None:
        """Note that a stage begins."""
        self.stage = VERBS.get(stage, stage)
        self.marks: deque[tuple[float, int]] = deque()

    def part(self, name: str) -> None:
        """Note what a fit is about to do."""
        self.stage = PARTS.get(name, name)
        self.show(0, 0, "…")

    def __call__(self, epoch: Epoch) -> None:
        """Be the callback that a detector calls."""
        self.epoch(epoch)

    def epoch(self, epoch: Epoch) -> None:
        """Note one epoch of the fit."""
        self.step(epoch.number, epoch.total, "epochs", f"loss {epoch.loss:.4g}")

    def step(self, number: int, total: int, unit: str, detail: str) -> None:
        """Note that ``number`` of ``total`` steps are done; speed is that of the last half minute."""
        now = time.perf_counter()
        self.marks.append((now, number))
        while len(self.marks) > 2 and now - self.marks[0][0] > SECONDS_OF_SPEED:
            self.marks.popleft()
        since, first = self.marks[0]
        speed = (number - first) / (now - since) if now > since else 0.0
        rate = f", {speed:.3g}/s, {duration((total - number) / speed)} left" if speed > 0 else ""
        self.show(number, total, f"{number:,} of {total:,} {unit}, {detail}{rate}")

    def show(self, number: int, total: int, text: str) -> None:
        """Show how far a stage is."""

    def end(self, stage: str, seconds: float) -> None:
        """Note how long a stage took."""
        self.say(f"{VERBS.get(stage, stage)} took {duration(seconds)}")

    def say(self, text: str) -> None:
        """Show a remark."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class LineProgress(Progress):
    """Plain lines for a log: each stage, and every few seconds how far it is, the speed and the time left."""

    def __init__(self, stream: IO[str], *, seconds_between: float = SECONDS_BETWEEN_LINES) -> None:
        self.stream = stream
        self.seconds_between = seconds_between
        self.spoken = time.perf_counter()

    def show(self, number: int, total: int, text: str) -> None:
        """Write a line if the last one is a few seconds old."""
        if time.perf_counter() - self.spoken >= self.seconds_between:
            self.say(f"{self.stage}: {text}")

    def say(self, text: str) -> None:
        """Write one line."""
        self.spoken = time.perf_counter()
        self.stream.write(f"{one_line(text)}\n")
        self.stream.flush()


class BarProgress(Progress):
    """A bar that shows stage, steps, loss, speed and time left."""

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
        """Start the bar anew under the stage's name."""
        super().begin(stage)
        self.display.remove_task(self.task)
        self.task = self.display.add_task(self.stage, total=None, detail="")

    def show(self, number: int, total: int, text: str) -> None:
        """Move the bar."""
        self.display.update(
            self.task, description=self.stage, total=total or None, completed=number, detail=one_line(text)
        )

    def say(self, text: str) -> None:
        """Print above the bar; a name in the text is never taken for markup."""
        self.console.print(one_line(text), markup=False, highlight=False)

    def close(self) -> None:
        """Take the bar away."""
        self.display.stop()


def make_progress(stream: IO[str], *, quiet: bool = False) -> Progress:
    """Return bars when ``stream`` is a terminal, lines otherwise, nothing when ``quiet``."""
    if quiet:
        return Progress()
    return BarProgress() if stream.isatty() else LineProgress(stream)


def one_line(text: str) -> str:
    r"""Return a text from a stranger's file so that it stays on one line and cannot steer the terminal.

    >>> one_line("a\nb\x1b[31m")
    'a b\\x1b[31m'
    """
    return printable(" ".join(text.split()))


def duration(seconds: float) -> str:
    """Return a time that a person reads at a glance.

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
