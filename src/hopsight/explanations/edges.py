"""The edges of a graph with a detector's predictions for them, looked up by node."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.explanations.attributes import Places
from hopsight.explanations.events import EdgeEvents, in_all
from hopsight.graph import AttributedGraph
from hopsight.metrics import ranking
from hopsight.system.arrays import find_edges
from hopsight.system.lazy_polars import pl

IntArray = NDArray[np.int64]

NOTHING_COMPARED = "an end has no attributes to compare"


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
            order = edge_order(self.model, self.graph, edges)
        else:
            order = ranking(self.model.decision_score_[others], self.graph.id_places[others])
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

    def among(self, nodes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the edges that connect some nodes (in ascending order), with their sources and targets."""
        rows = [_row(self.graph.adjacency, node) for node in nodes.tolist()]
        source = np.repeat(nodes, [row.size for row in rows])
        target = np.concatenate([*rows, nodes[:0]])
        inside = nodes[np.searchsorted(nodes[:-1], target)] == target if nodes.size else target == source
        inside &= self.graph.directed | (source < target)
        source, target = source[inside], target[inside]
        return self.positions(source, target), source, target

    def values(self, edges: IntArray) -> list[list[Any]]:
        """Return predicted hops, their variance, the probability of 1 hop and the unlikeness of some edges, as columns.

        The unlikeness of an edge is the percentage of edges whose ends are more alike. What the detector does not know
        is None, as are all four where an end has no row in the node table.
        """
        found: list[Any] = [np.full(edges.size, None)] * 4
        if self.has_hops:
            columns = self.model.edge_hop_, self.model.edge_variance_, self.model.edge_probability_
            found[:3] = [column[edges] for column in columns]
        if self.places is not None:
            found[3] = self.places.percent_below(self.model.edge_dissimilarity_[edges])
        return [[*np.where(self.compared(edges), column.astype(object), np.array(None))] for column in found]

    def compared(self, edges: IntArray) -> NDArray[np.bool_]:
        """Return which edges have two ends with a row in the node table, whose attributes can be compared."""
        known = self.graph.known_edges
        found: NDArray[np.bool_] = np.ones(edges.size, dtype=np.bool_) if known is None else known[edges]
        return found

    def merged(self, edge: int) -> str | None:
        """Say what the events of an edge are in all; None if it is made of fewer than two."""
        events, (start, end) = self.graph.events, self.graph.edges[:, edge]
        if events is None:
            return None
        mine = (events.source == start) & (events.target == end)
        if not self.graph.directed:
            mine |= (events.source == end) & (events.target == start)
        return in_all(self.graph, np.flatnonzero(mine)) if mine.sum() > 1 else None

    def score(self, edge: int) -> float | None:
        """Return the score of an edge; None if the detector has none."""
        return float(self.model.edge_score_[edge]) if hasattr(self.model, "edge_score_") else None

    def reasons(self, edges: IntArray) -> pl.Series:
        """Return one clause for each of some edges, as in ``edges.csv``."""
        return edge_reasons(self.model, edges, self.places, self.events, self.graph.known_edges)

    @cached_property
    def order(self) -> IntArray:
        """The positions of all edges, the most out of place first; none without predictions.

        Where events have times, edges without any come last, because ``edges.csv`` has one row per event.
        """
        order = edge_order(self.model, self.graph) if self.has_hops else np.empty(0, dtype=np.int64)
        if self.events is None or self.events.flow.events.time is None:
            return order
        return order[np.argsort(~np.isin(order, self.events.places), kind="stable")]

    @cached_property
    def ranks(self) -> IntArray:
        """The rank of every edge, from 1."""
        ranks = np.empty_like(self.order)
        ranks[self.order] = np.arange(1, ranks.size + 1)
        return ranks

    @cached_property
    def places(self) -> Places | None:
        """How unlike the ends of all edges are; None if the detector does not compare them."""
        return unlikeness_places(self.model)

    @cached_property
    def events(self) -> EdgeEvents | None:
        """What the amounts and times of edges say; None without any."""
        return edge_events(self.graph, self.model)


def unlikeness_places(model: Any) -> Places | None:
    """Return the dissimilarities of all edges in order; None for a model that does not compare the ends of edges."""
    return Places(model.edge_dissimilarity_) if hasattr(model, "edge_dissimilarity_") else None


