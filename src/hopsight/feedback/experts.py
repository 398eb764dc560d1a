"""Experts: eight ways to learn from labels, each with predictions made without a node's own label.

Two of them start from the score without labels and learn where it is wrong (``correction`` by trees,
``kernel correction``): labels that say little change little. Six start from nothing: they find what no detector would
look for, and say nonsense about nodes unlike those judged. Of these, ``kernel``, ``linear`` and ``all`` see every
feature, ``own kernel`` and ``own`` the attributes of the node alone, and ``local`` those of its neighborhood as well:
one that sees few features finds what would be lost among many. :mod:`hopsight.feedback.learner` combines them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from hopsight.feedback.forests import Forest, grow

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Matrix = NDArray[np.float32]

CORRECTIONS = ("correction", "kernel correction")
EXPERTS = (*CORRECTIONS, "kernel", "own kernel", "linear", "own", "local", "all")
N_FOLDS = 5
SLOPE = 1.0  # of the score without labels, in standard deviations, before any label is seen
SLOPE_PENALTY = 2.0  # how much a label must say to change it
PENALTY = 5.0  # how much a label must say to change a coefficient of the linear expert
STEP = 4.0  # log-odds that a residual of 1 adds
NOISE = 0.5  # of the kernel experts, in labels


@dataclass(frozen=True)
class Judged:
    """The judged rows, in an order that does not depend on that of the input.

    Attributes
    ----------
    rows, normal, score
        Features of the judged rows, the same as normal scores, and their scores without labels as normal scores.
    anomalous
        Which of them are anomalous.
    fold
        The fold of each row; predictions for a fold are made without its labels.
    own, local
        Which features the experts on own attributes and on the neighborhood see.
    seed
        Seed of the forests.
    """

    rows: Matrix
    normal: Matrix
    score: FloatArray
    anomalous: BoolArray
    fold: IntArray
    own: BoolArray
    local: BoolArray
    seed: int

    @property
    def weights(self) -> FloatArray:
        """Weights under which both kinds of labels count alike."""
        return balanced(self.anomalous)

    def without_own_label(self, fit: Callable[[BoolArray], Callable[[BoolArray], FloatArray]]) -> FloatArray:
        """Return predictions for each fold by what ``fit`` learns from the other folds."""
        found = np.zeros(self.anomalous.size)
        for fold in range(N_FOLDS):
            rest = self.fold != fold
            if rest.all():
                continue
            both_kinds = 0 < self.anomalous[rest].sum() < rest.sum()
            found[~rest] = fit(rest)(~rest) if both_kinds else 0.0
        return found


def balanced(anomalous: BoolArray) -> FloatArray:
    """Return weights under which both kinds of labels count alike and that add up to the number of labels.

    >>> balanced(np.array([True, False, False, False])).round(2).tolist()
    [2.0, 0.67, 0.67, 0.67]
    """
    n, n_anomalous = anomalous.size, max(1, int(anomalous.sum()))
    return np.where(anomalous, n / (2.0 * n_anomalous), n / (2.0 * max(1, n - n_anomalous)))


def logistic(
    columns: NDArray[Any],
    anomalous: BoolArray,
    weights: FloatArray,
    penalties: FloatArray,
    prior: FloatArray,
    *,
    nonnegative: bool = False,
) -> FloatArray:
    """Return intercept and slopes of a logistic regression whose slopes are pulled toward a prior.

    It minimizes Σ w log(1 + exp(∓(b + x·s))) + Σ penalty (s − prior)²; the intercept is free.
    """
    from scipy.optimize import minimize  # takes a while to import, and not every fit learns

    sign = np.where(anomalous, 1.0, -1.0)
    x = np.asarray(columns, dtype=np.float64)

    def loss(point: FloatArray) -> tuple[float, FloatArray]:
        margin, away = sign * (x @ point[1:] + point[0]), point[1:] - prior
        slope = -sign * expit(-margin) * weights
        value = float(weights @ np.logaddexp(0.0, -margin) + penalties @ away**2)
        return value, np.concatenate([[slope.sum()], x.T @ slope + 2.0 * penalties * away])

    bounds = [(None, None)] + [(0.0 if nonnegative else None, None)] * prior.size
    start = np.concatenate([[0.0], prior])
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x)


def fit_line(judged: Judged) -> tuple[FloatArray, FloatArray]:
    """Return intercept and slope from the score without labels to log-odds, and these without a row's own label."""
    column = judged.score[:, None]

    def fit(rows: BoolArray) -> FloatArray:
        weights, penalty = balanced(judged.anomalous[rows]), np.array([SLOPE_PENALTY])
        return logistic(column[rows], judged.anomalous[rows], weights, penalty, np.array([SLOPE]), nonnegative=True)

    def fold_fit(rows: BoolArray) -> Callable[[BoolArray], FloatArray]:
        line = fit(rows)
        return lambda others: line[0] + line[1] * judged.score[others]

    return fit(np.ones(judged.anomalous.size, dtype=np.bool_)), judged.without_own_label(fold_fit)


