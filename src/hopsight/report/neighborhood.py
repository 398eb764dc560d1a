"""The parts of a network that a report shows: some nodes, and the edges around them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph

IntArray = NDArray[np.int64]

MAX_DRAWN = 60  # neighbors of one node; more would be a blot
MAX_DRAWN_ON_THE_WAY = 24  # neighbors of a node that is only passed through
MAX_EDGES = 25_000  # in the whole page, which keeps it small
MAX_NAME = 200


class Neighborhoods:
    """Collects nodes and their edges under small numbers, each node once.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> path = AttributedGraph.from_edges([0, 1], [1, 2], np.zeros((3, 1)), node_ids=["a", "b", "c"])
    >>> shown = Neighborhoods(path, SimpleNamespace(decision_score_=np.array([0.1, 0.9, 0.5]), threshold_=0.8))
    >>> shown.around(1)
    {'total': 2, 'edges': [[1, None, None, None], [2, None, None, None]], 'between': []}
    >>> shown.nodes
    [['b', 0.9, 1, 2, 1], ['c', 0.5, 2, 1, 0], ['a', 0.1, 3, 1, 0]]
    """

    def __init__(self, graph: AttributedGraph, model: Any) -> None:
        self.graph, self.model = graph, model
        self.nodes: list[list[Any]] = []  # name, score, rank, degree, flagged
        self.n_edges = 0
        self._numbers: dict[int, int] = {}
        self._scores = np.asarray(model.decision_score_, dtype=np.float64)
        self._ranks = np.empty(graph.n_nodes, dtype=np.int64)
        self._ranks[np.argsort(-self._scores, kind="stable")] = np.arange(1, graph.n_nodes + 1)
        self._has_hops = hasattr(model, "edge_hop_")
        source, target = graph.edges
        self._keys = source * graph.n_nodes + target  # ascending, as the edges are
        self._incoming = graph.adjacency.T.tocsr() if graph.directed else None

    def number(self, position: int) -> int:
        """Return the small number of a node, taking it in if it is new."""
        if position not in self._numbers:
            name, score = shortened(str(self.graph.node_ids[position])), float(self._scores[position])
            rank, degree = int(self._ranks[position]), int(self.graph.degrees[position])
            self._numbers[position] = len(self.nodes)
            self.nodes.append([name, score, rank, degree, int(score > self.model.threshold_)])
        return self._numbers[position]

    def around(self, position: int, limit: int = MAX_DRAWN) -> dict[str, Any]:
        """Return the farthest-looking edges of a node and those among its neighbors."""
        self.number(position)
        edges, others = self._edges_of(position)
        edges, others = edges[:limit], others[:limit]
        rows = [[self.number(other), *self._values(edge)] for edge, other in zip(edges, others, strict=True)]
        between = self._between(np.unique(others))
        self.n_edges += len(rows) + len(between)
        return {"total": int(self.graph.degrees[position]), "edges": rows, "between": between}

    def passed_through(self, known: Sequence[int], ends: Sequence[int]) -> dict[int, dict[str, Any]]:
        """Return smaller neighborhoods of some nodes and of the neighbors of known ones, to move on to."""
        found: dict[int, dict[str, Any]] = {}
        skip = set(known)
        beside = (other for position in known for other in self._edges_of(position)[1][:MAX_DRAWN].tolist())
        for position in itertools.chain(ends, beside):
            if self.n_edges > MAX_EDGES:
                break
            if position not in skip:
                skip.add(position)
                found[self.number(position)] = self.around(position, MAX_DRAWN_ON_THE_WAY)
        return found

    def farthest_edges(self, count: int) -> IntArray:
        """Return which edges look longest, the longest first."""
        if not self._has_hops:
            return np.empty(0, dtype=np.int64)
        order: IntArray = np.lexsort((self.model.edge_probability_, -self.model.edge_hop_))[:count]
        return order

    def edge(self, edge: int) -> list[Any]:
        """Return both ends of an edge, its predicted hops, their variance and the probability of 1 hop."""
        source, target = self.graph.edges[:, edge].tolist()
        return [self.number(source), self.number(target), *self._values(edge)]

    def _edges_of(self, position: int) -> tuple[IntArray, IntArray]:
        """Return the edges at a node and their other ends: farthest first, without hops highest score first."""
        out = _row(self.graph.adjacency, position)
        into = _row(self._incoming, position) if self.graph.directed else np.empty(0, dtype=np.int64)
        here = np.full(out.size + into.size, position)
        source, target = np.concatenate([here[: out.size], into]), np.concatenate([out, here[out.size :]])
        others = np.concatenate([out, into])
        edges = self._positions(source, target)
        if self._has_hops:
            order = np.lexsort((self.model.edge_probability_[edges], -self.model.edge_hop_[edges]))
        else:
            order = np.argsort(-self._scores[others], kind="stable")
        return edges[order], others[order]

    def _positions(self, source: IntArray, target: IntArray) -> IntArray:
        """Return where edges stand among the edges of the network."""
        if not self.graph.directed:
            source, target = np.minimum(source, target), np.maximum(source, target)
        return np.searchsorted(self._keys, source * self.graph.n_nodes + target)

    def _between(self, others: IntArray) -> list[list[Any]]:
        """Return the edges among some nodes: both ends and the predicted hops."""
        rows = self.graph.adjacency[others]
        source, target = np.repeat(others, np.diff(rows.indptr)), rows.indices.astype(np.int64)
        kept = np.isin(target, others)
        if not self.graph.directed:
            kept &= source < target
        source, target = source[kept], target[kept]
        edges = self._positions(source, target)
        ends = zip(source.tolist(), target.tolist(), edges.tolist(), strict=True)
        return [[self.number(u), self.number(v), self._values(edge)[0]] for u, v, edge in ends]

    def _values(self, edge: int) -> list[float | None]:
        if not self._has_hops:
            return [None, None, None]
        model = self.model
        return [float(model.edge_hop_[edge]), float(model.edge_variance_[edge]), float(model.edge_probability_[edge])]


def shortened(name: str) -> str:
    """Return a name that fits a page; nobody can read more than a few lines of one.

    >>> len(shortened("x" * 5000)), shortened("Ada")
    (200, 'Ada')
    """
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"


def _row(matrix: Any, row: int) -> IntArray:
    columns: IntArray = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].astype(np.int64)
    return columns
