"""A cell: one graph, one detector, one seed, and everything else that decides its results; and how it is run.

Labels are read where scores are measured, and nowhere else in the benchmark.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.benchmark.recipes import TRIVIAL, detector_class, from_plain
from hopsight.checks import check_choice
from hopsight.datasets import inject, make_graph
from hopsight.datasets.catalog import size
from hopsight.graph import AttributedGraph
from hopsight.io.notices import collected
from hopsight.loading import load
from hopsight.metrics import (
    KIND_NAMES,
    average_precision,
    precision_at_k,
    recall_at_k,
    roc_auc,
    roc_auc_by_kind,
    roc_auc_interval,
)
from hopsight.preprocess import AttributeTransform
from hopsight.system.machine import machine, peak_memory, release_memory, reset_peak, resident_memory, versions

VIEWS = ("raw", "scaled", "reduced")
N_COMPONENTS = 20  # of the reduced view, as in the paper
PROTOCOLS = ("as found", "dominant", "hcm", "leak-free")
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One fit to run and measure; plain values only, so that it can be written to a file and hashed.

    A detector sees the attributes of the graph as its view says: ``"raw"``, ``"scaled"`` (standardized unless they are
    a bag of words) or ``"reduced"`` (the same, then 20 principal components).

    Examples
    --------
    >>> cell = Cell(graph="disney", detector="lof", seed=0, parameters={"n_neighbors": 20})
    >>> cell.key == Cell(graph="disney", detector="lof", seed=0, parameters={"n_neighbors": 20}).key
    True
    >>> cell.key == Cell(graph="disney", detector="lof", seed=0, parameters={"n_neighbors": 21}).key
    False
    """

    graph: str
    detector: str  # a name in DETECTORS, a trivial score, or "module:Class"
    seed: int  # of the detector
    settings: Mapping[str, Any] = field(default_factory=dict)  # its file, or arguments of its generator; its injection
    protocol: str = "as found"  # or how anomalies are planted
    injection: int | None = None  # its seed
    view: str = "raw"
    parameters: Mapping[str, Any] = field(default_factory=dict)  # all, including those left at their default
    curve: bool = False  # whether to record the ROC-AUC of every epoch's own prediction
    version: str = field(default_factory=lambda: version("hopsight"))  # another may give other results

    def __post_init__(self) -> None:
        check_choice("view", self.view, VIEWS)
        check_choice("protocol", self.protocol, PROTOCOLS)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)

    @property
    def key(self) -> str:
        """A hash of all fields: a cell with any value changed is another cell."""
        return hashlib.sha256(canonical_json(self.as_dict()).encode()).hexdigest()[:20]


@dataclass(frozen=True)
class Task:
    """A cell together with the experiment that needs it and the name of the row or line where it appears."""

    experiment: str
    row: str
    cell: Cell


Plan = Sequence[Task]


def unique_cells(plan: Iterable[Task]) -> list[Cell]:
    """Return every cell of a plan once, in order: experiments that need the same fit share it."""
    return list({task.cell.key: task.cell for task in plan}.values())


def canonical_json(value: Any) -> str:
    """Return a plain value as JSON that does not depend on the order of its keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def build_graph(cell: Cell, data_dir: str | None = None, folder: str | None = None) -> AttributedGraph:
    """Return the graph of a cell; the last few graphs stay in memory.

    The settings of the cell decide where the graph comes from: ``generate`` holds the arguments of the generator,
    ``load`` those of :func:`hopsight.load`, with paths relative to ``folder``; otherwise the graph is loaded from the
    catalog by its name. ``planting`` holds the arguments of :func:`hopsight.inject`.
    """
    source = (cell.graph, canonical_json(dict(cell.settings)), cell.protocol, cell.injection, data_dir, folder)
    return _planted(*source) if cell.view == "raw" else _viewed(cell.view, *source)


@lru_cache(maxsize=2)
def _planted(
    graph: str, settings_json: str, protocol: str, injection: int | None, data_dir: str | None, folder: str | None
) -> AttributedGraph:
    settings = json.loads(settings_json)
    found = _read(graph, settings, data_dir, folder)
    if "planting" not in settings:
        return found
    return inject(found, protocol=protocol, seed=injection, **settings["planting"])


def _read(graph: str, settings: dict[str, Any], data_dir: str | None, folder: str | None) -> AttributedGraph:
    if "generate" in settings:
        return make_graph(**settings["generate"])
    if "load" not in settings:
        return load(graph, data_dir=data_dir)
    arguments = dict(settings["load"])
    for name in ("source", "nodes"):
        if name in arguments:
            arguments[name] = Path(folder or ".") / arguments[name]
    return load(**arguments)


@lru_cache(maxsize=2)
def _viewed(view: str, *source: Any) -> AttributedGraph:
    graph = _planted(*source)
    transform = AttributeTransform.fit(
        graph.attributes,
        graph.attribute_names,
        scaling="auto",
        n_components=N_COMPONENTS if view == "reduced" else None,
        rng=np.random.default_rng(0),
    )
    attributes = transform.apply(graph.attributes, graph.attribute_names)
    names = graph.attribute_names if attributes.shape[1] == graph.n_attributes else None
    return replace(graph, attributes=attributes, attribute_names=names, derivation=None)


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
    with collected(lambda text: None) as messages:  # they belong in the row, not on the terminal
        begin = time.perf_counter()
        graph = build_graph(cell, job.get("data_dir"), job.get("folder"))
        loaded = time.perf_counter()
        if cell.detector not in TRIVIAL:
            detector_class(cell.detector)  # imported before the clock starts
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
        "size": size(graph),
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
