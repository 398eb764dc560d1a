"""The files of a run that has scores: tables, model, graph, explanations, report and record.

Tables are CSV, which everything opens, or Parquet beyond a million rows.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.detectors.table import own_columns, score_table, shown_order
from hopsight.explanations.edges import edge_events, edge_order, edge_reasons, unlikeness_places
from hopsight.explanations.events import Calendar
from hopsight.explanations.groups import Shared, around, groups_sentence, within
from hopsight.explanations.text import flagged_sentence
from hopsight.graph import AttributedGraph
from hopsight.io.frames import open_table
from hopsight.io.sources import Address, check_file
from hopsight.io.sources import naming as refusing
from hopsight.io.textfile import text_content
from hopsight.metrics import found_first
from hopsight.runs.folder import LATER, RECORD, Stages, checksums, graph_statistics, write_record
from hopsight.runs.request import Source
from hopsight.system.cells import guarded, guarded_frame, unguarded_frame
from hopsight.system.files import naming, write_whole
from hopsight.system.lazy_polars import pl
from hopsight.system.machine import machine, peak_memory, release_memory, versions
from hopsight.system.threads import check_polars

MOST_CSV_ROWS = 1_000_000  # about what a spreadsheet opens; ten million edges would be 2 GB of text
ROWS_AT_ONCE = 1 << 18  # so that the text of a file is never in memory as a whole
TABLES = ("scores.csv", "edges.csv", "groups.csv")
FILES = (*TABLES, "explanations.json", "report.html", "model", "graph.npz", RECORD)
LONG = ("scores.parquet", "edges.parquet")  # instead of the CSV files
LINKED = (*TABLES, *LONG, "explanations.json", RECORD)  # from the report
MANY_EDGES = 1 << 20  # below, what tables leave in memory is small
REPLACED = (*FILES, *LONG, *LATER)  # a new run also removes what was added to the old one


def write_table(path: Path, table: pl.DataFrame, *, csv: bool = True, but: Collection[str] = ()) -> Path:
    """Write ``path`` as CSV, or a Parquet file beside it if the table is long and ``csv`` is not asked for.

    Text in a CSV file is guarded against spreadsheets, except in the columns ``but``; Parquet has it as it is.
    """
    return write_rows(path, table.height, lambda rows: table[rows], csv=csv, but=but)


def write_rows(
    path: Path, n_rows: int, make: Callable[[slice], pl.DataFrame], *, csv: bool = True, but: Collection[str] = ()
) -> Path:
    """Do the same for a table of which some rows are made at a time; with ``slice(0, 0)``, its columns alone."""
    check_polars()
    parts = (make(slice(start, min(n_rows, start + ROWS_AT_ONCE))) for start in range(0, max(1, n_rows), ROWS_AT_ONCE))
    if not csv and n_rows > MOST_CSV_ROWS:
        from polars.io.plugins import register_io_source

        path = path.with_suffix(".parquet")
        with naming(path):
            register_io_source(lambda *_: parts, schema=make(slice(0, 0)).schema).sink_parquet(path)
        return path
    with naming(path), path.open("wb") as file:
        for number, part in enumerate(parts):
            guarded_frame(part, but=list(but)).write_csv(file, include_header=number == 0)
    return path


def table_of(folder: Path, name: str) -> Path:
    """Return the file of a table such as ``scores``: the Parquet file if there is one, else the CSV file."""
    parquet = folder / f"{name}.parquet"
    return parquet if parquet.exists() else folder / f"{name}.csv"


def read_table(path: Path, columns: Collection[str] | None = None) -> pl.DataFrame:
    """Return (some columns of) a table with one row per node; ids are text, as they are in the graph.

    Spark writes a folder of Parquet files.
    """
    check_polars()
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    with refusing(path):
        for file in files:
            check_file(file)
        return _parquet(files, columns) if path.suffix == ".parquet" else _csv(path, columns)


def _parquet(files: Sequence[Path], columns: Collection[str] | None) -> pl.DataFrame:
    table = open_table(Address(str(files[0]), "parquet", tuple(files)))
    found = table.read(table.names if columns is None else list(columns), text=())
    return found.with_columns(pl.col("node").cast(pl.String)).sort("rank")


def _csv(path: Path, columns: Collection[str] | None) -> pl.DataFrame:
    content = text_content(path)  # polars itself would unpack a file of any size
    found = pl.read_csv(
        path if content is None else content,
        columns=None if columns is None else list(columns),
        schema_overrides={"node": pl.String},
        glob=False,
    )
    guarded = [name for name in ("node", "name") if name in found.columns]
    return found.with_columns(unguarded_frame(found.select(pl.col(guarded).cast(pl.String))).get_columns())


def write_scores(path: Path, graph: AttributedGraph, model: Any, *, csv: bool = True) -> Path:
    """Write one row per node, most anomalous first: node, rank, score, flagged, judged, degree, the detector's own.

    Without ``csv``, more than a million rows are written as Parquet, as :func:`write_table` says.
    """
    return write_table(path, _frame(score_table(model, graph)), csv=csv)


def write_edges(path: Path, graph: AttributedGraph, model: Any, *, csv: bool = True) -> Path:
    """Write one row per edge, the most out of place first, with what the detector knows of it and a reason.

    Where events have times there is one row per event, with its id in the user's table, its time and its amount.
    """
    unlikeness, events = unlikeness_places(model), edge_events(graph, model)
    names = _series(graph.node_ids)  # text is repeated by polars, not as Python objects
    known = {"hop": "edge_hop_", "probability": "edge_probability_", "variance": "edge_variance_"}
    optional = {"surprise": "edge_surprise_", "score": "edge_score_", "flagged": "edge_label_"}
    optional["anomaly_probability"] = "edge_anomaly_probability_"
    known |= {name: value for name, value in optional.items() if hasattr(model, value)}
    timed = events if events is not None and events.flow.given.time is not None else None
    scores = None if timed is None else timed.scores(model)
    order = edge_order(model, graph) if timed is None else timed.order(scores, graph.id_places)

    def rows(places: slice) -> pl.DataFrame:
        chosen = order[places]
        said, judged = dict[str, Any](), dict[str, Any]()  # about events
        if timed is None or scores is None:
            edges, one_each = chosen, None
            source, target = graph.directions[:, edges]
        else:
            edges, one_each, each = timed.places[chosen], chosen, timed.flow.every.rows(chosen)
            source, target = each.source, each.target
            if each.ids is not None:
                said["id"] = each.ids.gather(each.row)
            said["time"] = timed.calendar.column(each.time)
            if each.amount is not None:
                said["amount"] = pl.Series(each.amount).fill_nan(None)
            judged["score"] = scores[chosen]
            judged["flagged"] = (judged["score"] > model.edge_threshold_).astype(np.int8)
        table: dict[str, Any] = {
            "source": names.gather(source),
            "target": names.gather(target),
            "rank": np.arange(places.start + 1, places.stop + 1),
        }
        if graph.edge_relation is not None:
            table["relation"] = np.array(graph.relation_names, dtype=object)[graph.edge_relation[edges]]
        table |= said | {name: _double(getattr(model, value)[edges]) for name, value in known.items()} | judged
        return _frame(table | {"reason": edge_reasons(model, edges, unlikeness, events, graph.known_edges, one_each)})

    return write_rows(path, order.size, rows, csv=csv)


def write_groups(path: Path, graph: AttributedGraph, model: Any) -> None:
    """Write one row per group: group, kind, members (separated by ``; ``), density, score, shared, exchanged.

    Where groups passed amounts around, also the sum of these amounts, and the times of the first and of the last one;
    where some gather around nodes of other types, which.
    """
    groups, shared = model.groups_, Shared(graph)
    table = {
        "group": np.arange(1, len(groups) + 1),
        "kind": [group.kind for group in groups],
        "members": [
            "; ".join(guarded(str(node)) for node in graph.node_ids[group.members].tolist()) for group in groups
        ],
        "density": [group.density for group in groups],
        "score": [group.score for group in groups],
        "shared": [shared.among(group.members) for group in groups],
    }
    if any(group.total is not None for group in groups):
        table["amount"] = [group.total for group in groups]
        times, written = (
            {name: [getattr(group, name) for group in groups] for name in ("first", "last")},
            Calendar.of(graph),
        )
        table |= {name: [None if at is None else written.moment(at) for at in each] for name, each in times.items()}
    if any(said := [around(graph, group) for group in groups]):
        table["around"] = said
    if graph.events is not None:
        table["exchanged"] = [within(graph, group) for group in groups]
    write_table(path, _frame(table), but=["members"])  # each member is guarded already


def _double(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(np.float64) if values.dtype == np.float32 else values


def _frame(table: Mapping[str, Any]) -> pl.DataFrame:
    return pl.DataFrame({name: _series(values) for name, values in table.items()})


def _series(values: Any) -> pl.Series:
    """Return values as a column; polars takes Python objects from a list only."""
    if isinstance(values, np.ndarray) and values.dtype == object:
        values = values.tolist()
    return values if isinstance(values, pl.Series) else pl.Series(values)


@dataclass(frozen=True)
class Result:
    """A finished run: the graph, its scores, node positions from the most anomalous on, and the record.

    ``own`` has the detector's own columns of ``scores.csv``, in the order of the graph.
    """

    folder: Path
    graph: AttributedGraph
    scores: NDArray[np.float64]
    threshold: float
    order: NDArray[np.int64]
    record: dict[str, Any]
    own: dict[str, NDArray[Any]] = field(default_factory=dict)
    reasons: Sequence[str] = ()  # of the first nodes, in a few words
    edges: Sequence[tuple[object, object, float, bool]] = ()  # the first, if learned: ends, probability, flagged
    groups: str = ""  # how many were found, and the first, in words

    @classmethod
    def of(
        cls, folder: Path, graph: AttributedGraph, model: Any, record: dict[str, Any], reasons: Sequence[str]
    ) -> Result:
        """Return the result of a model that is fitted to the graph."""
        scores, edges = model.decision_score_, list[tuple[object, object, float, bool]]()
        if getattr(model, "edge_learned_", None) is not None:
            first = edge_order(model, graph)[: len(reasons)]
            ends, chances = graph.node_ids[graph.directions[:, first]], model.edge_anomaly_probability_[first]
            edges = [
                *zip(*ends.tolist(), chances.tolist(), model.edge_label_[first].astype(bool).tolist(), strict=True)
            ]
        order, own = shown_order(model, graph), own_columns(model)
        groups = groups_sentence(graph, getattr(model, "groups_", ()))
        return cls(folder, graph, scores, model.threshold_, order, record, own, reasons, edges, groups)


def now() -> str:
    """Return the local time as a record has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


