"""The learning curve: whether more labels would help, by learning from parts of those that there are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopsight.feedback.features import Rows
from hopsight.feedback.learner import Learned, learn
from hopsight.metrics import roc_auc_difference

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
RowsOf = Callable[[IntArray, BoolArray], Rows]

N_PARTS = 4
FEWEST = 2 * N_PARTS  # labels of the rarer kind: each part has two
GAIN = 0.02  # in ROC-AUC between half of the labels and all, from which on more would help


@dataclass(frozen=True)
class Point:
    """How well labels are predicted by some of the others: how many, the ROC-AUC and its standard error."""

    n_labels: int
    roc_auc: float
    error: float = 0.0


def learning_curve(
    learned: Learned, rows_of: RowsOf, score: NDArray[np.float64], hashes: NDArray[np.uint64], seed: int
) -> list[Point]:
    """Return the ROC-AUC with a quarter, half and all of the labels; nothing if there are too few for that.

    Two quarters, and the two halves, each predict the labels that they lack. The last point is the estimate of what was
    learned.

    Parameters
    ----------
    learned
        What was learned from all the labels.
    rows_of
        Returns the features of some rows, as they are if only the given labels are known.
    score, hashes, seed
        As for :func:`hopsight.feedback.learner.learn`.
    """
    judged, anomalous = learned.labels
    if learned.kept[0] or min(int(anomalous.sum()), int((~anomalous).sum())) < FEWEST:
        return []
    part = np.zeros(judged.size, dtype=np.int64)
    for kind in (anomalous, ~anomalous):
        part[kind] = np.arange(int(kind.sum())) % N_PARTS
    points = []
    for shares in (((0,), (2,)), ((0, 1), (2, 3))):
        found_by = []
        for share in shares:
            mine = np.isin(part, share)
            rows = rows_of(judged[mine], anomalous[mine])
            found = learn(rows, score, judged[mine], anomalous[mine], hashes, seed)
            others = judged[~mine]
            found_by.append((mine.sum(), *_area(anomalous[~mine], found.log_odds(rows(others), score[others]))))
        sizes, areas, errors = np.array(found_by).T
        points.append(Point(round(float(sizes.mean())), float(areas.mean()), math.hypot(*errors) / len(errors)))
    return [*points, Point(judged.size, *_area(anomalous, learned.out_of_fold))]


def _area(anomalous: BoolArray, values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the ROC-AUC and its standard error."""
    above_chance, error = roc_auc_difference(anomalous, values, np.zeros(values.size))
    return 0.5 + above_chance, error


def in_words(points: Sequence[Point]) -> str | None:
    """Say whether more labels would help; None without a curve.

    They would if the gain by the second half of the labels exceeds its standard error, and all labels together are
    better than chance by more than theirs.

    >>> in_words([Point(25, 0.7, 0.04), Point(50, 0.78, 0.03), Point(100, 0.84, 0.03)])
    'ROC-AUC grew from 0.78 with 50 labels to 0.84 with all 100: more labels may help.'
    >>> in_words([Point(25, 0.8), Point(50, 0.84), Point(100, 0.84)])
    'ROC-AUC is 0.84 with all 100 labels, about the same as with 50 (0.84).'
    >>> in_words([Point(10, 0.5, 0.1), Point(20, 0.42, 0.06), Point(40, 0.54, 0.09)])
    'ROC-AUC is 0.54 with all 40 labels, 0.42 with 20: this does not show whether more would help.'
    """
    if not points:
        return None
    half, full = points[-2:]
    gain, error = full.roc_auc - half.roc_auc, math.hypot(half.error, full.error)
    sure = full.roc_auc - 0.5 > full.error
    before, now = f"{half.roc_auc:.2f} with {half.n_labels:,}", f"{full.roc_auc:.2f} with all {full.n_labels:,}"
    if sure and gain >= max(GAIN, error):
        return f"ROC-AUC grew from {before} labels to {now}: more labels may help."
    if sure and abs(gain) < GAIN:
        return f"ROC-AUC is {now} labels, about the same as with {half.n_labels:,} ({half.roc_auc:.2f})."
    return f"ROC-AUC is {now} labels, {before}: this does not show whether more would help."
