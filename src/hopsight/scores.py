"""Anomaly scores: from predicted hop counts of links to AHP, IV and HAV of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def ahp(edges: NDArray[np.int64], hops: FloatArray, n_nodes: int) -> FloatArray:
    """Average Hop Prediction: the mean predicted hop count between a node and its neighbours.

    Both ends of every link count it; a node without neighbours gets NaN (there is nothing to judge).

    >>> ahp(np.array([[0, 1], [1, 2]]), np.array([1.0, 3.0]), 4).tolist()
    [1.0, 2.0, 3.0, nan]
    """
    return neighbour_mean(edges, hops, n_nodes)


def inferred_variance(edges: NDArray[np.int64], variances: FloatArray, n_nodes: int) -> FloatArray:
    """Inferred Variance: the mean posterior variance of the predictions between a node and its neighbours."""
    return neighbour_mean(edges, variances, n_nodes)


def hav(ahp_scores: FloatArray, iv_scores: FloatArray) -> FloatArray:
    """HAV = AHP / max AHP + IV / max IV; a maximum of zero leaves its term out.

    >>> hav(np.array([1.0, 2.0]), np.array([0.5, 0.25])).tolist()
    [1.5, 1.5]
    """
    return _by_maximum(ahp_scores) + _by_maximum(iv_scores)


def neighbour_mean(edges: NDArray[np.int64], values: FloatArray, n_nodes: int) -> FloatArray:
    """Return the mean of the links' values at every node, NaN where a node has no link."""
    total = neighbour_sum(edges, values, n_nodes)
    count = np.bincount(edges.ravel(), minlength=n_nodes).astype(np.float64)
    return np.divide(total, count, out=np.full(n_nodes, np.nan), where=count > 0)


def neighbour_sum(edges: NDArray[np.int64], values: FloatArray, n_nodes: int) -> FloatArray:
    """Return the sum of the links' values at every node."""
    total = np.bincount(edges[0], values, n_nodes) + np.bincount(edges[1], values, n_nodes)
    return total.astype(np.float64, copy=False)


def fill_unjudged(scores: FloatArray) -> FloatArray:
    """Give nodes that cannot be judged (NaN) the median of the others: no neighbour, no judgement.

    >>> fill_unjudged(np.array([1.0, np.nan, 4.0])).tolist()
    [1.0, 2.5, 4.0]
    """
    judged = ~np.isnan(scores)
    return np.where(judged, scores, np.median(scores[judged]) if judged.any() else 0.0)


def _by_maximum(values: FloatArray) -> Any:
    highest = np.nanmax(values, initial=0.0)
    return values / highest if highest > 0 else np.zeros_like(values)
