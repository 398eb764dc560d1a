"""The part of a graph that decides how a node would be judged without some of its edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.system.arrays import find_edges

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Around:
    """A node, some of its edges, and as much of the graph around it as their judgment depends on.

    Attributes
    ----------
    nodes, edges
        Positions of its nodes in the whole graph, ascending, and (2, n) its edges as places among these nodes.
    positions
        Positions of its edges in the whole graph, ascending.
    judged
        (2, n_judged) ends of the node's remaining edges, as positions in the whole graph.
    mine
        Positions of these in the whole graph, ascending.
    inner
        Positions of the nodes with all of their edges here: only their attributes are needed.
    """

    nodes: IntArray
    edges: IntArray
    positions: IntArray
    judged: IntArray
    mine: IntArray
    inner: IntArray

    def places_of(self, nodes: IntArray) -> IntArray:
        """Return the places of some nodes of the whole graph here."""
        return np.searchsorted(self.nodes, nodes)

    def with_zeros(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Return one row per node: those of the inner nodes, and zeros."""
        found = np.zeros((self.nodes.size, values.shape[1]), dtype=np.float32)
        found[self.places_of(self.inner)] = values
        return found


def around(graph: AttributedGraph, node: int, absent: IntArray, *, radius: int) -> Around:
    """Return the part of the graph that is at most ``radius`` hops away from the ends of a node's remaining edges.

    Nodes at that distance have all of their edges, so that their degrees are those in the whole graph.
    """
    mine = _without(edges_at(graph, np.array([node])), absent)
    if mine.size == 0:
        raise ValueError("a node without edges cannot be judged")
    inner = np.unique(graph.edges[:, mine])
    for _ in range(radius):
        inner = np.unique(graph.edges[:, _without(edges_at(graph, inner), absent)])
    positions = _without(edges_at(graph, inner), absent)
    nodes = np.unique(graph.edges[:, positions])
    edges = np.searchsorted(nodes, graph.edges[:, positions])
    return Around(nodes, edges, positions, graph.edges[:, mine], mine, inner)


def _without(edges: IntArray, absent: IntArray) -> IntArray:
    return edges[~np.isin(edges, absent)]


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
