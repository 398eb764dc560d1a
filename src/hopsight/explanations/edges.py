"""The edges of a graph with a detector's predictions for them, looked up by node."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph

IntArray = NDArray[np.int64]


class JudgedEdges:
    """Finds the edges of a node and orders edges by how far apart their ends look.

    Where the detector predicts no hops, a node's edges are ordered by the score of the neighbor.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> path = AttributedGraph.from_edges([0, 1], [1, 2], np.zeros((3, 1)))
    >>> edges = JudgedEdges(path, SimpleNamespace(decision_score_=np.array([0.1, 0.9, 0.5])))
    >>> [found.tolist() for found in edges.at(1)]
    [[1, 0], [2, 0]]
    """

    def __init__(self, graph: AttributedGraph, model: Any) -> None:
        self.graph, self.model = graph, model
        self.has_hops = hasattr(model, "edge_hop_")
        source, target = graph.edges
        self._keys = source * graph.n_nodes + target  # in ascending order, as the edges are
        self._incoming = graph.adjacency.T.tocsr() if graph.directed else None

    def at(self, position: int) -> tuple[IntArray, IntArray]:
        """Return the edges at a node and their other ends, farthest (else highest score) first."""
        others = _row(self.graph.adjacency, position)
        edges = self.positions(np.full(others.size, position), others)
        if self.graph.directed:
            sources = _row(self._incoming, position)
            edges = np.concatenate([edges, self.positions(sources, np.full(sources.size, position))])
            others = np.concatenate([others, sources])
        ascending = np.argsort(edges)
        edges, others = edges[ascending], others[ascending]
        if self.has_hops:
            order = edge_ranking(self.model.edge_hop_[edges], self.model.edge_probability_[edges])
        else:
            order = np.argsort(-self.model.decision_score_[others], kind="stable")
        return edges[order], others[order]

    def between(self, start: int, end: int) -> int | None:
        """Return the edge from one node to another; if a directed graph has none, the edge in the other direction."""
        for source, target in ((start, end), (end, start)):
            edge = int(self.positions(np.array([source]), np.array([target]))[0])
            if edge < self._keys.size and sorted(self.graph.edges[:, edge].tolist()) == sorted((start, end)):
                return edge
        return None

    def positions(self, source: IntArray, target: IntArray) -> IntArray:
        """Return the positions of edges among the edges of the graph, given their ends."""
        if not self.graph.directed:
            source, target = np.minimum(source, target), np.maximum(source, target)
        return np.searchsorted(self._keys, source * self.graph.n_nodes + target)

    def values(self, edge: int) -> tuple[float | None, float | None, float | None]:
        """Return predicted hops, their variance and the probability of 1 hop; None without predictions."""
        if not self.has_hops:
            return None, None, None
        model = self.model
        return float(model.edge_hop_[edge]), float(model.edge_variance_[edge]), float(model.edge_probability_[edge])

    @cached_property
    def ranking(self) -> IntArray:
        """Positions of all edges, farthest first; empty without predictions."""
        if not self.has_hops:
            return np.empty(0, dtype=np.int64)
        return edge_ranking(self.model.edge_hop_, self.model.edge_probability_)


def edge_ranking(hop: NDArray[np.float64], probability: NDArray[np.float64]) -> IntArray:
    """Return edge positions from the farthest to the nearest; ties are ordered by the probability of 1 hop.

    >>> edge_ranking(np.array([1.0, 3.0, 3.0]), np.array([0.9, 0.2, 0.1])).tolist()
    [2, 1, 0]
    """
    return np.lexsort((probability, -hop))


def _row(matrix: Any, row: int) -> IntArray:
    columns: IntArray = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].astype(np.int64)
    return columns
