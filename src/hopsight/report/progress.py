"""What a person sees while a run goes on: bars on a terminal, plain lines in a log, on standard error."""

from __future__ import annotations

import time
from typing import IO, TYPE_CHECKING

from hopsight.explain.text import printable

if TYPE_CHECKING:
    from hopsight.detectors.base import Epoch

SECONDS_BETWEEN_LINES = 5.0
VERBS = {"load": "reading", "fit": "fitting", "score": "scoring", "explain": "explaining", "write": "writing"}


class Progress:
    """Say nothing; what ``--quiet`` gets and what the other two extend."""

    def begin(self, stage: str) -> None:
        """Note that a stage begins."""

    def epoch(self, epoch: Epoch) -> None:
        """Note one epoch of the fit."""

    def end(self, stage: str, seconds: float) -> None:
        """Note that a stage has ended."""

    def say(self, text: str) -> None:
        """Show a remark."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class LineProgress(Progress):
    """Plain lines for a log: each stage, and every few seconds the epoch, the speed and the time left."""

    def __init__(self, stream: IO[str], *, seconds_between: float = SECONDS_BETWEEN_LINES) -> None:
        self.stream = stream
        self.seconds_between = seconds_between
        self.started = self.spoken = time.perf_counter()
        self.first = 0

    def begin(self, stage: str) -> None:
        """Note that a stage begins."""
        self.started = self.spoken = time.perf_counter()
        self.first = 0

    def epoch(self, epoch: Epoch) -> None:
        """Write a line if the last one is a few seconds old."""
        now = time.perf_counter()
        self.first = self.first or epoch.number  # a resumed run does not begin at 1
        if now - self.spoken < self.seconds_between:
            return
        self.spoken = now
        speed = (epoch.number - self.first + 1) / (now - self.started)
        left = (epoch.total - epoch.number) / speed
        self.say(
            f"fitting: epoch {epoch.number} of {epoch.total}, loss {epoch.loss:.4g}, "
            f"{speed:.3g} epochs/s, {duration(left)} left"
        )

    def end(self, stage: str, seconds: float) -> None:
        """Write how long the stage took."""
        self.say(f"{VERBS.get(stage, stage)} took {duration(seconds)}")

    def say(self, text: str) -> None:
        """Write one line."""
        self.stream.write(f"{one_line(text)}\n")
        self.stream.flush()


class BarProgress(Progress):
    """A bar that shows stage, epochs, loss, speed and time left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Display

        self.console = Console(stderr=True)
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description:<10}"),
            BarColumn(),
            TextColumn("{task.fields[detail]}"),
            TimeRemainingColumn(),
        )
        self.display = Display(*columns, console=self.console, transient=True)
        self.display.start()
        self.task = self.display.add_task("", total=None, detail="")
        self.started = time.perf_counter()
        self.first = 0

    def begin(self, stage: str) -> None:
        """Start the bar anew under the stage's name."""
        self.display.remove_task(self.task)
        self.task = self.display.add_task(VERBS.get(stage, stage), total=None, detail="")
        self.started = time.perf_counter()
        self.first = 0

    def epoch(self, epoch: Epoch) -> None:
        """Move the bar."""
        self.first = self.first or epoch.number
        speed = (epoch.number - self.first + 1) / max(time.perf_counter() - self.started, 1e-9)
        detail = f"{epoch.number}/{epoch.total} epochs, loss {epoch.loss:.4g}, {speed:.3g}/s"
        self.display.update(self.task, total=epoch.total, completed=epoch.number, detail=detail)

    def end(self, stage: str, seconds: float) -> None:
        """Leave a line with the stage's time."""
        self.say(f"{VERBS.get(stage, stage)} took {duration(seconds)}")

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
