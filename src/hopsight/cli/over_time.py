"""Edges as events in time: stream, and watch, which continues it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hopsight.cli import options
from hopsight.cli.support import show_progress

FEW = 5  # alerts to print

if TYPE_CHECKING:
    from hopsight.runs.console import Progress
    from hopsight.streams.run import StreamRequest


def stream(
    source: Annotated[
        str,
        typer.Argument(
            help="A table of events: text, .parquet, .xlsx, a folder of Parquet files, or bank.db?table=payments.",
            show_default=False,
        ),
    ],
    nodes: Annotated[str | None, typer.Option(help="Node table with attributes.")] = None,
    time_column: Annotated[
        str | None, typer.Option(help="Column with the time of each event.", show_default="recognized")
    ] = None,
    weight_column: Annotated[
        str | None, typer.Option(help="Column with the amount of each event.", show_default="recognized")
    ] = None,
    window: Annotated[
        str, typer.Option(help="Length of a window: 1d, 12h, 15m or a number of events such as 1000.")
    ] = "1d",
    alarm: Annotated[float, typer.Option(help="Score from which events are flagged; 3 means 1 in 1,000.")] = 3.0,
    out: options.Out = Path("hopsight-out"),
    top: options.Top = 20,
    label: options.Label = None,
    ignore: options.Ignore = None,
    category: options.Category = None,
    source_column: options.SourceColumn = None,
    target_column: options.TargetColumn = None,
    no_header: options.NoHeader = False,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Judge edges as events in time, each by earlier events, and raise alerts."""
    from hopsight.streams.events import Columns
    from hopsight.streams.run import StreamRequest

    columns = Columns(
        time=time_column, source=source_column, target=target_column, amount=weight_column, label=label,
        ignore=tuple(ignore or ()), category=tuple(category or ()), header=False if no_header else None,
    )  # fmt: skip
    request = StreamRequest(path=source, columns=columns, nodes=nodes, window=window, seed=seed, top=top, alarm=alarm)
    with show_progress(quiet) as progress:
        _judge(request, out, progress, as_json)


def rerun_over_time(record: Mapping[str, Any], out: Path, progress: Progress, as_json: bool) -> None:
    """Repeat a run over time from its record; pieces that were watched since are not part of it."""
    from hopsight.streams.run import request_of

    request = request_of(record, progress)
    if record.get("n_pieces", 1) > 1:
        progress.say("only the first file is judged again: pass the pieces of hopsight watch to it again")
    _judge(request, out, progress, as_json)


def _judge(request: StreamRequest, out: Path, progress: Progress, as_json: bool) -> None:
    from hopsight.checks import one_line, plural
    from hopsight.explanations.text import broken
    from hopsight.runs.console import write, write_json
    from hopsight.streams import run
    from hopsight.streams.results import strongest

    done = run.stream(request, out, progress=progress)
    alerts = strongest(out, request.top)
    if as_json:
        counts = {"events": done.n_events, "alerts": done.n_alerts, "late": done.n_late}
        write_json({"folder": str(out), **counts, "top": alerts})
        return
    late = f" {plural(done.n_late, 'event')} came late." if done.n_late else ""
    write(f"Judged {plural(done.n_events, 'event')}: {plural(done.n_alerts, 'alert')}.{late}")
    write(*(broken(one_line(each["reason"])) for each in alerts[:FEW]))
    write(broken(f"Written: {out / 'report.html'}, {out / 'alerts.csv'}"), f"Next: hopsight watch {out} NEW_EDGES")


def watch(
    folder: Annotated[Path, typer.Argument(help="The output folder of hopsight stream.", metavar="DIR")],
    new_edges: Annotated[
        str, typer.Argument(help="A table of new events, with the same columns.", metavar="NEW_EDGES")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print each alert as one line of JSON.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Continue a stream with new events and append alerts to alerts.csv."""
    from hopsight.checks import plural
    from hopsight.explanations.text import printable_json
    from hopsight.streams import run
    from hopsight.system.arrays import plain

    def tell(row: dict[str, Any]) -> None:
        typer.echo(printable_json(plain(row), indent=None))

    with show_progress(quiet) as progress:
        done = run.watch(folder, new_edges, progress=progress, tell=tell if as_json else None)
    if not as_json:
        again = "It was processed already. " if done.repeated else ""
        typer.echo(f"{again}Judged {plural(done.n_events, 'event')}: {plural(done.n_alerts, 'alert')}.")
