"""Runs over time: detect with --window, and watch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hopsight.cli.options import Quiet
from hopsight.cli.support import show_progress

ALERT_LINES = 10


def detect_over_time(out: Path, *, quiet: bool, **request: Any) -> None:
    """Judge a stream from its beginning; ``request`` has the fields of a stream request."""
    from hopsight.checks import plural
    from hopsight.streams.events import Columns
    from hopsight.streams.run import StreamRequest, detect

    if request["path"] is None:
        raise ValueError("--window needs an edge list with times as SOURCE")
    if request["columns"]["time"] is None:
        raise ValueError("--window needs --time-column, the column of the edge list with the time of each event")
    with show_progress(quiet) as progress:
        done = detect(StreamRequest(**{**request, "columns": Columns(**request["columns"])}), out, progress=progress)
    late = f" {plural(done.n_late, 'event')} came late." if done.n_late else ""
    typer.echo(
        f"Judged {plural(done.n_events, 'event')} and flagged {done.n_alerts:,}.{late} "
        f"See {out / 'report.html'} and {out / 'alerts.csv'}; hopsight watch {out} NEW_EDGES continues."
    )


def watch(
    folder: Annotated[Path, typer.Argument(help="The folder of a run with --window.", metavar="DIR")],
    new_edges: Annotated[
        Path, typer.Argument(help="A table of new events, with the same columns.", metavar="NEW_EDGES")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print each alert as one line of JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Continue a run over time: judge new events by what was known before them, and append alerts to alerts.csv."""
    from hopsight.checks import plural
    from hopsight.streams import run

    def tell(row: dict[str, Any]) -> None:
        typer.echo(run.as_json(row))

    with show_progress(quiet) as progress:
        done = run.watch(folder, new_edges, progress=progress, tell=tell if as_json else None)
    if not as_json:
        again = "It was processed already. " if done.repeated else ""
        typer.echo(f"{again}Judged {plural(done.n_events, 'event')}: {plural(done.n_alerts, 'alert')}.")
