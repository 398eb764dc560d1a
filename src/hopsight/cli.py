"""The command line: parse, call, print. Each command imports what only it needs."""

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
    from hopsight.runs.progress import Progress

app = typer.Typer(
    help="Find the nodes and edges of an attributed graph that do not belong where they are.",
    no_args_is_help=True,
    add_completion=False,
)
data = typer.Typer(help="The catalog of published graphs.", no_args_is_help=True)
app.add_typer(data, name="data")

DEFAULT_DETECTOR = "cross_hcm"
DEBUG = "HOPSIGHT_DEBUG"
CLICK_ERROR: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
SOURCE = "An edge list (.csv, .tsv, .parquet), a .mat, .npz, .graphml or .pt file, or a name from the catalog."

SourceArgument = Annotated[str, typer.Argument(help=SOURCE, show_default=False)]
OptionalSource = Annotated[
    str | None, typer.Argument(help=f"{SOURCE} Default: the built-in demo graph.", show_default=False)
]
Nodes = Annotated[str | None, typer.Option(help="Node table for an edge list.")]
Directed = Annotated[bool, typer.Option("--directed", help="Keep the direction of the edges.")]
Label = Annotated[str | None, typer.Option(help="Ground-truth label column; used only to evaluate the result.")]
Ignore = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")]
SourceColumn = Annotated[str | None, typer.Option(help="Column of the edge list with the source of each edge.")]
TargetColumn = Annotated[str | None, typer.Option(help="Column of the edge list with the target of each edge.")]
IdColumn = Annotated[str | None, typer.Option(help="Column of the node table with the node ids.")]
Missing = Annotated[str, typer.Option(help="Empty attribute cells: refuse them, or fill in the mean.")]
DataDir = Annotated[str | None, typer.Option(help="Folder with local copies of catalog graphs.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Do not report progress on standard error.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]
Top = Annotated[int, typer.Option(help="Number of nodes to show and explain.")]
Out = Annotated[Path, typer.Option(help="Output folder; an earlier run in it is replaced on success.")]


class StoppedError(Exception):
    """The user stopped a run that can be resumed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; an error is one sentence on standard error and exit code 2."""
    # Idle threads sleep instead of spinning, which would slow down other programs; it counts until torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
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
def version(show: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Find the nodes and edges of an attributed graph that do not belong where they are."""
    if show:
        import hopsight

        typer.echo(f"hopsight {hopsight.__version__}")
        raise typer.Exit


@app.command()
def detect(
    source: OptionalSource = None,
    nodes: Nodes = None,
    detector: Annotated[str, typer.Option(help="Name of the detector.")] = DEFAULT_DETECTOR,
    preset: Annotated[str | None, typer.Option(help="Named settings; hcm has paper and authors.")] = None,
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
    evidence: Annotated[
        list[str] | None, typer.Option(help="Evidence that counts: misfit, ring, outlier, activity or lockstep.")
    ] = None,
    false_alarms: Annotated[
        float | None, typer.Option(help="Expected share of false alarms among the flagged nodes.", show_default="0.1")
    ] = None,
    contamination: Annotated[float | None, typer.Option(help="Flag this share of the nodes instead.")] = None,
    repeat: Annotated[int, typer.Option(help="Number of fits, each with another seed; nodes rank by the mean.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")] = False,
    memory_limit: Annotated[str | None, typer.Option(help="Refuse or stop a run above this size, such as 8GB.")] = None,
    engine: Annotated[str, typer.Option(help="local or spark.")] = "local",
    master: Annotated[str | None, typer.Option(help="Spark cluster. Default: all cores of this machine.")] = None,
    quiet: Quiet = False,
) -> None:
    """Fit a detector to a graph, rank and explain its nodes, write a report."""
    from hopsight.runs import detect as run
    from hopsight.runs.console import show_result
    from hopsight.runs.folder import CHECKPOINT
    from hopsight.runs.request import Request, Source
    from hopsight.runs.settings import split_settings, with_options

    where = Source(
        path=source, nodes=nodes, directed=directed, label=label, ignore=tuple(ignore or ()), missing=missing,
        source_column=source_column, target_column=target_column, id_column=id_column, data_dir=data_dir,
    )  # fmt: skip
    request = Request(
        source=where, detector=detector, preset=preset, seed=seed, device=device, top=top,
        settings=with_options(
            split_settings(settings or ()), evidence=evidence or (), false_alarms=false_alarms,
            contamination=contamination,
        ),
        memory_limit=memory_limit, engine=engine, repeat=repeat,
    )  # fmt: skip
    if engine == "spark":
        from hopsight.spark import run as on_spark

        if repeat != 1:
            raise ValueError("repeat is for --engine local: on Spark, run the command with several seeds")
        with _progress(quiet) as progress:
            on_spark.detect_files(request, out, resume=resume, master=master, progress=progress)
        return
    if master is not None:
        raise ValueError(f"master is for --engine spark, got {master!r}")
    try:
        with _progress(quiet) as progress:
            result = run.detect(request, out, resume=resume, progress=progress)
    except KeyboardInterrupt:
        if not (out / CHECKPOINT).exists():
            raise
        raise StoppedError("stopped; run the same command with --resume to continue") from None
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
    """Score a new graph with a saved model."""
    from hopsight.runs import score as run
    from hopsight.runs.console import show_result
    from hopsight.runs.request import Source

    where = Source(
        path=source, nodes=nodes, directed=directed, label=label, ignore=tuple(ignore or ()), missing=missing,
        source_column=source_column, target_column=target_column, id_column=id_column, data_dir=data_dir,
    )  # fmt: skip
    with _progress(quiet) as progress:
        result = run.score(model, where, out, top=top, progress=progress)
    show_result(result, top=top, files=("report.html", "scores.csv"))


@app.command()
def explain(
    folder: Annotated[Path, typer.Argument(help="The folder of a finished run.", metavar="DIR")],
    node: Annotated[
        str | None, typer.Argument(help="The id of a node, or of the source of an edge.", show_default=False)
    ] = None,
    target: Annotated[str | None, typer.Argument(help="The id of the target of the edge.", show_default=False)] = None,
    group: Annotated[int | None, typer.Option(help="The number of a group in groups.csv.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Explain a node, the edge between two nodes, or a group of a finished run."""
    from json import dumps

    from hopsight.runs.explain import explain as explain_run

    reasons = explain_run(folder, node, target, group=group)
    typer.echo(dumps(reasons.to_dict(), indent=1, ensure_ascii=False) if as_json else str(reasons))


@app.command()
def rerun(
    record: Annotated[Path, typer.Argument(help="The run.json of a finished run.", metavar="run.json")],
    out: Annotated[Path | None, typer.Option(help="Output folder.", show_default="DIR-rerun")] = None,
    quiet: Quiet = False,
) -> None:
    """Repeat a finished run."""
    from hopsight.runs import rerun as again
    from hopsight.runs.console import show_result
    from hopsight.runs.record import read_record

    before = read_record(record)
    with _progress(quiet) as progress:
        if isinstance(before.get("request"), dict) and before["request"].get("engine") == "spark":
            from hopsight.spark import run as on_spark

            request, machine = again.request_of(before, progress), before.get("machine")
            master = machine.get("master") if isinstance(machine, dict) else None
            on_spark.detect_files(request, out or again.default_folder(record), master=master, progress=progress)
            return
        result = again.rerun(record, out, progress=progress)
    show_result(result, top=20, files=("report.html", "scores.csv"))


@app.command()
def inject(
    source: SourceArgument,
    out: Annotated[Path, typer.Argument(help="Output file; its suffix determines the format.")],
    cliques: Annotated[int, typer.Option(help="Number of cliques.")] = 10,
    clique_size: Annotated[int, typer.Option(help="Nodes per clique.")] = 15,
    attribute_anomalies: Annotated[int, typer.Option(help="Nodes that get the attributes of another node.")] = 150,
    attributes: Annotated[int | None, typer.Option(hidden=True, help="The old name of --attribute-anomalies.")] = None,
    candidates: Annotated[int, typer.Option(help="Candidates, of which the one that differs most is copied.")] = 50,
    protocol: Annotated[str, typer.Option(help="Injection protocol: dominant, hcm or leak-free.")] = "dominant",
    seed: Seed = 0,
    nodes: Nodes = None,
    data_dir: DataDir = None,
) -> None:
    """Plant anomalies in a graph."""
    from hopsight.datasets import inject as plant
    from hopsight.io import write

    planted = plant(
        _load(source, nodes, data_dir),
        n_cliques=cliques,
        clique_size=clique_size,
        n_attribute=attribute_anomalies if attributes is None else attributes,
        n_candidates=candidates,
        protocol=protocol,
        seed=seed,
    )
    write(planted, out)
    typer.echo(f"{out}: {planted!r}, {int(planted.labels.sum())} planted anomalies")


@app.command()
def bench(
    suite: Annotated[str, typer.Option(help="quick, or a TOML file that names graphs and detectors.")] = "quick",
    out: Annotated[Path, typer.Option(help="Folder to write; resumes if it has results.")] = Path("bench-out"),
    graphs: Annotated[list[str] | None, typer.Option(help="Only this graph or file; may be repeated.")] = None,
    networks: Annotated[list[str] | None, typer.Option(hidden=True)] = None,
    detectors: Annotated[
        list[str] | None, typer.Option(help="Only this detector; 'hcm*' includes its presets; may be repeated.")
    ] = None,
    repetitions: Annotated[int | None, typer.Option(help="Injections per graph.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Seeds per injection.")] = None,
    protocol: Annotated[str, typer.Option(help="How anomalies are planted: dominant, hcm or leak-free.")] = "dominant",
    workers: Annotated[int, typer.Option(help="Number of worker processes.")] = 1,
    time_limit: Annotated[float, typer.Option(help="Seconds per fit.")] = 3600.0,
    memory_limit: Annotated[str | None, typer.Option(help="Memory per worker, such as 8GB.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    retry: Annotated[bool, typer.Option("--retry", help="Retry failed fits.")] = False,
    data_dir: DataDir = None,
    quiet: Quiet = False,
) -> None:
    """Compare detectors on graphs with known anomalies, or resume a comparison."""
    from hopsight.benchmark import Options, make_suite, run
    from hopsight.runs.console import show_benchmark
    from hopsight.runs.memory_need import parse_size

    limit = None if memory_limit is None else parse_size(memory_limit)
    options = Options(
        graphs=[*(graphs or ()), *(networks or ())] or None, detectors=detectors, repetitions=repetitions,
        seeds=seeds, protocol=protocol, data_dir=data_dir, device=device,
    )  # fmt: skip
    chosen = make_suite(suite, options)
    with _progress(quiet) as progress:
        progress.begin("bench")
        result = run(
            chosen, out, workers=workers, time_limit=time_limit, memory_limit=limit, retry=retry,
            on_cell=lambda event: progress.step(
                event.done, event.total, "fit", f"{event.cell.detector} on {event.cell.graph}"
            ),
        )  # fmt: skip
    files = ", ".join(str(result.folder / name) for name in ("report.html", "tables.md"))
    show_benchmark(result.tables, f"{result.summary} Written: {files}")


@app.command()
def convert(
    source: SourceArgument,
    out: Annotated[Path, typer.Argument(help="Output file; its suffix determines the format.")],
    nodes: Nodes = None,
    directed: Directed = False,
    label: Label = None,
    ignore: Ignore = None,
    data_dir: DataDir = None,
) -> None:
    """Convert a graph to another format."""
    from hopsight.io import write

    graph = _load(source, nodes, data_dir, directed=directed, label=label, ignore=tuple(ignore or ()))
    write(graph, out)
    typer.echo(f"{out}: {graph!r}")


@data.command("list")
def data_list(data_dir: DataDir = None) -> None:
    """List the graphs of the catalog, and which of them have a local copy."""
    from hopsight.datasets import overview
    from hopsight.runs.console import show_catalog

    show_catalog(overview(data_dir))


@data.command("fetch")
def data_fetch(name: Annotated[str, typer.Argument(help="A name from the catalog.")]) -> None:
    """Download a graph and verify its checksum."""
    from hopsight.datasets import fetch

    typer.echo(fetch(name))


@data.command("info")
def data_info(source: SourceArgument, nodes: Nodes = None, data_dir: DataDir = None) -> None:
    """Print the statistics of a graph, and how they differ from the paper's."""
    from hopsight.datasets import info
    from hopsight.runs.console import show_values

    record = info(_load(source, nodes, data_dir))
    show_values(record.pop("name") or source, record)


def _load(source: str, nodes: str | None, data_dir: str | None, **options: Any) -> Any:
    """Read a graph for a command without a run folder; messages go to standard error."""
    from hopsight.runs.record import notices
    from hopsight.runs.request import Source

    with notices(lambda text: typer.echo(text, err=True)):
        return Source(path=source, nodes=nodes, data_dir=data_dir, **options).read()


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress]:
    """Show progress on standard error; treat SIGTERM like Ctrl-C."""
    from hopsight.runs.progress import make_progress

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    progress = make_progress(sys.stderr, quiet=quiet)
    try:
        yield progress
    finally:
        progress.close()


def _open_streams() -> None:
    """Replace closed streams, and escape characters that the terminal cannot encode."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (open until the end)
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


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
