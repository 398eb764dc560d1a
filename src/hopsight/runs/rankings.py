"""What a run shows beside a single fit: the mean of several seeds, what labels teach, a ranking of some nodes only.

The seeds of repeated fits are s, s + 1, s + 2, … . What the run shows of nodes (scores, evidence) are means over the
fits; the rule for flagging is applied to the mean scores. Groups are found among the edges of the first fit with the
mean evidence. Everything else (edges, explanations of neighbors, scores without some edges, the saved model) is that of
the first fit.
"""

from __future__ import annotations

import copy
import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import Refusal, option, shortened
from hopsight.detectors.predict import ranked_threshold
from hopsight.detectors.table import KINDS, weighted
from hopsight.graph import AttributedGraph
from hopsight.io.labels import Labels, count_words, read_labels
from hopsight.io.sources import TABLE_SUFFIXES
from hopsight.metrics import ranks
from hopsight.runs.request import Request
from hopsight.runs.results import read_table

FloatArray = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Values:
    """What means are taken of: scores and evidence of one fit, without the rest of the detector."""

    scores: FloatArray
    evidence: dict[str, FloatArray]

    @classmethod
    def of(cls, model: Any) -> Values:
        """Return the values of a fitted detector."""
        return cls(model.decision_score_, dict(getattr(model, "evidence_", {})))


def fit_repeats(detector: Any, n_fits: int, fit: Callable[[Any, int], None], top: int) -> Any:
    """Fit a detector with several seeds and return what the run shows: the first fit with the means of all.

    Parameters
    ----------
    detector
        The detector of the first fit; it is fitted and otherwise unchanged.
    n_fits
        Number of fits.
    fit
        Fits a detector, given its number from 0.
    top
        Number of nodes that count as the first ones where no node is flagged.
    """
    fits = []
    for number in range(n_fits):
        each = detector if number == 0 else dataclasses.replace(detector, seed=detector.seed + number)
        fit(each, number)
        fits.append(Values.of(each))
    return averaged(detector, fits, top, detector.graph_.ranked)


def averaged(model: Any, fits: Sequence[Values], top: int, ranked: NDArray[np.bool_] | None = None) -> Any:
    """Return a copy of a fitted detector with the mean values of several fits and the stability of each node."""
    shown = copy.copy(model)
    shown.decision_score_ = np.mean([each.scores for each in fits], axis=0)
    shown.threshold_ = ranked_threshold(shown.decision_score_, ranked, model.contamination, model.false_alarms)
    shown.label_ = (shown.decision_score_ > shown.threshold_).astype(np.int64)
    if fits[0].evidence:
        shown.evidence_ = {kind: np.mean([each.evidence[kind] for each in fits], axis=0) for kind in fits[0].evidence}
        _decide(shown)
    shown.stability_ = stability([each.scores for each in fits], int(shown.label_.sum()) or top)
    return shown


def stability(scores: Sequence[FloatArray], n_first: int) -> FloatArray:
    """Return, for each node, the share of fits in which it is among the first nodes.

    >>> stability([np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0])], 2).tolist()
    [1.0, 0.5, 0.5]
    """
    return np.asarray(np.mean([ranks(each) <= n_first for each in scores], axis=0))


def read_repeats(model: Any, graph: AttributedGraph, path: Path, threshold: float) -> Any:
    """Return the model of a run with repeated fits as the run showed it, with the means that ``scores.csv`` has."""
    table = read_table(path)
    order = {cell or "": place for place, cell in enumerate(table["node"].to_list())}
    shown = copy.copy(model)
    try:
        rows = [order[str(node)] for node in graph.node_ids.tolist()]
        columns = {name: table[name].to_numpy()[rows] for name in table.columns if name != "node"}
        shown.decision_score_, shown.stability_ = columns["score"], columns["stability"]
    except KeyError as error:
        raise ValueError(f"{path} does not belong to this run: it has no {error}; repeat the run") from None
    shown.threshold_ = threshold
    shown.label_ = (shown.decision_score_ > threshold).astype(np.int64)
    if hasattr(model, "evidence_"):
        shown.evidence_ = {kind: columns[kind] for kind in KINDS if kind in columns}
        _decide(shown)
    return shown


def _decide(model: Any) -> None:
    """Set which of the chosen kinds of evidence adds most to the score."""
    if hasattr(model, "decided_by_"):
        model.decided_by_ = np.argmax(weighted(model.evidence_, model.evidence), axis=0)


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
    graph = request.source.read_ranked(None if request.learns_from_file else request.learn_from)
    return graph, read_labels(request.learn_from, graph, request.anomalous_value)


def asked_for(
    graph: AttributedGraph,
    labels: Labels | None,
    shown: Any,
    fitted: Any,
    say: Callable[[str], None],
    only: NDArray[np.int64] | None,
) -> tuple[Any, Any]:
    """Return what the run shows and the detector that it saves, given what the fit shows and the detector itself.

    ``only`` are the nodes to rank, all by default.
    """
    saved = fitted
    if labels is not None:
        alone = shown is fitted
        shown = shown.learn(labels, graph=graph)
        saved = shown if alone else fitted.learn(labels, graph=graph)
        say(shown.learned_words or f"Labels: {count_words(labels)}. Nothing is learned before there are both kinds.")
    if only is not None:
        shown = copy.copy(shown)
        shown.only_ = np.zeros(graph.n_nodes, dtype=np.bool_)
        shown.only_[only] = True
    return shown, saved
