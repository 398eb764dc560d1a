"""The files of a run that has scores: tables, model, graph, explanations, report and record."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.detectors.table import own_columns, shown_order
from hopsight.explanations.text import flagged_sentence
from hopsight.graph import AttributedGraph
from hopsight.metrics import found_first
from hopsight.runs.folder import LATER, RECORD
from hopsight.runs.outputs import write_edges, write_groups, write_scores
from hopsight.runs.record import Stages, checksums, graph_statistics, write_record
from hopsight.runs.request import Source
from hopsight.system.files import write_whole
from hopsight.system.machine import machine, peak_memory, release_memory, versions

TABLES = ("scores.csv", "edges.csv", "groups.csv")
FILES = (*TABLES, "explanations.json", "report.html", "model", "graph.npz", RECORD)
LONG = ("scores.parquet", "edges.parquet")  # instead of the CSV files
LINKED = (*TABLES, *LONG, "explanations.json", RECORD)  # from the report
MANY_EDGES = 1 << 20  # below, what tables leave in memory is small
REPLACED = (*FILES, *LONG, *LATER)  # a new run also removes what was added to the old one


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

    @classmethod
    def of(cls, folder: Path, graph: AttributedGraph, model: Any, record: dict[str, Any]) -> Result:
        """Return the result of a model that is fitted to the graph."""
        scores = model.decision_score_
        return cls(folder, graph, scores, model.threshold_, shown_order(model), record, own_columns(model))


def now() -> str:
    """Return the local time as a record has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


def record_of(source: Source, graph: AttributedGraph, model: Any, *, scored: bool = False) -> dict[str, Any]:
    """Return the part of the record that every command with scores has; ``scored`` by a model fitted elsewhere."""
    n_flagged = int(model.label_[shown_order(model)].sum())
    return {
        "inputs": checksums(*source.files()),
        "parameters": dataclasses.asdict(model),
        "versions": versions(),
        "machine": machine(),
        "graph": graph_statistics(graph),
        "threshold": model.threshold_,
        "n_flagged": n_flagged,
        "flagged": flagged_sentence(model, n_flagged, graph.n_nodes, scored=scored),
        "labels": compare_with_labels(graph, model.decision_score_, judged_or_left_out(model)),
        "learned": getattr(model, "learned_words", None),
    }


def write_results(
    folder: Path,
    graph: AttributedGraph,
    model: Any,
    top: int,
    record: dict[str, Any],
    stages: Stages,
    *,
    saved: Any = None,
    csv: bool = False,
) -> None:
    """Write every file of a run, the record last; the record gets the seconds of the stages and the peak memory.

    ``saved`` is the detector to save where it differs from the one to show, as after repeated fits. With ``csv``,
    tables of more than a million rows are CSV files, too.
    """
    with stages.stage("write"):
        _write_tables(folder, graph, model, csv=csv)
        (model if saved is None else saved).save(folder / "model")
    record |= {"seconds": stages.seconds, "peak_memory_bytes": peak_memory()}
    if graph.n_edges > MANY_EDGES:
        release_memory()  # of tables that were written
    with stages.stage("explain"):
        _write_reasons(folder, graph, model, top, record)
    record["peak_memory_bytes"] = peak_memory()
    write_record(folder / RECORD, record)


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
    if hasattr(model, "learned_"):
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


def _write_reasons(folder: Path, graph: AttributedGraph, model: Any, top: int, record: Mapping[str, Any]) -> None:
    from hopsight.explanations import Explainer
    from hopsight.report.page import write_report

    explainer = Explainer(model, graph)
    most_anomalous = graph.node_ids[shown_order(model)[:top]].tolist()
    explanations = [explainer.node(node) for node in most_anomalous]
    reasons = json.dumps([reason.to_dict() for reason in explanations], indent=1, ensure_ascii=False)
    write_whole(folder / "explanations.json", reasons)
    written = [name for name in LINKED if name == RECORD or (folder / name).is_file()]  # the record comes last
    write_report(folder / "report.html", model, graph, explanations, record, files=written, explainer=explainer)
