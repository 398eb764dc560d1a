"""``detect --engine spark``: read two tables, detect on Spark, and write the run folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hopsight.checks import Refusal, check_choice, check_count, option, plural
from hopsight.explanations.text import broken
from hopsight.io.ends import find_ends
from hopsight.io.frames import Table, open_table
from hopsight.io.notices import collected
from hopsight.io.rules import MISSING, rows_ignored
from hopsight.io.sources import files, kind_of, reading, resolve
from hopsight.io.tables import DIRECTED, find_id
from hopsight.runs.console import Progress, show_ranking, write
from hopsight.runs.folder import RECORD, checksums, claim, write_record
from hopsight.runs.request import Request, make_detector
from hopsight.runs.results import now
from hopsight.system.cells import guarded
from hopsight.system.machine import machine, versions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hopsight.spark.results import Detection

FILES = (
    "scores.csv", "scores.parquet", "edges.csv", "edges.parquet", "groups.csv", "explanations.json", "report.html",
    "model", RECORD,
)  # fmt: skip
DETECTOR = "cross_hcm"
LOCAL_ONLY = ("weight_column", "time_column", "type_column", "name_column", "duplicates", "bipartite")


def detect_files(
    request: Request,
    folder: Path,
    *,
    resume: bool = False,
    master: str | None = None,
    progress: Progress | None = None,
) -> None:
    """Detect on Spark, write the run folder, and print the top of the ranking.

    The files appear together or not at all. ``resume`` is refused: there is no checkpoint.
    """
    from hopsight.spark.results import collect_excerpt, write_reasons
    from hopsight.spark.session import ending_quietly, open_session, run_settings

    show = progress or Progress()
    _check(request, resume)
    detector = make_detector(
        request.detector, preset=request.preset, seed=request.seed, device=request.device, settings=request.settings
    )
    with ending_quietly(), claim(folder, FILES) as claimed, collected(show.say) as logged:
        started = now()
        spark = open_session(master)
        with TemporaryDirectory(dir=claimed.staging) as tables:
            found = _detect(spark, request, detector, show, Path(tables))
            words = [found.feedback.words] if found.feedback else []
            for notice in (*found.notices, *words):
                show.say(notice)
            _write(found, claimed.staging)
            record = _record(spark, request, detector, found) | {
                "started": started,
                "warnings": [*logged, *(notice for notice in found.notices if notice not in logged)],
            }
            show.begin("explain")
            with run_settings(spark):
                excerpt = collect_excerpt(found, request.top)
            if len(excerpt.groups) < len(found.groups):
                show.say(f"groups.csv lists {len(excerpt.groups):,} of {plural(len(found.groups), 'group')}")
            write_reasons(claimed.staging, excerpt, detector, found.attribute_names, found.fitted, record)
            write_record(claimed.staging / RECORD, record)
            first = found.scores.orderBy("rank").limit(request.top).collect()
        claimed.publish()
    _show(found, first, folder, record["n_flagged"])


def _check(request: Request, resume: bool) -> None:
    """Refuse what can be refused before anything is read."""
    check_count("top", request.top)
    check_count("seed", request.seed, low=0)
    check_choice("missing", request.source.missing, MISSING)
    if request.detector != DETECTOR:
        raise ValueError(
            f"the Spark engine runs {DETECTOR} only, got {request.detector!r}; leave out {option('engine', 'spark')}"
        )
    if resume:
        raise Refusal("resume", "is for the local engine: the Spark engine keeps no checkpoint")
    if request.repeat != 1:
        raise Refusal("repeat", "is for the local engine: run the Spark engine with several seeds instead")
    if request.learns_from_file:
        raise Refusal("learn_from", "names a file: the Spark engine learns from a column of the node table only")
    if request.memory_limit is not None:
        raise Refusal("memory_limit", "is for the local engine: the Spark engine cannot enforce a memory limit")
    if request.source.path is None or request.source.nodes is None:
        raise ValueError("the Spark engine needs an edge list and a node table; pass EDGES --nodes NODES")
    for name in LOCAL_ONLY:
        if getattr(request.source, name) not in (None, (), False):
            raise Refusal(name, "is for the local engine: the Spark engine has no weights, times, names or types")
    if request.source.derive not in (None, "none"):
        raise ValueError(f"the Spark engine derives no attributes; pass {option('derive', 'none')}")


def _open(source: str) -> Table | None:
    """Open a table of this machine; Spark opens any other."""
    if "://" in source:
        return None
    place = resolve(source)
    with reading(place):
        return open_table(place)


def _frame(spark: SparkSession, source: str, table: Table | None, text: Sequence[str], converted: Path) -> DataFrame:
    """Return a table: Spark reads Parquet files where they are, and polars converts any other to Parquet first.

    Columns named in ``text`` are never read as numbers.
    """
    if table is None:
        return spark.read.parquet(source)
    if kind_of(files(source)[0]) == "parquet":
        return spark.read.parquet(str(Path(source).resolve()))
    with reading(resolve(source)):
        table.scan(table.names, text=text).sink_parquet(converted)
    return spark.read.parquet(str(converted.resolve()))


def _detect(spark: SparkSession, request: Request, detector: Any, show: Progress, folder: Path) -> Detection:
    from pyspark.sql import functions

    from hopsight.spark.detection import detect
    from hopsight.spark.tables import TableError

    source = request.source
    paths = str(source.path), str(source.nodes)
    edge_table, node_table = (_open(path) for path in paths)
    edges = _frame(spark, paths[0], edge_table, edge_table.names if edge_table else (), folder / "edges.parquet")
    category, ids = list(source.category), list[str]()
    if node_table is not None:
        ids = [find_id(node_table.names, source.id_column)]
        named = (*ids, *category, *source.ignore, source.label)
        category += node_table.codes([name for name in node_table.names if name not in named])
    nodes = _frame(spark, paths[1], node_table, [*ids, *category], folder / "nodes.parquet")
    of_rows = rows_ignored(source.ignore, edges.columns)
    for name, value in of_rows.values():
        words = functions.lower(functions.trim(functions.coalesce(edges[name].cast("string"), functions.lit(""))))
        edges = edges.filter(words != value.lower())
    _check_columns(edges.columns, request)
    of_edges = {*of_rows, *edges.columns} - {*nodes.columns}
    source = dataclasses.replace(source, ignore=tuple(name for name in source.ignore if name not in of_edges))
    options = ("label", "ignore", "source_column", "target_column", "id_column", "missing", "directed")
    try:
        return detect(
            edges,
            nodes,
            detector,
            typed=all(table is None or table.typed for table in (edge_table, node_table)),
            category=category,
            learn_from=request.learn_from,
            anomalous_value=request.anomalous_value,
            progress=show,
            **{name: getattr(source, name) for name in options},
        )
    except TableError as error:
        path = source.path if error.table == "edges" else source.nodes
        raise ValueError(f"cannot read {path}: {error}") from None


def _check_columns(names: Sequence[str], request: Request) -> None:
    """Refuse an edge list from whose other columns the local engine would derive attributes."""
    source = request.source
    ends = find_ends(names, source.source_column, source.target_column)
    others = [name for name in names if name not in (*ends, *source.ignore, DIRECTED)]
    if others and source.derive is None:
        raise ValueError(
            f"cannot read {source.path}: the Spark engine does not use its column {others[0]!r}, from which the local "
            f"engine derives attributes; pass {option('derive', 'none')} to leave such columns out"
        )


def _record(spark: SparkSession, request: Request, detector: Any, found: Detection) -> dict[str, Any]:
    return {
        "command": "detect",
        "request": dataclasses.asdict(dataclasses.replace(request, source=request.source.repeatable())),
        "inputs": checksums(*request.source.files()),
        "detector": request.detector,
        "parameters": dataclasses.asdict(detector),
        "seed": request.seed,
        "repeat": request.repeat,
        "versions": {**versions(), "pyspark": spark.version},
        "machine": {**machine(), "master": spark.sparkContext.master},
        "graph": found.graph,
        "threshold": found.threshold,
        "learned": found.feedback.words if found.feedback else None,
        "n_flagged": found.scores.filter("flagged = 1").count(),
        "losses": found.losses.tolist(),
        "seconds": found.seconds,
    }


def _write(found: Detection, folder: Path) -> None:
    """Write the model, and the tables as Parquet, from the executors, and as CSV, without holding one in memory."""
    import polars as pl

    for name, frame, ids in (("scores", found.scores, ["node"]), ("edges", found.edges, ["source", "target"])):
        parquet = folder / f"{name}.parquet"
        frame.orderBy("rank").write.parquet(str(parquet.resolve()))
        rows = pl.scan_parquet(str(parquet / "*.parquet"))
        text = [column for column in ids if rows.collect_schema()[column] == pl.String]
        safe = [pl.col(column).map_elements(guarded, return_dtype=pl.String) for column in text]
        rows.with_columns(safe).sink_csv(folder / f"{name}.csv")
    found.model().save(folder / "model")


def _show(found: Detection, rows: Sequence[Any], folder: Path, n_flagged: int) -> None:
    ranked = [(row["node"], row["score"]) for row in rows]
    more = {"decided by": [row["decided_by"] for row in rows]} if "decided_by" in found.scores.columns else {}
    show_ranking(ranked, n_nodes=found.graph["n_nodes"], n_flagged=n_flagged, threshold=found.threshold, more=more)
    written = ", ".join(str(folder / name) for name in ("report.html", "scores.csv", RECORD))
    write(broken(f"Written: {written}"))
