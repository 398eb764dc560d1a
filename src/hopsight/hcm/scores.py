"""Anomaly scores: from predicted hop counts of edges to AHP, IV and HAV of nodes, and rings of strangers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.system.compiled import compiled, frozen
from hopsight.system.threads import in_order
from hopsight.system.triangles import arcs_by_degree, each_once_in_order, triangles_from

FloatArray = NDArray[np.float64]

TRIANGLE_BLOCKS = 16  # of nodes with about as many edges each; a fixed number, so that sums have a fixed order


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


def triangle_sums(edges: NDArray[np.int64], sides: Sequence[FloatArray] | FloatArray, n_nodes: int) -> FloatArray:
    """Return, for each node, the sum over its triangles of the product of their three sides.

    ``sides`` has one number per edge for each of some kinds; the result is (n_kinds, n_nodes). Two arcs between
    the same nodes are one side, with the mean of their numbers.

    >>> triangle_and_tail = np.array([[0, 0, 1, 2], [1, 2, 2, 3]])
    >>> triangle_sums(triangle_and_tail, np.array([[1.0, 0.5, 0.5, 1.0]]), 4).tolist()
    [[0.25, 0.25, 0.25, 0.0]]
    """
    start, target, means = (_arcs if each_once_in_order(*edges) else _arcs_of_any)(edges, sides, n_nodes)
    bounds = np.searchsorted(start, np.linspace(0, target.size, TRIANGLE_BLOCKS + 1).astype(np.int64))
    bounds[0], bounds[-1] = 0, n_nodes
    blocks = in_order(lambda first, last: triangles_from(start, target, means, first, last), bounds[:-1], bounds[1:])
    total = np.zeros((n_nodes, len(sides)))
    for block in blocks:  # in this order, however many threads there are
        total += block
    return np.ascontiguousarray(total.T)


def _arcs(edges: NDArray[np.int64], sides: Sequence[FloatArray] | FloatArray, n_nodes: int) -> tuple[Any, Any, Any]:
    """Return the edges as lists of arcs (:mod:`hopsight.system.triangles`): starts, targets, and their numbers."""
    degree = np.bincount(edges.ravel(), minlength=n_nodes)
    start, target, place = arcs_by_degree(edges[0], edges[1], degree)
    means = np.empty((target.size, len(sides)), dtype=np.asarray(sides[0]).dtype)
    for kind, values in enumerate(sides):
        means[place, kind] = values
    return start, target, means


def _arcs_of_any(
    edges: NDArray[np.int64], sides: Sequence[FloatArray] | FloatArray, n_nodes: int
) -> tuple[Any, Any, Any]:
    """Do the same for edges in any order, some of them perhaps given in both directions."""
    ends = np.sort(edges, axis=0)
    key = ends[0] * n_nodes + ends[1]
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: key.size])
    share = np.diff(first, append=key.size)
    means = [
        np.add.reduceat(np.asarray(values)[order], first) / share if first.size else np.empty(0) for values in sides
    ]
    return _arcs(np.stack([key[first] // n_nodes, key[first] % n_nodes]), means, n_nodes)


def neighbor_mean(edges: NDArray[np.int64], values: FloatArray, n_nodes: int) -> FloatArray:
    """Return the mean of the values of each node's edges, NaN for a node without edges."""
    return neighbor_means(edges, [values], n_nodes)[0]


def neighbor_means(edges: NDArray[np.int64], columns: Sequence[FloatArray], n_nodes: int) -> FloatArray:
    """Return (n_columns, n_nodes) means of several values of each node's edges."""
    count = np.bincount(edges.ravel(), minlength=n_nodes).astype(np.float64)
    means = np.full((len(columns), n_nodes), np.nan)
    sums = in_order(lambda values: neighbor_sum(edges, values, n_nodes), columns)
    for mean, total in zip(means, sums, strict=True):
        np.divide(total, count, out=mean, where=count > 0)
    return means


def neighbor_sum(edges: NDArray[np.int64], values: FloatArray, n_nodes: int) -> FloatArray:
    """Return the sum of the values of each node's edges."""
    first, second = np.zeros(n_nodes), np.zeros(n_nodes)
    _add_at_ends(frozen(edges[0]), frozen(edges[1]), values, first, second)
    return first + second


@compiled(nogil=True)
def _add_at_ends(source: Any, target: Any, values: Any, first: Any, second: Any) -> None:
    for edge in range(source.size):
        first[source[edge]] += values[edge]
        second[target[edge]] += values[edge]


def effective_count(edges: NDArray[np.int64], weight: FloatArray, n_nodes: int) -> FloatArray:
    """Return how many edges of equal weight each node's weighted mean is worth: (Σ|w|)² / Σw².

    The variance of a weighted mean of k independent readings is that of one reading divided by this number. It is k if
    the weights are equal, and near 1 if one of them outweighs the others. Edges without any weight count alike.

    >>> star = np.array([[0, 0, 0], [1, 2, 3]])
    >>> effective_count(star, np.array([3.0, 1.0, -1.0]), 4).round(3).tolist()
    [2.273, 1.0, 1.0, 1.0]
    """
    degree = np.bincount(edges.ravel(), minlength=n_nodes).astype(np.float64)
    size = np.abs(weight) / max(float(np.abs(weight).max(initial=0.0)), 1e-300)  # squares neither overflow nor vanish
    squares = neighbor_sum(edges, size**2, n_nodes)
    return np.divide(neighbor_sum(edges, size, n_nodes) ** 2, squares, out=degree, where=squares > 0.0)


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
