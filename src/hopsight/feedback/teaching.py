"""Teach a fitted detector: a copy of it whose ranking has learned from labels, and which nodes to ask about next."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import check_count, plural
from hopsight.detectors.base import NodeOrder
from hopsight.feedback import edges
from hopsight.feedback.curve import Point, learning_curve
from hopsight.feedback.features import (
    Columns,
    Rows,
    node_features,
    with_judged_neighbors,
)
from hopsight.feedback.learner import EDGES, NODES, Learned, learn
from hopsight.feedback.reasons import LearnedReasons, given_away
from hopsight.graph import AttributedGraph
from hopsight.io.labels import Labels, notice_one_kind
from hopsight.io.notices import notice
from hopsight.metrics import ranking, ranks

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ALTERNATING = 20  # questions of which every other one is from the top of the ranking; later it is every third
FEWEST_ESTIMATED = 5  # labels of the rarer kind, below which an estimate would mean nothing
ENOUGH = 10  # labels of each kind that usually make some probabilities high enough
STAYS = "the ranking stays as it was, but how many are flagged can change"
TOP, BULK, UNSURE = None, "bulk", "unsure"  # why a node is asked about


def with_labels(
    detector: Any, known: Labels, graph: AttributedGraph, columns: Columns, notices: list[str] | None = None
) -> Any:
    """Return a copy of a fitted detector whose ranking of nodes or edges has learned from their labels.

    Parameters
    ----------
    detector
        A detector with ``evidence_``; it stays as it is.
    known
        Labels of some nodes or edges.
    graph
        The graph of the fit.
    columns
        Returns the attributes of a graph that a learner sees, and their names.
    notices
        List that receives the notices; without it, they are logged.
    """
    of_edges = known.noun == "edge"
    copied = copy.copy(detector) if of_edges else without_labels(detector)
    if of_edges:
        EDGES.undo(copied)
    _notice_doubts(known, notices)
    if not known.both_kinds:
        return copied
    if of_edges:
        for question in given_away(*edges.own_columns(graph, known.positions), known.anomalous, known.name):
            notice(question, notices)
        edges.learn_edges(copied, known, graph, columns, NODES.scores_before(copied), _seed(detector))
        return copied
    for question in given_away(
        graph.attributes[known.positions], list(graph.attribute_names), known.anomalous, known.name
    ):
        notice(question, notices)
    rows = features_of(copied, graph, columns, copied.decision_score_)
    rows = with_judged_neighbors(rows, graph, known.positions, known.anomalous)
    hashes = graph.node_hashes
    copied.learned_ = learn(rows, copied.decision_score_, known.positions, known.anomalous, hashes, _seed(detector))
    apply(copied, graph, rows, copied.decision_score_)
    return copied


def _notice_doubts(known: Labels, notices: list[str] | None) -> None:
    """Give notice of labels that contradict each other or are all of one kind."""
    if known.conflicts:
        rule = "the latest counts" if known.noun == "node" else "one that is anomalous once counts as anomalous"
        notice(f"{plural(known.conflicts, known.noun)} had contradictory labels; {rule}.", notices)
    notice_one_kind(known, notices)


def features_of(detector: Any, graph: AttributedGraph, columns: Columns, default: FloatArray) -> Rows:
    """Return the features of nodes, computed in the order of ids: the order of rows changes no rounding."""
    order = NodeOrder.of(graph)
    if order is None:
        evidence, n_alone = detector.evidence_, 0 if graph.context is None else len(graph.context.learned_names)
        return node_features(graph, *columns(graph), evidence, default, n_alone, detector.learner_weight(graph)).rows
    back = np.argsort(order.nodes)
    sorted_ = copy.copy(detector)
    sorted_.evidence_ = {kind: strength[back] for kind, strength in detector.evidence_.items()}
    rows = features_of(sorted_, order.graph, columns, default[back])
    return lambda chosen: rows(order.nodes[chosen])


def apply(detector: Any, graph: AttributedGraph, rows: Rows, default: FloatArray, *, keep: bool = False) -> None:
    """Set the ranking of nodes by what a detector has learned; ``keep`` its thresholds to judge another graph."""
    log_odds = detector.learned_.log_odds_of_all(rows, default)
    NODES.apply(detector, default, log_odds, contamination=detector.contamination, ranked=graph.ranked, keep=keep)
    detector.rank_before_ = ranks(default, graph.id_places)


def apply_to_other(detector: Any, graph: AttributedGraph, columns: Columns, default: FloatArray) -> FloatArray:
    """Set what was learned for a graph to judge, and return its scores.

    In another graph than that of the fit no node is known to be anomalous or normal.
    """
    detector.learned_ = learned = detector.learned_.known_in(graph.node_hashes)
    rows = with_judged_neighbors(features_of(detector, graph, columns, default), graph, *learned.labels)
    apply(detector, graph, rows, default, keep=True)
    scores: FloatArray = detector.decision_score_
    return scores


def reasons_of(detector: Any, graph: AttributedGraph, columns: Columns) -> LearnedReasons:
    """Return the reasons of what a detector has learned, in the graph that it has judged."""
    learned: Learned = detector.learned_
    default = detector.before_["decision_score_"]
    rows = with_judged_neighbors(features_of(detector, graph, columns, default), graph, *learned.labels)
    among = None if graph.known is None else np.flatnonzero(graph.known)
    return LearnedReasons(learned, rows, default, among, graph.no_value)


def curve_of(detector: Any, graph: AttributedGraph, columns: Columns) -> list[Point]:
    """Return the learning curve of what a detector has learned in this graph, of nodes or else of edges."""
    seed, scores = _seed(detector), NODES.scores_before(detector)
    if detector.learned_ is not None:
        rows_of = partial(with_judged_neighbors, features_of(detector, graph, columns, scores), graph)
        return learning_curve(detector.learned_, rows_of, scores, graph.node_hashes, seed)
    return edges.curve_of(detector, graph, columns, scores, seed)


def _seed(detector: Any) -> int:
    return detector.seed % 2**32 if isinstance(detector.seed, int) else 0


def without_labels(detector: Any) -> Any:
    """Return the detector as it was before it learned from labels."""
    plain = copy.copy(detector)
    NODES.undo(plain)
    vars(plain).pop("rank_before_", None)
    return plain


def questions(detector: Any, n: int, graph: AttributedGraph, judged: Any = ()) -> list[tuple[int, str | None]]:
    """Return positions of the nodes to ask about next, and why.

    A node is asked about because it is the next of the ranking (None), to show what the bulk looks like (``"bulk"``,
    drawn by a hash of its id), or, once there are labels, because its probability is nearest to one half
    (``"unsure"``).
    Of the first 20 questions every other one is the next of the ranking, later every third; ``judged`` are positions
    of the nodes that were asked about before.
    """
    check_count("n", n)
    known = np.asarray(list(judged), dtype=np.int64)
    n_before = known.size
    if detector.learned_ is not None:
        known = np.union1d(known, detector.learned_.judged)
    free = np.ones(detector.decision_score_.size, dtype=np.bool_)
    free[known] = False
    free &= True if graph.ranked is None else graph.ranked
    sources: dict[str | None, Iterator[int]] = {
        TOP: _each(ranking(detector.decision_score_, graph.id_places), free),
        BULK: _each(np.argsort(graph.node_hashes * np.uint64(0x9E3779B97F4A7C15), kind="stable"), free),
    }
    if detector.learned_ is not None:
        sources[UNSURE] = _each(ranking(-np.abs(detector.probability_ - 0.5), graph.id_places), free)
    asked: dict[int, str | None] = {}
    for turn in range(n_before, n_before + min(n, int(free.sum()))):
        top = turn % 2 == 0 if turn < ALTERNATING else turn % 3 == 0
        reason = TOP if top else UNSURE if UNSURE in sources and turn % 4 == 3 else BULK
        place = next(place for place in sources[reason] if place not in asked)
        asked[place] = reason
    return list(asked.items())


def in_words(learned: Learned, noun: str = "node") -> str:
    """Say what was learned from, and how well it predicts labels that it has not seen."""
    found = learned.quality()
    heading = f"Learned from {found['n_anomalous']:,} anomalous and {plural(found['n_normal'], f'normal {noun}')}."
    if min(found["n_anomalous"], found["n_normal"]) < FEWEST_ESTIMATED:
        kept = f" {STAYS.capitalize()}." if found["kept"] else ""
        few = f"cannot be estimated from fewer than {FEWEST_ESTIMATED} labels of each kind"
        enough = f"about {ENOUGH} of each are usually enough to flag {noun}s"
        return f"{heading}{kept} How well that predicts other {noun}s {few}; {enough}."
    if found["kept"]:
        return (
            f"{heading} Predictions made without the {noun}'s own label show no gain (ROC-AUC {found['roc_auc']:.2f}, "
            f"{found['roc_auc_before']:.2f} before), so {STAYS}."
        )
    words = (
        f"{heading} On held-out labels: ROC-AUC {found['roc_auc']:.2f} ({found['roc_auc_before']:.2f} before), "
        f"precision among the first {found['n_first']}: {found['precision']:.2f} ({found['precision_before']:.2f} "
        "before)."
    )
    if round(found["roc_auc"], 2) < round(found["roc_auc_before"], 2):
        words += " The learned ranking is used all the same: so few labels may differ by chance."
    from_top = learned.before.mean() * np.sqrt(learned.before.size) > 3.0  # normal scores: their mean would be 0
    return f"{words} This holds for {noun}s like those judged." if from_top else words


def _each(order: IntArray, free: NDArray[np.bool_]) -> Iterator[int]:
    """Return the free nodes of an order, one by one."""
    return iter(order[free[order]].tolist())
