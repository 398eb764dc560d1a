"""Teach a fitted detector: a copy of it whose ranking has learned from labels, and which nodes to ask about next."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from hopsight.checks import check_count, plural
from hopsight.detectors.base import NodeOrder
from hopsight.detectors.predict import ranked_last, threshold
from hopsight.feedback.features import Features, node_features, with_judged_neighbors
from hopsight.feedback.learner import Learned, learn
from hopsight.feedback.reasons import LearnedReasons, given_away
from hopsight.graph import AttributedGraph
from hopsight.io.labels import Labels, read_labels
from hopsight.io.notices import notice
from hopsight.metrics import ranking, ranks

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Columns = Callable[[AttributedGraph], tuple[NDArray[Any], Sequence[str]]]

ALTERNATING = 20  # questions of which every other one is from the top of the ranking; later it is every third
FEWEST_ESTIMATED = 5  # labels of the rarer kind, below which an estimate would mean nothing
TOP, BULK, UNSURE = None, "bulk", "unsure"  # why a node is asked about


def taught(detector: Any, labels: Any, graph: AttributedGraph, columns: Columns) -> Any:
    """Return a copy of a fitted detector whose ranking has learned from labels.

    Parameters
    ----------
    detector
        A detector with ``evidence_``; it stays as it is.
    labels
        As for :func:`hopsight.io.labels.read_labels`.
    graph
        The graph of the fit.
    columns
        Returns the attributes of a graph that a learner sees, and their names.
    """
    known = labels if isinstance(labels, Labels) else read_labels(labels, graph)
    copied = untaught(detector)
    if known.conflicts:
        notice(f"{plural(known.conflicts, 'node')} had contradictory labels; the latest counts.", None)
    if not known.both_kinds:
        word = "anomalous" if known.anomalous.any() else "normal"
        if known.positions.size:
            notice(
                f"All labels are {word}: label some nodes of the other kind as well. The ranking stays as it was.", None
            )
        return copied
    for question in given_away(
        graph.attributes[known.positions], list(graph.attribute_names), known.anomalous, known.name
    ):
        notice(question, None)
    features = features_of(copied, graph, columns, copied.decision_score_)
    features = with_judged_neighbors(features, graph, known.positions, known.anomalous)
    seed = detector.seed if isinstance(detector.seed, int) else 0
    hashes = graph.node_hashes
    found = learn(features, copied.decision_score_, known.positions, known.anomalous, hashes, seed % 2**32)
    copied.learned_ = replace(found, key=np.array([_key(hashes)]))
    apply(copied, features, copied.decision_score_, ranked=graph.ranked)
    return copied


def features_of(detector: Any, graph: AttributedGraph, columns: Columns, default: FloatArray) -> Features:
    """Return the features of all nodes, computed in the order of ids: the order of rows changes no rounding."""
    order = NodeOrder.of(graph)
    if order is None:
        return node_features(graph, *columns(graph), detector.evidence_, default)
    back = np.argsort(order.nodes)
    evidence = {kind: strength[back] for kind, strength in detector.evidence_.items()}
    return node_features(order.graph, *columns(order.graph), evidence, default[back]).rows(order.nodes)


def apply(
    detector: Any, features: Features, default: FloatArray, *, ranked: Any = None, keep_threshold: bool = False
) -> None:
    """Set the probabilities, scores and flags by what a detector has learned, and keep what they replace.

    With ``keep_threshold`` another graph is judged, by the thresholds of the fit: the learned one, and before learning.

    The score becomes −log₁₀ of the probability that a node is normal, unless the ranking stays as it was. With
    ``contamination="auto"`` the nodes flagged are the most probable ones, as many as have a mean probability of being
    normal of at most ``false_alarms``.
    """
    learned: Learned = detector.learned_
    log_odds = learned.log_odds(features, default)
    detector.probability_ = expit(log_odds)
    before = float(detector.before_["threshold_"][0]) if keep_threshold else detector.threshold_
    detector.before_ = {
        "decision_score_": default,
        "label_": (default > before).astype(np.int64),
        "threshold_": np.array([before]),
    }
    detector.rank_before_ = ranks(default)
    scores = ranked_last(default if learned.kept[0] else _from_log_odds(log_odds), ranked)
    rows = slice(None) if ranked is None else ranked
    detector.decision_score_ = scores
    if not keep_threshold:
        detector.threshold_ = (
            probable(scores[rows], detector.probability_[rows], detector.false_alarms)
            if detector.contamination == "auto"
            else threshold(scores[rows], detector.contamination, detector.false_alarms)
        )
    detector.label_ = (scores > detector.threshold_).astype(np.int64)


def scores_of(learned: Learned, features: Features, default: FloatArray) -> FloatArray:
    """Return the scores of some rows by what was learned."""
    return default if learned.kept[0] else _from_log_odds(learned.log_odds(features, default))


def _from_log_odds(log_odds: FloatArray) -> FloatArray:
    """Return −log₁₀ of the probability of being normal, exact for probabilities near 0 and 1."""
    return np.asarray(np.logaddexp(0.0, log_odds) / np.log(10.0))


def probable(scores: FloatArray, probability: FloatArray, false_alarms: float) -> float:
    """Return the threshold above which the mean probability of being normal is at most ``false_alarms``.

    >>> probable(np.array([3.0, 2.0, 1.0, 0.0]), np.array([0.99, 0.9, 0.3, 0.0]), 0.1)
    1.5
    >>> probable(np.array([1.0, 0.5]), np.array([0.4, 0.1]), 0.1)
    1.0
    """
    order = np.argsort(-scores, kind="stable")
    wrong = np.cumsum(1.0 - probability[order]) / np.arange(1, scores.size + 1)
    n_flagged = int(np.flatnonzero(wrong <= false_alarms)[-1]) + 1 if (wrong <= false_alarms).any() else 0
    if n_flagged in (0, scores.size):
        return float(scores.max()) if n_flagged == 0 else float(np.nextafter(scores.min(), -np.inf))
    return float((scores[order[n_flagged - 1]] + scores[order[n_flagged]]) / 2.0)


def apply_to_other(detector: Any, graph: AttributedGraph, columns: Columns, default: FloatArray) -> FloatArray:
    """Set what was learned for a graph to judge, and return its scores.

    In another graph than that of the fit no node is known to be anomalous or normal.
    """
    learned: Learned = detector.learned_
    if learned.key[0] != _key(graph.node_hashes):
        nobody, nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
        empty: dict[str, Any] = {"judged": nobody, "anomalous": nobody, "out_of_fold": nothing, "before": nothing}
        detector.learned_ = learned = replace(learned, **empty)
    anomalous = learned.anomalous > 0
    features = features_of(detector, graph, columns, default)
    features = with_judged_neighbors(features, graph, learned.judged, anomalous)
    apply(detector, features, default, ranked=graph.ranked, keep_threshold=True)
    scores: FloatArray = detector.decision_score_
    return scores


def reasons_of(detector: Any, graph: AttributedGraph, columns: Columns) -> LearnedReasons:
    """Return the reasons of what a detector has learned, in the graph that it has judged."""
    learned: Learned = detector.learned_
    default = detector.before_["decision_score_"]
    features = features_of(detector, graph, columns, default)
    features = with_judged_neighbors(features, graph, learned.judged, learned.anomalous > 0)
    return LearnedReasons(learned, features, default)


def untaught(detector: Any) -> Any:
    """Return the detector as it was before it learned from labels."""
    plain = copy.copy(detector)
    if plain.learned_ is not None:
        before = plain.before_
        plain.decision_score_, plain.label_ = before["decision_score_"], before["label_"]
        plain.threshold_, plain.learned_ = float(before["threshold_"][0]), None
        del plain.before_, plain.rank_before_, plain.probability_
    return plain


def check_learned(detector: Any) -> None:
    """Refuse what a saved detector claims to have learned if its parts do not fit together."""
    n_nodes = detector.decision_score_.size
    detector.learned_.check(n_nodes)
    columns = {**detector.before_, "rank_before_": detector.rank_before_, "probability_": detector.probability_}
    for name in ("decision_score_", "label_", "rank_before_", "probability_"):
        if np.shape(columns.get(name, ())) != (n_nodes,):
            raise ValueError(f"{name} of what was learned has the wrong length")
    if np.shape(columns.get("threshold_", ())) != (1,):
        raise ValueError("threshold_ of what was learned has the wrong length")


def questions(
    detector: Any, n: int, hashes: NDArray[np.uint64], judged: Any = (), ranked: Any = None
) -> list[tuple[int, str | None]]:
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
    free &= True if ranked is None else ranked
    sources: dict[str | None, Iterator[int]] = {
        TOP: _each(ranking(detector.decision_score_), free),
        BULK: _each(np.argsort(hashes * np.uint64(0x9E3779B97F4A7C15), kind="stable"), free),
    }
    if detector.learned_ is not None:
        sources[UNSURE] = _each(np.argsort(np.abs(detector.probability_ - 0.5), kind="stable"), free)
    asked: dict[int, str | None] = {}
    for turn in range(n_before, n_before + min(n, int(free.sum()))):
        top = turn % 2 == 0 if turn < ALTERNATING else turn % 3 == 0
        reason = TOP if top else UNSURE if UNSURE in sources and turn % 4 == 3 else BULK
        place = next(place for place in sources[reason] if place not in asked)
        asked[place] = reason
    return list(asked.items())


def in_words(learned: Learned) -> str:
    """Say what was learned from, and how well it predicts labels that it has not seen."""
    found = learned.quality()
    heading = f"Learned from {found['n_anomalous']:,} anomalous and {plural(found['n_normal'], 'normal node')}."
    if found["kept"]:
        return (
            f"{heading} Predictions made without a node's own label show no gain (ROC-AUC {found['roc_auc']:.2f}, "
            f"{found['roc_auc_before']:.2f} before), so the ranking stays as it was."
        )
    if min(found["n_anomalous"], found["n_normal"]) < FEWEST_ESTIMATED:
        return f"{heading} How well that predicts other nodes cannot be estimated from so few."
    words = (
        f"{heading} Without their own labels: ROC-AUC {found['roc_auc']:.2f} ({found['roc_auc_before']:.2f} before), "
        f"precision among the first {found['n_first']}: {found['precision']:.2f} ({found['precision_before']:.2f} "
        "before)."
    )
    from_top = learned.before.mean() * np.sqrt(learned.before.size) > 3.0  # normal scores: their mean would be 0
    return f"{words} This holds for nodes like those judged." if from_top else words


def _each(order: IntArray, free: NDArray[np.bool_]) -> Iterator[int]:
    """Return the free nodes of an order, one by one."""
    return iter(order[free[order]].tolist())


def _key(hashes: NDArray[Any]) -> int:
    """Return a number that tells the nodes of a graph, and their order, from others, given the hashes of their ids."""
    places = np.arange(1, hashes.size + 1, dtype=np.uint64)
    return int((hashes.astype(np.uint64) * places).sum(dtype=np.uint64) >> np.uint64(2))
