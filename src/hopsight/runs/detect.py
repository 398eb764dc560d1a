"""One detection from a source to a folder of results: load, fit, rank, explain, write."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.checks import check_choice, check_count, option
from hopsight.graph import AttributedGraph
from hopsight.runs.folder import Claim, claim
from hopsight.runs.memory_need import Need, check_need, expected_need, limited, parse_size
from hopsight.runs.progress import Progress
from hopsight.runs.record import Stages, notices
from hopsight.runs.repeats import fit_repeats
from hopsight.runs.request import Request
from hopsight.runs.results import REPLACED, Result, now, record_of, write_results
from hopsight.runs.settings import make_detector
from hopsight.runs.subsets import asked_for, check_files
from hopsight.system.files import check_scratch

ENGINES = ("local", "spark")


def detect(
    request: Request, folder: Path, *, resume: bool = False, restart: bool = False, progress: Progress | None = None
) -> Result:
    """Load, fit, rank, explain and write the run folder; its files appear together or not at all.

    An earlier run in ``folder`` is replaced once this one has succeeded. The checkpoint of an interrupted run is
    continued with ``resume`` and discarded with ``restart``; without either, a folder that has one is refused.
    """
    show = progress or Progress()
    _check(request)
    detector = make_detector(
        request.detector, preset=request.preset, seed=request.seed, device=request.device, settings=request.settings
    )
    check_files(request, detector)
    if request.repeat > 1 and detector.deterministic:
        raise ValueError(f"{request.detector} gives the same scores with every seed: leave out {option('repeat')}")
    if resume and restart:
        raise ValueError(
            f"{option('resume', True)} continues an interrupted run and {option('restart', True)} discards it: pass one"
        )
    limit = None if request.memory_limit is None else parse_size(request.memory_limit)
    stages = Stages(show.begin, show.end)
    with claim(folder, REPLACED) as claimed, limited(limit), notices(show.say) as warnings:
        if claimed.has_checkpoint and not (resume or restart):
            raise ValueError(
                f"{folder} has the checkpoint of an interrupted run: pass {option('resume', True)} to continue it, "
                f"{option('restart', True)} to discard it, or choose another folder"
            )
        started = now()
        with stages.stage("load"):
            graph = request.source.read()
        if graph.n_nodes < 2:
            raise ValueError(f"a graph needs at least 2 nodes to compare, this one has {graph.n_nodes}")
        show.say(str(graph))
        need, scratch = _place(expected_need(graph, detector), limit, graph, detector, request, claimed)
        show.say(f"{request.detector} needs {need} for this graph")
        check_need(need, limit)
        with stages.stage("fit"):
            if restart:
                claimed.discard_checkpoint()
            shown = _fit(detector, graph, claimed, request, resume=resume, progress=show, scratch=scratch)
        shown, saved = asked_for(request, graph, shown, detector, show.say)
        record = record_of(request.source, graph, shown) | {
            "command": "detect",
            "request": dataclasses.asdict(request.repeatable()),
            "detector": request.detector,
            "seed": request.seed,
            "repeat": request.repeat,
            "started": started,
            "losses": np.asarray(getattr(detector, "loss_", [])).tolist(),
            "expected": dataclasses.asdict(need),
            "fit_seconds": getattr(detector, "seconds_", {}),
            "warnings": warnings,
        }
        write_results(claimed.staging, graph, shown, request.top, record, stages, saved=saved, csv=request.csv)
        claimed.publish()
        if _keeps_checkpoints(detector):
            claimed.discard_checkpoint()
    return Result.of(folder, graph, shown, record)


def _check(request: Request) -> None:
    """Refuse what can be refused before anything is read."""
    check_count("top", request.top)
    check_count("seed", request.seed, low=0)
    check_count("repeat", request.repeat)
    check_choice("engine", request.engine, ENGINES)
    if request.scratch is not None:
        check_scratch(Path(request.scratch), 0)
    if request.engine == "spark":
        raise ValueError("runs.detect is the local engine: call hopsight.spark.run for engine='spark'")
    if request.device != "auto":
        from hopsight.nn.device import resolve_device

        resolve_device(request.device)


def _place(
    need: Need, limit: int | None, graph: AttributedGraph, detector: Any, request: Request, claimed: Claim
) -> tuple[Need, Path | None]:
    """Return the need, and the folder for temporary files if the run fits into memory only with them."""
    movable = getattr(detector, "scratch_bytes", None)
    if movable is None or not need.exceeds(limit):
        return need, None
    folder = claimed.staging if request.scratch is None else Path(request.scratch)
    need = need.with_files(movable(graph), graph)
    check_scratch(folder, need.disk)
    graph.keep_on_disk(folder)
    return need, folder


def _fit(
    detector: Any,
    graph: AttributedGraph,
    claimed: Claim,
    request: Request,
    *,
    resume: bool,
    progress: Progress,
    scratch: Path | None,
) -> Any:
    """Fit once or several times, with checkpoints if the detector supports them, and return what the run shows."""
    has_checkpoint = _keeps_checkpoints(detector)
    if resume and not has_checkpoint:
        progress.say(
            f"{type(detector).__name__} keeps no checkpoint, so {option('resume', True)} starts from the beginning"
        )

    def fit(each: Any, number: int) -> None:
        if request.repeat > 1:
            progress.say(f"Fit {number + 1} of {request.repeat}, with seed {each.seed}")
        more = {"checkpoint": claimed.checkpoint_of(number)} if has_checkpoint else {}
        more |= {} if scratch is None else {"scratch": scratch}
        each.fit(graph, callback=progress, **more)

    if request.repeat == 1:
        fit(detector, 0)
        return detector
    return fit_repeats(detector, request.repeat, fit, min(request.top, graph.n_nodes))


def _keeps_checkpoints(detector: Any) -> bool:
    return "checkpoint" in inspect.signature(detector.fit).parameters
