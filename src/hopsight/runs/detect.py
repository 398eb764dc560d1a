"""Detect, score and rerun: from a source to a folder of results; load, fit or judge, rank, explain, write.

The seeds of repeated fits are s, s + 1, s + 2, … . What the run shows of nodes (scores, evidence) are means over the
fits; the rule for flagging is applied to the mean scores. Groups are found among the edges of the first fit with the
mean evidence. Everything else (edges, explanations of neighbors, scores without some edges, scores of other graphs) is
that of the first fit.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import Refusal, check_choice, check_count, option, plural, shortened
from hopsight.detectors.predict import ranked_threshold, threshold
from hopsight.detectors.table import weighted, weights_of
from hopsight.graph import AttributedGraph
from hopsight.hcm.groups import common_kinds
from hopsight.io.derive import currency_of
from hopsight.io.ids import written_differently
from hopsight.io.notices import Detail, collected, notice
from hopsight.io.npz import read_npz
from hopsight.io.rules import remembered
from hopsight.io.sources import TABLE_SUFFIXES
from hopsight.metrics import ranks
from hopsight.preprocess.transform import LacksAttributesError, unseen_categories
from hopsight.runs.console import Progress
from hopsight.runs.folder import OVER_TIME, RECORD, Claim, Stages, checksums, claim, detector_name, read_record
from hopsight.runs.memory import check_need, expected_need, limited, parse_size
from hopsight.runs.request import Request, Source, make_detector, typed_settings
from hopsight.runs.results import FILES, REPLACED, Result, now, record_of, write_results
from hopsight.system.lazy_polars import pl

if TYPE_CHECKING:
    from hopsight.io.labels import Labels

ENGINES = ("local", "spark")

FloatArray = NDArray[np.float64]

LONG_FIT, LARGE_FIT = 20.0, 2e9  # seconds and bytes from which on the need of a fit is stated


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
    _check_apart(request.source, folder)
    if request.repeat > 1 and detector.deterministic:
        raise ValueError(f"{request.detector} gives the same scores with every seed: leave out {option('repeat')}")
    if resume and restart:
        raise ValueError(
            f"{option('resume', True)} continues an interrupted run and {option('restart', True)} discards it: pass one"
        )
    limit = None if request.memory_limit is None else parse_size(request.memory_limit)
    stages = Stages(show.begin, show.end)
    with claim(folder, REPLACED) as claimed, limited(limit), collected(show.say, brief=True) as warnings:
        if claimed.has_checkpoint and not (resume or restart):
            raise ValueError(
                f"{folder} has the checkpoint of an interrupted run: pass {option('resume', True)} to continue it, "
                f"{option('restart', True)} to discard it, or choose another folder"
            )
        started = now()
        with stages.stage("load"), remembered({}) as forms:
            graph, labels = read_with_labels(request)
            only = _nodes(request.only, graph)
        if graph.n_nodes < 2:
            raise ValueError(f"a graph needs at least 2 nodes to compare, this one has {graph.n_nodes}")
        show.say(read_sentence(graph, warnings))
        need = expected_need(graph, detector)
        if need.seconds > LONG_FIT or need.memory > LARGE_FIT:
            show.say(f"{request.detector} needs {need} for this graph")
        check_need(need, limit)
        with stages.stage("fit"):
            if restart:
                claimed.discard_checkpoint()
            shown = _fit(detector, graph, claimed, request, resume=resume, progress=show)
        shown = _asked_for(graph, labels, shown, show.say, only)
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
            "forms": forms,
            "warnings": warnings,
        }
        if record["learning_curve"]:
            from hopsight.feedback.curve import Point, in_words

            show.say(in_words([Point(**each) for each in record["learning_curve"]]) or "")
        reasons = write_results(claimed.staging, graph, shown, request.top, record, stages, csv=request.csv)
        claimed.publish()
        if _keeps_checkpoints(detector):
            claimed.discard_checkpoint()
    return Result.of(folder, graph, shown, record, reasons)


def read_sentence(graph: AttributedGraph, warnings: Sequence[str] = ()) -> str:
    """Say what was read, and where the details are that were not shown."""
    kind = "directed" if graph.directed else "undirected"
    edges, columns = plural(graph.n_edges, f"{kind} edge"), plural(graph.n_attributes, "attribute")
    n_more = sum(isinstance(each, Detail) for each in warnings)
    more = f" The report has {plural(n_more, 'more notice')} on how." if n_more else ""
    return f"Read {plural(graph.n_nodes, 'node')}, {edges} and {columns}.{more}"


def _check(request: Request) -> None:
    """Refuse what can be refused before anything is read."""
    check_count("top", request.top)
    check_count("seed", request.seed, low=0)
    check_count("repeat", request.repeat)
    check_choice("engine", request.engine, ENGINES)
    if request.anomalous_value and request.learn_from is None:
        raise Refusal("anomalous_value", f"needs labels: pass {option('learn_from')} as well")
    if request.engine == "spark":
        raise ValueError("runs.detect is the local engine: call hopsight.spark.run for engine='spark'")
    if request.device != "auto":
        from hopsight.nn.device import resolve_device

        resolve_device(request.device)


def _fit(
    detector: Any,
    graph: AttributedGraph,
    claimed: Claim,
    request: Request,
    *,
    resume: bool,
    progress: Progress,
) -> Any:
    """Fit once or several times, with checkpoints if the detector supports them, and return what the run shows."""
    has_checkpoint = _keeps_checkpoints(detector)
    if resume and not has_checkpoint:
        progress.say(
            f"{type(detector).__name__} keeps no checkpoint, so {option('resume', True)} starts from the beginning"
        )

    fits = []
    for number in range(request.repeat):
        each = detector if number == 0 else dataclasses.replace(detector, seed=detector.seed + number)
        if request.repeat > 1:
            progress.say(f"Fit {number + 1} of {request.repeat}, with seed {each.seed}")
        more = {"checkpoint": claimed.checkpoint_of(number)} if has_checkpoint else {}
        each.fit(graph, callback=progress, **more)
        fits.append((each.decision_score_, dict(getattr(each, "evidence_", {}))))  # without the rest of the detector
    if request.repeat == 1:
        return detector
    return averaged(detector, fits, min(request.top, graph.n_nodes), detector.graph_.ranked)


def _keeps_checkpoints(detector: Any) -> bool:
    return "checkpoint" in inspect.signature(detector.fit).parameters


def averaged(
    model: Any,
    fits: Sequence[tuple[FloatArray, Mapping[str, FloatArray]]],
    top: int,
    ranked: NDArray[np.bool_] | None = None,
) -> Any:
    """Return a copy of a fitted detector with the means of several fits, scores and evidence, and the stability."""
    shown = copy.copy(model)
    scores, evidence = zip(*fits, strict=True)
    shown.decision_score_ = np.mean(scores, axis=0)
    shown.threshold_ = ranked_threshold(model, shown.decision_score_, ranked)
    shown.label_ = (shown.decision_score_ > shown.threshold_).astype(np.int64)
    if evidence[0]:
        shown.evidence_ = {kind: np.mean([each[kind] for each in evidence], axis=0) for kind in evidence[0]}
        if hasattr(shown, "decided_by_"):  # the chosen kind that adds most to the score
            shown.decided_by_ = np.argmax(weighted(shown.evidence_, shown.evidence, weights_of(shown)), axis=0)
    shown.stability_ = stability(scores, int(shown.label_.sum()) or top)
    return shown


def stability(scores: Sequence[FloatArray], n_first: int) -> FloatArray:
    """Return, for each node, the share of fits in which it is among the first nodes.

    >>> stability([np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0])], 2).tolist()
    [1.0, 0.5, 0.5]
    """
    return np.asarray(np.mean([ranks(each) <= n_first for each in scores], axis=0))


def check_files(request: Request, detector: Any) -> None:
    """Refuse files that are not there, and labels for a detector that cannot learn, before anything is read."""
    if request.only is not None and not Path(request.only).is_file():
        raise ValueError(f"there is no file {request.only} ({option('only')})")
    if request.learn_from is None:
        return
    if not hasattr(detector, "learn"):
        raise Refusal("learn_from", f"is for cross_hcm: {request.detector} cannot learn from labels")
    if request.learns_from_file:
        return
    if request.source.path is None or request.learn_from.endswith(TABLE_SUFFIXES) or os.sep in request.learn_from:
        raise Refusal(
            "learn_from",
            f"is {shortened(request.learn_from)}, which is no file; to learn from a column, pass the table that has it",
        )


def read_with_labels(request: Request) -> tuple[AttributedGraph, Labels | None]:
    """Return the graph, and the labels to learn from; a column of labels is never an attribute."""
    if request.learn_from is None:
        return request.source.read_ranked(), None
    from hopsight.io.labels import notice_one_kind, read_labels

    graph = request.read_ranked()
    labels = read_labels(request.learn_from, graph, request.anomalous_value, ignore=request.source.ignore)
    notice_one_kind(labels, None)  # before the fit, which may take long
    return graph, labels


def _nodes(path: str | None, graph: AttributedGraph) -> NDArray[np.int64] | None:
    """Return the nodes that a file lists, to rank them only."""
    if path is None:
        return None
    from hopsight.io.labels import read_nodes

    return read_nodes(path, graph)


def _asked_for(graph: AttributedGraph, labels: Labels | None, shown: Any, say: Callable[[str], None], only: Any) -> Any:
    """Return the detector that the run shows: after learning from labels, or of the nodes that a file lists only."""
    if labels is not None:
        from hopsight.io.labels import count_words

        shown = shown.learn(labels, graph=graph)
        say(shown.learned_words or f"Labels: {count_words(labels)}. Nothing is learned before there are both kinds.")
    if only is not None:
        shown = copy.copy(shown)
        shown.only_ = np.zeros(graph.n_nodes, dtype=np.bool_)
        shown.only_[only] = True
    return shown


def score(
    model_path: Path,
    source: Source,
    folder: Path,
    *,
    top: int = 20,
    settings: Mapping[str, str] | None = None,
    csv: bool = False,
    progress: Progress | None = None,
) -> Result:
    """Score a graph with a saved model and write the same files as a detection.

    ``model_path`` is the folder that ``save`` wrote, or the folder of a finished run. The threshold is the one the
    model was fitted with, unless ``settings`` have ``contamination`` or ``false_alarms``, by which these scores set it
    again. The graph is read like that of the run where ``source`` does not say how. ``top`` is the number of nodes to
    explain. With ``csv``, long tables are also CSV files.
    """
    from hopsight.detectors.storage import load_detector

    check_count("top", top)
    show = progress or Progress()
    stages = Stages(show.begin, show.end)
    if (model_path / OVER_TIME).is_file():
        raise ValueError(f"{model_path} is a run over time: pass new events to hopsight watch {model_path}")
    inside = model_path / "model"
    if inside.is_dir():
        before = read_record(model_path)  # a run that was killed while it replaced another is none
    else:
        beside = model_path.resolve().parent / RECORD
        before = read_record(beside) if model_path.name == "model" and beside.is_file() else {}
    _check_apart(source, folder)
    model = load_detector(inside if inside.is_dir() else model_path)
    flags = typed_settings(type(model), settings or {})
    if flags:
        vars(model).update({"contamination": "auto"} | flags)
        threshold(np.zeros(1), model.contamination, model.false_alarms)  # refuse a bad share before the work
    with claim(folder, REPLACED) as claimed, collected(show.say, brief=True) as warnings:
        started = now()
        forms = before.get("forms")
        with stages.stage("load"), remembered(_as_words(forms)):
            source = _read_like(source, before, model)
            graph = source.read_ranked()
            wanted = getattr(getattr(model, "transform_", None), "names", ())
            unit = currency_of(wanted)
            if unit is not None and currency_of(graph.attribute_names) not in (None, unit) and source.currency is None:
                with suppress(Refusal):  # no amounts in the currency of the fit
                    graph = dataclasses.replace(source, currency=unit).read_ranked()
                    source = dataclasses.replace(source, currency=unit)
            for column, (n_nodes, word) in unseen_categories(wanted, graph.attribute_names, graph.attributes).items():
                new = f"{plural(n_nodes, 'node')} of {graph.n_nodes:,} with a value that the model does not know"
                notice(f"Column {column!r}: {new}, such as {shortened(word)}; it counts as if it were empty.", None)
            if getattr(model, "flow_baseline_", None) is not None and graph.events is not None:
                run = model_path if inside.is_dir() else model_path.parent
                graph = _with_earlier(graph, run / "graph.npz", model.label_)
        show.say(read_sentence(graph, warnings))
        with stages.stage("score"), _asking_for_nodes(source, before):
            judged = model.judge(graph)
            if flags:
                judged.threshold_ = _threshold_of(judged, graph.ranked)
                judged.label_ = (judged.decision_score_ > judged.threshold_).astype(np.int64)
        if common := common_kinds(getattr(judged, "evidence_", {}), getattr(judged, "least_evidence_", {})):
            many = f"Most nodes have evidence that was rare at the fit ({', '.join(common)})"
            notice(f"{many}: this graph is unlike that of the fit, so fit a new model.", None)
        record = record_of(source, graph, judged, scored=not flags) | {
            "command": "score",
            "model": str(model_path.resolve()),
            "source": dataclasses.asdict(source.repeatable()),
            "detector": detector_name(type(model).__name__),
            "top": top,
            "settings": dict(settings or {}),
            "csv": csv,
            "started": started,
            "warnings": warnings,
        }
        reasons = write_results(claimed.staging, graph, judged, top, record, stages, csv=csv)
        claimed.publish()
    return Result.of(folder, graph, judged, record, reasons)


def _threshold_of(judged: Any, ranked: NDArray[np.bool_] | None) -> float:
    """Return the threshold of a detector by the graph that it has judged, as for one that was fitted to it."""
    if getattr(judged, "learned_", None) is None or judged.contamination != "auto":
        return ranked_threshold(judged, judged.decision_score_, ranked)
    from hopsight.feedback.learner import probable

    rows = slice(None) if ranked is None else ranked
    return probable(judged.decision_score_[rows], judged.probability_[rows], judged.false_alarms)


def _as_words(forms: Any) -> dict[str, str]:
    """Return the entries of a record that are words."""
    return {name: kind for name, kind in forms.items() if isinstance(kind, str)} if isinstance(forms, dict) else {}


def _with_earlier(graph: AttributedGraph, path: Path, flagged: NDArray[np.int64]) -> AttributedGraph:
    """Return a graph whose events know those of the fit before they began; ``flagged`` are the nodes flagged then."""
    now = graph.events
    before = read_npz(path) if path.is_file() and now.time is not None else None
    if before is None or before.events is None or before.events.time is None:
        notice("A partner is called new where it first occurs in this file: the model does not keep events.", None)
        return graph
    known = before.events.rows(before.events.time < np.nanmin(now.time, initial=np.inf))
    order = np.argsort(graph.node_hashes)
    place = order[np.searchsorted(graph.node_hashes[order], before.node_hashes).clip(max=graph.n_nodes - 1)]
    place = np.where(graph.node_hashes[place] == before.node_hashes, place, -1)
    unknown, names = (pl.Series([*map(str, each.node_ids)], dtype=pl.String) for each in (graph, before))
    if written := written_differently(unknown.filter(~unknown.is_in(names.implode())), names):
        one, other = next(iter(written.items()))
        ids = f"{plural(len(written), 'id')} of this file" + (" is one" if len(written) == 1 else " are ids")
        differ = f"{ids} of the fit in another form, such as {shortened(one)} and {shortened(other)}"
        notice(f"{differ}: they count as new; if they are the same, write them alike.", None)
    earlier = known.in_currencies(now).within(place)
    if not earlier.size:
        if known.size:
            notice("No id of this file is in earlier events of the fit: partners are new where they first occur.", None)
        return graph
    said = f"{plural(earlier.size, 'event')} of the fit that precede this file"
    notice(f"Partners in the {said} do not count as new, nor do recurring payments as bursts or unusual.", None)
    suspects = np.flatnonzero(flagged) if flagged.size == before.n_nodes else np.empty(0, dtype=np.int64)
    if n_again := int(np.isin(place[suspects], [now.source, now.target]).sum()):
        what = "it did then counts" if n_again == 1 else "they did then counts"
        notice(f"{plural(n_again, 'node')} of this file had been flagged at the fit; what {what} as usual here.", None)
    return dataclasses.replace(graph, events=dataclasses.replace(now, earlier=earlier))


def _check_apart(source: Source, folder: Path) -> None:
    """Refuse to read files of a finished run that the new one would replace."""
    inside = [file for file in source.files() if Path(file).parent == folder.resolve() and Path(file).name in FILES]
    if inside:
        raise ValueError(f"{inside[0]} would be read and written at once: choose another {option('out')}")


@contextmanager
def _asking_for_nodes(source: Source, record: Mapping[str, Any]) -> Iterator[None]:
    """Where a graph lacks attributes because only the run of the model had a node table, say so."""
    try:
        yield
    except LacksAttributesError as error:
        nodes = (_asked(record).get("source") or {}).get("nodes")
        if not nodes or source.nodes is not None:
            raise
        lacks = str(error).partition(":")[0]
        table = Path(nodes.partition("?")[0]).name
        raise Refusal("nodes", f"is missing: the run of this model read a node table, {table}, and {lacks}") from None


def _asked(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what was asked for, given the record of a detection or of scores."""
    request = record.get("request")
    return request if isinstance(request, dict) else record


