"""One detection from a source to a folder of results: load, fit, rank, explain, write."""

from __future__ import annotations

import dataclasses
import inspect
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import check_choice, check_count
from hopsight.graph import AttributedGraph
from hopsight.runs.folder import RECORD, Claim, claim
from hopsight.runs.memory_need import check_need, expected_need, limited, parse_size
from hopsight.runs.outputs import node_columns, ranking, write_edges, write_scores
from hopsight.runs.progress import Progress
from hopsight.runs.record import (
    Stages,
    checksums,
    graph_statistics,
    machine,
    notices,
    write_record,
)
from hopsight.runs.settings import make_detector
from hopsight.system.memory import peak_memory
from hopsight.system.versions import versions

FILES = ("scores.csv", "edges.csv", "explanations.json", "report.html", "model", "graph.npz", RECORD)
MISSING = ("refuse", "mean")
ENGINES = ("local", "spark")


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a network comes from and how to read it; no path means the demo network."""

    path: str | None = None
    nodes: str | None = None
    directed: bool = False
    label: str | None = None
    ignore: tuple[str, ...] = ()
    source_column: str | None = None
    target_column: str | None = None
    id_column: str | None = None
    missing: str = "refuse"
    data_dir: str | None = None

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Source:
        """Return the source of a finished run, from its ``run.json``; a folder of networks may have gone since."""
        folder = record["data_dir"]
        there = folder is not None and Path(folder).is_dir()
        return cls(**{**record, "ignore": tuple(record["ignore"]), "data_dir": folder if there else None})

    def read(self) -> AttributedGraph:
        """Return the network."""
        check_choice("missing", self.missing, MISSING)
        if self.path is None:
            from hopsight.datasets import make_demo

            return make_demo()
        from hopsight.load import load

        return load(
            self.path,
            nodes=self.nodes,
            directed=self.directed,
            label=self.label,
            ignore=self.ignore,
            source_column=self.source_column,
            target_column=self.target_column,
            id_column=self.id_column,
            missing=self.missing,
            data_dir=self.data_dir,
        )

    def files(self) -> list[str]:
        """Return the files that are read, by their whole paths."""
        from hopsight.load import files_of

        files = [] if self.path is None else files_of(self.path, self.nodes, data_dir=self.data_dir)
        return [str(file.resolve()) for file in files]

    def repeatable(self) -> Source:
        """Return the same with absolute paths, so that a run can be repeated from anywhere."""
        data_dir = self.data_dir
        if self.path is not None and not Path(self.path).exists():
            data_dir = next((str(Path(file).parent) for file in self.files()), data_dir)  # whatever HOPSIGHT_DATA says
        return dataclasses.replace(
            self, path=_absolute(self.path), nodes=_absolute(self.nodes), data_dir=_absolute(data_dir)
        )


@dataclass(frozen=True, kw_only=True)
class Request:
    """Everything that decides the result of a detection; ``run.json`` keeps it for ``hopsight rerun``."""

    detector: str
    source: Source = field(default_factory=Source)
    preset: str | None = None
    seed: int = 0
    device: str = "auto"
    top: int = 20
    settings: Mapping[str, str] = field(default_factory=dict)
    memory_limit: str | None = None
    engine: str = "local"

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Request:
        """Return the request of a finished run, from its ``run.json``."""
        try:
            asked = dict(record["request"])
            return cls(source=Source.from_record(asked.pop("source")), **asked)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the record does not say how to repeat the run: {error}") from None


@dataclass(frozen=True)
class Result:
    """A finished run: the network, its scores, node positions from the most anomalous on, and what was recorded."""

    folder: Path
    graph: AttributedGraph
    scores: NDArray[np.float64]
    threshold: float
    order: NDArray[np.int64]
    record: dict[str, Any]


def detect(request: Request, folder: Path, *, resume: bool = False, progress: Progress | None = None) -> Result:
    """Load, fit, rank, explain and write the run folder; the files appear together or not at all.

    An earlier run in ``folder`` is replaced, once this one has succeeded.
    """
    show = progress or Progress()
    _check(request)
    detector = make_detector(
        request.detector, preset=request.preset, seed=request.seed, device=request.device, settings=request.settings
    )
    limit = None if request.memory_limit is None else parse_size(request.memory_limit)
    stages = Stages(show.begin, show.end)
    with claim(folder, FILES) as claimed, limited(limit), notices(show.say) as remarks:
        started = time.time()
        with stages.stage("load"):
            graph = request.source.read()
        if graph.n_nodes < 2:
            raise ValueError(
                f"there is nothing to compare: a network needs at least 2 nodes, this one has {graph.n_nodes}"
            )
        show.say(str(graph))
        need = expected_need(graph, detector)
        show.say(f"{request.detector} on this network needs {need}")
        check_need(need, limit)
        with stages.stage("fit"):
            _fit(detector, graph, claimed, resume=resume, progress=show)
        order = ranking(detector.decision_score_)
        record = _record(request, graph, detector) | {
            "started": time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(started)),
            "expected": dataclasses.asdict(need),
            "warnings": remarks,
        }
        with stages.stage("write"):
            _write_tables(claimed.staging, graph, detector)
        record |= {
            "seconds": stages.seconds,
            "fit_seconds": getattr(detector, "seconds_", {}),
            "peak_memory_bytes": peak_memory(),
        }
        with stages.stage("explain"):
            _write_reasons(claimed.staging, graph, detector, order[: request.top], record)
        record["peak_memory_bytes"] = peak_memory()
        write_record(claimed.staging / RECORD, record)
        claimed.publish()
    return Result(folder, graph, detector.decision_score_, detector.threshold_, order, record)


def found(graph: AttributedGraph, scores: NDArray[np.float64]) -> dict[str, Any] | None:
    """Return how the ranking meets the truth, or None without labels: used for nothing but to be printed."""
    if graph.labels is None or not 0 < graph.labels.sum() < graph.n_nodes:
        return None
    from hopsight.metrics import roc_auc

    n_anomalies = int(graph.labels.sum())
    first = ranking(scores)[:n_anomalies]
    return {
        "n_anomalies": n_anomalies,
        "n_found": int(graph.labels[first].sum()),
        "roc_auc": float(roc_auc(graph.labels, scores)),
    }


def _absolute(path: str | None) -> str | None:
    """Return the whole path of what exists; a name of the catalog stays as it is."""
    return str(Path(path).resolve()) if path is not None and Path(path).exists() else path


def _check(request: Request) -> None:
    """Refuse what can be refused before anything is read."""
    check_count("top", request.top)
    check_count("seed", request.seed, low=0)
    check_choice("engine", request.engine, ENGINES)
    if request.engine == "spark":
        raise ValueError("the spark engine has a function of its own: hopsight.spark.run.detect")
    if request.device != "auto":
        from hopsight.nn.device import resolve_device

        resolve_device(request.device)


def _fit(detector: Any, graph: AttributedGraph, claimed: Claim, *, resume: bool, progress: Progress) -> None:
    """Fit, keeping a checkpoint where the detector can."""
    if "checkpoint" in inspect.signature(detector.fit).parameters:
        if not resume:
            claimed.discard_checkpoint()
        detector.fit(graph, callback=progress, checkpoint=claimed.checkpoint)
        return
    if resume:
        progress.say(f"{type(detector).__name__} keeps no checkpoint: --resume starts it from the beginning")
    detector.fit(graph, callback=progress)


def _record(request: Request, graph: AttributedGraph, detector: Any) -> dict[str, Any]:
    repeatable = dataclasses.replace(request, source=request.source.repeatable())
    return {
        "command": "detect",
        "request": dataclasses.asdict(repeatable),
        "inputs": checksums(*request.source.files()),
        "detector": request.detector,
        "parameters": dataclasses.asdict(detector),
        "seed": request.seed,
        "versions": versions(),
        "machine": machine(),
        "graph": graph_statistics(graph),
        "threshold": detector.threshold_,
        "n_flagged": int(detector.label_.sum()),
        "losses": np.asarray(getattr(detector, "loss_", [])).tolist(),
        "labels": found(graph, detector.decision_score_),
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


def _write_reasons(
    folder: Path, graph: AttributedGraph, model: Any, top: NDArray[np.int64], record: Mapping[str, Any]
) -> None:
    from hopsight.explain import Explainer
    from hopsight.report.page import write_report

    explainer = Explainer(model, graph)
    explanations = [explainer.node(node) for node in graph.node_ids[top].tolist()]
    reasons = json.dumps([reason.to_dict() for reason in explanations], indent=1, ensure_ascii=False)
    (folder / "explanations.json").write_text(reasons, encoding="utf-8")
    write_report(folder / "report.html", model, graph, explanations, record)
