"""The parts of a graph that a report shows: some nodes, and the edges around them."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.explanations.edges import JudgedEdges
from hopsight.graph import AttributedGraph
from hopsight.metrics import ranks

MAX_DRAWN = 60  # neighbors of one node; a drawing with more cannot be read
MAX_DRAWN_FOR_OTHERS = 24  # neighbors of a node that the report does not explain
MAX_EDGES = 12_000  # in the whole page, to keep the file small
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

    def __init__(self, graph: AttributedGraph, model: Any, edges: JudgedEdges | None = None) -> None:
        self.graph, self.model = graph, model
        self.nodes: list[list[Any]] = []  # id, score, rank, degree, flagged, and the name to show where nodes have one
        self.n_edges = 0
        self.edges = edges or JudgedEdges(graph, model)
        self._numbers: dict[int, int] = {}
        self._scores = np.asarray(model.decision_score_, dtype=np.float64)
        self._ranks = ranks(self._scores)

    def fresh(self) -> Neighborhoods:
        """Return an empty collection of the same graph and model, without computing again what they share."""
        other = copy.copy(self)
        other.nodes, other.n_edges, other._numbers = [], 0, {}
        return other

    @property
    def positions(self) -> list[int]:
        """The positions of the collected nodes in the graph, in the order of their numbers."""
        return list(self._numbers)

    def number(self, position: int) -> int:
        """Return the small number of a node, adding the node if it is new."""
        if position not in self._numbers:
            name, score = cut(str(self.graph.node_ids[position])), float(self._scores[position])
            rank, degree = int(self._ranks[position]), int(self.graph.degrees[position])
            self._numbers[position] = len(self.nodes)
            self.nodes.append([name, score, rank, degree, int(score > self.model.threshold_), *self._title(position)])
        return self._numbers[position]

    def _title(self, position: int) -> list[str]:
        names = self.graph.node_names
        return [] if names is None else [cut(str(names[position]))]

    def around(self, position: int, limit: int = MAX_DRAWN) -> dict[str, Any]:
        """Return the farthest edges of a node and the edges among its neighbors."""
        self.number(position)
        edges, others = (found[:limit] for found in self.edges.at(position))
        rows = [
            [self.number(other), *self.edges.values(edge)]
            for edge, other in zip(edges.tolist(), others.tolist(), strict=True)
        ]
        between = self._between(np.unique(others))
        self.n_edges += len(rows) + len(between)
        return {"total": int(self.graph.degrees[position]), "edges": rows, "between": between}

    def around_others(self, explained: Sequence[int], ends: Sequence[int]) -> dict[int, dict[str, Any]]:
        """Return smaller neighborhoods of ``ends`` and of the neighbors of explained nodes, until the page is full."""
        found: dict[int, dict[str, Any]] = {}
        skip = set(explained)
        neighbors = (other for position in explained for other in self.edges.at(position)[1][:MAX_DRAWN].tolist())
        for position in itertools.chain(ends, neighbors):
            if self.n_edges > MAX_EDGES:
                break
            if position not in skip:
                skip.add(position)
                found[self.number(position)] = self.around(position, MAX_DRAWN_FOR_OTHERS)
        return found

    def edge(self, edge: int) -> list[Any]:
        """Return both ends of an edge, its predicted hops, their variance and the probability of 1 hop."""
        source, target = self.graph.edges[:, edge].tolist()
        return [self.number(source), self.number(target), *self.edges.values(edge)]

    def _between(self, others: NDArray[np.int64]) -> list[list[Any]]:
        """Return the edges among some nodes: both ends and the predicted hops."""
        rows = self.graph.adjacency[others]
        source, target = np.repeat(others, np.diff(rows.indptr)), rows.indices.astype(np.int64)
        kept = np.isin(target, others)
        if not self.graph.directed:
            kept &= source < target
        source, target = source[kept], target[kept]
        edges = self.edges.positions(source, target)
        ends = zip(source.tolist(), target.tolist(), edges.tolist(), strict=True)
        return [[self.number(u), self.number(v), self.edges.values(edge)[0]] for u, v, edge in ends]


def cut(name: str) -> str:
    """Cut a very long name so that it fits the page.

    >>> len(cut("x" * 5000)), cut("Ada")
    (200, 'Ada')
    """
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"