def record_of(source: Source, graph: AttributedGraph, model: Any, *, scored: bool = False) -> dict[str, Any]:
    """Return the part of the record that every command with scores has; ``scored`` by a model fitted elsewhere."""
    shown = shown_order(model, graph)
    n_flagged, learned = int(model.label_[shown].sum()), getattr(model, "learned_words", None)
    n_ranked = graph.n_nodes if graph.ranked is None else int(graph.ranked.sum())
    return {
        "inputs": checksums(*source.files()),
        "parameters": dataclasses.asdict(model),
        "versions": versions(),
        "machine": machine(),
        "graph": graph_statistics(graph),
        "threshold": model.threshold_,
        "n_flagged": n_flagged,
        "flagged": flagged_sentence(model, n_flagged, n_ranked, scored=scored, shown=shown),
        "labels": compare_with_labels(graph, model.decision_score_, judged_or_left_out(model)),
        "learned": learned,
        "distinguishes": learned and [dataclasses.asdict(each) for each in model.distinctions(graph)],
        "learning_curve": learned and [dataclasses.asdict(each) for each in model.learning_curve(graph)],
    }


def write_results(
    folder: Path,
    graph: AttributedGraph,
    model: Any,
    top: int,
    record: dict[str, Any],
    stages: Stages,
    *,
    csv: bool = False,
) -> list[str]:
    """Write every file of a run, the record last; the record gets the seconds of the stages and the peak memory.

    Return what is special about each of the first nodes, in a few words.

    With ``csv``, tables of more than a million rows are also CSV files.
    """
    with stages.stage("write"):
        _write_tables(folder, graph, model, csv=csv)
        model.save(folder / "model")
    record |= {"seconds": stages.seconds, "peak_memory_bytes": peak_memory()}
    if graph.n_edges > MANY_EDGES:
        release_memory()  # of tables that were written
    with stages.stage("explain"):
        reasons = _write_reasons(folder, graph, model, top, record)
    record["peak_memory_bytes"] = peak_memory()
    write_record(folder / RECORD, record)
    return reasons


