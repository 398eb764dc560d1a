"""The command line: parse, call, print. Each command imports what only it needs."""

from __future__ import annotations

import atexit
import gc
import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer

from hopsight.checks import one_line, option, spelling
from hopsight.cli import commands
from hopsight.cli.options import EXAMPLES, decorate
from hopsight.cli.support import IgnoreWriteErrors, StoppedError, stopping

app = typer.Typer(
    help="Find the nodes and edges of an attributed graph that look out of place.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data = typer.Typer(help="The catalog of published graphs.", no_args_is_help=True)
for name in EXAMPLES:
    group, _, part = name.rpartition(" ")
    (data if group else app).command(part)(getattr(commands, name.replace(" ", "_")))
app.add_typer(data, name="data")

DEBUG = "HOPSIGHT_DEBUG"
INTERRUPTED = 130  # 128 + SIGINT
GARBAGE = 10_000  # objects after which Python searches for garbage; imports alone would cause hundreds of searches
SEVERAL = "; several tables are named in a file such as graph.toml: see Several tables in the docs"
SUFFIX = re.compile(r"\.(csv|tsv|txt|parquet|xlsx|jsonl?)\b")
CLICK_ERROR: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; an error is one sentence on standard error and exit code 2."""
    # Idle threads sleep instead of spinning, which would slow down other programs; it counts until torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    gc.set_threshold(GARBAGE)
    atexit.register(gc.freeze)  # to search torch for garbage before the process ends would take a second
    _open_streams()
    with spelling(_spelled):
        return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    received: list[int] = []
    if "" in (given := sys.argv[1:] if arguments is None else arguments) or "--out=" in given:
        return _complain("an argument is empty: give it a value or leave it out", 2)
    try:
        with stopping(received):
            code = int(_command().main(args=arguments, prog_name="hopsight", standalone_mode=False) or 0)
        return _complain("stopped", _stopped_by(received)) if code == INTERRUPTED else code
    except StoppedError as stop:
        return _complain(str(stop), _stopped_by(received))
    except BaseException as error:
        # Before typer was there to notice it, or a library has made another error of it, or a panic.
        if received or isinstance(error, KeyboardInterrupt):
            return _complain("stopped", _stopped_by(received))
        if not isinstance(error, Exception):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":  # the help has been printed
            return 0
        if os.environ.get(DEBUG):
            raise
        return _complain(*_sentence(error))


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", "-V", help="Print the version and exit.")] = False) -> None:
    """Find the nodes and edges of an attributed graph that look out of place."""
    if show:
        import hopsight

        typer.echo(f"hopsight {hopsight.__version__}")
        raise typer.Exit


@cache
def _command() -> Any:
    """Return the command line with its help; to make it takes a while, as typer inspects every function."""
    return decorate(typer.main.get_command(app))


def _open_streams() -> None:
    """Replace closed streams, and escape characters that the terminal cannot encode."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (open until the end)
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if isinstance(sys.stderr, TextIOWrapper) and sys.stderr is sys.__stderr__:
        sys.stderr = IgnoreWriteErrors(sys.stderr)


def _stopped_by(received: Sequence[int]) -> int:
    """Return the exit code of a command that a signal stopped: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + received[0] if received else INTERRUPTED


def _sentence(error: Exception) -> tuple[str, int]:
    """Return the error message and the exit code."""
    if isinstance(error, CLICK_ERROR):
        said = error.format_message() or "no command given; hopsight --help lists them"
        return f"{said}{SEVERAL if 'unexpected extra argument' in said and SUFFIX.search(said) else ''}", 2
    if isinstance(error, OSError):
        return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", 2
    if isinstance(error, ValueError | MemoryError):
        return str(error) or "there is not enough memory", 2
    if "alloc" in str(error) or type(error).__name__ == "OutOfMemoryError":  # torch has its own
        return f"there is not enough memory: try a smaller {option('max_pairs')} or another machine", 2
    return f"unexpected {type(error).__name__}: {error} ({DEBUG}=1 shows where)", 1


def _spelled(name: str, value: object) -> str:
    """Write a parameter as an option of the command line.

    >>> _spelled("memory_limit", None), _spelled("ignore", ["zip code"]), _spelled("bipartite", False)
    ('--memory-limit', "--ignore 'zip code'", '--one-kind')
    """
    commands = [*_command().commands.values(), *_command().commands["data"].commands.values()]
    options = {each.name: each.opts[0] for each_command in commands for each in each_command.params}
    if name in _hyperparameters() - set(options):
        return f"--set {name}" if value is None else f"--set {name}={value}"
    flag = options.get(name, name)
    if value is False:
        return next(each.secondary_opts[0] for part in commands for each in part.params if each.name == name)
    if value is None or value is True:
        return flag
    return " ".join(f"{flag} {shlex.quote(str(each))}" for each in (value if isinstance(value, list) else [value]))


def _hyperparameters() -> set[str]:
    """Return the fields of the detectors that this process has loaded."""
    base = sys.modules.get("hopsight.detectors.base")
    waiting, names = [base.Detector] if base else [], set()
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        names |= {field.name for field in fields(kind)}
    return names


def _complain(sentence: str, code: int) -> int:
    sys.stderr.write(f"hopsight: {one_line(sentence)}\n")
    return code
