"""``detect --engine spark``: from files to a folder of results, with Spark in between."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopsight.checks import check_choice, check_count
from hopsight.io.columns import MISSING
from hopsight.io.files import TABLE_SUFFIXES, reading
from hopsight.io.frames import open_table
from hopsight.runs.console import console, show_ranking
from hopsight.runs.detect import Request
from hopsight.runs.folder import RECORD, claim
from hopsight.runs.outputs import guarded
from hopsight.runs.progress import Progress
from hopsight.runs.record import checksums, machine, notices, write_record
from hopsight.runs.settings import make_detector
from hopsight.system.versions import versions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hopsight.spark.results import Detection

FILES = ("scores.csv", "scores.parquet", "edges.csv", "edges.parquet", "explanations.json", "report.html", RECORD)
DETECTOR = "cross_hcm"


def detect(request: Request, folder: Path, *, master: str | None = None, progress: Progress | None = None) -> None:
    """Detect on Spark, write the tables and ``run.json``, and print the top of the ranking."""
    from hopsight.spark.excerpt import excerpt
    from hopsight.spark.report import write_reasons
    from hopsight.spark.session import open_session

    show = progress or Progress()
    _check(request)
    detector = make_detector(
        request.detector, preset=request.preset, seed=request.seed, device=request.device, settings=request.settings
    )
    with claim(folder, FILES) as claimed, notices(show.say) as remarks:
        started = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        spark = open_session(master)
        edges, nodes, typed = _read(spark, request)
        found = _detect(spark, request, edges, nodes, typed, detector, show)
        for notice in found.notices:
            show.say(notice)
        _write(found, claimed.staging)
        n_flagged = found.scores.filter("flagged = 1").count()
        record = {
            "command": "detect",
            "request": dataclasses.asdict(dataclasses.replace(request, source=request.source.repeatable())),
            "inputs": checksums(*request.source.files()),
            "detector": request.detector,
            "parameters": dataclasses.asdict(detector),
            "seed": request.seed,
            "started": started,
            "versions": {**versions(), "pyspark": spark.version},
            "machine": {**machine(), "master": spark.sparkContext.master},
            "graph": found.network,
            "threshold": found.threshold,
            "n_flagged": n_flagged,
            "losses": found.losses.tolist(),
            "stages": found.stages,
            "seconds": {name: stage["seconds"] for name, stage in found.stages.items()},
            "warnings": [*remarks, *(notice for notice in found.notices if notice not in remarks)],
        }
        show.begin("explain")
        part = excerpt(found, request.top)
        write_reasons(claimed.staging, part, detector, found.attribute_names, found.threshold, record)
        write_record(claimed.staging / RECORD, record)
        claimed.publish()
    _show(found, folder, request.top, n_flagged)


def _check(request: Request) -> None:
    """Refuse what can be refused before anything is read."""
    check_count("top", request.top)
    check_count("seed", request.seed, low=0)
    check_choice("missing", request.source.missing, MISSING)
    if request.detector != DETECTOR:
        raise ValueError(f"the spark engine runs {DETECTOR}, got {request.detector!r}: leave out --engine spark")
    if request.source.directed:
        raise ValueError("the spark engine reads edges without direction: leave out --directed")
    if request.source.path is None or request.source.nodes is None:
        raise ValueError("the spark engine reads an edge list and a node table: give both (EDGES --nodes NODES)")


def _read(spark: SparkSession, request: Request) -> tuple[DataFrame, DataFrame, bool]:
    """Return the two tables, and whether they say by themselves what is a number."""
    source, nodes = str(request.source.path), str(request.source.nodes)
    frames = [_frame(spark, path) for path in (source, nodes)]
    return frames[0][0], frames[1][0], frames[0][1] and frames[1][1]


def _frame(spark: SparkSession, path: str) -> tuple[DataFrame, bool]:
    """Open a table: a file, a folder of Parquet files, or anything else that Spark knows the address of."""
    local = Path(path)
    if "://" in path or local.is_dir():
        return spark.read.parquet(path), True
    with reading(local):
        if not local.name.lower().endswith(TABLE_SUFFIXES):
            raise ValueError(f"its name must end in one of {', '.join(TABLE_SUFFIXES)}")
        with open_table(local) as table:
            if table.typed:
                return spark.read.parquet(str(local.resolve())), True
            rows = spark.read.csv(
                str(local.resolve()), header=table.has_header, sep=table.separator, quote='"', escape='"',
                multiLine=True, inferSchema=False,
            )  # fmt: skip
            return rows.toDF(*table.names).dropna(how="all"), False


def _detect(
    spark: SparkSession, request: Request, edges: Any, nodes: Any, typed: bool, detector: Any, show: Progress
) -> Detection:
    from hopsight.spark.detection import detect as detect_on_spark
    from hopsight.spark.measure import Measures
    from hopsight.spark.tables import TableError

    asked = request.source
    try:
        return detect_on_spark(
            edges,
            nodes,
            detector,
            label=asked.label,
            ignore=asked.ignore,
            source_column=asked.source_column,
            target_column=asked.target_column,
            id_column=asked.id_column,
            missing=asked.missing,
            typed=typed,
            measures=Measures(spark, show.begin, show.end),
            callback=show.epoch,
        )
    except TableError as error:
        path = asked.path if error.table == "edges" else asked.nodes
        raise ValueError(f"cannot read {path}: {error}") from None


def _write(found: Detection, folder: Path) -> None:
    """Write both tables as Parquet, from the executors, and as CSV, a file each, a piece at a time."""
    import polars as pl

    for name, frame, ids in (("scores", found.scores, ["node"]), ("edges", found.edges, ["source", "target"])):
        parquet = folder / f"{name}.parquet"
        frame.orderBy("rank").write.parquet(str(parquet.resolve()))
        rows = pl.scan_parquet(str(parquet / "*.parquet"))
        text = [column for column in ids if rows.collect_schema()[column] == pl.String]
        safe = [pl.col(column).map_elements(guarded, return_dtype=pl.String) for column in text]
        rows.with_columns(safe).sink_csv(folder / f"{name}.csv")


def _show(found: Detection, folder: Path, top: int, n_flagged: int) -> None:
    from rich.text import Text

    rows = found.scores.orderBy("rank").limit(top).collect()
    ranked = [(row["node"], row["score"], row["degree"]) for row in rows]
    show_ranking(ranked, n_nodes=found.network["n_nodes"], n_flagged=n_flagged, threshold=found.threshold)
    written = ", ".join(str(folder / name) for name in ("report.html", "scores.csv", RECORD))
    console().print(Text(f"Written: {written}"))
