"""Anomaly scores: from predicted hop counts of edges to AHP, IV and HAV of nodes, and rings of strangers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.system.compiled import compiled

FloatArray = NDArray[np.float64]


def ahp(edges: NDArray[np.int64], hops: FloatArray, n_nodes: int) -> FloatArray:
    """Return the Average Hop Prediction: the mean predicted hop count between each node and its neighbors.

    An edge counts at both of its ends; a node without neighbors gets NaN.

    >>> ahp(np.array([[0, 1], [1, 2]]), np.array([1.0, 3.0]), 4).tolist()
    [1.0, 2.0, 3.0, nan]
    """
    return neighbor_mean(edges, hops, n_nodes)


def inferred_variance(edges: NDArray[np.int64], variances: FloatArray, n_nodes: int) -> FloatArray:
    """Return the Inferred Variance: the mean posterior variance of the predictions for each node's edges."""
    return neighbor_mean(edges, variances, n_nodes)


def hav(ahp_scores: FloatArray, iv_scores: FloatArray) -> FloatArray:
    """Return HAV = AHP / max AHP + IV / max IV; a term whose maximum is zero is left out.

    >>> hav(np.array([1.0, 2.0]), np.array([0.5, 0.25])).tolist()
    [1.5, 1.5]
    """
    return _by_maximum(ahp_scores) + _by_maximum(iv_scores)


def rings(edges: NDArray[np.int64], strangeness: FloatArray, n_nodes: int) -> FloatArray:
    """Return, for each edge, how much it closes triangles of strangers.

    With s the strangeness of an edge (0 to 1): ring(u, v) = s(u, v) Σ_w s(u, w) s(v, w) over the common neighbors
    w. An honest triangle has some familiar edge, since friends of friends know each other; a ring of accounts that
    connect to each other for no visible reason is strange on all three sides.

    >>> triangle_and_tail = np.array([[0, 0, 1, 2], [1, 2, 2, 3]])
    >>> rings(triangle_and_tail, np.array([1.0, 0.5, 0.5, 1.0]), 4).tolist()
    [0.25, 0.25, 0.25, 0.0]
    """
    degree = np.bincount(edges.ravel(), minlength=n_nodes)
    swap = (degree[edges[0]] > degree[edges[1]]) | (
        (degree[edges[0]] == degree[edges[1]]) & (edges[0] > edges[1])
    )  # arcs from the smaller degree to the larger: no list is longer than √(2m)
    source, target = np.where(swap, edges[1], edges[0]), np.where(swap, edges[0], edges[1])
    key = source * n_nodes + target
    order = np.argsort(key, kind="stable")
    start = np.searchsorted(key[order], np.arange(n_nodes + 1) * n_nodes)
    return _triangles(start, target[order], order, np.asarray(strangeness, dtype=np.float64))


def beyond_degree(values: FloatArray, degrees: NDArray[np.int64], trend: FloatArray | None = None) -> FloatArray:
    """Return how many robust standard deviations each value lies above nodes of similar degree.

    The least-squares parabola in log degree is subtracted, then the median, and the residual is divided by its
    interquartile range / 1.349 (the standard deviation of normal data). NaN stays NaN. ``trend`` holds the numbers
    of :func:`degree_trend` if they come from other nodes.

    >>> beyond_degree(np.array([1.0, 2.0, 3.0, np.nan]), np.array([2, 2, 2, 0])).round(2).tolist()
    [-1.35, 0.0, 1.35, nan]
    """
    mean, spread, *parabola, middle, width = degree_trend(values, degrees) if trend is None else trend
    level = (np.log(np.maximum(degrees, 1.0)) - mean) / spread
    return (values - np.polyval(parabola, level) - middle) / width


def degree_trend(values: FloatArray, degrees: NDArray[np.int64]) -> FloatArray:
    """Return the seven numbers that :func:`beyond_degree` needs.

    They are mean and deviation of log degree, three coefficients of the parabola, median and width of the residual.
    """
    judged = ~np.isnan(values)
    if not judged.any():
        return np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    level = np.log(np.maximum(degrees[judged], 1.0))
    mean, spread = level.mean(), level.std()
    if spread < 1e-9:  # all degrees are equal up to rounding
        spread = 1.0
    powers = np.vander((level - mean) / spread, 3)
    parabola = np.linalg.lstsq(powers, values[judged], rcond=None)[0]
    rest = values[judged] - powers @ parabola
    low, middle, high = np.quantile(rest, [0.25, 0.5, 0.75])
    width = (high - low) / 1.349 if high - low > 1e-12 else rest.std()
    return np.array([mean, spread, *parabola, middle, width if width > 1e-12 else 1.0])


def neighbor_mean(edges: NDArray[np.int64], values: FloatArray, n_nodes: int) -> FloatArray:
    """Return the mean of the values of each node's edges, NaN for a node without edges."""
    total = neighbor_sum(edges, values, n_nodes)
    count = np.bincount(edges.ravel(), minlength=n_nodes).astype(np.float64)
    return np.divide(total, count, out=np.full(n_nodes, np.nan), where=count > 0)


def neighbor_sum(edges: NDArray[np.int64], values: FloatArray, n_nodes: int) -> FloatArray:
    """Return the sum of the values of each node's edges."""
    total = np.bincount(edges[0], values, n_nodes) + np.bincount(edges[1], values, n_nodes)
    return total.astype(np.float64, copy=False)


def fill_unjudged(scores: FloatArray) -> FloatArray:
    """Replace the NaN of nodes that cannot be judged with the median of the others.

    >>> fill_unjudged(np.array([1.0, np.nan, 4.0])).tolist()
    [1.0, 2.5, 4.0]
    """
    judged = ~np.isnan(scores)
    return np.where(judged, scores, np.median(scores[judged]) if judged.any() else 0.0)


def _by_maximum(values: FloatArray) -> Any:
    highest = np.nanmax(values, initial=0.0)
    return values / highest if highest > 0 else np.zeros_like(values)


@compiled(nogil=True)
def _triangles(start: Any, target: Any, edge: Any, strangeness: Any) -> Any:
    """Add the product of the three sides of every triangle to each of its edges."""
    total = np.zeros(edge.size)
    for u in range(start.size - 1):
        for at in range(start[u], start[u + 1]):
            v = target[at]
            i, j = start[u], start[v]
            while i < start[u + 1] and j < start[v + 1]:
                if target[i] < target[j]:
                    i += 1
                elif target[i] > target[j]:
                    j += 1
                else:
                    a, b, c = edge[at], edge[i], edge[j]
                    product = strangeness[a] * strangeness[b] * strangeness[c]
                    total[a] += product
                    total[b] += product
                    total[c] += product
                    i += 1
                    j += 1
    return total
