"""Finds the reasons behind one node, one edge or one group in a fitted detector and its graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import check_count, printable
from hopsight.detectors.storage import is_without_graph, with_edges
from hopsight.detectors.table import FLOW_KINDS, decided_by, evidence_of, shown_order, weights_of
from hopsight.explanations.attributes import AttributeComparison, Places
from hopsight.explanations.edges import JudgedEdges
from hopsight.explanations.events import NOTICEABLE, Calendar, FlowReason, flow_reason
from hopsight.explanations.groups import GroupExplanation, Groups
from hopsight.explanations.reasons import (
    MEANINGS,
    MOST_NAMES,
    Companions,
    EdgeExplanation,
    Evidence,
    Explanation,
    Neighbor,
    NodeValue,
    WithoutEdges,
    edge_values,
)
from hopsight.explanations.relations import relation_reasons, shared_by_all
from hopsight.explanations.text import flagged_from
from hopsight.graph import AttributedGraph
from hopsight.io.typed import ONE_TYPE, are_apart, own_degrees
from hopsight.metrics import ranks

if TYPE_CHECKING:
    from hopsight.feedback.reasons import Influence, LearnedReasons

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

AT_ONCE = 1000  # nodes whose transformed attributes are in memory together
MOST_COMPARED = 50_000  # names that a misspelled one is compared with
NO_EDGES = "the node has no edges, so its neighborhood says nothing about it."
APART = "what it shares with others, too many share to connect it, so its neighborhood says nothing about it."
NOT_JUDGED = "the detector did not judge this node; its score is the median of the others."
NO_ROW = "it has no row in the node table, so there are no attributes to compare."
NO_ROWS = "no neighbor has a row in the node table, so there are no attributes to compare."


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
        if hasattr(model, "models_"):
            raise ValueError(f"nodes are explained among their own type: {ONE_TYPE}")
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
        self.attributes = AttributeComparison(fitted_on)
        self.groups = Groups(model, fitted_on, self.ranks)
        self._kinds, self._decided_by = evidence_of(model), decided_by(model)
        self._places: dict[str, Places] = {}

    def node(self, node: Hashable, *, top: int = 10, absent: int = 3) -> Explanation:
        """Explain one node; see :func:`explain`."""
        return next(self.many([self._position(node)], top=top, absent=absent))

    @cached_property
    def flagged_from(self) -> float | None:
        """The probability from which nodes are flagged; None where labels do not make the ranking."""
        return flagged_from(self.model)

    @property
    def levels(self) -> FloatArray:
        """What people read for each node: its score, or its probability where labels make the ranking."""
        return self.scores if self.flagged_from is None else np.asarray(self.model.probability_, dtype=np.float64)

    @cached_property
    def flagged(self) -> IntArray:
        """Positions of all flagged nodes that the run is asked to rank, most anomalous first."""
        order = shown_order(self.model, self.graph)
        return order[self.scores[order] > self.model.threshold_]

    @cached_property
    def learned(self) -> LearnedReasons | None:
        """What the detector has learned from labels of nodes; None if that is nothing."""
        has_learned = getattr(self.model, "learned_", None) is not None
        return cast("LearnedReasons", self.model.learned_reasons(self.graph)) if has_learned else None

    @cached_property
    def learned_edges(self) -> LearnedReasons | None:
        """What the detector has learned from labels of edges; None if that is nothing."""
        has_learned = getattr(self.model, "edge_learned_", None) is not None
        return cast("LearnedReasons", self.model.learned_edge_reasons(self.graph)) if has_learned else None

    def many(
        self, positions: Sequence[int], *, top: int = 10, absent: int = 3, influences: bool = True
    ) -> Iterator[Explanation]:
        """Explain nodes by their positions, computing together what costs less for many at once.

        Without ``influences``, which take about 20 ms for each node, nothing says what raised or lowered probabilities.
        """
        check_count("top", top)
        check_count("absent", absent, low=0)
        for start in range(0, len(positions), AT_ONCE):
            block = np.array(positions[start : start + AT_ONCE], dtype=np.int64)
            for position, evidence in zip(block.tolist(), self._evidence(block, top), strict=True):
                moved = () if self.learned is None or not influences else self.learned.influences(position)
                yield self._node(position, evidence, top=top, absent=absent, influences=moved)

    def _node(
        self, position: int, evidence: dict[str, Any], *, top: int, absent: int, influences: tuple[Influence, ...]
    ) -> Explanation:
        graph = self.graph
        edges, others = self.edges.at(position)
        judged = bool(self.model.judged_[position]) if hasattr(self.model, "judged_") else True
        notes = [] if judged else [NOT_JUDGED]
        if not edges.size:
            notes.insert(0, APART if are_apart(graph)[position] else NO_EDGES)
        compared = self.edges.compared(edges)
        is_ranked = graph.ranked is None or bool(graph.ranked[position])
        if is_ranked and edges.size and not compared.any():
            notes.append(NO_ROWS if graph.known is None or graph.known[position] else NO_ROW)
        like_it = np.unique(others[compared])
        k = min(absent, edges.size - 1) if is_ranked else 0  # a node without any edge could not be scored
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
            n_ranked=None if graph.ranked is None else int(graph.ranked.sum()),
            ignored=graph.unranked is not None and bool(graph.unranked[position]),
            flagged=bool(score > self.model.threshold_),
            judged=judged,
            degree=int(graph.degrees[position]),
            degree_percentile=self._percentile("degree", graph.degrees, position),
            neighbors=tuple(self._neighbors(edges, others)),
            attributes=self.attributes.gaps(position, like_it, top),
            n_compared=None if compared.all() else int(like_it.size),
            values=tuple(self._values(position)),
            without=without,
            notes=tuple(notes),
            group=self.groups.first(position),
            top=top,
            stability=float(self.model.stability_[position]) if hasattr(self.model, "stability_") else None,
            probability=None if self.learned is None else float(self.model.probability_[position]),
            influences=influences,
            labeled=label_of(self.model, "learned_", position),
            flagged_from=self.flagged_from,
            **evidence,
        )

    def edge(self, source: Hashable, target: Hashable, *, top: int = 10) -> EdgeExplanation:
        """Explain one edge; see :func:`explain`."""
        check_count("top", top)
        graph = self.graph
        start, end = self._position(source), self._position(target)
        edge = self.edges.between(start, end)
        if edge is None:
            raise ValueError(f"there is no edge between {source!r} and {target!r}")
        only = np.array([edge])
        hop, variance, probability, unlikeness = (column[0] for column in self.edges.values(only))
        near, far, learned = self.edges.at(start), self.edges.at(end), self.learned_edges
        levels = self.levels
        return EdgeExplanation(
            source=_item(graph.node_ids[start]),
            target=_item(graph.node_ids[end]),
            detector=type(self.model).__name__,
            rank=int(self.edges.ranks[edge]) if self.edges.has_hops else None,
            n_edges=graph.n_edges,
            hop=hop,
            variance=variance,
            probability=probability,
            source_score=float(self.scores[start]),
            target_score=float(self.scores[end]),
            common_neighbors=int(np.intersect1d(near[1], far[1]).size),
            attributes=self.attributes.gaps(start, np.array([end])[self.edges.compared(only)], top),
            unlikeness=unlikeness,
            score=self.edges.score(edge),
            flagged=bool(self.model.edge_label_[edge]) if hasattr(self.model, "edge_label_") else None,
            reason=self.edges.reasons(only)[0] if self.edges.has_hops else None,
            data=edge_values(graph, edge, self.calendar),
            merged=self.edges.merged(edge),
            anomaly_probability=None if learned is None else float(self.model.edge_anomaly_probability_[edge]),
            influences=() if learned is None else learned.influences(edge),
            labeled=label_of(self.model, "edge_learned_", edge),
            end_probabilities=None if self.flagged_from is None else (float(levels[start]), float(levels[end])),
        )

    def group(self, group: int) -> GroupExplanation:
        """Explain one group by its number in ``groups.csv``."""
        return self.groups.explain(group)

    def _position(self, node: Hashable) -> int:
        """Return the position of a node; a refusal suggests ids that are spelled alike."""
        try:
            return self.graph.index_of(node)
        except ValueError:
            near = near_names(str(node), [str(name) for name in self.graph.node_ids.tolist()])
            raise ValueError(no_node(node, near)) from None

    def _neighbors(self, edges: IntArray, others: IntArray) -> Iterator[Neighbor]:
        known = (self.graph.node_ids, self.scores, self.ranks, self.graph.degrees)
        columns = (*(values[others].tolist() for values in known), *self.edges.values(edges))
        for node, score, rank, degree, hop, variance, probability, unlikeness in zip(*columns, strict=True):
            yield Neighbor(node, score, rank, degree, hop, variance, probability, unlikeness)

    def _values(self, position: int) -> Iterator[NodeValue]:
        for name, meaning in getattr(type(self.model), "node_values", {}).items():
            column = getattr(self.model, f"{name}_", None)
            if isinstance(column, np.ndarray) and column.shape == self.scores.shape:
                yield NodeValue(name, float(column[position]), self._percentile(name, column, position), meaning)

    def _percentile(self, name: str, values: NDArray[Any], position: int) -> float:
        """Return the percentage of nodes with a lower value."""
        if name not in self._places:
            self._places[name] = Places(values)
        return float(self._places[name].percent_below(values[[position]])[0])

    def _evidence(self, positions: IntArray, top: int) -> Iterator[dict[str, Any]]:
        """Yield the fields of an :class:`Explanation` that concern evidence; none where the detector has none."""
        if not self._kinds:
            yield from ({} for _ in positions)
            return
        expected = self._expected_degrees(positions)
        unusual = self.attributes.unusual(positions, top)
        known = np.ones(positions.size, np.bool_) if self.graph.known is None else self.graph.known[positions]
        for position, has_row, degree, own_values in zip(positions.tolist(), known, expected, unusual, strict=True):
            decided = None if self._decided_by is None else str(self._decided_by[position])
            yield {
                "evidence": self._strengths(position),
                "decided_by": decided,
                "own_values": own_values if has_row else (),  # others have values that were filled in
                "expected_degree": degree if has_row else None,
                "own_degree": int(self._own_degrees[position]),
                "companions": self._companions(decided, position) if decided in ("ring", "lockstep") else None,
                "flow": tuple(self._flow(position)),
            }

    def _strengths(self, position: int) -> tuple[Evidence, ...]:
        return tuple(
            Evidence(kind, float(values[position]), kind in self.model.evidence, self._weights[kind], MEANINGS[kind])
            for kind, values in self._kinds.items()
        )

    def _flow(self, position: int) -> Iterator[FlowReason]:
        """Yield what the events of a node say, for the kinds of evidence that are worth a word."""
        from hopsight.flow.facts import facts

        for reason in relation_reasons(self.graph, position):
            if reason.kind in self._kinds and self._kinds[reason.kind][position] >= NOTICEABLE:
                yield reason
        usual = getattr(self.model, "flow_baseline_", None)
        for kind in FLOW_KINDS:
            if kind in self._kinds and self._kinds[kind][position] >= NOTICEABLE:
                found = facts(self.graph, kind, position, usual)
                if found is not None:
                    yield flow_reason(kind, found, self.graph.node_ids, self.calendar)

    @cached_property
    def _weights(self) -> dict[str, float]:
        return weights_of(self.model)

    @cached_property
    def _own_degrees(self) -> IntArray:
        return own_degrees(self.graph)

    @cached_property
    def calendar(self) -> Calendar:
        """How the times of events are written."""
        return Calendar.of(self.graph)

    def _expected_degrees(self, positions: IntArray) -> list[float] | list[None]:
        """Return how many edges nodes with similar attributes have, by the regression of the fit."""
        baseline = getattr(self.model, "attribute_baseline_", None)
        if baseline is None or getattr(self.model, "transform_", None) is None:
            return [None] * positions.size
        from hopsight.hcm.splits import node_folds
        from hopsight.hcm.views import inputs_of

        attributes = inputs_of(self.graph, self.model.transform_, self.model.magnitude_, positions)
        found: list[float] = baseline.expected(attributes, node_folds(self.graph.node_hashes[positions])).tolist()
        return found

    def _companions(self, kind: str, position: int) -> Companions | None:
        """Return the group of the node, or else the nodes of its strongest triangles."""
        listed = self.groups.of(kind, position)
        if listed is not None:
            number, group = listed
            others = group.members[group.members != position]
            shared = shared_by_all(self.graph, group.members)
            return Companions(kind, self._names(others), number, group.density, shared)
        if getattr(self.model, "edge_baseline_", None) is None or not hasattr(self.model, "edge_dissimilarity_"):
            return None  # the fit did not keep what is usual for edges
        partners = self._triangle_partners(position, kind)
        return Companions(kind, self._names(partners), shared=shared_by_all(self.graph, np.append(partners, position)))

    def _sides(self, kind: str, chosen: IntArray) -> FloatArray:
        """Return how strange, or how alike, the ends of some edges are."""
        from hopsight.hcm.evidence import EdgeFeatures

        model = self.model
        edges = EdgeFeatures(model.edge_hop_, model.edge_surprise_, model.edge_dissimilarity_).rows(chosen)
        baseline = model.edge_baseline_
        found: FloatArray = baseline.strangeness(edges) if kind == "ring" else baseline.alikeness(edges)
        return found

    def _triangle_partners(self, position: int, kind: str) -> IntArray:
        """Return the neighbors with the largest sums over the triangles that they close with the node."""
        mine, others = self.edges.at(position)
        ascending = np.argsort(mine)  # of two edges with one node, the later counts
        to_me = dict(zip(others[ascending].tolist(), self._sides(kind, mine[ascending]).tolist(), strict=True))
        between, source, target = self.edges.among(np.unique(others))
        total = dict.fromkeys(sorted(to_me), 0.0)
        for u, v, side in zip(source.tolist(), target.tolist(), self._sides(kind, between).tolist(), strict=True):
            product = to_me[u] * to_me[v] * side
            total[u] += product
            total[v] += product
        closing = sorted((node for node in total if total[node] > 0), key=lambda node: (-total[node], node))
        return np.array(closing[:MOST_NAMES], dtype=np.int64)

    def _names(self, positions: IntArray) -> tuple[Hashable, ...]:
        return tuple(self.graph.node_ids[positions].tolist())

    def _without(self, position: int, edges: IntArray, others: IntArray, notes: list[str]) -> WithoutEdges | None:
        rescore = getattr(self.model, "score_without", None)
        if rescore is None:
            notes.append(f"{type(self.model).__name__} cannot score the node again without some of its edges.")
            return None
        score = float(rescore(self.graph, position, edges))
        if score >= self.scores[position]:
            return None  # these edges speak for the node
        neighbors = tuple(_item(self.graph.node_ids[other]) for other in others)
        return WithoutEdges(neighbors, score, 1 + int(np.sum(np.delete(self.scores, position) > score)))


def label_of(model: Any, name: str, position: int) -> str | None:
    """Return the label of a node (``learned_``) or an edge (``edge_learned_``), None if a detector learned without."""
    learned = getattr(model, name, None)
    if learned is None:
        return None
    positions, anomalous = learned.labels
    found = anomalous[positions == position]
    return None if not found.size else "anomalous" if found[0] else "normal"


def no_node(text: object, near: list[str]) -> str:
    """Say that there is no such node, and which ones may be meant.

    >>> no_node("ACC1", ["ACC10", "ACC12"])
    "there is no node 'ACC1' in this graph; did you mean ACC10 or ACC12?"
    """
    hint = f"; did you mean {' or '.join(printable(name) for name in near)}?" if near else ""
    return f"there is no node {text!r} in this graph{hint}"


def near_names(text: str, names: list[str]) -> list[str]:
    """Return up to three names that are spelled like a text, whatever their case."""
    by_fold = {name.casefold(): name for name in names}
    folded = text.casefold()
    choices: list[str] = [name for name in by_fold if abs(len(name) - len(folded)) <= 2 or folded in name]
    if len(choices) > MOST_COMPARED:  # comparing takes a second for this many; most slips are not in the first letter
        choices = [name for name in choices if name[:1] == folded[:1]][:MOST_COMPARED]
    begin = [name for name in choices if folded and name.startswith(folded)]  # an id that is not complete yet
    inside = [name for name in choices if folded and folded in name]
    near = begin[:2] + [name for name in get_close_matches(folded, choices) if name not in begin[:2]]
    return [by_fold[name] for name in (near or inside)[:3]]


def _item(value: Any) -> Hashable:
    item: Hashable = value.item() if isinstance(value, np.generic) else value
    return item
