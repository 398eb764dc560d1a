"""Finished runs used again: open one to ask why, judge a new network with its model, repeat it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.runs.detect import FILES, Request, Result, Source, detect, found
from hopsight.runs.folder import RECORD, claim
from hopsight.runs.outputs import ranking, unguarded, write_scores
from hopsight.runs.progress import Progress
from hopsight.runs.record import (
    Stages,
    checksums,
    graph_statistics,
    machine,
    notices,
    read_record,
    write_record,
)
from hopsight.system.memory import peak_memory
from hopsight.system.versions import versions


def reopen(folder: Path) -> tuple[Any, AttributedGraph]:
    """Return the model of a finished run, ready to be explained, and its network."""
    from hopsight.detectors.storage import load_detector
    from hopsight.load import load

    record = read_record(folder)
    if record.get("command") != "detect":
        raise ValueError(f"{folder} holds scores of a saved model: explain needs the folder of a detect run")
    graph = load(folder / "graph.npz")
    model = load_detector(folder / "model")
    if model.decision_score_.shape != (graph.n_nodes,):
        raise ValueError(f"the model and the network in {folder} do not belong together")
    return model, graph


def node_in(graph: AttributedGraph, text: str) -> Any:
    """Return the id a person means: as the network has it, or as ``scores.csv`` shows it."""
    try:
        return graph.node_ids[graph.index_of(text)]
    except ValueError:
        if unguarded(text) == text:
            raise
        return graph.node_ids[graph.index_of(unguarded(text))]


def score(model_path: Path, source: Source, folder: Path, *, top: int = 20, progress: Progress | None = None) -> Result:
    """Judge a network with a saved model and write ``scores.csv`` and ``run.json``.

    ``model_path`` is the folder that ``save`` wrote, or the folder of a finished run. The threshold is the one the
    model was fitted with.
    """
    from hopsight.detectors.storage import load_detector

    show = progress or Progress()
    stages = Stages(show.begin, show.end)
    inside = model_path / "model"
    model = load_detector(inside if inside.is_dir() else model_path)
    with claim(folder, FILES) as claimed, notices(show.say) as remarks:
        with stages.stage("load"):
            graph = source.read()
        show.say(str(graph))
        with stages.stage("score"):
            scores = np.asarray(model.decision_function(graph), dtype=np.float64)
        if not np.isfinite(scores).all():
            raise ValueError("the model gives scores that are not finite for this network")
        with stages.stage("write"):
            write_scores(claimed.staging / "scores.csv", graph, scores, model.threshold_)
        record = {
            "command": "score",
            "model": str(model_path.resolve()),
            "source": dataclasses.asdict(source.repeatable()),
            "inputs": checksums(*source.files()),
            "parameters": dataclasses.asdict(model),
            "versions": versions(),
            "machine": machine(),
            "graph": graph_statistics(graph),
            "threshold": model.threshold_,
            "n_flagged": int((scores > model.threshold_).sum()),
            "labels": found(graph, scores),
            "warnings": remarks,
            "seconds": stages.seconds,
            "peak_memory_bytes": peak_memory(),
        }
        write_record(claimed.staging / RECORD, record)
        claimed.publish()
    return Result(folder, graph, scores, model.threshold_, ranking(scores), record)


def rerun(record_path: Path, folder: Path | None = None, *, progress: Progress | None = None) -> Result:
    """Repeat the run of a ``run.json``, into ``folder`` or beside the first one with ``-rerun`` after its name."""
    record = read_record(record_path)
    target = folder or beside(record_path)
    if record.get("command") == "score":
        try:
            _check_types(Source, record["source"])
            model, source = Path(record["model"]), Source.from_record(record["source"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"the record does not say how to repeat the run: {error}") from None
        _say_what_changed(record, progress)
        return score(model, source, target, progress=progress)
    return detect(request_of(record, progress), target, progress=progress)


def request_of(record: Mapping[str, Any], progress: Progress | None = None) -> Request:
    """Return what a finished detection was asked for, and say which of its files have changed since."""
    _check_types(Request, record.get("request"))
    _check_types(Source, record["request"].get("source"))
    _say_what_changed(record, progress)
    return Request.from_record(record)


def _say_what_changed(record: Mapping[str, Any], progress: Progress | None) -> None:
    before = record["inputs"] if isinstance(record.get("inputs"), dict) else {}
    for path, checksum in checksums(*before).items():
        if progress is not None and checksum != before[path]:
            progress.say(f"{path} has changed since the first run: the result will differ")


def _check_types(kind: type, values: Any) -> None:
    """Refuse a part of a record in which a value has another type than there: people edit these files by hand."""
    hints = get_type_hints(kind)
    if not isinstance(values, dict):
        raise ValueError(f"the record does not say how to repeat the run: no {kind.__name__.lower()}")
    for name, value in values.items():
        expected = get_origin(hints.get(name)) or hints.get(name)
        if expected in (tuple, Source, Mapping):  # as JSON has them
            inside = list(value.values()) if isinstance(value, dict) else value
            fits = isinstance(value, list if expected is tuple else dict)
            fits = fits and (expected is Source or all(isinstance(entry, str) for entry in inside))
        else:
            fits = expected is not None and isinstance(value, hints[name])
        if not fits:
            raise ValueError(f"the record does not say how to repeat the run: {name} cannot be {value!r}")


def beside(record_path: Path) -> Path:
    """Return where a run is repeated unless somebody says where."""
    run = record_path.resolve()
    run = run if run.is_dir() else run.parent
    return run.with_name(f"{run.name}-rerun")