def fit_correction(judged: Judged, expected: FloatArray) -> tuple[Forest, FloatArray]:
    """Learn by trees what the score without labels gets wrong; return them and predictions without own label.

    With p the chance of being anomalous by a logistic regression on the score alone (``expected`` is its logit),
    extremely randomized trees learn y − p from all features; the expert says logit(p) + 4 · trees.
    """
    from sklearn.tree import ExtraTreeRegressor

    make_tree = partial(ExtraTreeRegressor, max_features=0.3, min_samples_leaf=2)
    wrong = judged.anomalous - expit(expected)
    forest, without = grow(make_tree, judged.rows, wanted=wrong, weights=judged.weights, seed=judged.seed)
    return forest, expected + STEP * without


def fit_kernels(judged: Judged, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Learn y − p and ±1 by Gaussian-process regression on all normal scores, and ±1 on those of own attributes.

    Return the coefficients of these three, and what the experts say without a row's own label. The first one says
    logit(p) + 4 · regression, so that far from all judged rows it says what the score without labels does.
    """
    sign = np.where(judged.anomalous, 1.0, -1.0)
    wanted = np.column_stack([judged.anomalous - expit(expected), sign])
    coefficients, without = kernel_fit(judged.normal, wanted, judged.weights)
    own, by_own = kernel_fit(judged.normal[:, judged.own], sign[:, None], judged.weights)
    without[:, 0] = expected + STEP * without[:, 0]
    return np.hstack([coefficients, own]), np.hstack([without, by_own])


def fit_linear(judged: Judged) -> tuple[FloatArray, FloatArray]:
    """Learn a logistic regression on normal scores; return intercept and coefficients, and predictions."""
    prior = np.zeros(judged.normal.shape[1])

    def fit(rows: BoolArray) -> FloatArray:
        anomalous = judged.anomalous[rows]
        return logistic(judged.normal[rows], anomalous, balanced(anomalous), np.full(prior.size, PENALTY), prior)

    def fold_fit(rows: BoolArray) -> Callable[[BoolArray], FloatArray]:
        line = fit(rows)
        return lambda others: line[0] + judged.normal[others] @ line[1:]

    return fit(np.ones(judged.anomalous.size, dtype=np.bool_)), judged.without_own_label(fold_fit)


def kernel_fit(normal: Matrix, wanted: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return c = (K + noise)⁻¹ y for each column y, and the leave-one-out predictions y − c / diag((K + noise)⁻¹)."""
    inverse = np.asarray(np.linalg.inv(kernel(normal, normal) + np.diag(NOISE / weights)), np.float64)
    coefficients = np.asarray(inverse @ wanted)
    return coefficients, np.asarray(wanted - coefficients / np.diag(inverse)[:, None])


def kernel(rows: Matrix, others: Matrix) -> FloatArray:
    """Return exp(−‖a − b‖² / 2d) of all pairs of rows with d features."""
    first, second = rows.astype(np.float64), others.astype(np.float64)
    squares = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1) - 2.0 * first @ second.T
    return np.asarray(np.exp(-np.maximum(squares, 0.0) / (2.0 * max(1, rows.shape[1]))))


def fit_some(judged: Judged, columns: BoolArray, seed: int) -> tuple[Forest, FloatArray]:
    """Grow a random forest on some features; on own attributes and their means over neighborhoods as RF-Graph does."""
    from sklearn.tree import DecisionTreeRegressor

    places, make_tree = np.flatnonzero(columns), partial(DecisionTreeRegressor, max_features="sqrt")
    rows = np.ascontiguousarray(judged.rows[:, places])
    forest, without = grow(make_tree, rows, judged.anomalous, judged.weights, seed)
    return replace(forest, feature=places[forest.feature].astype(np.int32)), without


def fit_all(judged: Judged) -> tuple[Forest, FloatArray]:
    """Grow extremely randomized trees on all features, evidence included."""
    from sklearn.tree import ExtraTreeRegressor

    make_tree = partial(ExtraTreeRegressor, max_features=0.3, min_samples_leaf=2)
    return grow(make_tree, judged.rows, judged.anomalous, judged.weights, judged.seed + 2)
