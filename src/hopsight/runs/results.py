"""The files of a run that has scores: tables, model, graph, explanations, report and record."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.metrics import ranking
from hopsight.runs.folder import RECORD
from hopsight.runs.outputs import node_columns, write_edges, write_scores
from hopsight.runs.record import Stages, checksums, graph_statistics, write_record
from hopsight.runs.request import Source
from hopsight.system.machine import machine
from hopsight.system.memory import peak_memory
from hopsight.system.versions import versions

FILES = ("scores.csv", "edges.csv", "explanations.json", "report.html", "model", "graph.npz", RECORD)


@dataclass(frozen=True)
class Result:
    """A finished run: the graph, its scores, node positions from the most anomalous on, and the record."""

    folder: Path
    graph: AttributedGraph
    scores: NDArray[np.float64]
    threshold: float
    order: NDArray[np.int64]
    record: dict[str, Any]

    @classmethod
    def of(cls, folder: Path, graph: AttributedGraph, model: Any, record: dict[str, Any]) -> Result:
        """Return the result of a model that is fitted to the graph."""
        scores = model.decision_score_
        return cls(folder, graph, scores, model.threshold_, ranking(scores), record)


def now() -> str:
    """Return the local time as a record has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


def record_of(source: Source, graph: AttributedGraph, model: Any) -> dict[str, Any]:
    """Return the part of the record that every command with scores has."""
    return {
        "inputs": checksums(*source.files()),
        "parameters": dataclasses.asdict(model),
        "versions": versions(),
        "machine": machine(),
        "graph": graph_statistics(graph),
        "threshold": model.threshold_,
        "n_flagged": int(model.label_.sum()),
        "labels": compare_with_labels(graph, model.decision_score_),
    }


def write_results(
    folder: Path, graph: AttributedGraph, model: Any, top: int, record: dict[str, Any], stages: Stages
) -> None:
    """Write every file of a run, the record last; the record gets the seconds of the stages and the peak memory."""
    with stages.stage("write"):
        _write_tables(folder, graph, model)
    record |= {"seconds": stages.seconds, "peak_memory_bytes": peak_memory()}
    with stages.stage("explain"):
        _write_reasons(folder, graph, model, top, record)
    record["peak_memory_bytes"] = peak_memory()
    write_record(folder / RECORD, record)


def compare_with_labels(graph: AttributedGraph, scores: NDArray[np.float64]) -> dict[str, Any] | None:
    """Return how well the ranking finds the labeled anomalies, or None without labels; it is only reported."""
    if graph.labels is None or not {0, 1} <= set(np.unique(graph.labels).tolist()):
        return None
    from hopsight.metrics import roc_auc

    n_anomalies = int((graph.labels == 1).sum())
    labeled = graph.labels >= 0
    first = ranking(scores[labeled])[:n_anomalies]
    return {
        "n_anomalies": n_anomalies,
        "n_found": int(graph.labels[labeled][first].sum()),
        "roc_auc": float(roc_auc(graph.labels, scores)),
    }


def _write_tables(folder: Path, graph: AttributedGraph, model: Any) -> None:
    from hopsight.io.npz import write_npz

    judged = getattr(model, "judged_", None)
    columns = node_columns(model)
    write_scores(folder / "scores.csv", graph, model.decision_score_, model.threshold_, judged=judged, columns=columns)
    if hasattr(model, "edge_hop_"):
        write_edges(folder / "edges.csv", graph, model)
    model.save(folder / "model")
    write_npz(graph, folder / "graph.npz")


def _write_reasons(folder: Path, graph: AttributedGraph, model: Any, top: int, record: Mapping[str, Any]) -> None:
    from hopsight.explanations import Explainer
    from hopsight.report.page import write_report

    explainer = Explainer(model, graph)
    most_anomalous = graph.node_ids[ranking(model.decision_score_)[:top]].tolist()
    explanations = [explainer.node(node) for node in most_anomalous]
    reasons = json.dumps([reason.to_dict() for reason in explanations], indent=1, ensure_ascii=False)
    (folder / "explanations.json").write_text(reasons, encoding="utf-8")
    write_report(folder / "report.html", model, graph, explanations, record)
