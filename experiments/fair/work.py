"""Run one cell in a worker: fit, measure, and resample the nodes in the way that all detectors on a graph share."""

from __future__ import annotations

import base64
import gc
import pickle
import sys
import time
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fair.graphs import FIXED_VIEW, prepare, prepared_file
from fair.plan import OWN
from hopsight.benchmark.cells import Cell, fit, measure
from hopsight.benchmark.recipes import TRIVIAL, detector_class, detector_of, parameters_of
from hopsight.system.machine import peak_memory, release_memory, reset_peak, resident_memory

FloatArray = NDArray[np.float64]

DRAWS = 200
MEASURES = ("auc", "average_precision", "precision_at_n", "mean_anomalous", "mean_normal")
KINDS = ("auc_structure", "auc_attribute")


def execute(job: dict[str, Any]) -> dict[str, Any]:
    """Do one job: prepare a graph, or run a cell and return its record."""
    if job.get("prepare"):
        prepare(job)
        return {}
    try:
        return _run(job, _graph(job))
    finally:
        _clean(job["device"])


def _run(job: dict[str, Any], graph: Any) -> dict[str, Any]:
    if job["device"] == "cuda":
        _start_gpu()
    if job["detector"] not in TRIVIAL:
        detector_class(detector_of(job["detector"]))  # imported before the clock starts
    cell = Cell(
        graph=job["graph"], detector=detector_of(job["detector"]), seed=job["seed"], curve=job["curve"], version="",
        parameters=parameters_of(job["detector"], job["changes"], device=job["device"]),
    )  # fmt: skip
    release_memory()
    reset_peak()
    before, start = resident_memory(), time.perf_counter()
    fitted = fit(cell, graph)
    seconds = time.perf_counter() - start
    return {
        "seconds": round(seconds, 3),
        "memory_mb": round(max(0, peak_memory() - before) / 1e6, 1),
        "gpu_mb": _gpu_peak(job["device"]),
        "rankings": {name: _measures(job, graph, name, scores) for name, scores in fitted.scores.items()},
        "details": fitted.details,
        "curve": [round(1e4 * point["auc"]) for point in fitted.curve],
    }


def _measures(job: dict[str, Any], graph: Any, ranking: str, scores: FloatArray) -> dict[str, Any]:
    found = measure(graph, scores)
    kept: dict[str, Any] = {name: float(f"{found[name]:.6g}") for name in (*MEASURES, *KINDS) if name in found}
    own = ranking == OWN.get(job["detector"], "score") and job["view"] == FIXED_VIEW
    if job["experiment"] == "table1" or (job["experiment"] == "comparison" and own):
        drawn = bootstrap(np.asarray(graph.labels), scores, job["graph"], job["injection"])
        kept["draws"] = base64.b64encode(np.round(drawn * 65535).astype("<u2").tobytes()).decode()
    return kept


def bootstrap(labels: NDArray[Any], scores: FloatArray, graph: str, injection: int, n_draws: int = DRAWS) -> FloatArray:
    """Return (n_draws,) ROC-AUC of resampled nodes.

    Anomalies and normal nodes are resampled apart, so that every draw has as many of each. The random numbers depend on
    graph and injection only: draw b holds the same nodes for every detector, so that differences are paired.
    """
    known = labels >= 0
    truth, values = labels[known] == 1, scores[known]
    rng = np.random.default_rng([zlib.crc32(graph.encode()), injection])
    weight = np.empty((n_draws, truth.size))
    for kind in (truth, ~truth):
        count = int(kind.sum())
        weight[:, kind] = rng.multinomial(count, np.full(count, 1.0 / count), size=n_draws)
    _, place = np.unique(-values, return_inverse=True)  # 0 for the highest score
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(place[order]) > 0])
    hits, misses = (
        np.add.reduceat((weight * mask)[:, order], starts, axis=1) for mask in (truth, ~truth)
    )  # by distinct score
    false = misses.cumsum(axis=1)
    n_true, n_false = hits.sum(axis=1, keepdims=True), false[:, -1:]
    return (hits * (n_false - false + 0.5 * misses)).sum(axis=1) / (n_true * n_false).ravel()


def _graph(job: dict[str, Any]) -> Any:
    if "generate" in job:
        from hopsight.datasets import make_graph

        nodes = job["generate"]
        return make_graph(n_nodes=nodes, n_edges=10 * nodes, n_attributes=20, seed=0)
    return _read(str(prepared_file(Path(job["folder"]), job["graph"], job["injection"], job["view"])))


@lru_cache(maxsize=3)
def _read(file: str) -> Any:
    return pickle.loads(Path(file).read_bytes())


@lru_cache(maxsize=1)
def _start_gpu() -> None:
    """Take one optimizer step, so that the first fit of a worker is not slower."""
    import torch

    weight = torch.zeros(1, device="cuda", requires_grad=True)
    optimizer = torch.optim.Adam([weight])
    weight.square().sum().backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def _gpu_peak(device: str) -> float | None:
    if device != "cuda":
        return None
    import torch

    return round(torch.cuda.max_memory_allocated() / 1e6, 1)


def _clean(device: str) -> None:
    """Give the memory of a GPU back to the other workers."""
    torch = sys.modules.get("torch")
    if device == "cuda" and torch is not None:
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    gc.freeze()  # imported modules are not searched for garbage again, which takes half a second
