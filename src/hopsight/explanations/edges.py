"""The edges of a graph with a detector's predictions for them, looked up by node."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.system.arrays import find_edges
from hopsight.system.lazy_polars import pl

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MANY = 1 << 20  # edges that polars sorts faster


class JudgedEdges:
    """Finds the edges of a node and orders edges from the most to the least out of place.

    That is by the score of the edge where the detector has one, else by how far apart its ends look. Where the
    detector predicts no hops, a node's edges are ordered by the score of the neighbor.

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
        self._incoming = graph.adjacency.T.tocsr() if graph.directed else None

    def at(self, position: int) -> tuple[IntArray, IntArray]:
        """Return the edges at a node and their other ends, the most out of place (else highest score) first."""
        others = _row(self.graph.adjacency, position)
        edges = self.positions(np.full(others.size, position), others)
        if self.graph.directed:
            sources = _row(self._incoming, position)
            edges = np.concatenate([edges, self.positions(sources, np.full(sources.size, position))])
            others = np.concatenate([others, sources])
        ascending = np.argsort(edges)
        edges, others = edges[ascending], others[ascending]
        if self.has_hops:
            order = edge_order(self.model, edges)
        else:
            order = np.argsort(-self.model.decision_score_[others], kind="stable")
        return edges[order], others[order]

    def between(self, start: int, end: int) -> int | None:
        """Return the edge from one node to another; if a directed graph has none, the edge in the other direction."""
        for source, target in ((start, end), (end, start)):
            edge = int(self.positions(np.array([source]), np.array([target]))[0])
            if edge < self.graph.n_edges and sorted(self.graph.edges[:, edge].tolist()) == sorted((start, end)):
                return edge
        return None

    def positions(self, source: IntArray, target: IntArray) -> IntArray:
        """Return the positions of edges among the edges of the graph, given their ends."""
        if not self.graph.directed:
            source, target = np.minimum(source, target), np.maximum(source, target)
        return find_edges(self.graph.edges, self.graph.edge_starts, source, target)

    def values(self, edge: int) -> tuple[float | None, float | None, float | None]:
        """Return predicted hops, their variance and the probability of 1 hop; None without predictions."""
        if not self.has_hops:
            return None, None, None
        model = self.model
        return float(model.edge_hop_[edge]), float(model.edge_variance_[edge]), float(model.edge_probability_[edge])

    def columns(self, edges: IntArray) -> list[list[Any]]:
        """Return the :meth:`values` of some edges as columns."""
        if not self.has_hops:
            return [[None] * edges.size] * 3
        model = self.model
        return [values[edges].tolist() for values in (model.edge_hop_, model.edge_variance_, model.edge_probability_)]

    def optional(self, name: str, edge: int) -> float | None:
        """Return a value that only some detectors keep for every edge, such as its surprise."""
        values = getattr(self.model, f"edge_{name}_", None)
        return None if values is None else float(values[edge])

    def first(self, most: int) -> IntArray:
        """Return the positions of the edges that are most out of place; none without predictions."""
        return first_edges(self.model, most) if self.has_hops else np.empty(0, dtype=np.int64)

    @cached_property
    def ranks(self) -> IntArray:
        """The rank of every edge, from 1."""
        order = edge_order(self.model)
        ranks = np.empty_like(order)
        ranks[order] = np.arange(1, ranks.size + 1)
        return ranks

    def unlikeness(self, edges: IntArray) -> list[float | None]:
        """Return, for some edges, the percentage of edges whose ends are more alike; None if the detector is silent."""
        if self._alike is None:
            return [None] * edges.size
        found: list[float | None] = self._alike.lower(self.model.edge_dissimilarity_[edges]).tolist()
        return found

    def reasons(self, edges: IntArray) -> pl.Series:
        """Return what is known of some edges, in one clause each; only where the detector predicts hops."""
        return edge_reasons(self.model, edges, self._alike)

    @cached_property
    def _alike(self) -> Alike | None:
        return Alike.of(self.model)


