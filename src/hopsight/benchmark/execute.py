"""Run the fit of one cell and measure it against the labels, which nothing else in the benchmark reads."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.benchmark.cells import Cell, build_graph
from hopsight.benchmark.recipes import TRIVIAL, detector_class, from_plain
from hopsight.graph import AttributedGraph
from hopsight.metrics import (
    KIND_NAMES,
    average_precision,
    precision_at_k,
    recall_at_k,
    roc_auc,
    roc_auc_by_kind,
    roc_auc_interval,
)
from hopsight.system.machine import machine, peak_memory, release_memory, reset_peak, resident_memory, versions

FloatArray = NDArray[np.float64]

CUTS = (50, 100)  # k of precision and recall at k, in addition to the number of anomalies

MEASURES = (
    "auc",
    "auc_low",
    "auc_high",
    "average_precision",
    "precision_at_n",
    *(f"{measure}_at_{k}" for k in CUTS for measure in ("precision", "recall")),
    *(f"auc_{kind}" for kind in KIND_NAMES.values()),
    "mean_anomalous",
    "mean_normal",
)
DETAILS = ("n_classes_", "n_pairs_", "n_times_", "t_", "sigma_", "device_")  # fitted values that are kept


@dataclass
class FitResult:
    """The rankings of one fit, and what else is worth keeping."""

    scores: dict[str, FloatArray]
    details: dict[str, Any] = field(default_factory=dict)
    curve: list[dict[str, float]] = field(default_factory=list)


def execute(job: dict[str, Any]) -> dict[str, Any]:
    """Run the cell of ``{"cell": …, "data_dir": …, "folder": …}`` and return its record without key and status."""
    cell = Cell(**job["cell"])
    with _messages() as messages:
        begin = time.perf_counter()
        graph = build_graph(cell, job.get("data_dir"), job.get("folder"))
        loaded = time.perf_counter()
        _warm_up(cell.detector)
        release_memory()
        reset_peak()
        before = resident_memory()
        start, cpu_start = time.perf_counter(), time.process_time()
        fitted = fit(cell, graph)
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    return {
        "scores": [{"score": name} | measure(graph, scores) for name, scores in fitted.scores.items()],
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "load_seconds": loaded - begin,
        "memory_peak": peak_memory(),
        "memory_before": before,
        "size": _size(graph),
        "details": fitted.details,
        "curve": fitted.curve,
        "warnings": messages,
        "versions": versions(),
        "machine": machine(),
    }


def fit(cell: Cell, graph: AttributedGraph) -> FitResult:
    """Return the rankings of a cell's detector; only a class that declares ``uses_labels`` sees the labels."""
    if cell.detector in TRIVIAL:
        return FitResult({"score": TRIVIAL[cell.detector](without_labels(graph), cell.seed)})
    cls = detector_class(cell.detector)
    uses_labels = getattr(cls, "uses_labels", False)
    curve: list[dict[str, float]] = []
    callback = (lambda epoch: curve.append(curve_point(graph, epoch))) if cell.curve else None
    model = cls(seed=cell.seed, **from_plain(cell.parameters))
    model.fit(graph if uses_labels else without_labels(graph), callback=callback)
    return FitResult(rankings(model), _details(model) | ({"uses_labels": True} if uses_labels else {}), curve)


def rankings(model: Any) -> dict[str, FloatArray]:
    """Return every ranking of a fitted detector: its own, and AHP and HAV if it predicts hop counts."""
    by_name = {name: getattr(model, f"{name}_", None) for name in ("ahp", "hav")}
    found = {name: np.asarray(scores) for name, scores in by_name.items() if scores is not None}
    own = np.asarray(model.decision_score_)
    if any(np.array_equal(own, scores) for scores in found.values()):
        return found
    return {"score": own} | found


def _warm_up(name: str) -> None:
    """Import what the fit needs and take one optimizer step, so that the first fit of a worker is not slower."""
    if name in TRIVIAL:
        return
    detector_class(name)
    if "torch" in sys.modules:  # LOF and others do not need it
        _first_step()