def _read_like(source: Source, record: Mapping[str, Any], model: Any) -> Source:
    """Return a source with the options of a finished run, of a detection or scores, where it has none of its own.

    A model of a directed graph reads directed edges, also if it was fitted to a file that says so itself.
    """
    asked = _asked(record)
    if not (known := asked.get("source")):
        if source.path is not None and not source.path.endswith(".npz"):
            notice("This model does not say how its tables were read: pass the options of its run.", None)
        return source
    other = Source.from_record(known)
    other = dataclasses.replace(other, directed=other.directed or getattr(model, "directed_", False) is True)
    return source.read_like(other, asked.get("learn_from"))


def rerun(record_path: Path, folder: Path | None = None, *, progress: Progress | None = None) -> Result:
    """Repeat the run of a ``run.json``, into ``folder`` or next to the first one with ``-rerun`` after its name."""
    record = read_record(record_path)
    target = folder or default_folder(record_path)
    if record.get("command") != "score":
        return detect(request_of(record, progress), target, progress=progress)
    source = Source.from_record(record.get("source"))
    if not isinstance(record.get("model"), str):
        raise ValueError("the record does not say how to repeat the run: no model")
    report_changes(record, progress)
    return score(
        Path(record["model"]),
        source,
        target,
        top=record.get("top", 20),
        settings=_as_words(record.get("settings")),
        csv=record.get("csv", False),
        progress=progress,
    )


def request_of(record: Mapping[str, Any], progress: Progress | None = None) -> Request:
    """Return the request of a finished detection, and say which of its files have changed since."""
    request = Request.from_record(record)
    report_changes(record, progress)
    return request


def default_folder(record_path: Path) -> Path:
    """Return where a run is repeated if no folder is given."""
    run = record_path.resolve()
    run = run if run.is_dir() else run.parent
    return run.with_name(f"{run.name}-rerun")


def report_changes(record: Mapping[str, Any], progress: Progress | None) -> None:
    """Say which files of a finished run have changed since."""
    before = record["inputs"] if isinstance(record.get("inputs"), dict) else {}
    for path, checksum in checksums(*before).items():
        if progress is not None and checksum != before[path]:
            progress.say(f"{path} has changed since the first run, so the result will differ")
