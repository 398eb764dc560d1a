"""The learning curve: whether more labels would help, by learning from parts of those that there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopsight.feedback.features import Rows
from hopsight.feedback.learner import Learned, learn
from hopsight.metrics import roc_auc

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
RowsOf = Callable[[IntArray, BoolArray], Rows]

N_PARTS = 4
FEWEST = 2 * N_PARTS  # labels of the rarer kind: each part has two
GAIN = 0.02  # in ROC-AUC between half of the labels and all, from which on more would help


@dataclass(frozen=True)
class Point:
    """How well labels are predicted by what was learned from some of the others: their number, and the ROC-AUC."""

    n_labels: int
    roc_auc: float


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
        areas, sizes = [], []
        for share in shares:
            mine = np.isin(part, share)
            rows = rows_of(judged[mine], anomalous[mine])
            found = learn(rows, score, judged[mine], anomalous[mine], hashes, seed)
            others = judged[~mine]
            areas.append(roc_auc(anomalous[~mine], found.log_odds(rows(others), score[others])))
            sizes.append(int(mine.sum()))
        points.append(Point(round(float(np.mean(sizes))), float(np.mean(areas))))
    return [*points, Point(judged.size, float(learned.quality()["roc_auc"]))]


def in_words(points: Sequence[Point]) -> str | None:
    """Say whether more labels would help; None without a curve.

    >>> in_words([Point(25, 0.7), Point(50, 0.78), Point(100, 0.84)])
    'ROC-AUC grew from 0.78 with 50 labels to 0.84 with 100: more labels would help.'
    >>> in_words([Point(25, 0.8), Point(50, 0.84), Point(100, 0.84)])
    'ROC-AUC is 0.84 with all 100 labels, about the same as with 50 (0.84).'
    """
    if not points:
        return None
    half, full = points[-2:]
    if full.roc_auc - half.roc_auc >= GAIN:
        return (
            f"ROC-AUC grew from {half.roc_auc:.2f} with {half.n_labels:,} labels to {full.roc_auc:.2f} with "
            f"{full.n_labels:,}: more labels would help."
        )
    return (
        f"ROC-AUC is {full.roc_auc:.2f} with all {full.n_labels:,} labels, about the same as with {half.n_labels:,} "
        f"({half.roc_auc:.2f})."
    )
