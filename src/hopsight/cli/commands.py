"""The commands: detect, score and rerun; what finished runs say; edges as events in time; graphs and benchmarks."""

from __future__ import annotations

import dataclasses
import getpass
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hopsight.checks import Refusal
from hopsight.cli import options
from hopsight.cli.support import StoppedError, load_graph, show_progress

if TYPE_CHECKING:
    from hopsight.runs.console import Progress
    from hopsight.runs.request import Source
    from hopsight.streams.run import StreamRequest

DEFAULT_DETECTOR = "cross_hcm"
LOCAL_ONLY = {
    "only": "filter the table of scores of a Spark run instead",
    "redact": "Spark keeps no model to write another report from",
    "restart": "the Spark engine keeps no checkpoint",
    "rank_unknown": "Spark refuses ids without a row in the node table",
    "as_json": "its results are tables",
}


@options.reads_graph(options.OptionalSource, None)
def detect(
    source: Source,
    detector: Annotated[str, typer.Option(help="Name of the detector.")] = DEFAULT_DETECTOR,
    preset: Annotated[str | None, typer.Option(help="Named settings; hcm has paper and authors.")] = None,
    seed: options.Seed = 0,
    out: options.Out = Path("hopsight-out"),
    top: options.Top = 20,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    settings: Annotated[list[str] | None, typer.Option("--set", help="A hyperparameter; repeatable.")] = None,
    evidence: Annotated[
        list[str] | None,
        typer.Option(help="Kind of evidence to use; repeatable."),
    ] = None,
    false_alarms: Annotated[
        float | None, typer.Option(help="Level of the test; lower flags fewer.", show_default="0.1")
    ] = None,
    contamination: options.Contamination = None,
    learn_from: Annotated[str | None, typer.Option(help="Known cases: a column or a file.")] = None,
    anomalous_value: Annotated[list[str] | None, typer.Option(help="Label that means anomalous; repeatable.")] = None,
    only: Annotated[str | None, typer.Option(help="Rank only the nodes that this file lists.")] = None,
    repeat: Annotated[int, typer.Option(help="Number of fits to average.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Discard an interrupted run and start over.")] = False,
    memory_limit: Annotated[str | None, typer.Option(help="Stop if memory would exceed this (8GB).")] = None,
    csv: options.Csv = False,
    engine: Annotated[str, typer.Option(help="local or spark.")] = "local",
    master: Annotated[str | None, typer.Option(help="Spark cluster. Default: all cores of this machine.")] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Also write a report without ids and names, and the key to it.")
    ] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    help_all: options.HelpAll = False,
) -> None:
    """Fit a detector to a graph, rank and explain its nodes, and write a report."""
    given = locals() | {"rank_unknown": source.rank_unknown}
    from hopsight.runs.console import show_result
    from hopsight.runs.detect import detect as run
    from hopsight.runs.folder import CHECKPOINT
    from hopsight.runs.request import Request, split_settings, with_options

    request = Request(
        source=source, detector=detector, preset=preset, seed=seed, device=device, top=top,
        settings=with_options(
            split_settings(settings or ()), evidence=evidence or (), false_alarms=false_alarms,
            contamination=contamination,
        ),
        memory_limit=memory_limit, engine=engine, repeat=repeat, learn_from=learn_from,
        anomalous_value=tuple(anomalous_value or ()), only=only, csv=csv,
    )  # fmt: skip
    if engine == "spark":
        from hopsight.spark import run as on_spark

        for name, reason in LOCAL_ONLY.items():
            if given[name]:
                raise Refusal(name, f"is for --engine local: {reason}")
        with show_progress(quiet) as progress:
            on_spark.detect_files(request, out, resume=resume, master=master, progress=progress)
        return
    if master is not None:
        raise Refusal("master", f"is for --engine spark, got {master!r}")
    try:
        with show_progress(quiet) as progress:
            result = run(request, out, resume=resume, restart=restart, progress=progress)
    except KeyboardInterrupt:
        if not (out / CHECKPOINT).exists():
            raise
        raise StoppedError("stopped; run the same command with --resume to continue") from None
    show_result(result, top=top, as_json=as_json)
    if redact:
        from hopsight.explanations.text import broken
        from hopsight.runs.finished import write_redacted

        page, key = write_redacted(out, top=top)
        typer.echo(broken(f"To share: {page}. To keep: {key}, which says who is who."), err=as_json)


