"""Asks a fitted detector and its network for the reasons behind one node or one edge."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import check_count
from hopsight.explain.attributes import attribute_gaps, edge_spread
from hopsight.explain.reasons import EdgeExplanation, Explanation, Neighbor, NodeValue, WithoutEdges
from hopsight.graph import AttributedGraph

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Values that a detector may keep for every node (as name_), and how to read them.
NODE_VALUES = {
    "ahp": "mean number of hops its neighbors look away",
    "iv": "mean variance of these hop counts over the posterior",
    "hav": "both, each divided by its maximum",
    "attribute_error": "error of the reconstruction of its attributes",
    "structure_error": "error of the reconstruction of its edges",
    "residual_norm": "length of what is left unexplained of its attributes",
}
# What the score of each method measures, so that nobody reads more into it.
METHODS = {
    "HCM": "how far away its neighbors look to a model that learned hop counts",
    "CrossHCM": "how far away its neighbors look to a model that has not seen the edges it judges, or how much they "
    "form a ring of strangers, whichever is more unusual for its number of edges",
    "LOF": "how thinly the space around its attributes is populated compared with similar nodes; edges play no part",
    "AMEN": "how badly its circle of neighbors holds together and stands apart in any set of attributes",
    "Radar": "how much of its attributes neither other nodes nor its neighbors explain",
    "ANOMALOUS": "how much of its attributes representative nodes and attributes leave unexplained",
    "DOMINANT": "how badly a graph autoencoder gives back its attributes and its edges",
    "MADAN": "how much heat stays at the node when edges between unlike nodes conduct badly",
    "ResGCN": "how large a residual its attributes need beside what a graph autoencoder explains",
}
NO_EDGES = "it has no edges, so its neighborhood says nothing about it."
NOT_JUDGED = "the detector did not judge this node; its score is the median of the others."


def explain(
    model: Any, node: Hashable, *, graph: AttributedGraph | None = None, top: int = 10, absent: int = 3
) -> Explanation:
    """Explain the score of one node.

    Parameters
    ----------
    model
        A fitted detector.
    node
        The node's id in the network.
    graph
        The network the detector was fitted on; needed for a detector read from disk, which keeps none.
    top
        How many attributes to compare (and how many neighbors to print).
    absent
        The score is computed again as if this many of the farthest edges were absent; 0 leaves that out.

    Raises
    ------
    ValueError
        If the detector is not fitted, the graph is not the one it was fitted on, or there is no such node.
    """
    return Explainer(model, graph).node(node, top=top, absent=absent)


def explain_edge(
    model: Any, source: Hashable, target: Hashable, *, graph: AttributedGraph | None = None, top: int = 10
) -> EdgeExplanation:
    """Explain one edge, given by the ids of its two ends; the other parameters are those of :func:`explain`."""
    return Explainer(model, graph).edge(source, target, top=top)


class Explainer:
    """Explains many nodes and edges of one fitted detector, doing once what they share.

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
        network = graph if graph is not None else getattr(model, "graph_", None)
        if network is None:
            raise ValueError(
                f"this {name} was read from disk and keeps no network: pass graph=, the one it was fitted on"
            )
        n_scores = len(model.decision_score_)
        if network.n_nodes != n_scores:
            raise ValueError(f"graph must have the {n_scores:,} nodes {name} was fitted on, it has {network.n_nodes:,}")
        self.has_hops = hasattr(model, "edge_hop_")
        if self.has_hops and not np.array_equal(model.edge_index_, network.edges):
            raise ValueError(f"graph must have the edges {name} was fitted on, it has others")
        self.model = model
        self.graph: AttributedGraph = network
        self.scores: FloatArray = np.asarray(model.decision_score_, dtype=np.float64)
        self.ranks: IntArray = _ranks(self.scores)
        self._spread = edge_spread(network)

    def node(self, node: Hashable, *, top: int = 10, absent: int = 3) -> Explanation:
        """Explain one node; see :func:`explain`."""
        check_count("top", top)
        check_count("absent", absent, low=0)
        graph, position = self.graph, self.graph.index_of(node)
        edges, others = self._edges_of(position)
        judged = bool(self.model.judged_[position]) if hasattr(self.model, "judged_") else True
        notes = ([] if edges.size else [NO_EDGES]) + ([] if judged else [NOT_JUDGED])
        k = min(absent, edges.size - 1)  # without any edge there would be nothing to judge
        without = self._without(position, edges[:k], others[:k], notes) if k > 0 else None
        score = float(self.scores[position])
        return Explanation(
            node=_item(graph.node_ids[position]),
            detector=type(self.model).__name__,
            method=METHODS.get(type(self.model).__name__),
            score=score,
            threshold=float(self.model.threshold_),
            rank=int(self.ranks[position]),
            n_nodes=graph.n_nodes,
            flagged=bool(score > self.model.threshold_),
            judged=judged,
            degree=int(graph.degrees[position]),
            degree_percentile=_percentile(graph.degrees, graph.degrees[position]),
            neighbors=tuple(self._neighbors(edges, others)),
            attributes=attribute_gaps(graph, position, np.unique(others), self._spread, top),
            values=tuple(self._values(position)),
            without=without,
            notes=tuple(notes),
            top=top,
        )

    def top_nodes(self, count: int, *, top: int = 10, absent: int = 3) -> list[Explanation]:
        """Explain the nodes with the highest scores, highest first."""
        check_count("count", count)
        order = np.argsort(self.ranks)[:count]
        return [self.node(_item(self.graph.node_ids[position]), top=top, absent=absent) for position in order]

    def edge(self, source: Hashable, target: Hashable, *, top: int = 10) -> EdgeExplanation:
        """Explain one edge; see :func:`explain_edge`."""
        check_count("top", top)
        graph = self.graph
        start, end = graph.index_of(source), graph.index_of(target)
        edge = self._edge_between(start, end)
        if edge is None:
            raise ValueError(f"there is no edge between {source!r} and {target!r}")
        hop, variance, probability = self._edge_values(edge)
        near, far = self._edges_of(start), self._edges_of(end)
        return EdgeExplanation(
            source=_item(graph.node_ids[start]),
            target=_item(graph.node_ids[end]),
            detector=type(self.model).__name__,
            rank=self._edge_rank(edge),
            n_edges=graph.n_edges,
            hop=hop,
            variance=variance,
            probability=probability,
            source_share=None if hop is None else float(hop / self.model.edge_hop_[near[0]].sum()),
            target_share=None if hop is None else float(hop / self.model.edge_hop_[far[0]].sum()),
            source_score=float(self.scores[start]),
            target_score=float(self.scores[end]),
            common_neighbors=int(np.intersect1d(near[1], far[1]).size),
            attributes=attribute_gaps(graph, start, np.array([end]), self._spread, top),
        )

    def _edges_of(self, position: int) -> tuple[IntArray, IntArray]:
        """Return the edges at a node and their other ends: farthest first, without hops highest score first."""
        source, target = self.graph.edges
        edges = np.flatnonzero((source == position) | (target == position))
        others = np.where(source[edges] == position, target[edges], source[edges])
        if self.has_hops:
            order = np.lexsort((self.model.edge_probability_[edges], -self.model.edge_hop_[edges]))
        else:
            order = np.argsort(-self.scores[others], kind="stable")
        return edges[order], others[order]

    def _edge_between(self, start: int, end: int) -> int | None:
        """Return the edge from one node to another; where a directed network has none, the one back."""
        source, target = self.graph.edges
        for first, second in ((start, end), (end, start)):
            found = np.flatnonzero((source == first) & (target == second))
            if found.size:
                return int(found[0])
        return None

    def _edge_values(self, edge: int) -> tuple[float | None, float | None, float | None]:
        if not self.has_hops:
            return None, None, None
        model = self.model
        return float(model.edge_hop_[edge]), float(model.edge_variance_[edge]), float(model.edge_probability_[edge])

    def _edge_rank(self, edge: int) -> int | None:
        """Return the place of an edge from the farthest-looking on; equal hops go by the probability of 1 hop."""
        if not self.has_hops:
            return None
        hop, probability = self.model.edge_hop_, self.model.edge_probability_
        tied = hop == hop[edge]
        before = (hop > hop[edge]) | (tied & (probability < probability[edge]))
        earlier = (tied & (probability == probability[edge]))[:edge]
        return 1 + int(before.sum()) + int(earlier.sum())

    def _neighbors(self, edges: IntArray, others: IntArray) -> Iterator[Neighbor]:
        for edge, other in zip(edges.tolist(), others.tolist(), strict=True):
            hop, variance, probability = self._edge_values(edge)
            yield Neighbor(
                node=_item(self.graph.node_ids[other]),
                score=float(self.scores[other]),
                rank=int(self.ranks[other]),
                degree=int(self.graph.degrees[other]),
                hop=hop,
                variance=variance,
                probability=probability,
                contribution=None if hop is None else hop / edges.size,
            )

    def _values(self, position: int) -> Iterator[NodeValue]:
        for name, meaning in NODE_VALUES.items():
            column = getattr(self.model, f"{name}_", None)
            if isinstance(column, np.ndarray) and column.shape == self.scores.shape:
                yield NodeValue(name, float(column[position]), _percentile(column, column[position]), meaning)

    def _without(self, position: int, edges: IntArray, others: IntArray, notes: list[str]) -> WithoutEdges | None:
        rescore = getattr(self.model, "score_without", None)
        if rescore is None:
            notes.append(f"{type(self.model).__name__} cannot score the node again without some of its edges.")
            return None
        score = float(rescore(self.graph, position, edges))
        neighbors = tuple(_item(self.graph.node_ids[other]) for other in others)
        return WithoutEdges(neighbors, score, 1 + int(np.sum(np.delete(self.scores, position) > score)))


def _ranks(scores: FloatArray) -> IntArray:
    """Return each node's place from the highest score on; equal scores keep the order of the network."""
    ranks = np.empty(scores.size, dtype=np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, scores.size + 1)
    return ranks


def _percentile(values: NDArray[Any], value: float) -> float:
    return 100 * float(np.mean(values < value))


def _item(value: Any) -> Hashable:
    return value.item() if isinstance(value, np.generic) else value
