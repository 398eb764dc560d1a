"""The command line: parse, call, print. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from hopsight.benchmark import Report
    from hopsight.runs.progress import Progress

app = typer.Typer(
    help="Find the nodes and edges of an attributed network that do not belong where they are.",
    no_args_is_help=True,
    add_completion=False,
)
data = typer.Typer(help="The catalog of published networks.", no_args_is_help=True)
app.add_typer(data, name="data")

DEFAULT_DETECTOR = "cross_hcm"
DEBUG = "HOPSIGHT_DEBUG"
CLICK_ERROR: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
SOURCE = "An edge list, .mat, .npz, .graphml or a name of the catalog."

SourceArgument = Annotated[str, typer.Argument(help=SOURCE, show_default=False)]
OptionalSource = Annotated[
    str | None, typer.Argument(help=f"{SOURCE} Nothing: the built-in demo network.", show_default=False)
]
Nodes = Annotated[str | None, typer.Option(help="The node table that goes with an edge list.")]
Directed = Annotated[bool, typer.Option("--directed", help="Keep the direction of the edges.")]
Label = Annotated[str | None, typer.Option(help="Truth column: never an attribute, used only to say what was found.")]
Ignore = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be given several times.")]
SourceColumn = Annotated[str | None, typer.Option(help="Edge list column of one end.")]
TargetColumn = Annotated[str | None, typer.Option(help="Edge list column of the other end.")]
IdColumn = Annotated[str | None, typer.Option(help="Node table column of the ids.")]
Missing = Annotated[str, typer.Option(help="Empty attribute cells: refuse, or mean to fill them in.")]
DataDir = Annotated[str | None, typer.Option(help="Folder of local copies of catalog networks.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")]
Seed = Annotated[int, typer.Option(help="Decides every random draw.")]
Top = Annotated[int, typer.Option(help="How many nodes to show and explain.")]
Out = Annotated[Path, typer.Option(help="Folder to write; an earlier run there is replaced on success.")]


class StoppedError(Exception):
    """The user stopped a run that can go on later."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; what goes wrong is one sentence on standard error and exit code 2."""
    _open_streams()
    try:
        command = typer.main.get_command(app)
        code = int(command.main(args=arguments, prog_name="hopsight", standalone_mode=False) or 0)
        return _complain("stopped", 130) if code == 130 else code
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        return _complain(*_sentence(error))


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False) -> None:
    """Find the nodes and edges of an attributed network that do not belong where they are."""
    if show:
        import hopsight

        typer.echo(f"hopsight {hopsight.__version__}")
        raise typer.Exit


@app.command()
def detect(
    source: OptionalSource = None,
    nodes: Nodes = None,
    detector: Annotated[str, typer.Option(help="Name of the detector.")] = DEFAULT_DETECTOR,
    preset: Annotated[str | None, typer.Option(help="HCM as the paper or as its authors' program has it.")] = None,
    seed: Seed = 0,
    out: Out = Path("hopsight-out"),
    top: Top = 20,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    directed: Directed = False,
    label: Label = None,
    ignore: Ignore = None,
    source_column: SourceColumn = None,
    target_column: TargetColumn = None,
    id_column: IdColumn = None,
    missing: Missing = "refuse",
    data_dir: DataDir = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="A hyperparameter as name=value.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from an interrupted run in the folder.")] = False,
    memory_limit: Annotated[str | None, typer.Option(help="Refuse or stop above this size, such as 8GB.")] = None,
    engine: Annotated[str, typer.Option(help="local or spark.")] = "local",
    master: Annotated[str | None, typer.Option(help="Spark cluster; default: all cores of this machine.")] = None,
    quiet: Quiet = False,
) -> None:
    """Load a network, fit a detector, rank and explain its nodes, write a report."""
    from hopsight.runs import detect as run
    from hopsight.runs.console import show_result
    from hopsight.runs.folder import CHECKPOINT
    from hopsight.runs.settings import split_settings

    where = run.Source(
        path=source, nodes=nodes, directed=directed, label=label, ignore=tuple(ignore or ()), missing=missing,
        source_column=source_column, target_column=target_column, id_column=id_column, data_dir=data_dir,
    )  # fmt: skip
    request = run.Request(
        source=where, detector=detector, preset=preset, seed=seed, device=device, top=top,
        settings=split_settings(settings or ()), memory_limit=memory_limit, engine=engine,
    )  # fmt: skip
    if engine == "spark":
        from hopsight.spark import run as on_spark

        with _progress(quiet) as progress:
            on_spark.detect(request, out, master=master, progress=progress)
        return
    if master is not None:
        raise ValueError(f"master is for --engine spark, got {master!r}")
    try:
        with _progress(quiet) as progress:
            result = run.detect(request, out, resume=resume, progress=progress)
    except KeyboardInterrupt:
        if not (out / CHECKPOINT).exists():
            raise
        raise StoppedError("stopped; the same command with --resume goes on from here") from None
    show_result(result, top=top, files=("report.html", "scores.csv"))


