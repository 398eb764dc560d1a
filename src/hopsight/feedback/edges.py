"""Teach a fitted detector from labels of edges: the same learner, on what is known about an edge and its two ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.detectors.base import NodeOrder
from hopsight.detectors.table import UNLABELED
from hopsight.feedback.curve import Point, learning_curve
from hopsight.feedback.features import Columns, Features, Rows
from hopsight.feedback.learner import EDGES, Learned, learn
from hopsight.feedback.reasons import LearnedReasons
from hopsight.graph import AttributedGraph
from hopsight.io.labels import Labels
from hopsight.io.rules import SECONDS_PER_DAY, UNIX
from hopsight.io.vocabulary import MONEY, normalized_name

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Matrix = NDArray[np.float32]

JUDGED_NAMES = ("anomalous edges at its ends", "normal edges at its ends", "share of anomalous edges at its ends")
FIRST_MONDAY = 4  # days after 1970-01-01, a Thursday


@dataclass(frozen=True)
class EdgeTable:
    """What a learner sees of each edge, computed for some edges at a time.

    The attributes, the number of edges and the evidence of both ends (of source and target where edges have a
    direction, else their sum and difference), the edge's own attributes, its weight (also beside what is usual for each
    end) and the time of day and week; its predicted hops, surprise, dissimilarity and score without labels; and how
    many other edges at its ends are known to be anomalous and normal.

    Attributes
    ----------
    graph
        The graph.
    local, evidence
        (n_nodes, n_columns) what is known about the ends: attributes and log degree, evidence and score.
    local_names, evidence_names
        What these columns are called.
    own
        (n_edges,) columns of evidence about each edge, by name.
    usual
        (n_nodes,) mean of log(1 + |weight|) over the edges of each node; None without weights.
    dated
        Whether times are seconds since 1970, so that they have an hour and a day of the week.
    counts
        (n_nodes, 2) judged edges at each node, anomalous and normal.
    judged, anomalous
        Positions of the judged edges, in ascending order, and which are anomalous.
    """

    graph: AttributedGraph
    local: Matrix
    evidence: Matrix
    local_names: Sequence[str]
    evidence_names: Sequence[str]
    own: dict[str, NDArray[Any]]
    usual: FloatArray | None
    dated: bool
    counts: Matrix
    judged: IntArray
    anomalous: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        detector: Any,
        graph: AttributedGraph,
        columns: Columns,
        scores: FloatArray,
        judged: IntArray,
        anomalous: NDArray[np.bool_],
    ) -> EdgeTable:
        """Return what a detector knows about the edges of a graph, given the scores of its nodes without labels.

        Sums are taken in the order of ids, so that the order of rows changes no rounding.
        """
        by_place = np.argsort(judged)
        judged, anomalous = judged[by_place], anomalous[by_place]
        order = NodeOrder.of(graph)
        moved, places = (graph, slice(None)) if order is None else (order.graph, order.nodes)
        attributes, names = columns(moved)
        degree = np.log1p(graph.degrees)[:, None]
        kinds = sorted(detector.evidence_)  # a saved model has them in another order
        strengths = [np.nan_to_num(detector.evidence_[kind]) for kind in kinds]
        usual = None
        if moved.edge_weight is not None:
            size = np.log1p(np.abs(moved.edge_weight))
            total = sum(np.bincount(end, weights=size, minlength=graph.n_nodes) for end in moved.edges)
            usual = (total / np.maximum(moved.degrees, 1))[places]
        counts = np.zeros((graph.n_nodes, 2), dtype=np.float32)
        for end in graph.edges[:, judged]:
            np.add.at(counts, (end, np.where(anomalous, 0, 1)), 1.0)
        time = graph.edge_data.filled().time
        return cls(
            graph,
            np.concatenate([np.asarray(attributes, np.float32)[places], degree], axis=1, dtype=np.float32),
            np.stack([*strengths, scores], axis=1).astype(np.float32),
            [*names, "number of neighbors"],
            [*kinds, "score of the node"],
            {
                "hops": detector.edge_hop_,
                "surprise": detector.edge_surprise_,
                "dissimilarity": detector.edge_dissimilarity_,
                UNLABELED: EDGES.scores_before(detector),
            },
            usual,
            time is not None and bool(((time >= UNIX[0]) & (time <= UNIX[1])).all()),
            counts,
            judged,
            anomalous,
        )

    @property
    def score(self) -> NDArray[Any]:
        """The score of every edge without labels."""
        return self.own[UNLABELED]

    def rows(self, edges: IntArray) -> Features:
        """Return the features of some edges."""
        source, target = self.graph.edges[:, edges]
        own = self._of_edges(edges)
        local = [*own, *self._ends(self.local, self.local_names, source, target)]
        evidence = [(values[edges][:, None], [name]) for name, values in self.own.items()]
        evidence += self._ends(self.evidence, self.evidence_names, source, target)
        evidence.append((self._judged_at_ends(edges), list(JUDGED_NAMES)))
        blocks = [*local, *evidence]
        names = tuple(name for _, some in blocks for name in some)
        values = np.nan_to_num(np.concatenate([block for block, _ in blocks], axis=1, dtype=np.float32))
        n_own, n_local = (sum(len(some) for _, some in each) for each in (own, local))
        return Features(values, names, np.arange(len(names)) < n_local, n_own)

    def _ends(
        self, values: Matrix, names: Sequence[str], source: IntArray, target: IntArray
    ) -> list[tuple[NDArray[Any], list[str]]]:
        """Return what is known about both ends."""
        first, second = values[source], values[target]
        if self.graph.directed:
            return [(first, [f"source's {name}" for name in names]), (second, [f"target's {name}" for name in names])]
        return [
            (first + second, [f"both ends' {name}" for name in names]),
            (np.abs(first - second), [f"difference in {name}" for name in names]),
        ]

    def _of_edges(self, edges: IntArray) -> list[tuple[NDArray[Any], list[str]]]:
        """Return attributes, weight and time of some edges."""
        data, blocks = self.graph.edge_data.filled().rows(edges), list[tuple[NDArray[Any], list[str]]]()
        if data.attributes is not None:
            blocks.append((data.attributes, list(self.graph.edge_attribute_names)))
        if data.weight is not None and self.usual is not None:
            size = np.log1p(np.abs(data.weight))
            beside = size - self.usual[self.graph.edges[:, edges]]
            low, high = beside if self.graph.directed else np.sort(beside, axis=0)
            words = ("source", "target") if self.graph.directed else ("end with more", "end with less")
            names = ["weight", *(f"weight for its {word}" for word in words)]
            blocks.append((np.column_stack([data.weight, low, high]), names))
        if data.time is not None:
            seconds = data.time if self.dated else np.zeros(edges.size)
            days = np.floor(seconds / SECONDS_PER_DAY)
            clock = np.column_stack([seconds - days * SECONDS_PER_DAY, (days - FIRST_MONDAY) % 7])
            blocks.append((clock / [3600.0, 1.0], ["hour of the day", "day of the week"]))
        return blocks

    def _judged_at_ends(self, edges: IntArray) -> Matrix:
        """Return how many other edges at the ends are known to be anomalous and normal, and the share of the former."""
        counts = self.counts[self.graph.edges[:, edges]].sum(axis=0)
        place = np.minimum(np.searchsorted(self.judged, edges), max(0, self.judged.size - 1))
        known = self.judged[place] == edges if self.judged.size else np.zeros(edges.size, dtype=np.bool_)
        own = np.where(self.anomalous[place[known]], 0, 1)
        counts[np.flatnonzero(known), own] -= 2.0  # the edge itself, at both ends
        share = (counts[:, 0] + 0.1) / (counts.sum(axis=1) + 1.0)
        return np.column_stack([counts, share]).astype(np.float32)


def own_columns(graph: AttributedGraph, edges: IntArray) -> tuple[NDArray[Any], list[str]]:
    """Return the attributes of some edges and what they are called; amounts and times of events come with them."""
    attributes = graph.edge_data.filled().rows(edges).attributes
    names = [] if attributes is None else [*graph.edge_attribute_names]
    kept = [at for at, name in enumerate(names) if normalized_name(name) not in MONEY]
    return np.zeros((edges.size, 0)) if attributes is None else attributes[:, kept], [names[at] for at in kept]


def learn_edges(
    detector: Any, known: Labels, graph: AttributedGraph, columns: Columns, scores: FloatArray, seed: int
) -> None:
    """Set what a detector learns from labels of edges, of which there are both kinds; its nodes stay as they are."""
    table = EdgeTable.of(detector, graph, columns, scores, known.positions, known.anomalous)
    hashes = _hashes(graph)
    detector.edge_learned_ = learn(table.rows, table.score, known.positions, known.anomalous, hashes, seed)
    apply(detector, table)


def apply(detector: Any, table: EdgeTable, *, keep: bool = False) -> None:
    """Set the ranking of edges by what a detector has learned; ``keep`` its thresholds to judge another graph."""
    learned: Learned = detector.edge_learned_
    EDGES.apply(detector, table.score, learned.log_odds_of_all(table.rows, table.score), keep=keep)


def apply_to_other(detector: Any, graph: AttributedGraph, columns: Columns, scores: FloatArray) -> None:
    """Set what was learned for the edges of a graph to judge, none of which is known if it is not that of the fit."""
    learned: Learned = detector.edge_learned_.known_in(_hashes(graph))
    detector.edge_learned_ = None  # its scores are those without labels
    table = EdgeTable.of(detector, graph, columns, scores, *learned.labels)
    detector.edge_learned_ = learned
    apply(detector, table, keep=True)


def reasons_of(detector: Any, graph: AttributedGraph, columns: Columns, scores: FloatArray) -> LearnedReasons:
    """Return the reasons of what a detector has learned from edges."""
    learned: Learned = detector.edge_learned_
    table = EdgeTable.of(detector, graph, columns, scores, *learned.labels)
    return LearnedReasons(learned, table.rows, table.score)


def curve_of(detector: Any, graph: AttributedGraph, columns: Columns, scores: FloatArray, seed: int) -> list[Point]:
    """Return the learning curve of what a detector has learned from edges."""
    table = EdgeTable.of(detector, graph, columns, scores, *detector.edge_learned_.labels)

    def rows_of(judged: IntArray, anomalous: NDArray[np.bool_]) -> Rows:
        return EdgeTable.of(detector, graph, columns, scores, judged, anomalous).rows

    return learning_curve(detector.edge_learned_, rows_of, table.score, _hashes(graph), seed)


def _hashes(graph: AttributedGraph) -> NDArray[np.uint64]:
    """Return a random word per edge that depends on the ids of its ends alone, and on its direction if it has one."""
    source, target = graph.node_hashes[graph.edges]
    return (source * np.uint64(0x9E3779B97F4A7C15) if graph.directed else source) + target
