"""Runs over time: detect with --window, and watch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hopsight.cli.options import Quiet
from hopsight.cli.support import show_progress

if TYPE_CHECKING:
    from hopsight.runs.progress import Progress
    from hopsight.streams.run import StreamRequest

NODES = "attributes of nodes are not used over time yet"
MODEL = "events over time are judged by one model with fixed settings"
FLAGS = "pass --alarm, the score from which on events are flagged"
ROWS = "every row is an event from a source to a target"
AGAIN = "a run that was stopped starts over, and hopsight watch continues a finished one"
REFUSED = {
    "nodes": NODES, "id_column": NODES, "type_column": NODES, "name_column": NODES, "category": NODES, "missing": NODES,
    "derive": NODES, "detector": MODEL, "preset": MODEL, "settings": MODEL, "evidence": MODEL, "repeat": MODEL,
    "verdicts": MODEL, "device": "events are judged on the CPU", "false_alarms": FLAGS, "contamination": FLAGS,
    "duplicates": ROWS, "bipartite": ROWS, "resume": AGAIN, "restart": AGAIN,
    "only": "filter scores.csv instead", "memory_limit": "memory is bounded, whatever the length of the stream",
    "scratch": "memory is bounded, whatever the length of the stream", "csv": "its tables are CSV files in any case",
    "data_dir": "it reads files, not graphs of the catalog", "redact": "its report cannot be redacted yet",
    "engine": "it is not supported on Spark yet", "master": "it is not supported on Spark yet",
}  # fmt: skip
SUPPORTED = (
    "source", "source_column", "target_column", "time_column", "weight_column", "label", "ignore", "no_header",
    "directed", "window", "alarm", "seed", "out", "top", "quiet",
)  # fmt: skip


def detect_over_time(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Judge a stream from its beginning; ``given`` are the options of detect by name."""
    from hopsight.streams.events import Columns
    from hopsight.streams.run import ALARM, StreamRequest

    check_options(given, defaults)
    if given["source"] is None:
        raise ValueError("--window needs an edge list with times as SOURCE")
    if given["time_column"] is None:
        raise ValueError("--window needs --time-column, the column of the edge list with the time of each event")
    columns = Columns(
        time=given["time_column"], source=given["source_column"], target=given["target_column"],
        amount=given["weight_column"], label=given["label"], ignore=tuple(given["ignore"] or ()),
        header=False if given["no_header"] else None,
    )  # fmt: skip
    request = StreamRequest(
        path=given["source"], columns=columns, window=given["window"], seed=given["seed"], top=given["top"],
        alarm=ALARM if given["alarm"] is None else given["alarm"],
    )  # fmt: skip
    with show_progress(given["quiet"]) as progress:
        _judge(request, given["out"], progress)


def check_options(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Refuse every option that means nothing over time, in one sentence."""
    for name, value in given.items():
        if name in SUPPORTED or value == defaults[name] or (name == "device" and value == "cpu"):
            continue
        option = "set" if name == "settings" else name.replace("_", "-")
        raise ValueError(f"--{option} is not for --window: {REFUSED.get(name, 'leave it out')}")


def rerun_over_time(record: Mapping[str, Any], out: Path, progress: Progress) -> None:
    """Repeat a run over time from its record; pieces that were watched since are not part of it."""
    from hopsight.streams.run import request_of

    request = request_of(record, progress)
    if record.get("n_pieces", 1) > 1:
        progress.say("only the first file is judged again: pass the pieces of hopsight watch to it again")
    _judge(request, out, progress)


def _judge(request: StreamRequest, out: Path, progress: Progress) -> None:
    from hopsight.checks import plural
    from hopsight.streams.run import detect

    done = detect(request, out, progress=progress)
    late = f" {plural(done.n_late, 'event')} came late." if done.n_late else ""
    typer.echo(
        f"Judged {plural(done.n_events, 'event')} and flagged {done.n_alerts:,}.{late} "
        f"See {out / 'report.html'} and {out / 'alerts.csv'}; hopsight watch {out} NEW_EDGES continues."
    )


def watch(
    folder: Annotated[Path, typer.Argument(help="The folder of a run with --window.", metavar="DIR")],
    new_edges: Annotated[
        str, typer.Argument(help="A table of new events, with the same columns.", metavar="NEW_EDGES")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print each alert as one line of JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Continue a run over time: judge new events by what was known before them, append alerts to alerts.csv."""
    from hopsight.checks import plural
    from hopsight.explanations.text import printable_json
    from hopsight.streams import run
    from hopsight.system.plain import plain

    def tell(row: dict[str, Any]) -> None:
        typer.echo(printable_json(plain(row), indent=None))

    with show_progress(quiet) as progress:
        done = run.watch(folder, new_edges, progress=progress, tell=tell if as_json else None)
    if not as_json:
        again = "It was processed already. " if done.repeated else ""
        typer.echo(f"{again}Judged {plural(done.n_events, 'event')}: {plural(done.n_alerts, 'alert')}.")