@app.command()
def score(
    model: Annotated[Path, typer.Argument(help="A saved model, or the folder of a finished run.")],
    source: SourceArgument,
    out: Out = Path("hopsight-scores"),
    nodes: Nodes = None,
    top: Top = 20,
    directed: Directed = False,
    label: Label = None,
    ignore: Ignore = None,
    source_column: SourceColumn = None,
    target_column: TargetColumn = None,
    id_column: IdColumn = None,
    missing: Missing = "refuse",
    data_dir: DataDir = None,
    quiet: Quiet = False,
) -> None:
    """Judge a new network with a saved model."""
    from hopsight.runs import detect as run
    from hopsight.runs import reuse
    from hopsight.runs.console import show_result

    where = run.Source(
        path=source, nodes=nodes, directed=directed, label=label, ignore=tuple(ignore or ()), missing=missing,
        source_column=source_column, target_column=target_column, id_column=id_column, data_dir=data_dir,
    )  # fmt: skip
    with _progress(quiet) as progress:
        result = reuse.score(model, where, out, progress=progress)
    show_result(result, top=top, files=("scores.csv",))


@app.command()
def explain(
    folder: Annotated[Path, typer.Argument(help="The folder of a finished run.", metavar="DIR")],
    node: Annotated[str, typer.Argument(help="The id of a node.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Give the reasons for one node of a finished run."""
    from json import dumps

    from hopsight.explain import Explainer
    from hopsight.runs.reuse import node_in, reopen

    model, graph = reopen(folder)
    reasons = Explainer(model, graph).node(node_in(graph, node))
    typer.echo(dumps(reasons.to_dict(), indent=1, ensure_ascii=False) if as_json else str(reasons))


@app.command()
def rerun(
    record: Annotated[Path, typer.Argument(help="The run.json of a finished run.", metavar="run.json")],
    out: Annotated[Path | None, typer.Option(help="Folder to write.", show_default="DIR-rerun")] = None,
    quiet: Quiet = False,
) -> None:
    """Do the same run again."""
    from hopsight.runs import reuse
    from hopsight.runs.console import show_result
    from hopsight.runs.record import read_record

    before = read_record(record)
    with _progress(quiet) as progress:
        if isinstance(before.get("request"), dict) and before["request"].get("engine") == "spark":
            from hopsight.spark import run as on_spark

            request, machine = reuse.request_of(before, progress), before.get("machine")
            master = machine.get("master") if isinstance(machine, dict) else None
            on_spark.detect(request, out or reuse.beside(record), master=master, progress=progress)
            return
        result = reuse.rerun(record, out, progress=progress)
    show_result(result, top=20, files=("scores.csv", "run.json"))


@app.command()
def inject(
    source: SourceArgument,
    out: Annotated[Path, typer.Argument(help="The file to write; its ending says the format.")],
    cliques: Annotated[int, typer.Option(help="Number of planted cliques.")] = 10,
    clique_size: Annotated[int, typer.Option(help="Nodes a clique.")] = 15,
    attributes: Annotated[int, typer.Option(help="Nodes that get another node's attributes.")] = 150,
    candidates: Annotated[int, typer.Option(help="Nodes among which the farthest is taken.")] = 50,
    protocol: Annotated[str, typer.Option(help="dominant, hcm or leak-free.")] = "dominant",
    seed: Seed = 0,
    nodes: Nodes = None,
    data_dir: DataDir = None,
) -> None:
    """Plant anomalies in a network."""
    from hopsight.datasets import inject as plant
    from hopsight.io import write

    planted = plant(
        _load(source, nodes, data_dir),
        n_cliques=cliques,
        clique_size=clique_size,
        n_attribute=attributes,
        n_candidates=candidates,
        protocol=protocol,
        seed=seed,
    )
    write(planted, out)
    typer.echo(f"{out}: {planted!r}, {int(planted.labels.sum())} planted anomalies")


@app.command()
def bench(
    suite: Annotated[str, typer.Option(help="paper, quick or peers.")] = "quick",
    out: Annotated[Path, typer.Option(help="Folder to write; what is finished there is not run again.")] = Path(
        "bench-out"
    ),
    networks: Annotated[list[str] | None, typer.Option(help="Only these networks; may be repeated.")] = None,
    detectors: Annotated[
        list[str] | None, typer.Option(help="Only these detectors; 'hcm*' takes in its presets; may be repeated.")
    ] = None,
    experiments: Annotated[list[str] | None, typer.Option(help="Only these experiments; may be repeated.")] = None,
    repetitions: Annotated[int | None, typer.Option(help="Injections of each network.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Seeds of each injection.")] = None,
    protocol: Annotated[str, typer.Option(help="How anomalies are planted: dominant, hcm or leak-free.")] = "dominant",
    workers: Annotated[int, typer.Option(help="Worker processes.")] = 1,
    time_limit: Annotated[float, typer.Option(help="Seconds for one fit.")] = 3600.0,
    memory_limit: Annotated[str | None, typer.Option(help="Memory of one worker, such as 8GB.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    retry: Annotated[bool, typer.Option("--retry", help="Try again what failed before.")] = False,
    data_dir: DataDir = None,
    quiet: Quiet = False,
) -> None:
    """Run a suite of experiments, or go on with one."""
    from hopsight.benchmark import run
    from hopsight.runs.memory_need import parse_size

    with _progress(quiet) as progress:
        progress.begin("bench")
        report = run(
            suite, out, networks=networks, detectors=detectors, experiments=experiments, repetitions=repetitions,
            seeds=seeds, protocol=protocol, workers=workers, time_limit=time_limit, device=device, retry=retry,
            data_dir=data_dir,
            memory_limit=None if memory_limit is None else parse_size(memory_limit),
            progress=lambda at: progress.step(at.done, at.total, "fits", f"{at.cell.detector} on {at.cell.network}"),
        )  # fmt: skip
    _show_benchmark(report)


@app.command()
def convert(
    source: SourceArgument,
    out: Annotated[Path, typer.Argument(help="The file to write; its ending says the format.")],
    nodes: Nodes = None,
    directed: Directed = False,
    label: Label = None,
    ignore: Ignore = None,
    data_dir: DataDir = None,
) -> None:
    """Write a network in another format."""
    from hopsight.io import write

    graph = _load(source, nodes, data_dir, directed=directed, label=label, ignore=tuple(ignore or ()))
    write(graph, out)
    typer.echo(f"{out}: {graph!r}")


@data.command("list")
def data_list(data_dir: DataDir = None) -> None:
    """List every network of the catalog, and whether a copy is here."""
    from hopsight.datasets import overview
    from hopsight.runs.console import show_networks

    show_networks(overview(data_dir))


@data.command("fetch")
def data_fetch(name: Annotated[str, typer.Argument(help="A name of the catalog.")]) -> None:
    """Download a network, verify it and keep it."""
    from hopsight.datasets import fetch

    typer.echo(fetch(name))


@data.command("info")
def data_info(source: SourceArgument, nodes: Nodes = None, data_dir: DataDir = None) -> None:
    """Print the statistics of a network, and how they differ from the paper's."""
    from hopsight.datasets import info
    from hopsight.runs.console import show_values

    record = info(_load(source, nodes, data_dir))
    show_values(record.pop("name") or source, record)


def _show_benchmark(report: Report) -> None:
    """Write the page of a benchmark and print its main table: here the benchmark and the report meet."""
    from dataclasses import asdict

    import polars as pl

    from hopsight.report.bench_page import write_bench_page
    from hopsight.runs.console import show_benchmark

    page = report.folder / "report.html"
    results = pl.read_csv(report.folder / "results.csv", infer_schema_length=None).to_dicts()
    figures = [
        {"title": title, "svg": picture.with_suffix(".svg"), "note": note} for title, note, picture in report.figures
    ]
    line = (
        f"{report.n_cells:,} fits, {report.n_reused:,} of them from earlier runs, {report.n_failed:,} without a result."
    )
    tables = [asdict(table) for table in report.tables]
    write_bench_page(page, results, tables, figures, title=f"Benchmark: {report.suite}", summary=[line])
    show_benchmark(report.tables, f"{line} Written: {page}, {report.folder / 'tables.md'}")


def _load(source: str, nodes: str | None, data_dir: str | None, **options: Any) -> Any:
    """Read a network for a command that only looks at it or converts it; remarks go to standard error."""
    from hopsight.runs.detect import Source
    from hopsight.runs.record import notices

    with notices(lambda text: typer.echo(text, err=True)):
        return Source(path=source, nodes=nodes, data_dir=data_dir, **options).read()


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress]:
    """Show progress on standard error; being told to end (SIGTERM) is treated as Ctrl-C."""
    from hopsight.runs.progress import make_progress

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    progress = make_progress(sys.stderr, quiet=quiet)
    try:
        yield progress
    finally:
        progress.close()


def _open_streams() -> None:
    """Let any name be printed anywhere: a closed stream swallows it, one that lacks a letter shows its number."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (stays open)
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _sentence(error: Exception) -> tuple[str, int]:
    """Return what to tell the user, and the exit code."""
    if isinstance(error, StoppedError):
        return str(error), 130
    if isinstance(error, CLICK_ERROR):
        return error.format_message() or "hopsight --help lists the commands", 2
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
