"""Find anomalies: detect, score, rerun."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hopsight.checks import Refusal
from hopsight.cli import options
from hopsight.cli.support import StoppedError, show_progress

if TYPE_CHECKING:
    from hopsight.runs.request import Source

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
    contamination: Annotated[float | None, typer.Option(help="Flag this share of nodes instead.")] = None,
    learn_from: Annotated[str | None, typer.Option(help="Known cases: a column or a file.")] = None,
    anomalous_value: Annotated[str | None, typer.Option(help="The label that means anomalous.")] = None,
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
    """Fit a detector to a graph, rank and explain its nodes, write a report."""
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
        anomalous_value=anomalous_value, only=only, csv=csv,
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
        from hopsight.runs.finished import write_redacted

        page, key = write_redacted(out, top=top)
        typer.echo(f"To share: {page}. To keep: {key}, which says who is who.", err=as_json)


@options.reads_graph(options.SourceArgument)
def score(
    model: Annotated[Path, typer.Argument(help="A saved model, or the folder of a finished run.")],
    source: Source,
    out: options.Out = Path("hopsight-scores"),
    top: options.Top = 20,
    csv: options.Csv = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    help_all: options.HelpAll = False,
) -> None:
    """Score a new graph with a saved model."""
    from hopsight.runs.console import show_result
    from hopsight.runs.detect import score as run

    with show_progress(quiet) as progress:
        result = run(model, source, out, top=top, csv=csv, progress=progress)
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
            from hopsight.cli.over_time import rerun_over_time

            rerun_over_time(before, out or again.default_folder(record), progress, as_json)
            return
        result = again.rerun(record, out, progress=progress)
    show_result(result, top=20, as_json=as_json)
