"""The matrices of some edges, and rows of Â for a few nodes of a large graph, without building the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.system.compiled import compiled

IntArray = NDArray[np.int64]


def edges_at(graph: AttributedGraph, nodes: IntArray) -> IntArray:
    """Return the positions of all edges that have an end among the nodes; of an undirected graph, without a scan."""
    if not graph.directed:
        adjacency = graph.adjacency
        return np.unique(_incident(adjacency.indptr, adjacency.indices, *graph.edges, np.asarray(nodes)))
    chosen = np.zeros(graph.n_nodes, dtype=np.bool_)
    chosen[nodes] = True
    return np.flatnonzero(chosen[graph.edges[0]] | chosen[graph.edges[1]])


@compiled(nogil=True)
def _incident(indptr: Any, indices: Any, source: Any, target: Any, nodes: Any) -> Any:
    """Return the position of every edge of the nodes among edges that are sorted by source, then by target."""
    total = 0
    for node in nodes:
        total += indptr[node + 1] - indptr[node]
    found = np.empty(total, dtype=np.int64)
    n_found = 0
    for node in nodes:
        for k in range(indptr[node], indptr[node + 1]):
            first, second = min(node, indices[k]), max(node, indices[k])
            low, high = 0, source.size
            while low < high:
                middle = (low + high) // 2
                if source[middle] < first or (source[middle] == first and target[middle] < second):
                    low = middle + 1
                else:
                    high = middle
            found[n_found] = low
            n_found += 1
    return found


def local_operator(
    edges: IntArray,
    rows: IntArray,
    around: IntArray,
    *,
    directed: bool,
    weight: NDArray[np.float64] | None = None,
) -> Any:
    """Return rows × around of Â = D̃^{-1/2} (A + I) D̃^{-1/2}.

    Parameters
    ----------
    edges
        (2, n) the visible edges at the nodes of ``around``; further edges do no harm.
    rows, around
        Sorted nodes: the requested ones, and these with all their neighbors.
    directed
        Whether edges are arcs; two opposite arcs count as one edge, unless they have weights, which add up.
    weight
        Relative weight of each of the edges; None if all are 1.

    Examples
    --------
    >>> path = np.array([[0, 1], [1, 2]])
    >>> local_operator(path, np.array([0]), np.array([0, 1]), directed=False).toarray().round(3).tolist()
    [[0.5, 0.408]]
    """
    if directed and weight is None:
        edges = np.unique(np.sort(edges, axis=0), axis=1)
    values = np.ones(edges.shape[1]) if weight is None else weight
    strength = np.bincount(edges.ravel(), np.tile(np.abs(values), 2), minlength=around[-1] + 1)
    inverse = 1.0 / np.sqrt(1.0 + strength)
    is_row = np.zeros(inverse.size, dtype=np.bool_)
    is_row[rows] = True
    first, second = is_row[edges[0]], is_row[edges[1]]
    forth, back = edges[:, first], edges[::-1, second]
    entered = np.concatenate([values[first], values[second], np.ones(rows.size)])
    source = np.concatenate([forth[0], back[0], rows])
    target = np.concatenate([forth[1], back[1], rows])
    entries = np.searchsorted(rows, source), np.searchsorted(around, target)
    return sp.csr_array((inverse[source] * inverse[target] * entered, entries), shape=(rows.size, around.size))


def adjacency_of(graph: AttributedGraph, edges: NDArray[np.bool_], *, directed: bool, weighted: bool = False) -> Any:
    """Return the 0/1 CSR matrix of some of a graph's edges, or of their relative weights if they have any."""
    source, target = graph.edges[:, edges]
    weighted = weighted and graph.edge_weight is not None
    values = graph.relative_weight[edges].astype(np.float32) if weighted else np.ones(source.size, dtype=np.float32)
    if not directed:
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
        values = np.concatenate([values, values])
    adjacency = sp.coo_array((values, (source, target)), shape=(graph.n_nodes, graph.n_nodes)).tocsr()
    if not weighted:
        adjacency.data[:] = 1.0  # two arcs between the same nodes are one edge
    return adjacency