@cache
def _first_step() -> None:
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    weight = torch.zeros(1, device=device, requires_grad=True)
    optimizer = torch.optim.Adam([weight])
    weight.square().sum().backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def _details(model: Any) -> dict[str, Any]:
    """Return the plain values that a fit reports, and the mean loss over the last tenth of the epochs."""
    details: dict[str, Any] = {}
    loss = getattr(model, "loss_", None)
    if loss is not None and len(loss):
        tail = np.asarray(loss, dtype=np.float64)[-max(1, len(loss) // 10) :]
        details["loss"] = float(tail.mean()) if np.isfinite(tail).all() else None
    for name in DETAILS:
        value = getattr(model, name, None)
        if isinstance(value, int | float | str | np.integer | np.floating):
            details[name.rstrip("_")] = value if isinstance(value, str) else float(value)
    return details


@contextlib.contextmanager
def _messages() -> Iterator[list[str]]:
    """Collect warnings and what hopsight logs, each once: they belong in the row, not on the terminal."""
    found: dict[str, None] = {}
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: found.setdefault(record.getMessage()[:300])  # type: ignore[method-assign]
    logger = logging.getLogger("hopsight")
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    messages: list[str] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield messages
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate
        found.update({f"{entry.category.__name__}: {entry.message}"[:300]: None for entry in caught})
        messages += found


def _size(graph: AttributedGraph) -> dict[str, Any]:
    return {
        "name": graph.name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "attributes": graph.n_attributes,
        "anomalies": None if graph.labels is None else int((graph.labels == 1).sum()),
    }


def measure(graph: AttributedGraph, scores: NDArray[np.float64]) -> dict[str, float]:
    """Return the measures of one ranking, without those that do not exist (no labels, k above the labeled nodes).

    ``precision_at_n`` is the precision at k = number of anomalies, where it equals the recall.

    Examples
    --------
    >>> graph = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(3), labels=[0, 0, 1])
    >>> found = measure(graph, np.array([0.0, 1.0, 3.0]))
    >>> found["auc"], found["precision_at_n"], found["mean_normal"]
    (1.0, 1.0, 0.5)
    """
    if not np.isfinite(scores).all() or scores.shape != (graph.n_nodes,):
        raise ValueError(f"a ranking needs one finite score for each of the {graph.n_nodes} nodes")
    if graph.labels is None or not _both_classes(graph.labels):
        return {}
    labels = graph.labels
    low, high = roc_auc_interval(labels, scores)
    n_anomalies = int((labels == 1).sum())
    found = {
        "auc": roc_auc(labels, scores),
        "auc_low": low,
        "auc_high": high,
        "average_precision": average_precision(labels, scores),
        "precision_at_n": precision_at_k(labels, scores, n_anomalies),
        "mean_anomalous": float(scores[labels == 1].mean()),
        "mean_normal": float(scores[labels == 0].mean()),
    }
    n_labeled = int((labels >= 0).sum())
    for k in CUTS:
        if k <= n_labeled:
            found[f"precision_at_{k}"] = precision_at_k(labels, scores, k)
            found[f"recall_at_{k}"] = recall_at_k(labels, scores, k)
    by_kind = roc_auc_by_kind(labels, graph.kinds, scores)
    return found | {f"auc_{kind}": value for kind, value in by_kind.items()}


def without_labels(graph: AttributedGraph) -> AttributedGraph:
    """Return the graph as a detector may see it: without labels and kinds."""
    return replace(graph, labels=None, kinds=None)


def curve_point(graph: AttributedGraph, epoch: Any) -> dict[str, float]:
    """Return the ROC-AUC of one epoch's own prediction, with its number and loss."""
    point = {"epoch": int(epoch.number), "loss": float(epoch.loss)}
    if graph.labels is not None and _both_classes(graph.labels):
        point["auc"] = roc_auc(graph.labels, epoch.scores())
    return point


def _both_classes(labels: NDArray[np.int8]) -> bool:
    return {0, 1} <= set(np.unique(labels).tolist())