def edge_events(graph: AttributedGraph, model: Any) -> EdgeEvents | None:
    """Return what amounts and times say about edges; None for a model that has not judged any."""
    usual = getattr(model, "flow_baseline_", None)
    if usual is None:
        return None
    from hopsight.flow.evidence import flow_of

    flow = flow_of(graph, usual)
    return None if flow is None else EdgeEvents(graph, model, flow)


def edge_order(model: Any, graph: AttributedGraph, edges: IntArray | None = None) -> IntArray:
    """Return edge positions from the most to the least out of place: by score, then hops, P(1 hop), and ids.

    With ``edges``, the result orders these positions.

    >>> from types import SimpleNamespace
    >>> hops, probabilities = np.array([1.0, 3.0, 3.0]), np.array([0.9, 0.2, 0.1])
    >>> path = AttributedGraph.from_edges([0, 1, 2], [1, 2, 3], np.zeros((4, 1)))
    >>> edge_order(SimpleNamespace(edge_hop_=hops, edge_probability_=probabilities), path).tolist()
    [2, 1, 0]
    """
    chosen: Any = slice(None) if edges is None else edges
    source, target = graph.id_places[graph.directions[:, chosen]]
    keys = [target, source, model.edge_probability_[chosen], -model.edge_hop_[chosen]]
    if hasattr(model, "edge_score_"):
        keys.append(-model.edge_score_[chosen])
    return np.lexsort(keys)


def edge_reasons(
    model: Any,
    edges: IntArray,
    places: Places | None,
    events: EdgeEvents | None = None,
    known: Any = None,
    rows: IntArray | None = None,
) -> pl.Series:
    r"""Return one clause for each of some edges: how far apart its ends look and how unlike their attributes are.

    ``places`` are the :func:`unlikeness_places` of the model. Where ``events`` say something about an edge, that comes
    first; with ``rows``, what one event of each edge says. Of edges that are not ``known``, because an end has no row
    in the node table, nothing else is said.

    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(edge_hop_=np.array([3.42, 1.0]), edge_dissimilarity_=np.array([0.9, 0.1]))
    >>> print(*edge_reasons(model, np.arange(2), unlikeness_places(model)), sep="\n")
    looks 3.4 hops apart; attributes farther apart than for 50% of edges
    looks 1.0 hops apart; attributes closer than for 50% of edges
    """
    table = {"hop": model.edge_hop_[edges].astype(np.float64)}
    reason = pl.format("looks {} hops apart", pl.col("hop").round(1).cast(pl.String))
    if places is not None:
        values = model.edge_dissimilarity_[edges]
        order = np.argsort(values)  # neighbors in order are neighbors in memory
        table["lower"], table["higher"] = np.empty((2, edges.size))
        table["lower"][order] = places.percent_below(values[order])
        table["higher"][order] = places.percent_above(values[order])
        clause = pl.when(pl.col("lower") >= pl.col("higher")).then(
            pl.format("; attributes farther apart than for {} of edges", _percent(pl.col("lower")))
        )
        reason += clause.otherwise(pl.format("; attributes closer than for {} of edges", _percent(pl.col("higher"))))
    found = pl.DataFrame(table).select(reason.alias("reason"))["reason"]
    if events is None and known is None:
        return found
    chosen = edges[:0] if events is None else events.strongest[edges] if rows is None else rows
    about = [""] * edges.size if events is None else [events.about(row) for row in chosen.tolist()]
    alike = found if known is None else np.where(known[edges], found, "").tolist()
    said = ["; ".join(filter(None, both)) or NOTHING_COMPARED for both in zip(about, alike, strict=True)]
    return pl.Series("reason", said, dtype=pl.String)


def _percent(value: pl.Expr) -> pl.Expr:
    """Format percentages as :func:`hopsight.explanations.text.percent` does, for many edges at once."""
    fine = ((value * 10).floor() / 10).round(1)
    rounded = pl.when(value < 99).then(value.floor()).otherwise(fine).cast(pl.String)
    return rounded.str.strip_suffix(".0") + "%"


def _row(matrix: Any, row: int) -> IntArray:
    columns: IntArray = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].astype(np.int64)
    return columns
