"""Five kinds of evidence that a node is anomalous, each one number per node, and how they combine into a score.

Every kind compares the features of a node (:class:`NodeFeatures`) with a baseline fitted to the bulk of the nodes
(:class:`NodeBaseline`), so that a few anomalies cannot change it. The baselines are part of a saved model: a new graph,
or a node without some of its edges, is judged by the same yardstick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from hopsight.detectors.table import FLOW_KINDS, RELATION_KINDS, WEIGHTS, weighted
from hopsight.detectors.tails import EXPONENTIAL_SHAPE, NORMAL_SHAPE, Tail, fit_tail
from hopsight.flow.evidence import Flow
from hopsight.hcm.posterior import neighbor_means, neighbor_sum
from hopsight.io.notices import notice
from hopsight.system.kernels import arcs_by_degree, each_once_in_order, triangles_from
from hopsight.system.threads import by_blocks, by_parts, few_threads, for_each, in_order

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

KINDS = ("misfit", "ring", "outlier", "activity", "lockstep")
ALL_KINDS = (*KINDS, *FLOW_KINDS)
DEFAULT_EVIDENCE = ("misfit", "ring", "outlier", "activity", *FLOW_KINDS, *RELATION_KINDS)
NEEDS_TRIANGLES = ("ring", "lockstep")  # a graph without triangles lacks these, as one between users and items does
NO_TRIANGLES = "No triangles (the graph is bipartite, for example): ring and lockstep evidence is not available."
IN_DIGITS = ("amount", "pass_through")  # kinds that estimate themselves how unlikely they are
BURST_ALONE = 0.5  # of the strength of a burst without amounts
TRIMMED = 0.02  # share of nodes with the largest deviations that a baseline is fitted without
ROUNDS = 8  # of reweighting
ROUNDING = 1e-9  # relative difference of means that is no difference
DEGREE_GROUPS = 20
MANY_EDGES = 3.0  # with this many, half of the variance between nodes has averaged out
PENALTIES = (1.0, 10.0, 100.0, 1000.0, 10000.0)
N_FOLDS = 5  # of the nodes
MOST_LOG_TIMES = 14.0  # a million times as many edges
N_LEVELS = 1025  # quantiles that ranks are read from
EDGE_SHAPE = 0.1  # expected of the tail of edge scores: one odd node lifts all of its edges
TRIANGLE_BLOCKS = 16  # of nodes with about as many edges each; a fixed number, so that sums have a fixed order


def fit_mean_baseline(means: FloatArray, degrees: NDArray[Any]) -> FloatArray:
    """Return center, A and B of Var(mean of a node's edges) = A / (1 + degree / 3) + B / degree.

    Nodes differ by A, the edges of one node by B. What makes nodes differ, such as a place between two communities,
    averages out over many neighbors: a hub whose mean is off has no such excuse. Squared deviations from the
    median are regressed on both terms with weights 1 / Var², as for a gamma distribution, over the
    nodes with edges and without the 2% of them that deviate most; A and B are not negative.
    """
    judged = degrees > 0
    if not judged.any():
        return np.array([0.0, 1.0, 0.0])
    center = float(np.median(means[judged]))
    square, share, inverse = (means[judged] - center) ** 2, _between_share(degrees[judged]), 1.0 / degrees[judged]
    between, within = float(square.mean()), 0.0
    if between <= 0.0:
        return np.array([center, 1.0, 0.0])
    for _ in range(ROUNDS):
        variance = between * share + within * inverse
        ratio = square / variance
        kept = ratio <= np.quantile(ratio, 1.0 - TRIMMED)
        weights = (share[kept] / variance[kept]) ** 2
        between, within = _nonnegative_line((inverse / share)[kept], (square / share)[kept], weights)
        if between + within <= 0.0:  # nearly all nodes are alike
            return np.array([center, float(square.mean()), 0.0])
    return np.array([center, between, within])


def mean_z(means: FloatArray, degrees: NDArray[Any], usual: FloatArray) -> FloatArray:
    """Return (mean − center) / √(A / (1 + degree / 3) + B / degree); NaN stays NaN.

    Means that differ by rounding alone are equal: where no edge has two ends to compare, all of them do.
    """
    center, between, within = usual
    variance = between * _between_share(degrees) + within / np.maximum(degrees, 1)
    gap = np.where(np.abs(means - center) <= ROUNDING * np.abs(center), 0.0, means - center)
    return np.asarray(gap / np.sqrt(np.maximum(variance, 1e-300)))


def _between_share(degrees: NDArray[Any]) -> FloatArray:
    """Return how much of the variance between nodes is left in the mean over so many edges."""
    return np.asarray(1.0 / (1.0 + np.maximum(degrees, 1) / MANY_EDGES))


def degree_line(values: FloatArray, degrees: IntArray) -> FloatArray:
    """Return intercept and slope of values against log degree, from medians that hubs do not move.

    The nodes with edges are put into twenty groups of similar degree. The slope is the median of the slopes between
    the groups' medians (Theil and Sen), the intercept the median residual.
    """
    judged = np.flatnonzero(degrees > 0)
    if judged.size < 2:
        return np.zeros(2)
    level = np.log(degrees[judged])
    order = np.lexsort([values[judged], level])
    groups = [part for part in np.array_split(order, DEGREE_GROUPS) if part.size]
    x = np.array([level[part].mean() for part in groups])
    y = np.array([np.median(values[judged][part]) for part in groups])
    first, second = np.triu_indices(x.size, 1)
    apart = x[second] - x[first] > 1e-9
    slopes = (y[second] - y[first])[apart] / (x[second] - x[first])[apart]
    slope = float(np.median(slopes)) if slopes.size else 0.0
    return np.array([np.median(y - slope * x), slope])


@dataclass(frozen=True)
class AttributeBaseline:
    """Baseline of the attributes: their mean, and the number of edges that goes with them.

    Attributes
    ----------
    center
        (n_columns,) mean of the transformed attributes.
    ridges
        (n_folds, n_columns + 1) coefficients and intercept that predict log(1 + degree) for the nodes of each fold.
    level
        Mean prediction at the fit, by the mean of what was predicted.
    spread
        Variance of log(1 + degree) around the prediction at the fit, beyond what edges at random would have.
    times
        How many times as many edges as at the fit are expected, 1 unless another graph is judged.
    """

    center: FloatArray
    ridges: FloatArray
    level: float = 1.0
    spread: float = 0.0
    times: float = 1.0

    @classmethod
    def fit(cls, attributes: FloatArray, degrees: IntArray, folds: IntArray) -> AttributeBaseline:
        """Fit both; ``folds`` come from :func:`node_folds`."""
        with few_threads(1):  # several would add up in another order
            usual = cls(attributes.mean(axis=0), fit_ridges(attributes, np.log1p(degrees), folds, N_FOLDS))
        wanted, predicted = np.log1p(degrees), usual._predicted(attributes, folds)
        level = float(predicted.mean() / wanted.mean()) if wanted.any() else 1.0
        spread = float((wanted - predicted).var() - _by_chance(predicted).mean())
        return replace(usual, level=level, spread=max(spread, 0.0))

    def at_level_of(self, attributes: FloatArray, degrees: IntArray, folds: IntArray) -> AttributeBaseline:
        """Return this baseline for another graph, where as many times as many edges are expected as its nodes have.

        A month has fewer edges than a quarter, and no node of it is unusual for that. With so many times as many, the
        mean prediction of log(1 + degree) is as large, by the mean of what it predicts, as at the fit.
        """
        predicted = self._predicted(attributes, folds)

        def beyond(log_times: float) -> float:
            return float((self.level * np.log1p(degrees) - _multiplied(predicted, np.exp(log_times))).mean())

        if not degrees.size or abs(beyond(0.0)) <= ROUNDING:
            return replace(self, times=1.0)
        low, high = -MOST_LOG_TIMES, MOST_LOG_TIMES
        found = low if beyond(low) <= 0.0 else high if beyond(high) >= 0.0 else brentq(beyond, low, high)
        return replace(self, times=float(np.exp(found)))

    def deviation(self, attributes: FloatArray) -> FloatArray:
        """Return the root mean square of x − mean over the columns, for each node."""
        return np.asarray(np.sqrt(((attributes - self.center) ** 2).mean(axis=1)))

    def residual(self, attributes: FloatArray, degrees: IntArray, folds: IntArray) -> FloatArray:
        """Return log(1 + degree) minus the prediction by the regression that left the node's fold out.

        Where other numbers of edges are expected than at the fit, it is in the deviations of the fit: few edges vary
        more by chance than many.
        """
        before = self._predicted(attributes, folds)
        now = _multiplied(before, self.times)
        scale = np.sqrt((self.spread + _by_chance(before)) / (self.spread + _by_chance(now)))
        return np.asarray((np.log1p(degrees) - now) * scale)

    def expected(self, attributes: FloatArray, folds: IntArray) -> FloatArray:
        """Return the number of edges that goes with the attributes of each node."""
        return np.expm1(_multiplied(self._predicted(attributes, folds), self.times))

    def _predicted(self, attributes: FloatArray, folds: IntArray) -> FloatArray:
        """Return the predicted log(1 + degree) at the fit; nobody has less than no edges."""
        predicted = np.empty(folds.size)
        with few_threads(1):
            for fold, ridge in enumerate(self.ridges):
                mine = folds == fold
                predicted[mine] = attributes[mine] @ ridge[:-1] + ridge[-1]
        return np.maximum(predicted, 0.0)


def _by_chance(log_count: FloatArray) -> FloatArray:
    """Return about the variance of log(1 + count) where a count is a Poisson number, given log(1 + its mean)."""
    return np.exp(-log_count)


def _multiplied(log_count: FloatArray, times: float) -> FloatArray:
    """Return log(1 + t (eˣ − 1)) for x = log(1 + count)."""
    return np.asarray(log_count + np.log1p((1.0 - times) * np.expm1(-log_count)))


def fit_ridges(columns: FloatArray, wanted: FloatArray, folds: IntArray, n_folds: int) -> FloatArray:
    """Return coefficients and intercept of a ridge regression for each fold, fitted to the other folds.

    Columns are standardized for the penalty. One penalty serves all folds, the one with the smallest cross-validated
    error. The median residual is added to the intercepts, so that half of the nodes lie above the prediction.
    """
    center = columns.mean(axis=0)
    members = [np.flatnonzero(folds == fold) for fold in range(n_folds)]
    parts = list(in_order(lambda rows: _moments(columns[rows] - center, wanted[rows]), members))
    total = [sum(each) for each in zip(*parts, strict=True)]
    spread = np.sqrt(np.diag(total[3]) / total[0])
    useful = spread > 1e-9 * max(float(spread.max(initial=0.0)), 1e-300)
    scale = np.where(useful, spread, np.inf)
    others = ([all_ - mine for all_, mine in zip(total, part, strict=True)] for part in parts)
    solved = in_order(lambda rest: _ridge(rest if rest[0] else total, scale), others)
    ridges = np.stack(list(solved), axis=1)
    predicted = np.empty((len(PENALTIES), wanted.size))

    def predict(fold: int) -> None:
        rows = members[fold]
        predicted[:, rows] = ridges[:, fold, :-1] @ (columns[rows] - center).T + ridges[:, fold, -1:]

    for_each(predict, range(n_folds))
    best = int(np.argmin(((predicted - wanted) ** 2).mean(axis=1)))
    chosen = ridges[best]
    chosen[:, -1] += np.median(wanted - predicted[best]) - chosen[:, :-1] @ center
    return chosen


def quantile_levels(values: FloatArray) -> FloatArray:
    """Return the quantiles that :func:`ranks` reads ranks from."""
    return np.quantile(values, np.linspace(0.0, 1.0, N_LEVELS)) if values.size else np.zeros(N_LEVELS)


def ranks(values: FloatArray, levels: FloatArray) -> FloatArray:
    """Return the rank of each value between 0 and 1, ties in the middle, by the quantiles of some other values.

    >>> levels = quantile_levels(np.arange(101.0))
    >>> ranks(np.array([-5.0, 50.0, 75.0, 300.0]), levels).tolist()
    [0.0, 0.5, 0.75, 1.0]
    """
    places = np.arange(levels.size)
    close = 1e-6 * (levels[-1] - levels[0])  # rounding in single precision does not break a tie

    def place(some: NDArray[Any]) -> NDArray[Any]:
        values = some.astype(np.float64, copy=False)
        low = np.searchsorted(levels, values - close, side="left")
        high = np.searchsorted(levels, values + close, side="right")
        between = np.interp(values, levels, places)
        found = np.where(high > low, (low + high - 1) / 2.0, between)  # one of the levels, perhaps several times
        return np.asarray(found / (levels.size - 1), dtype=some.dtype)

    return np.asarray(by_blocks(place, values))


def _nonnegative_line(x: FloatArray, y: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return a, b ≥ 0 that minimize Σ w (y − a − b x)²."""
    s, sx, sxx = weights.sum(), weights @ x, weights @ (x * x)
    sy, sxy = weights @ y, weights @ (x * y)
    determinant = s * sxx - sx * sx
    if determinant > 1e-12 * s * sxx:
        a, b = (sxx * sy - sx * sxy) / determinant, (s * sxy - sx * sy) / determinant
        if a >= 0.0 and b >= 0.0:
            return float(a), float(b)
        if a < 0.0:
            return 0.0, float(sxy / sxx)
    return float(sy / s), 0.0


def _moments(columns: FloatArray, wanted: FloatArray) -> tuple[Any, ...]:
    """Return n, Σ x, Σ y, Σ x xᵀ and Σ x y."""
    return len(columns), columns.sum(axis=0), wanted.sum(), columns.T @ columns, columns.T @ wanted


def _ridge(moments: Sequence[Any], scale: FloatArray) -> FloatArray:
    """Return (n_penalties, n_columns + 1) coefficients and intercepts from the moments of some nodes."""
    n, center, level = moments[0], moments[1] / moments[0], moments[2] / moments[0]
    squares = (moments[3] - n * np.outer(center, center)) / scale / scale[:, None]
    along = (moments[4] - n * center * level) / scale
    penalties = np.array(PENALTIES)[:, None, None] * np.eye(center.size)
    weights = np.linalg.solve(squares + penalties, along[:, None])[..., 0] / scale
    return np.column_stack([weights, level - weights @ center])


@dataclass(frozen=True)
class EdgeFeatures:
    """Features of each edge: expected hop count, −log p(one hop), and relative dissimilarity of its ends."""

    hop: FloatArray
    surprise: FloatArray
    dissimilarity: FloatArray

    def rows(self, chosen: NDArray[np.int64] | slice) -> EdgeFeatures:
        """Return the features of some edges, in the given order and in double precision."""
        columns = (self.hop, self.surprise, self.dissimilarity)
        return EdgeFeatures(*(np.asarray(values[chosen], dtype=np.float64) for values in columns))


@dataclass(frozen=True)
class EdgeBaseline:
    """Baseline of the edges.

    Attributes
    ----------
    levels
        (2, n_levels) quantiles of surprise and of dissimilarity.
    robust
        (2, 2) median and width of surprise and dissimilarity.
    tail
        The cautious tail of the edge score.
    """

    levels: FloatArray
    robust: FloatArray
    tail: FloatArray

    @classmethod
    def fit(cls, edges: EdgeFeatures) -> EdgeBaseline:
        """Fit the baseline to some edges."""
        pair = [np.sort(values) for values in (edges.surprise, edges.dissimilarity)]
        levels = np.stack([quantile_levels(values) for values in pair])
        usual = cls(levels, np.array([_middle_and_width(values) for values in pair]), np.zeros(5))
        usual.tail[:] = fit_tail(usual._unusual(edges)).numbers()
        return usual

    def strangeness(self, edges: EdgeFeatures) -> FloatArray:
        """Return how strange each edge is, from 0 to 1: the squared rank of its surprise.

        Ranks, because a probability that is honest about knowing little is nearly the same for every edge.
        """
        return ranks(edges.surprise, self.levels[0]) ** 2

    def alikeness(self, edges: EdgeFeatures) -> FloatArray:
        """Return (1 − rank of dissimilarity)⁴: the fourth power leaves near-copies and little else."""
        return (1.0 - ranks(edges.dissimilarity, self.levels[1])) ** 4

    def triangles(self, ends: NDArray[np.int64], edges: EdgeFeatures, n_nodes: int) -> FloatArray:
        """Return (2, n_nodes) sums over triangles of strangers and of lookalikes; ``ends`` is (2, n_edges)."""
        return triangle_sums(ends, [self.strangeness(edges), self.alikeness(edges)], n_nodes)

    def node_means(
        self, ends: NDArray[np.int64], edges: EdgeFeatures, n_nodes: int, weight: FloatArray | None = None
    ) -> FloatArray:
        """Return (2, n_nodes) means of hop count and dissimilarity over each node's edges.

        An edge counts by its absolute weight; the edges of a node without any weight count alike.
        """
        columns = (edges.hop, edges.dissimilarity)
        plain = neighbor_means(ends, columns, n_nodes)
        if weight is None:
            return plain
        size = np.abs(weight)
        total = neighbor_sum(ends, size, n_nodes)
        sums = np.stack([neighbor_sum(ends, size * values, n_nodes) for values in columns])
        return np.divide(sums, total, out=plain, where=total > 0.0)

    def at_nodes(
        self, ends: NDArray[np.int64], edges: EdgeFeatures, n_nodes: int, weight: FloatArray | None
    ) -> dict[str, Any]:
        """Return those features of nodes that come from their edges, by name."""
        strangers, lookalikes = self.triangles(ends, edges, n_nodes)
        return {
            "edge_means": self.node_means(ends, edges, n_nodes, weight),
            "strangers": strangers,
            "lookalikes": lookalikes,
            "effective": None if weight is None else effective_count(ends, weight, n_nodes),
        }

    def scores(self, edges: EdgeFeatures) -> FloatArray:
        """Return the score of each edge: −log₁₀ of the upper tail of surprise and dissimilarity together."""
        tail = Tail(*self.tail)

        def score(part: slice) -> FloatArray:  # in double precision, so that few are equal
            return tail.surprise(self._unusual(edges.rows(part))) / np.log(10.0)

        return np.asarray(by_parts(score, edges.hop.size))

    def _unusual(self, edges: EdgeFeatures) -> FloatArray:
        """Return the mean of surprise and dissimilarity, each centered on its median and divided by its width."""
        (m0, w0), (m1, w1) = self.robust
        return np.asarray(((edges.surprise - m0) / w0 + (edges.dissimilarity - m1) / w1) / 2.0)


def _middle_and_width(ordered: FloatArray) -> tuple[float, float]:
    if not ordered.size:
        return 0.0, 1.0
    middle, high = np.quantile(ordered, [0.5, 0.8])
    return float(middle), float(high - middle if high > middle else ordered.std() or 1.0)


@dataclass(frozen=True)
class NodeFeatures:
    """Features of each node, before it is compared with others.

    Attributes
    ----------
    degrees
        Number of edges.
    edge_means
        (2, n_nodes) means over a node's edges of hop count and relative dissimilarity; NaN without edges.
    strangers, lookalikes
        Sums over a node's triangles of the product of their sides' strangeness, and of their sides' alikeness.
    deviation
        How far the node's attributes lie from the mean, see :meth:`AttributeBaseline.deviation`.
    residual
        log(1 + degree) minus its prediction from the attributes, at the level of this graph.
    effective
        How many edges of equal weight the edge means are worth (:func:`effective_count`); None
        without weights, where it is the degree.
    flow
        (4, n_nodes) flow evidence in its own unit (:attr:`hopsight.flow.Flow.raw`); None without amounts and times.
    """

    degrees: IntArray
    edge_means: FloatArray
    strangers: FloatArray
    lookalikes: FloatArray
    deviation: FloatArray
    residual: FloatArray
    effective: FloatArray | None = None
    flow: FloatArray | None = None

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

    def rows(self, chosen: IntArray) -> NodeFeatures:
        """Return the features of some nodes, in the given order."""
        parts: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        rows: dict[str, Any] = {name: None if part is None else part[..., chosen] for name, part in parts.items()}
        return NodeFeatures(**rows)


@dataclass(frozen=True)
class NodeBaseline:
    """Baseline of the nodes.

    Attributes
    ----------
    means
        (2, 3) center, between and within of each edge mean, see :func:`fit_mean_baseline`.
    lines
        (2, 2) intercept and slope in log degree of triangles of strangers and of lookalikes.
    tails
        (5, 5) the cautious tail of each kind, in the order of :data:`KINDS`; with flow evidence (9, 5), in the order of
        :data:`ALL_KINDS`.
    counts
        (n_kinds,) the number of nodes that each kind was fitted to, 0 for a kind that the graph cannot show.
    """

    means: FloatArray
    lines: FloatArray
    tails: FloatArray
    counts: FloatArray

    @classmethod
    def fit(cls, nodes: NodeFeatures, *, triangles: bool = True) -> NodeBaseline:
        """Fit the baseline to some nodes; in a graph without ``triangles`` it has no ring and lockstep."""
        with few_threads(1):  # several would add up in another order
            return cls._fit(nodes, triangles=triangles)

    @classmethod
    def _fit(cls, nodes: NodeFeatures, *, triangles: bool) -> NodeBaseline:
        sums_over_triangles = (nodes.strangers, nodes.lookalikes)
        n_kinds = len(KINDS if nodes.flow is None else ALL_KINDS)
        usual = cls(
            np.array([fit_mean_baseline(values, nodes.n_averaged) for values in nodes.edge_means]),
            np.array([degree_line(_root(sums, nodes.degrees), nodes.degrees) for sums in sums_over_triangles]),
            np.zeros((n_kinds, len(fields(Tail)))),
            np.ones(n_kinds),
        )
        for kind, (name, values) in enumerate(raw_evidence(nodes, usual).items()):
            known = values[~np.isnan(values)]
            most = known if kind < len(KINDS) else _without_largest(known)
            expected = EXPONENTIAL_SHAPE if name in NEEDS_TRIANGLES else NORMAL_SHAPE  # few triangles make no bell
            usual.tails[kind] = fit_tail(most, expected).numbers()
            usual.counts[kind] = max(int(kind < len(KINDS)), known.size)
        if not triangles:
            usual.counts[[KINDS.index(kind) for kind in NEEDS_TRIANGLES]] = 0.0
        return usual

    def knows(self, kind: str) -> bool:
        """Return whether there is evidence of this kind in the graph that the baseline was fitted to."""
        return bool(self.counts[ALL_KINDS.index(kind)] > 0)


def _without_largest(values: FloatArray) -> FloatArray:
    """Return values without the largest 2%: of the few nodes with any flow evidence, many may be anomalies.

    Half of those with any are kept, so that what hardly any node does is known to be rare.
    """
    n_any = int((values > values.min(initial=0.0)).sum())
    return np.sort(values)[: max(int(np.ceil((1.0 - TRIMMED) * values.size)), values.size - n_any // 2)]


def misfit(nodes: NodeFeatures, usual: NodeBaseline) -> FloatArray:
    """Return how far away each node's neighbors look, in standard errors; NaN for a node without edges.

    For each of two features of the edges (hop count, relative dissimilarity) the mean over a node's edges becomes z =
    (mean − median) / √(A / (1 + degree / 3) + B / degree), where A is how much nodes differ and B how much the edges of
    one node do. Misfit is the mean of both z: what was learned counts as much as what was not, because the
    neighborhood that a stranger is connected to vouches for it in ÂX, but not in its own attributes. Evidence adds up
    over edges: a hub is judged as sharply as its many edges allow. If edges have weights, the means are weighted, and
    the degree is the effective number of edges, (Σ|w|)² / Σw².
    """
    z = [mean_z(values, nodes.n_averaged, mean) for values, mean in zip(nodes.edge_means, usual.means, strict=True)]
    return np.asarray(np.mean(z, axis=0))


def ring(nodes: NodeFeatures, usual: NodeBaseline) -> FloatArray:
    """Return how much each node's edges close triangles of strangers, for its degree; NaN for a node without edges.

    With T the sum over a node's triangles of the product of their sides' strangeness: √(2T / degree), minus a robust
    line in log degree.
    """
    return _beyond_line(nodes.strangers, nodes.degrees, usual.lines[0])


def outlier(nodes: NodeFeatures, usual: NodeBaseline) -> FloatArray:
    """Return how unusual each node's own attributes are: ‖x − mean‖ / √columns of the transformed attributes.

    The transformation standardizes and clips ordinary columns, so that no value counts for more than 5 standard
    deviations, and leaves a bag of words in its own unit, where standardizing would inflate the rarest words.
    """
    return nodes.deviation


def activity(nodes: NodeFeatures, usual: NodeBaseline) -> FloatArray:
    """Return how unusual each node's number of edges is for its attributes: |log(1 + degree) − prediction|.

    A node without edges has NaN. The prediction is a ridge regression on the transformed attributes, fitted without the
    node's own fold.
    """
    return np.where(nodes.degrees > 0, np.abs(nodes.residual), np.nan)


def lockstep(nodes: NodeFeatures, usual: NodeBaseline) -> FloatArray:
    """Return how densely each node is tied to nodes just like it, for its degree; NaN for a node without edges.

    As :func:`ring`, with the sides' alikeness in place of their strangeness.
    """
    return _beyond_line(nodes.lookalikes, nodes.degrees, usual.lines[1])


def raw_evidence(nodes: NodeFeatures, usual: NodeBaseline) -> dict[str, FloatArray]:
    """Return every kind of evidence in its own unit, NaN where there is none.

    Between two kinds of nodes, such as users and items, no edges close a triangle: their graph has neither ring nor
    lockstep evidence.
    """
    found = {kind.__name__: kind(nodes, usual) for kind in (misfit, ring, outlier, activity, lockstep)}
    if len(usual.counts) > len(KINDS):
        none = np.full(nodes.degrees.size, np.nan)
        found |= {kind: none if nodes.flow is None else nodes.flow[at] for at, kind in enumerate(FLOW_KINDS)}
    return {kind: values if usual.knows(kind) else np.full_like(values, np.nan) for kind, values in found.items()}


def strengths(nodes: NodeFeatures, usual: NodeBaseline) -> dict[str, FloatArray]:
    """Return every kind of evidence as −log₁₀ of its cautious tail; what a node lacks (NaN) counts as 0.

    3 means about one ordinary node in a thousand. Flow evidence that the graph of the fit could not show is left out.
    Beside flow evidence, what a strength has beyond log₁₀ n of n nodes, b, counts b / (1 + b), less than 1: n nodes say
    little about chances far below 1 / n, and of eight kinds none shall outweigh two others by that. Where events have
    times but no amounts, burst counts half: members of a forum who rate many at once when they join are ordinary.
    Amounts and pass_through are given in digits, −log₁₀ of a chance for the node itself, which is a second estimate: if
    it is less, the mean of both counts. A difference of less than one edge is at most as unusual as the middle.
    """
    found = _strengths(raw_evidence(nodes, usual), usual)
    usual_degrees = np.expm1(np.log1p(nodes.degrees) - nodes.residual)
    within = np.abs(nodes.degrees - usual_degrees) < 1.0
    found["activity"] = np.where(within, np.minimum(found["activity"], np.log10(2.0)), found["activity"])
    return {kind: values for kind, values in found.items() if kind in KINDS or usual.knows(kind)}


def _strengths(raw: Mapping[str, FloatArray], usual: NodeBaseline) -> dict[str, FloatArray]:
    """Return some kinds of evidence, given in their own unit, as :func:`strengths` does."""
    found = {}
    for kind, values in raw.items():
        place = ALL_KINDS.index(kind)
        strength = np.nan_to_num(Tail(*usual.tails[place]).surprise(values), nan=0.0) / np.log(10.0)
        if kind in IN_DIGITS:
            strength = np.minimum(strength, (strength + np.nan_to_num(values)) / 2.0)
        if len(usual.counts) > len(KINDS):
            beyond = np.maximum(strength - np.log10(max(usual.counts[place], 1.0)), 0.0)
            strength = strength + beyond / (1.0 + beyond) - beyond
        found[kind] = BURST_ALONE * strength if kind == "burst" and not usual.knows("amount") else strength
    return found


def event_strengths(flow: Flow, usual: NodeBaseline, chosen: Sequence[str]) -> tuple[FloatArray, IntArray]:
    """Return what each event says about its ends, as :func:`combine` does, and by which of the flow kinds most.

    An event has the evidence about a node that rests on it (:attr:`hopsight.flow.Flow.of_events`), measured among
    nodes: a payment that is one of 37 in the week of a smurf is as unusual as that week.
    """
    found = _strengths(dict(zip(FLOW_KINDS, flow.of_events, strict=True)), usual)
    return combine({kind: found[kind] * (kind in chosen and usual.knows(kind)) for kind in FLOW_KINDS}, FLOW_KINDS)


def combine(
    evidence: Mapping[str, FloatArray], chosen: Sequence[str], weights: Mapping[str, float] = WEIGHTS
) -> tuple[FloatArray, IntArray]:
    """Return the score of each node, √(Σ (w · strength)²) over the chosen kinds, and which of them adds most.

    The strongest kind decides nearly alone where it stands out; kinds that agree add up, and one that sees nothing
    changes nothing. All kinds but misfit and lockstep have a weight w below 1
    (:data:`hopsight.detectors.table.WEIGHTS`).
    """
    strengths = weighted(evidence, chosen, weights)
    known = np.array([kind in evidence for kind in chosen])
    return np.sqrt((strengths**2).sum(axis=0)), np.where(known[:, None], strengths, -1.0).argmax(axis=0)


def _root(sums: FloatArray, degrees: IntArray) -> FloatArray:
    return np.asarray(np.sqrt(2.0 * sums / np.maximum(degrees, 1)))


def _beyond_line(sums: FloatArray, degrees: IntArray, line: FloatArray) -> FloatArray:
    usual = line[0] + line[1] * np.log(np.maximum(degrees, 1))
    return np.where(degrees > 0, _root(sums, degrees) - usual, np.nan)


def triangle_sums(edges: NDArray[np.int64], sides: Sequence[FloatArray] | FloatArray, n_nodes: int) -> FloatArray:
    """Return, for each node, the sum over its triangles of the product of their three sides.

    ``sides`` has one number per edge for each of some kinds; the result is (n_kinds, n_nodes). Two arcs between
    the same nodes are one side, with the mean of their numbers.

    >>> triangle_and_tail = np.array([[0, 0, 1, 2], [1, 2, 2, 3]])
    >>> triangle_sums(triangle_and_tail, np.array([[1.0, 0.5, 0.5, 1.0]]), 4).tolist()
    [[0.25, 0.25, 0.25, 0.0]]
    """
    start, target, means = (_arcs if each_once_in_order(*edges) else _arcs_of_any)(edges, sides, n_nodes)
    bounds = np.searchsorted(start, np.linspace(0, target.size, TRIANGLE_BLOCKS + 1).astype(np.int64))
    bounds[0], bounds[-1] = 0, n_nodes
    blocks = in_order(lambda first, last: triangles_from(start, target, means, first, last), bounds[:-1], bounds[1:])
    total = np.zeros((n_nodes, len(sides)))
    for block in blocks:  # in this order, however many threads there are
        total += block
    return np.ascontiguousarray(total.T)


def _arcs(edges: NDArray[np.int64], sides: Sequence[FloatArray] | FloatArray, n_nodes: int) -> tuple[Any, Any, Any]:
    """Return the edges as lists of arcs (:mod:`hopsight.system.kernels`): starts, targets, and their numbers."""
    degree = np.bincount(edges.ravel(), minlength=n_nodes)
    start, target, place = arcs_by_degree(edges[0], edges[1], degree)
    means = np.empty((target.size, len(sides)), dtype=np.asarray(sides[0]).dtype)
    for kind, values in enumerate(sides):
        means[place, kind] = values
    return start, target, means


def _arcs_of_any(
    edges: NDArray[np.int64], sides: Sequence[FloatArray] | FloatArray, n_nodes: int
) -> tuple[Any, Any, Any]:
    """Do the same for edges in any order, some of them perhaps given in both directions."""
    ends = np.sort(edges, axis=0)
    key = ends[0] * n_nodes + ends[1]
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: key.size])
    share = np.diff(first, append=key.size)
    means = [
        np.add.reduceat(np.asarray(values)[order], first) / share if first.size else np.empty(0) for values in sides
    ]
    return _arcs(np.stack([key[first] // n_nodes, key[first] % n_nodes]), means, n_nodes)


def effective_count(edges: NDArray[np.int64], weight: FloatArray, n_nodes: int) -> FloatArray:
    """Return how many edges of equal weight each node's weighted mean is worth: (Σ|w|)² / Σw².

    The variance of a weighted mean of k independent values is that of one value divided by this number. It is k if
    the weights are equal, and near 1 if one of them outweighs the others. Edges without any weight count alike.

    >>> star = np.array([[0, 0, 0], [1, 2, 3]])
    >>> effective_count(star, np.array([3.0, 1.0, -1.0]), 4).round(3).tolist()
    [2.273, 1.0, 1.0, 1.0]
    """
    degree = np.bincount(edges.ravel(), minlength=n_nodes).astype(np.float64)
    size = np.abs(weight) / max(float(np.abs(weight).max(initial=0.0)), 1e-300)  # squares neither overflow nor vanish
    squares = neighbor_sum(edges, size**2, n_nodes)
    return np.divide(neighbor_sum(edges, size, n_nodes) ** 2, squares, out=degree, where=squares > 0.0)
