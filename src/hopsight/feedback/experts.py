"""Experts: five ways to learn from labels, each with predictions made without a node's own label.

Two of them start from the score without labels and learn where it is wrong (``correction``, ``linear``): labels that
say little change little. Three start from nothing (``all``, ``local``, ``kernel``): they find what no detector would
look for, and say nonsense about nodes unlike those judged. :mod:`hopsight.feedback.learner` combines them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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

EXPERTS = ("correction", "linear", "kernel", "local", "all")
N_FOLDS = 5
SLOPE = 1.0  # of the score without labels, in standard deviations, before any label is seen
SLOPE_PENALTY = 2.0  # how much a label must say to change it
PENALTY = 50.0  # the same for every other feature of the linear expert
STEP = 4.0  # log-odds that a residual of 1 adds
NOISE = 0.5  # of the kernel expert, in labels


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
    local
        Which features the expert on neighborhoods sees.
    seed
        Seed of the forests.
    """

    rows: Matrix
    normal: Matrix
    score: FloatArray
    anomalous: BoolArray
    fold: IntArray
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


def fit_correction(judged: Judged) -> tuple[Forest, FloatArray, FloatArray]:
    """Learn by trees what the score without labels gets wrong; return them, its line and predictions without own label.

    With p the chance of being anomalous by a logistic regression on the score alone, extremely randomized trees learn
    y − p from all features; the expert says logit(p) + 4 · trees.
    """
    from sklearn.tree import ExtraTreeRegressor

    column = judged.score[:, None]

    def fit_line(rows: BoolArray) -> FloatArray:
        weights, penalty = balanced(judged.anomalous[rows]), np.array([SLOPE_PENALTY])
        return logistic(column[rows], judged.anomalous[rows], weights, penalty, np.array([SLOPE]), nonnegative=True)

    def fold_fit(rows: BoolArray) -> Callable[[BoolArray], FloatArray]:
        line = fit_line(rows)
        return lambda others: line[0] + line[1] * judged.score[others]

    expected = judged.without_own_label(fold_fit)
    make_tree = partial(ExtraTreeRegressor, max_features=0.3, min_samples_leaf=2)
    wrong = judged.anomalous - expit(expected)
    forest, without = grow(make_tree, judged.rows, wanted=wrong, weights=judged.weights, seed=judged.seed)
    line = fit_line(np.ones(judged.anomalous.size, dtype=np.bool_))
    return forest, line, expected + STEP * without


def fit_linear(judged: Judged) -> tuple[FloatArray, FloatArray]:
    """Learn a logistic regression on normal scores that starts from the score without labels."""
    columns = np.column_stack([judged.score, judged.normal])
    prior = np.zeros(columns.shape[1])
    penalties = np.full(columns.shape[1], PENALTY)
    prior[0], penalties[0] = SLOPE, SLOPE_PENALTY

    def fit(rows: BoolArray) -> FloatArray:
        return logistic(columns[rows], judged.anomalous[rows], balanced(judged.anomalous[rows]), penalties, prior)

    def fold_fit(rows: BoolArray) -> Callable[[BoolArray], FloatArray]:
        line = fit(rows)
        return lambda others: line[0] + columns[others] @ line[1:]

    return fit(np.ones(judged.anomalous.size, dtype=np.bool_)), judged.without_own_label(fold_fit)


def fit_kernel(judged: Judged) -> tuple[FloatArray, FloatArray]:
    """Learn ±1 labels by Gaussian-process regression on normal scores; return its coefficients and predictions.

    The predictions without a node's own label are those of leave-one-out, y − c / diag(K⁻¹), in closed form.
    """
    return kernel_coefficients(judged.normal, judged.anomalous)


def kernel_coefficients(normal: Matrix, anomalous: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return c = (K + noise)⁻¹ y with y = ±1, and the leave-one-out predictions."""
    wanted = np.where(anomalous, 1.0, -1.0)
    inverse = np.asarray(np.linalg.inv(kernel(normal, normal) + np.diag(NOISE / balanced(anomalous))), np.float64)
    coefficients = np.asarray(inverse @ wanted)
    return coefficients, np.asarray(wanted - coefficients / np.diag(inverse))


def kernel(rows: Matrix, others: Matrix) -> FloatArray:
    """Return exp(−‖a − b‖² / 2d) of all pairs of rows with d features."""
    first, second = rows.astype(np.float64), others.astype(np.float64)
    squares = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1) - 2.0 * first @ second.T
    return np.asarray(np.exp(-np.maximum(squares, 0.0) / (2.0 * max(1, rows.shape[1]))))


def fit_local(judged: Judged) -> tuple[Forest, FloatArray]:
    """Grow a random forest on the attributes of nodes and neighborhoods, as RF-Graph does."""
    from sklearn.tree import DecisionTreeClassifier

    rows = np.ascontiguousarray(judged.rows[:, judged.local])
    return grow(
        partial(DecisionTreeClassifier, max_features="sqrt"), rows, judged.anomalous, judged.weights, judged.seed + 1
    )


def fit_all(judged: Judged) -> tuple[Forest, FloatArray]:
    """Grow extremely randomized trees on all features, evidence included."""
    from sklearn.tree import ExtraTreeClassifier

    make_tree = partial(ExtraTreeClassifier, max_features=0.3, min_samples_leaf=2)
    return grow(make_tree, judged.rows, judged.anomalous, judged.weights, judged.seed + 2)
