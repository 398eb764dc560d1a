"""What commands need around a call: progress, signals and a graph."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

if TYPE_CHECKING:
    from hopsight.runs.console import Progress
    from hopsight.runs.request import Source


AGAIN = 3.0  # seconds after which a command is asked to stop again
SOON = 0.05  # the same while a module is being imported


class StoppedError(Exception):
    """The user stopped a run that can be resumed."""


class StopSignal(KeyboardInterrupt):
    """A signal asks the command to stop.

    Python would forget the exit code of a SIGTERM if this was a KeyboardInterrupt itself and came inside an ``exec``.
    """


class IgnoreWriteErrors:
    """Standard error whose write errors (a full disk, a closed pipe) do not end a good run."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text, or from the first error on nothing."""
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())  # what is left in the buffer goes there too
            os.close(nowhere)
        return len(text)

    def flush(self) -> None:
        """Do nothing: every text has been written."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def load_graph(source: Source, out: Path, *, force: bool) -> Any:
    """Read a graph for a command that writes one file, which is checked first; messages go to standard error."""
    from hopsight.explanations.text import broken
    from hopsight.io import check_output
    from hopsight.io.notices import collected

    check_output(out, source.files, force=force)
    with collected(lambda text: typer.echo(broken(text), err=True)):
        return source.read()


@contextmanager
def stopping(received: list[int]) -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, so that a command that is stopped removes its temporary files.

    Both are repeated until the command has ended, because a library may swallow the first, and wait for the end of an
    import, because half a library cannot clean up after itself. ``received`` gets the numbers of the signals.
    """

    def stop(number: int, frame: Any) -> None:
        received.append(number)
        has_timer = hasattr(signal, "setitimer")
        waits = has_timer and _is_importing(frame)
        if has_timer:
            signal.signal(signal.SIGALRM, stop)
            signal.setitimer(signal.ITIMER_REAL, SOON if waits else AGAIN)
        if not waits:
            raise StopSignal

    def report(swallowed: Any) -> None:
        if not isinstance(swallowed.exc_value, StopSignal):
            hook(swallowed)

    hook, sys.unraisablehook = sys.unraisablehook, report
    heard = {signal.SIGTERM}
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as it is in the background
        heard.add(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, stop) for number in heard} if in_main else {}
    try:
        yield
    finally:
        sys.unraisablehook = hook
        if received and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _is_importing(frame: Any) -> bool:
    """Return whether a frame runs while the command imports a module."""
    while frame is not None and frame.f_globals.get("__name__") != "hopsight.cli":
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


@contextmanager
def show_progress(quiet: bool) -> Iterator[Progress]:
    """Show progress on standard error."""
    from hopsight.runs.console import make_progress

    progress = make_progress(sys.stderr, quiet=quiet)
    try:
        yield progress
    finally:
        progress.close()
