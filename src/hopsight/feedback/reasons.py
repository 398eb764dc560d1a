"""What distinguishes known anomalies, what raised or lowered a probability, and columns that give labels away.

Features count in groups: an own attribute with all its categories, the same attribute of the neighbors, a kind of
evidence with that of the neighbors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

from hopsight.detectors.table import UNLABELED, WEIGHTS
from hopsight.feedback.experts import balanced, kernel_fit
from hopsight.feedback.features import JUDGED_NAMES, Features, Rows, normal_scores
from hopsight.feedback.learner import Learned
from hopsight.io.derive import IN_CURRENCY, is_derived
from hopsight.io.rules import SINCE_1970
from hopsight.io.vocabulary import is_money_name
from hopsight.metrics import roc_auc

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

EVIDENCE = "evidence of "
NEIGHBORS = ("neighbors of neighbors' ", "neighbors' ", "targets' ", "sources' ")
MOST_COMPARED = 250  # labels that groups are compared on: each group takes two inversions of a matrix of this size
MOST_SAMPLED = 20_000  # nodes or edges that one is compared with, evenly drawn
N_DISTINCTIONS = 5
N_INFLUENCES = 4
LEAST_EFFECT = 0.1  # log-odds: less is not worth a word
LEAST_ALONE = 0.55  # ROC-AUC of a group that distinguishes anything by itself
GIVEN_AWAY = 0.99  # ROC-AUC of a column that may have been written after the fact
LEAST_LABELS, BY_CHANCE = 20, 0.001  # labels, and how likely it may be that a column of chance separates them


@dataclass(frozen=True)
class Distinction:
    """How well a group of features tells known anomalies from normal nodes.

    Attributes
    ----------
    feature
        The group, in words.
    direction
        Whether known anomalies have ``"higher"`` or ``"lower"`` values, ``"later"`` or ``"earlier"`` dates, or have a
        category more or less often.
    alone
        ROC-AUC of the kernel expert that sees this group only, without a node's own label.
    drop
        How much lower the ROC-AUC of the kernel expert is without this group.
    """

    feature: str
    direction: str
    alone: float
    drop: float

    def __str__(self) -> str:
        return f"{self.feature} ({self.direction}; {100 * self.alone:.0f} of 100)"


@dataclass(frozen=True)
class Influence:
    """What a group of features does to the probability of a node or an edge.

    Attributes
    ----------
    feature
        The column of the group in which the node is most unusual.
    value, lower, higher
        Its value, and the percentages of nodes with a lower and with a higher one.
    effect
        Log-odds of being anomalous, less those with the median of all nodes instead of the group.
    probability
        The probability with the median of all nodes instead.
    shares
        Of a category or another feature that is 0 or 1, the shares of known anomalies and of known normal nodes that
        have the same value; None for others.
    """

    feature: str
    value: float
    lower: float
    higher: float
    effect: float
    probability: float
    shares: tuple[float, float] | None = None


class LearnedReasons:
    """The reasons of what was learned from labels of nodes or of edges.

    Parameters
    ----------
    learned
        What was learned.
    rows, score
        Return the features of some nodes or edges, as learned from; the scores of all without labels.
    among, empty
        Positions of those that one is compared with, all by default; by the name of a feature, of those that have no
        value of their own.
    """

    def __init__(
        self,
        learned: Learned,
        rows: Rows,
        score: FloatArray,
        among: IntArray | None = None,
        empty: Mapping[str, IntArray] | None = None,
    ) -> None:
        self.learned, self.rows, self.score, self.empty = learned, rows, score, empty or {}
        among = np.arange(score.size) if among is None else among
        self.sampled = among[:: max(1, math.ceil(among.size / MOST_SAMPLED))]
        self.features = rows(self.sampled)
        self.groups = groups_of(self.features)

    def distinctions(self, n: int = N_DISTINCTIONS) -> list[Distinction]:
        """Return the groups that distinguish known anomalies, those first without which most would be lost."""
        anomalous = self.learned.anomalous > 0
        chosen = _some_of_each(anomalous)
        known, anomalous = self.learned.known[chosen], anomalous[chosen]
        whole = _without_own_label(known, anomalous)
        found = []
        for name, columns in self.groups.items():
            rest = np.setdiff1d(np.arange(known.shape[1]), columns)
            single = np.array([roc_auc(anomalous, known[:, column]) for column in columns])
            farthest = int(np.argmax(np.abs(single - 0.5)))
            column = self.features.names[columns[farthest]]
            category = column.partition("=")[2]
            words = ("earlier", "later") if column.endswith(SINCE_1970) else ("lower", "higher")
            words = (f"less often {category}", f"more often {category}") if category else words
            alone = _without_own_label(known[:, columns], anomalous)
            drop = whole - _without_own_label(known[:, rest], anomalous)
            found.append(Distinction(name, words[int(single[farthest] > 0.5)], alone, drop))
        found = [each for each in found if each.alone >= LEAST_ALONE and each.drop >= 0.0]
        return sorted(found, key=lambda each: (-round(each.drop, 6), -each.alone, each.feature))[:n]

    def influences(self, position: int, n: int = N_INFLUENCES) -> tuple[Influence, ...]:
        """Return the groups that raised or lowered a probability most, the strongest first."""
        own, groups, columns = self.rows(np.array([position])).values, list(self.groups), list(self.groups.values())
        rows = np.repeat(own, len(columns) + 1, axis=0)
        score = np.repeat(self.score[position], len(columns) + 1)
        for number, (name, group) in enumerate(self.groups.items()):
            rows[number, group] = self._median[group]
            if name == UNLABELED:
                score[number] = np.median(self.score)
        log_odds = self.learned.log_odds(replace(self.features, values=rows), score)
        effects = log_odds[-1] - log_odds[:-1]
        mine, anomalous = normal_scores(own, self.learned.levels)[0], self.learned.anomalous > 0
        estimated = [name.startswith("share of anomalous ") for name in self.features.names]  # with a prior
        unusual = np.where(estimated, -1.0, np.abs(mine))
        unusual[[position in self.empty.get(name, ()) for name in self.features.names]] = -2.0
        order = np.argsort(-np.abs(effects), kind="stable")[:n]
        found = []
        for number in order[np.abs(effects[order]) >= LEAST_EFFECT].tolist():
            column = int(columns[number][np.argmax(unusual[columns[number]])])
            if unusual[column] == -2.0:
                continue
            filled = np.isin(self.sampled, self.empty.get(self.features.names[column], ()))
            value, others = own[0, column], self.features.values[~filled, column]
            lower, higher = (100.0 * float(each.mean()) for each in (others < value, others > value))
            probability = float(expit(log_odds[number]))
            name, kind = self.features.names[column], groups[number].removeprefix(EVIDENCE)
            name = name.removesuffix(kind) + groups[number] if kind in WEIGHTS and kind != groups[number] else name
            shares = None
            if np.isin(others, (0, 1)).all():
                same = self.learned.known[:, column] == mine[column]
                shares = (float(same[anomalous].mean()), float(same[~anomalous].mean()))
            found.append(Influence(name, float(value), lower, higher, float(effects[number]), probability, shares))
        return tuple(found)

    @cached_property
    def _median(self) -> FloatArray:
        """The median of each feature."""
        return np.array([np.median(column) for column in self.features.values.T])


def groups_of(features: Features) -> dict[str, IntArray]:
    """Return the columns of each group of features, by its name.

    >>> names = ("age", "city=Oslo", "city=Bergen", "neighbors' age", "neighbors of neighbors' age", "age", "ring")
    >>> features = Features(np.zeros((1, 7), np.float32), names, np.arange(7) < 5)
    >>> {name: columns.tolist() for name, columns in groups_of(features).items()}
    {'age': [0], 'city': [1, 2], "neighbors' age": [3, 4], 'evidence of age': [5], 'evidence of ring': [6]}
    """
    groups: dict[str, list[int]] = {}
    for column, (name, local) in enumerate(zip(features.names, features.local.tolist(), strict=True)):
        groups.setdefault(_group(name, local=local), []).append(column)
    return {name: np.array(columns) for name, columns in groups.items()}


def in_words(distinctions: Sequence[Distinction]) -> str | None:
    """Say what distinguishes known anomalies; None if nothing does."""
    if not distinctions:
        return None
    pairs = "The numbers say how many of 100 pairs of a known anomaly and a normal one each ranks correctly by itself."
    return f"What distinguishes known anomalies: {'; '.join(map(str, distinctions))}. {pairs}"


def given_away(attributes: Any, names: Sequence[str], anomalous: BoolArray, label: str) -> list[str]:
    """Ask about each of the user's columns that nearly equals the label, given the attributes of the labeled nodes.

    >>> date, age = np.arange(20.0), np.tile([30.0, 40.0], 10)
    >>> given_away(np.stack([date, age], axis=1), ["chargeback_date", "age"], date < 6, "is_fraud")
    ['chargeback_date predicts is_fraud alone, ROC-AUC 1.000: is it known before the fact?']
    """
    ways = math.comb(anomalous.size, int(anomalous.sum()))
    if anomalous.size < LEAST_LABELS or 2 * len(names) > BY_CHANCE * ways:
        return []  # one of so many columns may separate so few by chance
    areas: dict[str, float] = {}
    for column, name in enumerate(names):
        own = _own_column(name)
        if own is None:
            continue
        values = attributes[:, [column]]
        values = np.asarray(values.toarray() if sp.issparse(values) else values, dtype=np.float64).ravel()
        if not np.isfinite(values).all():
            continue
        upward = roc_auc(anomalous, values)
        areas[own] = max(upward, 1.0 - upward, areas.get(own, 0.0))
    return [
        f"{own} predicts {label} alone, ROC-AUC {area:.3f}: is it known before the fact?"
        for own, area in areas.items()
        if area >= GIVEN_AWAY
    ]


def _own_column(name: str) -> str | None:
    """Return the user's column that an attribute is or was derived from; None if it counts edges or adds amounts up.

    >>> names = ("opened, days since 1970", "refund sent, mean", "Amount in EUR sent, mean", "edges sent, log count")
    >>> [_own_column(name) for name in names]
    ['opened', 'refund', None, None]
    """
    if not is_derived(name):
        return name.removesuffix(SINCE_1970)
    column = re.match(f"(.+?)(?:{IN_CURRENCY}[^ ]+)? (?:sent|received|of edges), ", name)
    return None if column is None or column[1] == "edges" or is_money_name(column[1]) else column[1]


def _group(name: str, *, local: bool) -> str:
    if name in JUDGED_NAMES:
        return "labels of neighbors"
    prefix = next((each for each in NEIGHBORS if name.startswith(each)), "")
    base = name.removeprefix(prefix).removesuffix(", by weight").partition("=")[0]
    if not local:
        return base if base == UNLABELED else f"{EVIDENCE}{base}"
    return f"neighbors' {base}" if prefix else base


def _without_own_label(known: NDArray[Any], anomalous: BoolArray) -> float:
    """Return the ROC-AUC of the kernel expert's leave-one-out predictions; one half without any feature."""
    if not known.shape[1]:
        return 0.5
    sign = np.where(anomalous, 1.0, -1.0)[:, None]
    return roc_auc(anomalous, kernel_fit(known, sign, balanced(anomalous))[1][:, 0])


def _some_of_each(anomalous: BoolArray) -> IntArray:
    """Return the labels to compare groups on: all, or the first of both kinds, of the rarer kind at most half."""
    rare, common = sorted((np.flatnonzero(anomalous), np.flatnonzero(~anomalous)), key=len)
    rare = rare[: MOST_COMPARED // 2]
    return np.sort(np.concatenate([rare, common[: MOST_COMPARED - rare.size]]))
