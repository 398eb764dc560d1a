"""What commands need around a call: progress, signals and a graph."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from hopsight.runs.progress import Progress


class StoppedError(Exception):
    """The user stopped a run that can be resumed."""


def load_graph(source: str, nodes: str | None, data_dir: str | None, **options: Any) -> Any:
    """Read a graph for a command without a run folder; messages go to standard error."""
    from hopsight.runs.record import notices
    from hopsight.runs.request import Source

    with notices(lambda text: typer.echo(text, err=True)):
        return Source(path=source, nodes=nodes, data_dir=data_dir, **options).read()


@contextmanager
def show_progress(quiet: bool) -> Iterator[Progress]:
    """Show progress on standard error; treat SIGTERM like Ctrl-C."""
    from hopsight.runs.progress import make_progress

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    progress = make_progress(sys.stderr, quiet=quiet)
    try:
        yield progress
    finally:
        progress.close()
