"""Five kinds of evidence that a node is anomalous, each one number per node, and how they combine into a score.

Every kind is a function of what is known of each node (:class:`NodeReadings`) and of laws fitted to the bulk of the
nodes (:class:`NodeLaws`). The laws are part of a saved model, so that a new graph, or a node without some of its
edges, is judged by the same yardstick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.detectors.tails import Null, Tail, fit_null, fit_tail
from hopsight.hcm.laws import N_LEVELS, degree_line, fit_mean_law, mean_z, quantile_levels, ranks
from hopsight.io.notices import notice
from hopsight.system.threads import few_threads

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

KINDS = ("misfit", "ring", "outlier", "activity", "lockstep")
DEFAULT_EVIDENCE = ("misfit", "ring", "outlier", "activity")
NEEDS_TRIANGLES = ("ring", "lockstep")  # a graph without triangles lacks these, as one between users and items does
NO_TRIANGLES = (
    "No edges close a triangle, as in every graph between two kinds of nodes: there is no ring and no lockstep "
    "evidence, and neither counts in the score."
)
RANK_SHARE = 0.25  # of the strength of evidence; the rest is its fitted tail
MISFIT_SHARES = np.array([0.25, 0.25, 0.5])  # of hop count, surprise and dissimilarity
WEIGHTS = {"misfit": 1.0, "ring": 1.0, "outlier": 0.6, "activity": 0.7, "lockstep": 1.0}


@dataclass(frozen=True)
class NodeReadings:
    """What is known of each node, before it is compared with others.

    Attributes
    ----------
    degrees
        Number of edges.
    edge_means
        (3, n_nodes) means over a node's edges of hop count, surprise and relative dissimilarity; NaN without edges.
    strangers, lookalikes
        Sums over a node's triangles of the product of their sides' strangeness, and of their sides' alikeness.
    deviation
        How far the node's attributes lie from the mean, see :meth:`hopsight.hcm.laws.AttributeLaws.deviation`.
    residual
        log(1 + degree) minus its prediction from the attributes.
    effective
        How many edges of equal weight the edge means are worth (:func:`hopsight.hcm.scores.effective_count`); None
        without weights, where it is the degree.
    """

    degrees: IntArray
    edge_means: FloatArray
    strangers: FloatArray
    lookalikes: FloatArray
    deviation: FloatArray
    residual: FloatArray
    effective: FloatArray | None = None

    @property
    def n_averaged(self) -> NDArray[Any]:
        """How many edges the standard errors of the edge means go by."""
        return self.degrees if self.effective is None else self.effective

    def have_triangles(self, notices: list[str] | None) -> bool:
        """Return whether any edges close a triangle; give notice if none do."""
        found = bool(self.strangers.any() or self.lookalikes.any())
        if not found and self.degrees.any():
            notice(NO_TRIANGLES, notices)
        return found

    def rows(self, chosen: IntArray) -> NodeReadings:
        """Return the readings of some nodes, in the given order."""
        parts: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        rows: dict[str, Any] = {name: None if part is None else part[..., chosen] for name, part in parts.items()}
        return NodeReadings(**rows)


@dataclass(frozen=True)
class NodeLaws:
    """What is usual among nodes.

    Attributes
    ----------
    means
        (3, 3) center, between and within of each edge mean, see :func:`hopsight.hcm.laws.fit_mean_law`.
    lines
        (2, 2) intercept and slope in log degree of triangles of strangers and of lookalikes.
    tails, nulls
        (5, 5) the cautious tail and the empirical null of each kind, in the order of :data:`KINDS`.
    levels, counts
        (5, n_levels) quantiles of each kind that ranks are read from, and (5,) the number of nodes behind them, 0 for a
        kind that the graph cannot show.
    """

    means: FloatArray
    lines: FloatArray
    tails: FloatArray
    nulls: FloatArray
    levels: FloatArray
    counts: FloatArray

    @classmethod
    def fit(cls, nodes: NodeReadings, *, triangles: bool = True) -> NodeLaws:
        """Fit all laws to some nodes; in a graph without ``triangles`` nothing is known of ring and lockstep."""
        with few_threads(1):  # several would add up in another order
            return cls._fit(nodes, triangles=triangles)

    @classmethod
    def _fit(cls, nodes: NodeReadings, *, triangles: bool) -> NodeLaws:
        sums_over_triangles = (nodes.strangers, nodes.lookalikes)
        laws = cls(
            np.array([fit_mean_law(values, nodes.n_averaged) for values in nodes.edge_means]),
            np.array([degree_line(_root(sums, nodes.degrees), nodes.degrees) for sums in sums_over_triangles]),
            np.zeros((len(KINDS), len(fields(Tail)))),
            np.zeros((len(KINDS), len(fields(Tail)))),
            np.zeros((len(KINDS), N_LEVELS)),
            np.ones(len(KINDS)),
        )
        for kind, values in enumerate(raw_evidence(nodes, laws).values()):
            known = values[~np.isnan(values)]
            laws.tails[kind], laws.nulls[kind] = fit_tail(known).numbers(), fit_null(known).numbers()
            laws.levels[kind], laws.counts[kind] = quantile_levels(known), max(1, known.size)
        if not triangles:
            laws.counts[[KINDS.index(kind) for kind in NEEDS_TRIANGLES]] = 0.0
        return laws

    def knows(self, kind: str) -> bool:
        """Return whether there is evidence of this kind in the graph that the laws were fitted to."""
        return bool(self.counts[KINDS.index(kind)] > 0)


def misfit(nodes: NodeReadings, laws: NodeLaws) -> FloatArray:
    """Return how far away each node's neighbors look, in standard errors; NaN for a node without edges.

    For each of three readings of the edges (hop count, surprise, relative dissimilarity) the mean over a node's edges
    becomes z = (mean − median) / √(A / (1 + degree / 3) + B / degree), where A is how much nodes differ and B how much
    the edges of one node do. Misfit is ¼ z(hop) + ¼ z(surprise) + ½ z(dissimilarity): what was learned counts as much
    as what was not, because the neighborhood that a stranger is connected to vouches for it in ÂX, but not in its own
    attributes. Evidence adds up over edges: a hub is judged as sharply as its many edges allow. If edges have weights,
    the means are weighted, and the degree is the effective number of edges, (Σ|w|)² / Σw².
    """
    z = [mean_z(values, nodes.n_averaged, law) for values, law in zip(nodes.edge_means, laws.means, strict=True)]
    return np.asarray(MISFIT_SHARES @ np.stack(z))


def ring(nodes: NodeReadings, laws: NodeLaws) -> FloatArray:
    """Return how much each node's edges close triangles of strangers, for its degree; NaN for a node without edges.

    With T the sum over a node's triangles of the product of their sides' strangeness: √(2T / degree), minus a robust
    line in log degree.
    """
    return _beyond_line(nodes.strangers, nodes.degrees, laws.lines[0])


def outlier(nodes: NodeReadings, laws: NodeLaws) -> FloatArray:
    """Return how unusual each node's own attributes are: ‖x − mean‖ / √columns of the transformed attributes.

    The transformation standardizes and clips ordinary columns, so that no value counts for more than 5 standard
    deviations, and leaves a bag of words in its own unit, where standardizing would inflate the rarest words.
    """
    return nodes.deviation


def activity(nodes: NodeReadings, laws: NodeLaws) -> FloatArray:
    """Return how unusual each node's number of edges is for such a node: |log(1 + degree) − prediction|.

    The prediction is a ridge regression on the transformed attributes, fitted without the node's own fold.
    """
    return np.abs(nodes.residual)


def lockstep(nodes: NodeReadings, laws: NodeLaws) -> FloatArray:
    """Return how densely each node is tied to nodes just like it, for its degree; NaN for a node without edges.

    As :func:`ring`, with the sides' alikeness in place of their strangeness.
    """
    return _beyond_line(nodes.lookalikes, nodes.degrees, laws.lines[1])


def raw_evidence(nodes: NodeReadings, laws: NodeLaws) -> dict[str, FloatArray]:
    """Return every kind of evidence in its own unit, NaN where there is none.

    Between two kinds of nodes, such as users and items, no edges close a triangle: such a graph has neither ring nor
    lockstep evidence.
    """
    found = {kind.__name__: kind(nodes, laws) for kind in (misfit, ring, outlier, activity, lockstep)}
    return {kind: values if laws.knows(kind) else np.full_like(values, np.nan) for kind, values in found.items()}


def weigh(nodes: NodeReadings, laws: NodeLaws) -> dict[str, FloatArray]:
    """Return every kind of evidence as w · (−¾ log₁₀ p − ¼ log₁₀ r), with p the cautious tail and r the rank.

    The fitted tail p keeps the magnitude; r, the share of nodes with stronger evidence of that kind, cannot be misled
    by a tail that does not fit. 3 means about one ordinary node in a thousand. What a node lacks (NaN) counts as 0.
    """
    raw = raw_evidence(nodes, laws)
    tails = _weighted(raw, [Tail(*numbers) for numbers in laws.tails])
    for number, (kind, values) in enumerate(raw.items()):
        count = max(laws.counts[number], 1.0)
        stronger = (0.5 + (count - 1.0) * (1.0 - ranks(values, laws.levels[number]))) / count
        by_rank = np.where(np.isnan(values), 0.0, -np.log10(stronger))
        tails[kind] = (1.0 - RANK_SHARE) * tails[kind] + RANK_SHARE * WEIGHTS[kind] * by_rank
    return tails


def combine(evidence: Mapping[str, FloatArray], chosen: Sequence[str]) -> tuple[FloatArray, IntArray]:
    """Return the score of each node, √(Σ strength²) over the chosen kinds, and the position of the strongest kind.

    The strongest kind decides nearly alone where it stands out; kinds that agree add up, and one that sees nothing
    changes nothing.
    """
    weighted = np.stack([evidence[kind] for kind in chosen])
    return np.sqrt((weighted**2).sum(axis=0)), weighted.argmax(axis=0)


def p_values(nodes: NodeReadings, laws: NodeLaws, chosen: Sequence[str]) -> FloatArray:
    """Return the chance that an ordinary node has some chosen evidence as strong as each node's strongest.

    With s the largest w_k · (−log₁₀ p_k) under the empirical nulls, of the kinds that a node has: p = 1 − Π_k (1 −
    10^(−s / w_k)).
    """
    return all_p_values(nodes, laws, [chosen])[0]


def all_p_values(nodes: NodeReadings, laws: NodeLaws, choices: Sequence[Sequence[str]]) -> list[FloatArray]:
    """Return :func:`p_values` for several choices of kinds."""
    raw = raw_evidence(nodes, laws)
    evidence = _weighted(raw, [Null(*numbers) for numbers in laws.nulls])
    return [_p_values(raw, evidence, chosen) for chosen in choices]


def _p_values(raw: Mapping[str, FloatArray], evidence: Mapping[str, FloatArray], chosen: Sequence[str]) -> FloatArray:
    strength = np.max([evidence[kind] for kind in chosen], axis=0)
    remaining = np.zeros(strength.size)
    for kind in chosen:
        digits = np.clip(strength / WEIGHTS[kind], 1e-12, 300.0)  # of the chance, which is never quite 0 or 1
        remaining += np.where(np.isnan(raw[kind]), 0.0, np.log1p(-(10.0**-digits)))
    lacking = np.all([np.isnan(raw[kind]) for kind in chosen], axis=0)
    return np.where(lacking, 1.0, -np.expm1(remaining))


def _weighted(raw: Mapping[str, FloatArray], tails: Sequence[Tail]) -> dict[str, FloatArray]:
    return {
        kind: WEIGHTS[kind] * np.nan_to_num(tail.surprise(raw[kind]), nan=0.0) / np.log(10.0)
        for kind, tail in zip(KINDS, tails, strict=True)
    }


def _root(sums: FloatArray, degrees: IntArray) -> FloatArray:
    return np.asarray(np.sqrt(2.0 * sums / np.maximum(degrees, 1)))


def _beyond_line(sums: FloatArray, degrees: IntArray, line: FloatArray) -> FloatArray:
    usual = line[0] + line[1] * np.log(np.maximum(degrees, 1))
    return np.where(degrees > 0, _root(sums, degrees) - usual, np.nan)
