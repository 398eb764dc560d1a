"""Work with graphs: inject, convert and the catalog; compare detectors on them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hopsight.cli import options
from hopsight.cli.options import DataDir, Force, Json, Quiet, Seed, SourceArgument
from hopsight.cli.support import load_graph, show_progress

if TYPE_CHECKING:
    from hopsight.runs.request import Source


@options.reads_graph(SourceArgument)
def inject(
    source: Source,
    out: Annotated[Path, typer.Argument(help="Output file; its suffix determines the format.")],
    cliques: Annotated[int, typer.Option(help="Number of cliques.")] = 10,
    clique_size: Annotated[int, typer.Option(help="Nodes per clique.")] = 15,
    attribute_anomalies: Annotated[int, typer.Option(help="Nodes that get the attributes of another node.")] = 150,
    candidates: Annotated[int, typer.Option(help="Number of candidates; the most dissimilar one is copied.")] = 50,
    protocol: Annotated[str, typer.Option(help="Injection protocol: dominant, hcm or leak-free.")] = "dominant",
    seed: Seed = 0,
    force: Force = False,
    help_all: options.HelpAll = False,
) -> None:
    """Plant anomalies in a graph."""
    from hopsight.datasets import inject as plant
    from hopsight.io import write

    graph = load_graph(source, out, force=force)
    planted = plant(
        graph,
        n_cliques=cliques,
        clique_size=clique_size,
        n_attribute=attribute_anomalies,
        n_candidates=candidates,
        protocol=protocol,
        seed=seed,
    )
    write(planted, out)
    known = 0 if graph.labels is None else int((graph.labels == 1).sum())
    typer.echo(f"{out}: {planted!r}, {int((planted.labels == 1).sum()) - known} planted anomalies")


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
    data_dir: DataDir = None,
    as_json: Json = False,
    quiet: Quiet = False,
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


@options.reads_graph(SourceArgument)
def convert(
    source: Source,
    out: Annotated[Path, typer.Argument(help="Output file; its suffix determines the format.")],
    force: Force = False,
    help_all: options.HelpAll = False,
) -> None:
    """Convert a graph to another format."""
    from hopsight.io import write

    graph = load_graph(source, out, force=force)
    write(graph, out)
    typer.echo(f"{out}: {graph!r}")


def data_list(data_dir: DataDir = None, as_json: Json = False) -> None:
    """List the graphs of the catalog, and which of them have a local copy."""
    from hopsight.datasets import overview
    from hopsight.runs.console import show_catalog, write_json

    found = list(overview(data_dir))
    write_json(found) if as_json else show_catalog(found)


def data_bank(
    folder: Annotated[Path, typer.Argument(help="Folder for accounts.csv, transfers.csv and cases.csv.")],
    accounts: Annotated[int, typer.Option(help="Number of accounts.")] = 2400,
    seed: Seed = 1,
    force: Force = False,
) -> None:
    """Write the tables of a small made-up bank with planted fraud, to try hopsight on."""
    from hopsight.datasets.bank import bank_tables
    from hopsight.io import check_output

    for name in ("accounts", "transfers", "cases"):
        check_output(folder / f"{name}.csv", tuple, force=force)
    bank = bank_tables(accounts, seed)
    bank.write(folder)
    typer.echo(f"{folder}: {bank.accounts.height:,} accounts, {bank.transfers.height:,} transfers")


def data_fetch(name: Annotated[str, typer.Argument(help="A name from the catalog.")]) -> None:
    """Download a graph and verify its checksum."""
    from hopsight.datasets import fetch

    typer.echo(fetch(name))


@options.reads_graph(SourceArgument)
def describe(source: Source, as_json: Json = False, help_all: options.HelpAll = False) -> None:
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