@options.reads_graph(options.SourceArgument)
def score(
    model: Annotated[Path, typer.Argument(help="A saved model, or the folder of a finished run.")],
    source: Source,
    out: options.Out = Path("hopsight-scores"),
    top: options.Top = 20,
    false_alarms: Annotated[
        float | None,
        typer.Option(help="Level of a new test; lower flags fewer.", show_default="the threshold of the fit"),
    ] = None,
    contamination: options.Contamination = None,
    csv: options.Csv = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    help_all: options.HelpAll = False,
) -> None:
    """Score a new graph with a saved model."""
    from hopsight.runs.console import show_result
    from hopsight.runs.detect import score as run
    from hopsight.runs.request import with_options

    settings = with_options({}, false_alarms=false_alarms, contamination=contamination)
    with show_progress(quiet) as progress:
        result = run(model, source, out, top=top, settings=settings, csv=csv, progress=progress)
    show_result(result, top=top, as_json=as_json)


def rerun(
    record: Annotated[Path, typer.Argument(help="The run.json of a finished run.", metavar="run.json")],
    out: Annotated[Path | None, typer.Option(help="Output folder.", show_default="DIR-rerun")] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Repeat a finished run."""
    from hopsight.runs import detect as again
    from hopsight.runs.console import show_result
    from hopsight.runs.folder import read_record

    before = read_record(record)
    with show_progress(quiet) as progress:
        if isinstance(before.get("request"), dict) and before["request"].get("engine") == "spark":
            from hopsight.spark import run as on_spark

            request, machine = again.request_of(before, progress), before.get("machine")
            master = machine.get("master") if isinstance(machine, dict) else None
            on_spark.detect_files(request, out or again.default_folder(record), master=master, progress=progress)
            return
        if before.get("detector") == "streams":
            _rerun_over_time(before, out or again.default_folder(record), progress, as_json)
            return
        result = again.rerun(record, out, progress=progress)
    show_result(result, top=20, as_json=as_json)


def explain(
    folder: options.Run,
    node: Annotated[
        str | None, typer.Argument(help="The id of a node, or of the source of an edge.", show_default=False)
    ] = None,
    target: Annotated[str | None, typer.Argument(help="The id of the target of the edge.", show_default=False)] = None,
    group: Annotated[int | None, typer.Option(help="The number of a group in groups.csv.")] = None,
    as_json: options.Json = False,
) -> None:
    """Explain a node, the edge between two nodes, or a group of a finished run."""
    from hopsight.checks import printable
    from hopsight.explanations.text import broken
    from hopsight.runs.console import write, write_json
    from hopsight.runs.finished import explain as explain_run
    from hopsight.runs.folder import OVER_TIME

    if (folder / OVER_TIME).is_file():
        from hopsight.streams.results import explain_node, explain_pair

        if node is None or group is not None:
            raise ValueError(f"{folder} is a run over time, which has no groups: name a node, or a source and a target")
        found = explain_node(folder, node) if target is None else explain_pair(folder, node, target)
        write_json(found) if as_json else write(broken(printable(found["summary"])))
        return
    reasons = explain_run(folder, node, target, group=group)
    write_json(reasons.to_dict()) if as_json else write(str(reasons))


def compare(
    first: Annotated[Path, typer.Argument(help="The folder of a finished run.", metavar="DIR", show_default=False)],
    second: Annotated[Path, typer.Argument(help="The folder of another.", metavar="DIR", show_default=False)],
    top: options.Top = 20,
    as_json: options.Json = False,
) -> None:
    """Show what changed between two runs: nodes, flags, ranks and settings."""
    from hopsight.runs.console import write, write_json
    from hopsight.runs.finished import compare as compare_runs

    found = compare_runs(first, second, top=top)
    write_json(found.to_dict()) if as_json else write(str(found))


def review(
    folder: options.Run,
    reviewer: Annotated[
        str | None, typer.Option(help="Who the verdicts are by.", show_default="your user name")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; the default is this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 is any free one.", min=0, max=65535)] = 0,
    token: Annotated[str | None, typer.Option(help="The secret in the address.", show_default="a new one")] = None,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
) -> None:
    """Review suspects in the browser; the ranking learns from your verdicts."""
    from hopsight.review.serve import serve

    serve(
        folder, reviewer=reviewer if reviewer is not None else _user(), host=host, port=port, token=token,
        browser=browser, say=lambda text: typer.echo(text, err=True),
    )  # fmt: skip


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "reviewer"


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
        str | None,
        typer.Option(
            help="Length of a window: 1d, 12h, 15m or a number of events such as 1000.",
            show_default="1d, 1h or 1m, by the time span of the file",
        ),
    ] = None,
    alarm: Annotated[float, typer.Option(help="Flag events with at least this score; 3 means about 1 in 1,000.")] = 3.0,
    out: options.Out = Path("hopsight-out"),
    top: options.Top = 20,
    label: options.Label = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to leave out, events such as status=cancelled, or nodes such as type=shop; repeatable."
        ),
    ] = None,
    category: options.Category = None,
    source_column: options.SourceColumn = None,
    target_column: options.TargetColumn = None,
    no_header: options.NoHeader = False,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Judge each event by the events before it, and raise alerts."""
    from hopsight.streams.events import Columns
    from hopsight.streams.run import StreamRequest

    columns = Columns(
        time=time_column, source=source_column, target=target_column, amount=weight_column, label=label,
        ignore=tuple(ignore or ()), category=tuple(category or ()), header=False if no_header else None,
    )  # fmt: skip
    request = StreamRequest(path=source, columns=columns, nodes=nodes, window=window, seed=seed, top=top, alarm=alarm)
    with show_progress(quiet) as progress:
        _judge(request, out, progress, as_json)


def _rerun_over_time(record: Mapping[str, Any], out: Path, progress: Progress, as_json: bool) -> None:
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
    from hopsight.streams.results import alert_lines, strongest

    done = run.stream(request, out, progress=progress)
    alerts = strongest(out, request.top)
    if as_json:
        counts = {"events": done.n_events, "alerts": done.n_alerts, "late": done.n_late}
        write_json({"folder": str(out), **counts, "top": alerts})
        return
    late = f" {plural(done.n_late, 'event')} came late." if done.n_late else ""
    write(f"Judged {plural(done.n_events, 'event')}: {plural(done.n_alerts, 'alert')}.{late}")
    write(*(broken(one_line(line)) for line in alert_lines(alerts, done.n_alerts)))
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
    from hopsight.checks import one_line, plural
    from hopsight.explanations.text import broken, printable_json
    from hopsight.streams import run
    from hopsight.streams.results import alert_lines
    from hopsight.system.arrays import plain

    alerts: list[dict[str, Any]] = []

    def tell(row: dict[str, Any]) -> None:
        typer.echo(printable_json(plain(row), indent=None))

    with show_progress(quiet) as progress:
        done = run.watch(folder, new_edges, progress=progress, tell=tell if as_json else alerts.append)
    if not as_json:
        if done.repeated:
            typer.echo("No new event: this file was processed already.")
            return
        typer.echo(f"Judged {plural(done.n_events, 'new event')}: {plural(done.n_alerts, 'alert')}.")
        for line in alert_lines(alerts, len(alerts)):
            typer.echo(broken(one_line(line)))


@options.reads_graph(options.SourceArgument)
def inject(
    source: Source,
    out: Annotated[Path, typer.Argument(help="Output file; its suffix determines the format.")],
    n_cliques: Annotated[int, typer.Option("--cliques", help="Number of cliques.")] = 10,
    clique_size: Annotated[int, typer.Option(help="Nodes per clique.")] = 15,
    n_attribute: Annotated[
        int, typer.Option("--attribute-anomalies", help="Nodes that get the attributes of another node.")
    ] = 150,
    n_candidates: Annotated[
        int, typer.Option("--candidates", help="Number of candidates; the most dissimilar one is copied.")
    ] = 50,
    protocol: Annotated[str, typer.Option(help="Injection protocol: dominant, hcm or leak-free.")] = "dominant",
    seed: options.Seed = 0,
    force: options.Force = False,
    help_all: options.HelpAll = False,
) -> None:
    """Plant anomalies in a graph."""
    from hopsight.datasets import inject as plant
    from hopsight.io import write

    graph = load_graph(source, out, force=force)
    planted = plant(
        graph, n_cliques=n_cliques, clique_size=clique_size, n_attribute=n_attribute, n_candidates=n_candidates,
        protocol=protocol, seed=seed,
    )  # fmt: skip
    write(planted, out)
    known = 0 if graph.labels is None else int((graph.labels == 1).sum())
    left_out = "" if graph.events is None else "; single events are left out, as planted edges have none"
    typer.echo(f"{out}: {planted!r}, {int((planted.labels == 1).sum()) - known} planted anomalies{left_out}")


def bench(
    suite: Annotated[str, typer.Option(help="quick, or a TOML file that names graphs and detectors.")] = "quick",
    out: Annotated[Path, typer.Option(help="Output folder; results in it are kept.")] = Path("bench-out"),
    graphs: Annotated[list[str] | None, typer.Option(help="Only this graph or file; repeatable.")] = None,
    detectors: Annotated[
        list[str] | None, typer.Option(help="Only this detector; 'hcm*' includes its presets; repeatable.")
    ] = None,
    repetitions: Annotated[int | None, typer.Option(help="Injections per graph.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Seeds per injection.")] = None,
    protocol: Annotated[str, typer.Option(help="How anomalies are planted: dominant, hcm or leak-free.")] = "dominant",
    workers: Annotated[int, typer.Option(help="Number of worker processes.")] = 1,
    time_limit: Annotated[float, typer.Option(help="Seconds per fit.")] = 3600.0,
    memory_limit: Annotated[str | None, typer.Option(help="Memory per worker, such as 8GB.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    retry: Annotated[bool, typer.Option("--retry", help="Retry failed fits.")] = False,
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare detectors on graphs with known anomalies, or resume a comparison."""
    from hopsight.benchmark import Options, make_suite, run
    from hopsight.runs.console import show_benchmark, write_json
    from hopsight.runs.memory import parse_size

    limit = None if memory_limit is None else parse_size(memory_limit)
    asked = Options(
        graphs=graphs or None, detectors=detectors, repetitions=repetitions,
        seeds=seeds, protocol=protocol, data_dir=data_dir, device=device,
    )  # fmt: skip
    chosen = make_suite(suite, asked)
    with show_progress(quiet) as progress:
        progress.begin("bench")
        result = run(
            chosen, out, workers=workers, time_limit=time_limit, memory_limit=limit, retry=retry,
            on_cell=lambda event: progress.step(
                event.done, event.total, "fit", f"{event.cell.detector} on {event.cell.graph}"
            ),
        )  # fmt: skip
    if as_json:
        tables = [{"title": each.title, "columns": each.columns, "rows": each.rows} for each in result.tables]
        write_json({"folder": str(result.folder), "summary": result.summary, "tables": tables})
        return
    files = ", ".join(str(result.folder / name) for name in ("report.html", "results.csv"))
    show_benchmark(result.tables, f"{result.summary} Written: {files}")


@options.reads_graph(options.SourceArgument)
def convert(
    source: Source,
    out: Annotated[Path, typer.Argument(help="Output file; its suffix determines the format.")],
    force: options.Force = False,
    help_all: options.HelpAll = False,
) -> None:
    """Convert a graph to another format."""
    from hopsight.io import write

    graph = load_graph(source, out, force=force)
    write(graph, out)
    typer.echo(f"{out}: {graph!r}")


def data_list(data_dir: options.DataDir = None, as_json: options.Json = False) -> None:
    """List the graphs of the catalog, and which of them have a local copy."""
    from hopsight.datasets import overview
    from hopsight.runs.console import show_catalog, write_json

    found = list(overview(data_dir))
    write_json(found) if as_json else show_catalog(found)


def data_bank(
    folder: Annotated[Path, typer.Argument(help="Folder for accounts.csv, transfers.csv and cases.csv.")],
    n: Annotated[int, typer.Option("--accounts", help="Number of accounts.")] = 2400,
    seed: options.Seed = 1,
    force: options.Force = False,
) -> None:
    """Write the tables of a small made-up bank with planted fraud, to try hopsight on."""
    from hopsight.datasets.bank import bank_tables
    from hopsight.io import check_output

    for name in ("accounts", "transfers", "cases"):
        check_output(folder / f"{name}.csv", tuple, force=force)
    bank = bank_tables(n, seed)
    bank.write(folder)
    typer.echo(f"{folder}: {bank.accounts.height:,} accounts, {bank.transfers.height:,} transfers")


def data_fetch(name: Annotated[str, typer.Argument(help="A name from the catalog.")]) -> None:
    """Download a graph and verify its checksum."""
    from hopsight.datasets import fetch

    typer.echo(fetch(name))


@options.reads_graph(options.SourceArgument)
def describe(source: Source, as_json: options.Json = False, help_all: options.HelpAll = False) -> None:
    """Show what would be read: types, columns, ids that join, and what is left out."""
    from hopsight.checks import plural
    from hopsight.explanations.text import broken
    from hopsight.loading import describe as understood
    from hopsight.runs.console import write, write_json

    given = dataclasses.asdict(source)
    lines, record, notices = understood(given.pop("path"), **given)
    if as_json:
        write_json(record | {"columns": lines, "notices": notices})
        return
    counts = (plural(record[f"{noun}s"], noun) for noun in ("node", "edge", "attribute"))
    write(*map(broken, [", ".join(counts), *lines, *notices]))
