"""Weights of edges that are stored in both directions, or in an adjacency matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph

IntArray = NDArray[np.int64]


def each_once(source: IntArray, target: IntArray, fields: dict[str, Any]) -> tuple[IntArray, IntArray, dict[str, Any]]:
    """Return the edges of an undirected graph once each if all are stored in both directions with the same values.

    Otherwise a weight would count twice. Edges of which some are stored in one direction only are returned unchanged.

    >>> each_once(np.array([0, 1, 2]), np.array([1, 0, 2]), {"edge_weight": np.array([5.0, 5.0, 1.0])})
    (array([0, 2]), array([1, 2]), {'edge_weight': array([5., 1.])})
    """
    forth, back = np.flatnonzero(source < target), np.flatnonzero(source > target)
    if forth.size != back.size:
        return source, target, fields
    forth_order = forth[np.lexsort([target[forth], source[forth]])]
    back_order = back[np.lexsort([source[back], target[back]])]
    pairs = [(source, target), (target, source), *((values, values) for values in fields.values())]
    if not all(np.array_equal(first[forth_order], second[back_order]) for first, second in pairs):
        return source, target, fields
    kept = np.flatnonzero(source <= target)
    return source[kept], target[kept], {name: values[kept] for name, values in fields.items()}


def edge_weights(matrix: Any, graph: AttributedGraph) -> NDArray[np.float64] | None:
    """Return the weights in an adjacency matrix, in the order of the edges of its graph, or None if all are 1.

    An undirected edge has the number of a symmetric matrix, and the sum of both directions otherwise.
    """
    numbers = matrix.data if sp.issparse(matrix) else matrix
    if numbers.dtype.kind == "b" or np.isin(numbers, (0, 1)).all():
        return None
    weights = sp.csr_array(matrix).astype(np.float64)
    weights.sum_duplicates()
    if not graph.directed and (weights != weights.T).nnz:
        weights = sp.csr_array(weights + weights.T)
    found = np.asarray(weights[graph.edges[0], graph.edges[1]], dtype=np.float64).ravel()
    return found if np.isfinite(found).all() else None


def weight_matrix(graph: AttributedGraph) -> Any:
    """Return the adjacency matrix with the weights of the edges in place of 1.

    A matrix cannot hold an edge of weight 0, so that with such an edge it holds 1 for every edge.
    """
    if graph.edge_weight is None or not graph.edge_weight.all():
        return graph.adjacency.astype(np.float64)
    source, target = graph.edges
    matrix = sp.coo_array((graph.edge_weight, (source, target)), shape=graph.adjacency.shape).tocsr()
    return matrix if graph.directed else matrix + matrix.T