class Alike:
    """How unlike the ends of all edges are, in order, to say how many edges have ends that are more alike.

    >>> alike = Alike(np.array([3.0, 1.0, 3.0, 2.0]))
    >>> [shares.tolist() for shares in alike.shares(np.array([3.0, 1.0, 2.0]))]
    [[50.0, 0.0, 25.0], [0.0, 75.0, 50.0]]
    """

    def __init__(self, values: FloatArray) -> None:
        self._ascending = np.sort(values)

    @classmethod
    def of(cls, model: Any) -> Alike | None:
        """Return those of a model that compares the ends of edges."""
        return cls(model.edge_dissimilarity_) if hasattr(model, "edge_dissimilarity_") else None

    def shares(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the percentages of lower and of higher values, for each of some values."""
        n, order = max(1, self._ascending.size), np.argsort(values)  # neighbors in order are neighbors in memory
        lower, higher = np.empty((2, values.size))
        lower[order] = self.lower(values[order])
        higher[order] = 100 * (n - np.searchsorted(self._ascending, values[order], "right")) / n
        return lower, higher

    def lower(self, values: FloatArray) -> FloatArray:
        """Return the percentages of lower values alone, of a few values in any order."""
        return np.asarray(100 * np.searchsorted(self._ascending, values, "left") / max(1, self._ascending.size))


def edge_order(model: Any, edges: IntArray | None = None) -> IntArray:
    """Return edge positions from the most to the least out of place: by score, then hops, then P(1 hop).

    With ``edges``, the result orders these positions.

    >>> from types import SimpleNamespace
    >>> hops, probabilities = np.array([1.0, 3.0, 3.0]), np.array([0.9, 0.2, 0.1])
    >>> edge_order(SimpleNamespace(edge_hop_=hops, edge_probability_=probabilities)).tolist()
    [2, 1, 0]
    """
    chosen: Any = slice(None) if edges is None else edges
    if not hasattr(model, "edge_score_"):
        return np.lexsort([model.edge_probability_[chosen], -model.edge_hop_[chosen]])
    first = -model.edge_score_[chosen]
    order = np.argsort(first) if first.size < MANY else pl.Series(first).arg_sort().to_numpy().astype(np.int64)
    same = first[order[1:]] == first[order[:-1]]  # few: sorting by one key takes a quarter of the time
    tied = np.concatenate([[False], same]) | np.concatenate([same, [False]])
    places = np.sort(order[tied[: order.size]])
    where = places if edges is None else edges[places]
    keys = [model.edge_probability_[where], -model.edge_hop_[where], first[places]]
    order[tied[: order.size]] = places[np.lexsort(keys)]
    return order


def first_edges(model: Any, most: int) -> IntArray:
    """Return the first positions of :func:`edge_order` without sorting all edges.

    >>> from types import SimpleNamespace
    >>> hops, probabilities = np.array([1.0, 3.0, 3.0]), np.array([0.9, 0.2, 0.1])
    >>> first_edges(SimpleNamespace(edge_hop_=hops, edge_probability_=probabilities), 1).tolist()
    [2]
    """
    first: FloatArray = -model.edge_score_ if hasattr(model, "edge_score_") else -model.edge_hop_
    if not 0 < most < first.size:
        return edge_order(model)[:most]
    best = np.flatnonzero(first <= np.partition(first, most - 1)[most - 1])
    return np.asarray(best[edge_order(model, best)][:most])


def edge_reasons(model: Any, edges: IntArray, alike: Alike | None) -> pl.Series:
    r"""Return one clause for each of some edges: how far apart its ends look and how unlike their attributes are.

    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(edge_hop_=np.array([3.42, 1.0]), edge_dissimilarity_=np.array([0.9, 0.1]))
    >>> print(*edge_reasons(model, np.arange(2), Alike.of(model)), sep="\n")
    looks 3.4 hops apart; attributes farther apart than for 50% of edges
    looks 1.0 hops apart; attributes closer than for 50% of edges
    """
    table = {"hop": model.edge_hop_[edges].astype(np.float64)}
    reason = pl.format("looks {} hops apart", pl.col("hop").round(1).cast(pl.String))
    if alike is not None:
        table["lower"], table["higher"] = alike.shares(model.edge_dissimilarity_[edges])
        clause = pl.when(pl.col("lower") >= pl.col("higher")).then(
            pl.format("; attributes farther apart than for {} of edges", _percent(pl.col("lower")))
        )
        reason += clause.otherwise(pl.format("; attributes closer than for {} of edges", _percent(pl.col("higher"))))
    return pl.DataFrame(table).select(reason.alias("reason"))["reason"]


def _percent(value: pl.Expr) -> pl.Expr:
    """Format percentages as :func:`hopsight.explanations.text.percent` does, for many edges at once."""
    fine = ((value * 10).floor() / 10).round(1)
    rounded = pl.when(value < 99).then(value.floor()).otherwise(fine).cast(pl.String)
    return rounded.str.strip_suffix(".0") + "%"


def _row(matrix: Any, row: int) -> IntArray:
    columns: IntArray = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].astype(np.int64)
    return columns
