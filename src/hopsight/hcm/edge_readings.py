"""Readings of the edges: how far apart, how surprising and how unlike their two ends are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.detectors.tails import Null, fit_null
from hopsight.hcm.laws import quantile_levels, ranks
from hopsight.hcm.scores import effective_count, neighbor_means, neighbor_sum, triangle_sums
from hopsight.system.quantiles import sorted_quantiles
from hopsight.system.threads import by_parts

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class EdgeReadings:
    """What is known of each edge: expected hop count, −log p(one hop), and relative dissimilarity of its ends."""

    hop: FloatArray
    surprise: FloatArray
    dissimilarity: FloatArray

    def rows(self, chosen: NDArray[np.int64] | slice) -> EdgeReadings:
        """Return the readings of some edges, in the given order and in double precision."""
        columns = (self.hop, self.surprise, self.dissimilarity)
        return EdgeReadings(*(np.asarray(values[chosen], dtype=np.float64) for values in columns))


@dataclass(frozen=True)
class EdgeLaws:
    """What is usual among edges.

    Attributes
    ----------
    levels
        (2, n_levels) quantiles of surprise and of dissimilarity.
    robust
        (2, 2) median and width of surprise and dissimilarity.
    null
        The empirical null of the edge score.
    """

    levels: FloatArray
    robust: FloatArray
    null: FloatArray

    @classmethod
    def fit(cls, edges: EdgeReadings) -> EdgeLaws:
        """Fit all laws to some edges."""
        pair = [np.sort(values) for values in (edges.surprise, edges.dissimilarity)]
        levels = np.stack([quantile_levels(values) for values in pair])
        laws = cls(levels, np.array([_middle_and_width(values) for values in pair]), np.zeros(5))
        laws.null[:] = fit_null(laws._unusual(edges)).numbers()
        return laws

    def strangeness(self, edges: EdgeReadings) -> FloatArray:
        """Return how strange each edge is, from 0 to 1: the squared rank of its surprise.

        Ranks, because a probability that is honest about knowing little is nearly the same for every edge.
        """
        return ranks(edges.surprise, self.levels[0]) ** 2

    def alikeness(self, edges: EdgeReadings) -> FloatArray:
        """Return (1 − rank of dissimilarity)⁴: the fourth power leaves near-copies and little else."""
        return (1.0 - ranks(edges.dissimilarity, self.levels[1])) ** 4

    def triangles(self, ends: NDArray[np.int64], edges: EdgeReadings, n_nodes: int) -> FloatArray:
        """Return (2, n_nodes) sums over triangles of strangers and of lookalikes; ``ends`` is (2, n_edges)."""
        return triangle_sums(ends, [self.strangeness(edges), self.alikeness(edges)], n_nodes)

    def node_means(
        self, ends: NDArray[np.int64], edges: EdgeReadings, n_nodes: int, weight: FloatArray | None = None
    ) -> FloatArray:
        """Return (3, n_nodes) means of hop count, surprise and dissimilarity over each node's edges.

        An edge counts by its absolute weight; the edges of a node without any weight count alike.
        """
        readings = (edges.hop, edges.surprise, edges.dissimilarity)
        plain = neighbor_means(ends, readings, n_nodes)
        if weight is None:
            return plain
        size = np.abs(weight)
        total = neighbor_sum(ends, size, n_nodes)
        sums = np.stack([neighbor_sum(ends, size * values, n_nodes) for values in readings])
        return np.divide(sums, total, out=plain, where=total > 0.0)

    def at_nodes(
        self, ends: NDArray[np.int64], edges: EdgeReadings, n_nodes: int, weight: FloatArray | None
    ) -> dict[str, Any]:
        """Return those of the readings of nodes that come from their edges, by name."""
        strangers, lookalikes = self.triangles(ends, edges, n_nodes)
        return {
            "edge_means": self.node_means(ends, edges, n_nodes, weight),
            "strangers": strangers,
            "lookalikes": lookalikes,
            "effective": None if weight is None else effective_count(ends, weight, n_nodes),
        }

    def scores(self, edges: EdgeReadings) -> FloatArray:
        """Return the score of each edge: −log₁₀ of the upper tail of surprise and dissimilarity together."""
        null = Null(*self.null)

        def score(part: slice) -> FloatArray:  # in double precision, so that few are equal
            return null.surprise(self._unusual(edges.rows(part))) / np.log(10.0)

        return np.asarray(by_parts(score, edges.hop.size))

    def _unusual(self, edges: EdgeReadings) -> FloatArray:
        """Return the mean of both readings, each centered on its median and divided by its width."""
        (m0, w0), (m1, w1) = self.robust
        return np.asarray(((edges.surprise - m0) / w0 + (edges.dissimilarity - m1) / w1) / 2.0)


def _middle_and_width(ordered: FloatArray) -> tuple[float, float]:
    if not ordered.size:
        return 0.0, 1.0
    middle, high = sorted_quantiles(ordered, [0.5, 0.8])
    return float(middle), float(high - middle if high > middle else ordered.std() or 1.0)
