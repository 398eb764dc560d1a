"""The matrices of some edges, and rows of Â for a few nodes of a large graph, without building the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.system.lookup import find_edges

IntArray = NDArray[np.int64]


def edges_at(graph: AttributedGraph, nodes: IntArray) -> IntArray:
    """Return the positions of all edges that have an end among the nodes, in ascending order."""
    chosen = _mask(graph, nodes)
    if graph.directed or 4 * int(graph.degrees[nodes].sum()) > graph.n_edges:  # reading all is less work
        return np.flatnonzero(chosen[graph.edges[0]] | chosen[graph.edges[1]])
    starts, counts = graph.adjacency.indptr[nodes].astype(np.int64), graph.degrees[nodes]
    places = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    ends, others = np.repeat(nodes, counts), graph.adjacency.indices[places].astype(np.int64)
    once = ~chosen[others] | (ends < others)  # an edge between two of the nodes is met at both
    ends, others = ends[once], others[once]
    first, second = np.minimum(ends, others), np.maximum(ends, others)
    return np.sort(find_edges(graph.edges, graph.edge_starts, first, second))


def edges_among(graph: AttributedGraph, nodes: IntArray) -> IntArray:
    """Return the positions of all edges that have both ends among the nodes, in ascending order."""
    chosen, near = _mask(graph, nodes), edges_at(graph, nodes)
    return near[chosen[graph.edges[0, near]] & chosen[graph.edges[1, near]]]


def _mask(graph: AttributedGraph, nodes: IntArray) -> NDArray[np.bool_]:
    chosen = np.zeros(graph.n_nodes, dtype=np.bool_)
    chosen[nodes] = True
    return chosen


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
