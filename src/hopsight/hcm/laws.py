"""Laws fitted to the bulk of the nodes, so that a few anomalies cannot bend them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.system.quantiles import sorted_quantiles
from hopsight.system.threads import by_blocks, few_threads, in_order

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

TRIMMED = 0.02  # share of nodes with the largest deviations that a law is fitted without
ROUNDS = 8  # of reweighting
DEGREE_GROUPS = 20
MANY_EDGES = 3.0  # with this many, half of the variance between nodes has averaged out
PENALTIES = (1.0, 10.0, 100.0, 1000.0, 10000.0)
N_FOLDS = 5  # of the nodes
N_LEVELS = 1025  # quantiles that ranks are read from


def fit_mean_law(means: FloatArray, degrees: NDArray[Any]) -> FloatArray:
    """Return center, A and B of Var(mean of a node's edges) = A / (1 + degree / 3) + B / degree.

    Nodes differ by A, the edges of one node by B. What makes nodes differ, such as a place between two communities,
    averages out over many neighbors, too: a hub whose mean is off has no such excuse. Squared deviations from the
    median are regressed on both terms with weights 1 / Var², as for a gamma law, over the nodes with edges and without
    the 2% of them that deviate most; A and B are not negative.
    """
    judged = degrees > 0
    if not judged.any():
        return np.array([0.0, 1.0, 0.0])
    center = float(np.median(means[judged]))
    square, share, inverse = (means[judged] - center) ** 2, _between_share(degrees[judged]), 1.0 / degrees[judged]
    between, within = float(square.mean()), 0.0
    if between <= 0.0:
        return np.array([center, 1.0, 0.0])
    for _ in range(ROUNDS):
        variance = between * share + within * inverse
        ratio = square / variance
        kept = ratio <= np.quantile(ratio, 1.0 - TRIMMED)
        weights = (share[kept] / variance[kept]) ** 2
        between, within = _nonnegative_line((inverse / share)[kept], (square / share)[kept], weights)
        if between + within <= 0.0:  # nearly all nodes are alike
            return np.array([center, float(square.mean()), 0.0])
    return np.array([center, between, within])


def mean_z(means: FloatArray, degrees: NDArray[Any], law: FloatArray) -> FloatArray:
    """Return (mean − center) / √(A / (1 + degree / 3) + B / degree); NaN stays NaN."""
    center, between, within = law
    variance = between * _between_share(degrees) + within / np.maximum(degrees, 1)
    return np.asarray((means - center) / np.sqrt(np.maximum(variance, 1e-300)))


def _between_share(degrees: NDArray[Any]) -> FloatArray:
    """Return how much of the variance between nodes is left in the mean over so many edges."""
    return np.asarray(1.0 / (1.0 + np.maximum(degrees, 1) / MANY_EDGES))


def degree_line(values: FloatArray, degrees: IntArray) -> FloatArray:
    """Return intercept and slope of values against log degree, from medians that hubs do not move.

    The nodes with edges are put into twenty groups of similar degree. The slope is the median of the slopes between
    the groups' medians (Theil and Sen), the intercept the median residual.
    """
    judged = np.flatnonzero(degrees > 0)
    if judged.size < 2:
        return np.zeros(2)
    level = np.log(degrees[judged])
    order = np.lexsort([values[judged], level])
    groups = [part for part in np.array_split(order, DEGREE_GROUPS) if part.size]
    x = np.array([level[part].mean() for part in groups])
    y = np.array([np.median(values[judged][part]) for part in groups])
    first, second = np.triu_indices(x.size, 1)
    apart = x[second] - x[first] > 1e-9
    slopes = (y[second] - y[first])[apart] / (x[second] - x[first])[apart]
    slope = float(np.median(slopes)) if slopes.size else 0.0
    return np.array([np.median(y - slope * x), slope])


@dataclass(frozen=True)
class AttributeLaws:
    """What is usual of attributes: their mean, and the number of edges that goes with them.

    Attributes
    ----------
    center
        (n_columns,) mean of the transformed attributes.
    ridges
        (n_folds, n_columns + 1) coefficients and intercept that predict log(1 + degree) for the nodes of each fold.
    """

    center: FloatArray
    ridges: FloatArray

    @classmethod
    def fit(cls, attributes: FloatArray, degrees: IntArray, folds: IntArray) -> AttributeLaws:
        """Fit both laws; ``folds`` come from :func:`node_folds`."""
        with few_threads(1):  # several would add up in another order
            return cls(attributes.mean(axis=0), fit_ridges(attributes, np.log1p(degrees), folds, N_FOLDS))

    def deviation(self, attributes: FloatArray) -> FloatArray:
        """Return the root mean square of x − mean over the columns, for each node."""
        return np.asarray(np.sqrt(((attributes - self.center) ** 2).mean(axis=1)))

    def residual(self, attributes: FloatArray, degrees: IntArray, folds: IntArray) -> FloatArray:
        """Return log(1 + degree) minus the prediction by the regression that left the node's fold out."""
        predicted = np.empty(degrees.size)
        with few_threads(1):
            for fold, ridge in enumerate(self.ridges):
                mine = folds == fold
                predicted[mine] = attributes[mine] @ ridge[:-1] + ridge[-1]
        return np.asarray(np.log1p(degrees) - predicted)


def fit_ridges(columns: FloatArray, wanted: FloatArray, folds: IntArray, n_folds: int) -> FloatArray:
    """Return coefficients and intercept of a ridge regression for each fold, fitted to the other folds.

    Columns are standardized for the penalty. One penalty serves all folds, the one with the smallest cross-validated
    error. The median residual is added to the intercepts, so that half of the nodes lie above the prediction.
    """
    center = columns.mean(axis=0)
    members = [np.flatnonzero(folds == fold) for fold in range(n_folds)]
    parts = list(in_order(lambda rows: _moments(columns[rows] - center, wanted[rows]), members))
    total = [sum(each) for each in zip(*parts, strict=True)]
    spread = np.sqrt(np.diag(total[3]) / total[0])
    useful = spread > 1e-9 * max(float(spread.max(initial=0.0)), 1e-300)
    scale = np.where(useful, spread, np.inf)
    others = ([all_ - mine for all_, mine in zip(total, part, strict=True)] for part in parts)
    solved = in_order(lambda rest: _ridge(rest if rest[0] else total, scale), others)
    ridges = np.stack(list(solved), axis=1)
    predicted = np.empty((len(PENALTIES), wanted.size))

    def predict(fold: int) -> None:
        rows = members[fold]
        predicted[:, rows] = ridges[:, fold, :-1] @ (columns[rows] - center).T + ridges[:, fold, -1:]

    for _ in in_order(predict, range(n_folds)):
        pass
    best = int(np.argmin(((predicted - wanted) ** 2).mean(axis=1)))
    chosen = ridges[best]
    chosen[:, -1] += np.median(wanted - predicted[best]) - chosen[:, :-1] @ center
    return chosen


def quantile_levels(values: FloatArray) -> FloatArray:
    """Return the quantiles that :func:`ranks` reads ranks from."""
    return sorted_quantiles(np.sort(values), np.linspace(0.0, 1.0, N_LEVELS)) if values.size else np.zeros(N_LEVELS)


def ranks(values: FloatArray, levels: FloatArray) -> FloatArray:
    """Return the rank of each value between 0 and 1, ties in the middle, by the quantiles of some other values.

    >>> levels = quantile_levels(np.arange(101.0))
    >>> ranks(np.array([-5.0, 50.0, 75.0, 300.0]), levels).tolist()
    [0.0, 0.5, 0.75, 1.0]
    """
    places = np.arange(levels.size)
    close = 1e-6 * (levels[-1] - levels[0])  # rounding in single precision does not break a tie

    def place(some: NDArray[Any]) -> NDArray[Any]:
        values = some.astype(np.float64, copy=False)
        low = np.searchsorted(levels, values - close, side="left")
        high = np.searchsorted(levels, values + close, side="right")
        between = np.interp(values, levels, places)
        found = np.where(high > low, (low + high - 1) / 2.0, between)  # one of the levels, perhaps several times
        return np.asarray(found / (levels.size - 1), dtype=some.dtype)

    return np.asarray(by_blocks(place, values))


def _nonnegative_line(x: FloatArray, y: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return a, b ≥ 0 that minimize Σ w (y − a − b x)²."""
    s, sx, sxx = weights.sum(), weights @ x, weights @ (x * x)
    sy, sxy = weights @ y, weights @ (x * y)
    determinant = s * sxx - sx * sx
    if determinant > 1e-12 * s * sxx:
        a, b = (sxx * sy - sx * sxy) / determinant, (s * sxy - sx * sy) / determinant
        if a >= 0.0 and b >= 0.0:
            return float(a), float(b)
        if a < 0.0:
            return 0.0, float(sxy / sxx)
    return float(sy / s), 0.0


def _moments(columns: FloatArray, wanted: FloatArray) -> tuple[Any, ...]:
    """Return n, Σ x, Σ y, Σ x xᵀ and Σ x y."""
    return len(columns), columns.sum(axis=0), wanted.sum(), columns.T @ columns, columns.T @ wanted


def _ridge(moments: Sequence[Any], scale: FloatArray) -> FloatArray:
    """Return (n_penalties, n_columns + 1) coefficients and intercepts from the moments of some nodes."""
    n, center, level = moments[0], moments[1] / moments[0], moments[2] / moments[0]
    squares = (moments[3] - n * np.outer(center, center)) / scale / scale[:, None]
    along = (moments[4] - n * center * level) / scale
    penalties = np.array(PENALTIES)[:, None, None] * np.eye(center.size)
    weights = np.linalg.solve(squares + penalties, along[:, None])[..., 0] / scale
    return np.column_stack([weights, level - weights @ center])
