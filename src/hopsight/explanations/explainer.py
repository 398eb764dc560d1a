"""Finds the reasons behind one node or one edge in a fitted detector and its graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import check_count
from hopsight.detectors.storage import is_without_graph, with_edges
from hopsight.explanations.attributes import AttributeComparison
from hopsight.explanations.columns import Places
from hopsight.explanations.edge_explanation import EdgeExplanation, edge_values
from hopsight.explanations.edges import JudgedEdges
from hopsight.explanations.groups import GroupExplanation, Groups
from hopsight.explanations.near import near_names, no_node
from hopsight.explanations.node_evidence import NodeEvidence
from hopsight.explanations.reasons import (
    AttributeGap,
    Explanation,
    Neighbor,
    NodeValue,
    WithoutEdges,
)
from hopsight.graph import AttributedGraph
from hopsight.metrics import ranks

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

AT_ONCE = 1000  # nodes whose transformed attributes are in memory together
NO_EDGES = "the node has no edges, so its neighborhood says nothing about it."
NOT_JUDGED = "the detector did not judge this node; its score is the median of the others."


@overload
def explain(
    model: Any, node: Hashable, *, graph: AttributedGraph | None = None, top: int = 10, absent: int = 3
) -> Explanation: ...


@overload
def explain(
    model: Any, node: Hashable, target: Hashable, *, graph: AttributedGraph | None = None, top: int = 10
) -> EdgeExplanation: ...


def explain(
    model: Any,
    node: Hashable,
    target: Hashable = None,
    *,
    graph: AttributedGraph | None = None,
    top: int = 10,
    absent: int = 3,
) -> Explanation | EdgeExplanation:
    """Explain the score of a node, or an edge: ``explain(model, node)`` or ``explain(model, source, target)``.

    Parameters
    ----------
    model
        A fitted detector.
    node
        The id of the node, or of the source of the edge.
    target
        The id of the target of the edge.
    graph
        The graph the detector was fitted on; needed for a detector loaded from disk, which does not keep it.
    top
        How many attributes to compare (and how many neighbors to print).
    absent
        The node is scored again as if this many of its farthest edges were absent; 0 skips that.

    Raises
    ------
    ValueError
        If the detector is not fitted, the graph is not the one it was fitted on, or there is no such node or edge.
    """
    explainer = Explainer(model, graph)
    return explainer.node(node, top=top, absent=absent) if target is None else explainer.edge(node, target, top=top)


class Explainer:
    """Explains many nodes and edges of one fitted detector, computing once what they share.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> star = AttributedGraph.from_edges([0, 0, 0], [1, 2, 3], np.array([[9.0], [1.0], [2.0], [3.0]]))
    >>> fitted = SimpleNamespace(decision_score_=np.array([2.0, 1.0, 1.0, 1.0]), threshold_=1.5)
    >>> reasons = Explainer(fitted, star).node(0)
    >>> reasons.rank, reasons.degree, reasons.attributes[0].name, reasons.attributes[0].value
    (1, 3, 'x0', 9.0)
    """

    def __init__(self, model: Any, graph: AttributedGraph | None = None) -> None:
        name = type(model).__name__
        if not hasattr(model, "decision_score_"):
            raise ValueError(f"{name} is not fitted yet: call fit first")
        if is_without_graph(model):
            raise ValueError(f"this {name} does not hold its own graph: judge(graph) returns one to explain")
        fitted_on = graph if graph is not None else getattr(model, "graph_", None)
        if fitted_on is None:
            raise ValueError(
                f"this {name} was loaded from disk without its graph: pass graph=, the one it was fitted on"
            )
        n_scores = len(model.decision_score_)
        if fitted_on.n_nodes != n_scores:
            raise ValueError(
                f"graph must have the {n_scores:,} nodes {name} was fitted on, it has {fitted_on.n_nodes:,}"
            )
        if hasattr(model, "edge_hop_"):
            model = with_edges(model, fitted_on.edges)
        self.model = model
        self.graph: AttributedGraph = fitted_on
        self.scores: FloatArray = np.asarray(model.decision_score_, dtype=np.float64)
        self.ranks: IntArray = ranks(self.scores)
        self.edges = JudgedEdges(fitted_on, model)
        self._attributes = AttributeComparison(fitted_on)
        self._groups = Groups(model, fitted_on, self.ranks)
        self._evidence = NodeEvidence(model, fitted_on, self._groups, self._attributes.columns, self.edges)
        self._places: dict[str, Places] = {}

    def many(self, positions: Sequence[int], *, top: int = 10, absent: int = 3) -> Iterator[Explanation]:
        """Explain nodes by their positions, computing together what costs less for many at once."""
        for start in range(0, len(positions), AT_ONCE):
            block = positions[start : start + AT_ONCE]
            self._evidence.expect(np.array(block, dtype=np.int64))
            yield from (self.node(self.graph.node_ids[position], top=top, absent=absent) for position in block)

    def node(self, node: Hashable, *, top: int = 10, absent: int = 3) -> Explanation:
        """Explain one node; see :func:`explain`."""
        check_count("top", top)
        check_count("absent", absent, low=0)
        graph, position = self.graph, self._position(node)
        edges, others = self.edges.at(position)
        judged = bool(self.model.judged_[position]) if hasattr(self.model, "judged_") else True
        notes = ([] if edges.size else [NO_EDGES]) + ([] if judged else [NOT_JUDGED])
        k = min(absent, edges.size - 1)  # a node without any edge could not be scored
        without = self._without(position, edges[:k], others[:k], notes) if k > 0 else None
        score = float(self.scores[position])
        return Explanation(
            node=_item(graph.node_ids[position]),
            detector=type(self.model).__name__,
            method=getattr(type(self.model), "meaning", None),
            score=score,
            threshold=float(self.model.threshold_),
            rank=int(self.ranks[position]),
            n_nodes=graph.n_nodes,
            flagged=bool(score > self.model.threshold_),
            judged=judged,
            degree=int(graph.degrees[position]),
            degree_percentile=self._percentile("degree", graph.degrees, position),
            neighbors=tuple(self._neighbors(edges, others)),
            attributes=self._attributes.gaps(position, np.unique(others), top),
            values=tuple(self._values(position)),
            without=without,
            notes=tuple(notes),
            top=top,
            stability=float(self.model.stability_[position]) if hasattr(self.model, "stability_") else None,
            **self._evidence.about(position, top),
        )

    def edge(self, source: Hashable, target: Hashable, *, top: int = 10) -> EdgeExplanation:
        """Explain one edge; see :func:`explain`."""
        check_count("top", top)
        graph = self.graph
        start, end = self._position(source), self._position(target)
        edge = self.edges.between(start, end)
        if edge is None:
            raise ValueError(f"there is no edge between {source!r} and {target!r}")
        hop, variance, probability = self.edges.values(edge)
        near, far = self.edges.at(start), self.edges.at(end)
        return EdgeExplanation(
            source=_item(graph.node_ids[start]),
            target=_item(graph.node_ids[end]),
            detector=type(self.model).__name__,
            rank=None if hop is None else int(self.edges.ranks[edge]),
            n_edges=graph.n_edges,
            hop=hop,
            variance=variance,
            probability=probability,
            source_share=None if hop is None else float(hop / self.model.edge_hop_[near[0]].sum()),
            target_share=None if hop is None else float(hop / self.model.edge_hop_[far[0]].sum()),
            source_score=float(self.scores[start]),
            target_score=float(self.scores[end]),
            common_neighbors=int(np.intersect1d(near[1], far[1]).size),
            attributes=self.gaps(start, end, top),
            unlikeness=self.edges.unlikeness(np.array([edge]))[0],
            flagged=bool(self.model.edge_label_[edge]) if hasattr(self.model, "edge_label_") else None,
            reason=None if hop is None else self.edges.reasons(np.array([edge]))[0],
            data=edge_values(graph, edge),
            **{name: self.edges.optional(name, edge) for name in ("surprise", "dissimilarity", "score")},
        )

    def group(self, group: int) -> GroupExplanation:
        """Explain one group by its number in ``groups.csv``."""
        return self._groups.explain(group)

    def gaps(self, start: int, end: int, top: int) -> tuple[AttributeGap, ...]:
        """Return the attributes in which two nodes differ most, given their positions."""
        return self._attributes.gaps(start, np.array([end]), top)

    def _position(self, node: Hashable) -> int:
        """Return the position of a node; a refusal suggests ids that are spelled alike."""
        try:
            return self.graph.index_of(node)
        except ValueError:
            near = near_names(str(node), [str(name) for name in self.graph.node_ids.tolist()])
            raise ValueError(no_node(node, near)) from None

    def _neighbors(self, edges: IntArray, others: IntArray) -> Iterator[Neighbor]:
        known = (self.graph.node_ids, self.scores, self.ranks, self.graph.degrees)
        unlike = self.edges.unlikeness(edges)
        columns = (*(values[others].tolist() for values in known), *self.edges.columns(edges), unlike)
        for node, score, rank, degree, hop, variance, probability, unlikeness in zip(*columns, strict=True):
            contribution = None if hop is None else hop / edges.size
            yield Neighbor(node, score, rank, degree, hop, variance, probability, contribution, unlikeness)

    def _values(self, position: int) -> Iterator[NodeValue]:
        for name, meaning in getattr(type(self.model), "node_values", {}).items():
            column = getattr(self.model, f"{name}_", None)
            if isinstance(column, np.ndarray) and column.shape == self.scores.shape:
                yield NodeValue(name, float(column[position]), self._percentile(name, column, position), meaning)

    def _percentile(self, name: str, values: NDArray[Any], position: int) -> float:
        """Return the percentage of nodes with a lower value."""
        if name not in self._places:
            self._places[name] = Places(values)
        return 100 * self._places[name].lower(values[position])

    def _without(self, position: int, edges: IntArray, others: IntArray, notes: list[str]) -> WithoutEdges | None:
        rescore = getattr(self.model, "score_without", None)
        if rescore is None:
            notes.append(f"{type(self.model).__name__} cannot score the node again without some of its edges.")
            return None
        score = float(rescore(self.graph, position, edges))
        neighbors = tuple(_item(self.graph.node_ids[other]) for other in others)
        return WithoutEdges(neighbors, score, 1 + int(np.sum(np.delete(self.scores, position) > score)))


def _item(value: Any) -> Hashable:
    item: Hashable = value.item() if isinstance(value, np.generic) else value
    return item