def compare_with_labels(
    graph: AttributedGraph, scores: NDArray[np.float64], left_out: NDArray[np.bool_] | None = None
) -> dict[str, Any] | None:
    """Return how well the ranking finds the labeled anomalies, or None without labels; it is only reported."""
    if graph.labels is None:
        return None
    labels = graph.labels if left_out is None else np.where(left_out, -1, graph.labels)
    return found_first(labels, scores)


def judged_or_left_out(model: Any) -> NDArray[np.bool_] | None:
    """Return the nodes that quality is not measured on: those with a verdict, and those that are not ranked."""
    left_out = np.zeros(model.decision_score_.size, dtype=np.bool_)
    if getattr(model, "learned_", None) is not None:
        left_out[model.learned_.judged] = True
    if hasattr(model, "only_"):
        left_out |= ~model.only_
    return left_out if left_out.any() else None


def _write_tables(folder: Path, graph: AttributedGraph, model: Any, *, csv: bool) -> None:
    from hopsight.io.npz import write_npz

    write_scores(folder / "scores.csv", graph, model, csv=csv)
    if hasattr(model, "edge_hop_"):
        write_edges(folder / "edges.csv", graph, model, csv=csv)
    if hasattr(model, "groups_"):
        write_groups(folder / "groups.csv", graph, model)
    write_npz(graph, folder / "graph.npz")


def _write_reasons(folder: Path, graph: AttributedGraph, model: Any, top: int, record: Mapping[str, Any]) -> list[str]:
    from hopsight.explanations import Explainer
    from hopsight.report.page import report_page

    explainer = Explainer(model, graph)
    explanations = list(explainer.many(shown_order(model, graph)[:top].tolist()))
    reasons = json.dumps([reason.to_dict() for reason in explanations], indent=1, ensure_ascii=False)
    write_whole(folder / "explanations.json", reasons)
    written = [name for name in LINKED if name == RECORD or (folder / name).is_file()]  # the record comes last
    report_page(explainer, explanations, record, written).write(folder / "report.html")
    return [each.in_short for each in explanations]
