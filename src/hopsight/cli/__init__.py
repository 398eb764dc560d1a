"""The command line: parse, call, print. Each command imports what only it needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer

from hopsight.cli.detection import detect, rerun, score
from hopsight.cli.graphs import bench, convert, data_fetch, data_info, data_list, inject
from hopsight.cli.reasons import explain
from hopsight.cli.support import Forgiving, StoppedError, stop_on_sigterm

app = typer.Typer(
    help="Find the nodes and edges of an attributed graph that do not belong where they are.",
    no_args_is_help=True,
    add_completion=False,
)
data = typer.Typer(help="The catalog of published graphs.", no_args_is_help=True)
for command in (detect, score, explain, rerun, inject, bench, convert):
    app.command()(command)
for name, data_command in (("list", data_list), ("fetch", data_fetch), ("info", data_info)):
    data.command(name)(data_command)
app.add_typer(data, name="data")

DEBUG = "HOPSIGHT_DEBUG"
CLICK_ERROR: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; an error is one sentence on standard error and exit code 2."""
    # Idle threads sleep instead of spinning, which would slow down other programs; it counts until torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    _open_streams()
    stop_on_sigterm()
    try:
        command = typer.main.get_command(app)
        code = int(command.main(args=arguments, prog_name="hopsight", standalone_mode=False) or 0)
        return _complain("stopped", 130) if code == 130 else code
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        return _complain(*_sentence(error))


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Find the nodes and edges of an attributed graph that do not belong where they are."""
    if show:
        import hopsight

        typer.echo(f"hopsight {hopsight.__version__}")
        raise typer.Exit


def _open_streams() -> None:
    """Replace closed streams, and escape characters that the terminal cannot encode."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (open until the end)
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if isinstance(sys.stderr, TextIOWrapper) and sys.stderr is sys.__stderr__:
        sys.stderr = Forgiving(sys.stderr)


def _sentence(error: Exception) -> tuple[str, int]:
    """Return the error message and the exit code."""
    if isinstance(error, StoppedError):
        return str(error), 130
    if isinstance(error, CLICK_ERROR):
        return error.format_message() or "no command given; hopsight --help lists them", 2
    if isinstance(error, OSError):
        return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", 2
    if isinstance(error, ValueError | MemoryError):
        return str(error) or "there is not enough memory", 2
    if "alloc" in str(error) or type(error).__name__ == "OutOfMemoryError":  # torch has its own
        return "there is not enough memory: try --set max_pairs=... or another machine", 2
    return f"unexpected {type(error).__name__}: {error} ({DEBUG}=1 shows where)", 1


def _complain(sentence: str, code: int) -> int:
    from hopsight.runs.progress import one_line

    sys.stderr.write(f"hopsight: {one_line(sentence)}\n")
    return code
