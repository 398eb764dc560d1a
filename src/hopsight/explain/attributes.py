"""In which attributes a node differs from others, measured by how much connected nodes usually differ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.explain.reasons import AttributeGap
from hopsight.graph import AttributedGraph

FloatArray = NDArray[np.float64]

MAX_SAMPLED_EDGES = 20_000
MAX_SAMPLED_VALUES = 4_000_000


def attribute_gaps(
    graph: AttributedGraph, node: int, others: NDArray[np.int64], spread: FloatArray, top: int
) -> tuple[AttributeGap, ...]:
    """Return the attributes in which a node differs most from others, largest difference first.

    The difference is (x − mean of the k others) / (s √(1 + 1/k)), where s is the :func:`edge_spread` of the
    attribute and the root stands for the error of a mean over few neighbors. Attributes in which the node
    equals the mean of the others are left out.

    Parameters
    ----------
    graph
        The network.
    node
        Position of the node.
    others
        Positions of the nodes to compare it with, each once.
    spread
        What :func:`edge_spread` returns for this network.
    top
        How many attributes to return at most.
    """
    if not others.size or not graph.n_attributes:
        return ()
    X = graph.attributes
    own = _dense(X[[node]]).ravel()
    difference = _differences(X, own, others, spread)
    columns = np.argsort(-np.abs(difference), kind="stable")[:top]
    columns = columns[difference[columns] != 0]
    theirs = _dense(X[others][:, columns] if sp.issparse(X) else X[np.ix_(others, columns)])  # (k, top)
    low, median, high = np.quantile(theirs, (0.1, 0.5, 0.9), axis=0)
    lower = 100 * (_dense(X[:, columns]) < own[columns]).mean(axis=0)
    yes_or_no = np.isin(theirs, (0, 1)).all(axis=0) & np.isin(own[columns], (0, 1))
    return tuple(
        AttributeGap(
            name=graph.attribute_names[column],
            value=float(own[column]),
            low=float(low[i]),
            median=float(median[i]),
            high=float(high[i]),
            difference=float(difference[column]),
            percentile=float(lower[i]),
            share=float(theirs[:, i].mean()) if yes_or_no[i] else None,
        )
        for i, column in enumerate(columns)
    )


def edge_spread(graph: AttributedGraph) -> FloatArray:
    """Return how much the two ends of an edge usually differ in each attribute: √(mean (x_u − x_v)² / 2).

    Large networks are judged by an even sample of their edges. Sparse attributes (words, products) share one
    unit; theirs is moved towards the mean of all columns, else a word that nobody else uses would always come
    first. An attribute in which no connected nodes differ falls back to its spread over the network.

    Examples
    --------
    >>> graph = AttributedGraph.from_edges([0, 1], [1, 2], np.array([[0.0, 5.0], [2.0, 5.0], [4.0, 5.0]]))
    >>> edge_spread(graph).round(3).tolist()
    [1.414, 0.0]
    """
    X, edges = graph.attributes, graph.edges
    per_row = X.nnz // graph.n_nodes if sp.issparse(X) else graph.n_attributes
    n_sampled = max(1, min(MAX_SAMPLED_EDGES, MAX_SAMPLED_VALUES // max(1, per_row)))
    source, target = edges[:, :: max(1, math.ceil(edges.shape[1] / n_sampled))]
    difference = X[source] - X[target]
    total = 2 * max(1, source.size)
    if sp.issparse(X):
        squares = np.asarray(difference.multiply(difference).sum(axis=0), dtype=np.float64).ravel() / total
        spread: FloatArray = np.sqrt(squares + squares.mean())
    else:
        spread = np.sqrt(np.square(difference, dtype=np.float64).sum(axis=0) / total)
        spread = np.where(spread > 0, spread, np.std(X, axis=0, dtype=np.float64))
    return spread


def _differences(X: Any, own: FloatArray, others: NDArray[np.int64], spread: FloatArray) -> FloatArray:
    """Return (x − mean of the others) / (s √(1 + 1/k)) for every attribute, without making a sparse X dense."""
    weights = np.full(others.size, 1 / others.size)
    mean = sp.csr_array((weights, (np.zeros_like(others), others)), shape=(1, X.shape[0])) @ X
    gap: FloatArray = own - _dense(mean).ravel()
    unit = spread * math.sqrt(1 + 1 / others.size)
    real = (unit > 0) & (np.abs(gap) > 1e-12 * np.abs(own))  # beyond rounding
    return np.divide(gap, unit, out=np.zeros_like(gap), where=real)


def _dense(matrix: Any) -> FloatArray:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=np.float64)
