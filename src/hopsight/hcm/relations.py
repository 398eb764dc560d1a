"""What relations say in a graph with several: how much the edges of each count, and two kinds of evidence.

The evidence comes from a node's relations to other types, such as cards and devices, one number per node. It is
compared with the bulk of the nodes as the other kinds are (:mod:`hopsight.hcm.evidence`). What is usual
(:class:`RelationBaseline`) and the weights (:class:`RelationWeights`) are part of a saved model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.canonical import Context
from hopsight.detectors.tails import Tail, fit_tail
from hopsight.graph import AttributedGraph
from hopsight.system.arrays import id_hashes

FloatArray = NDArray[np.float64]

LEAST_WEIGHT = 1.0 / 16.0  # of a relation whose edges serve as examples of neighbors, and their share of all edges
BY_CHANCE = 1.0 / math.sqrt(12.0)  # standard deviation of the relative dissimilarity of random pairs


KINDS = ("relations", "sharing")


@dataclass(frozen=True)
class RelationWeights:
    """How much the edges of each relation count where a node is compared with its neighbors.

    Whom a node fits shows only in relations whose ends are more alike, or less, than random pairs. With u the mean of
    the relative dissimilarity of the ends, which is one half for random pairs, a relation has the skill s = |1 − 2 u|,
    less two standard errors and at least 0, and its edges the weight (s / largest s)². So a relation in which anybody
    meets anybody cannot hide a misfit in another one. Edges of several relations have the largest weight of theirs.
    The standard error is at least that of random pairs, so that a few edges say nothing. Where the relations that count
    have few of all edges, there would be nothing to learn from, and all edges count alike.

    Attributes
    ----------
    names
        (n_relations,) hashes of the names of relations.
    weights
        (n_relations,) weight of their edges, at most 1.
    """

    names: NDArray[np.uint64]
    weights: FloatArray

    @classmethod
    def fit(cls, graph: AttributedGraph, unlike: NDArray[Any]) -> RelationWeights | None:
        """Fit the weights to the relative dissimilarity of edges; None for a graph without relations that differ."""
        relations = graph.edges_by_relation
        known = graph.known_edges
        skill = np.array([_skill(unlike[mine if known is None else mine & known]) for mine in relations.values()])
        if len(relations) < 2 or not skill.any():
            return None
        found = cls(id_hashes(np.array([*relations], dtype=object)), (skill / skill.max()) ** 2)
        return found if np.mean(found.of(graph) >= LEAST_WEIGHT) >= LEAST_WEIGHT else None

    def of(self, graph: AttributedGraph) -> FloatArray:
        """Return the weight of each edge; that of a relation which the fit did not have is 0."""
        relations = graph.edges_by_relation
        known = dict(zip(self.names.tolist(), self.weights.tolist(), strict=True))
        found = np.zeros(graph.n_edges)
        hashes = id_hashes(np.array([*relations], dtype=object)).tolist()
        for name, mine in zip(hashes, relations.values(), strict=True):
            found[mine] = np.maximum(found[mine], known.get(name, 0.0))
        return found


def _skill(unlike: NDArray[Any]) -> float:
    if not unlike.size:
        return 0.0
    error = 2.0 * max(float(np.std(unlike)), BY_CHANCE) / np.sqrt(unlike.size)
    return max(0.0, abs(1.0 - 2.0 * float(np.mean(unlike))) - 2.0 * error)


@dataclass(frozen=True)
class RelationBaseline:
    """What is usual for the relations of a node.

    Attributes
    ----------
    names
        (n_columns,) hashes of what is counted and of the types that are shared, in this order.
    n_counts
        (1,) how many columns are counts.
    medians, column_tails
        (n_columns,) median, and (n_columns, 5) cautious tail of what is above it.
    tails, counts
        As those of :class:`hopsight.hcm.evidence.NodeBaseline`, for both kinds.
    """

    names: NDArray[np.uint64]
    n_counts: NDArray[np.int64]
    medians: FloatArray
    column_tails: FloatArray
    tails: FloatArray
    counts: FloatArray

    @classmethod
    def fit(cls, context: Context) -> RelationBaseline:
        """Fit what is usual to some nodes."""
        columns, n_counts = _columns(context), len(context.names)
        medians = np.median(columns, axis=0)
        medians[n_counts:] = 0.0  # most nodes share nothing
        above = np.maximum(columns - medians, 0.0)
        column_tails = np.array([fit_tail(column).numbers() for column in above.T]).reshape(-1, 5)
        tails, counts = np.zeros((len(KINDS), 5)), np.zeros(len(KINDS))
        usual = cls(_hashes(context), np.array([n_counts]), medians, column_tails, tails, counts)
        for kind, values in enumerate(usual.raw(context)):
            if not np.isnan(values).any():
                usual.tails[kind] = fit_tail(values).numbers()
                usual.counts[kind] = values.size
        return usual

    def raw(self, context: Context | None) -> FloatArray:
        """Return (2, n_nodes) evidence in its own unit, NaN where there is none: relations and sharing.

        ``relations``: more of something than other nodes of the type have, such as 14 cards where 2 are usual. With p
        the tail of max(0, log(1 + count) − median) for each count: √(Σ (log₁₀ p)²). Having few says nothing.
        ``sharing``: the same with log(1 + Σ worth) over the nodes of another type that several nodes share, for each
        type (``Context.rarity``): a device that three accounts use counts more than one that thousands use.
        """
        if context is None or not np.array_equal(_hashes(context), self.names):
            raise ValueError("the model was fitted to a graph with other relations: read this one from the same tables")
        above = np.maximum(_columns(context) - self.medians, 0.0)
        tails = [Tail(*numbers) for numbers in self.column_tails]
        digits = [_digits(tail, column) for tail, column in zip(tails, above.T, strict=True)]
        n_counts, none = int(self.n_counts[0]), np.full(len(above), np.nan)
        parts = (digits[:n_counts], digits[n_counts:])
        return np.stack([np.sqrt(np.sum(np.square(part), axis=0)) if part else none for part in parts])

    def strengths(self, raw: FloatArray) -> dict[str, FloatArray]:
        """Return both kinds as −log₁₀ of their cautious tail, beyond log₁₀ n of n nodes more slowly.

        As in :func:`hopsight.hcm.evidence.strengths`: n nodes say little about chances far below 1 / n.
        """
        found = {}
        for at, kind in enumerate(KINDS):
            if self.counts[at] > 0:
                strength = _digits(Tail(*self.tails[at]), raw[at])
                beyond = np.maximum(strength - np.log10(self.counts[at]), 0.0)
                found[kind] = strength + np.log10(1.0 + beyond) - beyond
        return found


def _digits(tail: Tail, values: FloatArray) -> FloatArray:
    """Return −log₁₀ of the tail; whatever is above the lowest value is at most as common as all that is above it."""
    least = np.where(values > tail.lowest, -np.log10(tail.share), 0.0)
    return np.asarray(np.maximum(tail.surprise(values) / np.log(10.0), least))


def _columns(context: Context) -> FloatArray:
    return np.log1p(np.hstack([context.counts, context.rarity]))


def _hashes(context: Context) -> NDArray[Any]:
    return id_hashes(np.array([*context.names, *(f"shared {kind}" for kind in context.types)], dtype=object))
