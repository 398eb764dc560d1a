"""Estimate what is ordinary from the bulk of some values, and turn values into strengths, p-values and flags.

Nobody says which nodes are normal, so both distributions here come from below the top of the data (Efron's empirical
null): anomalies are rare and sit at the top. :class:`Tail` turns evidence into strengths, which rank;
:class:`ScoreTail` says how likely an ordinary node has a score as high, which flags.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hopsight.system.threads import by_blocks

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LEVELS = (0.5, 0.7, 0.8)  # quantiles that describe the upper bulk
NEAR = 0.5244005127080407  # where a standard normal has the second of them
HEAVIEST_SHAPE, EXPONENTIAL_SHAPE = 0.5, 1.0  # of the cautious tail
NORMAL_SHAPE = 1.245  # fits a normal bulk
PRIOR_NODES = 200.0  # the lightest tail counts as much as this many nodes
LARGEST = 700.0  # nearly −log of the smallest positive number
BAND = (0.7, 0.93)  # quantiles between which scores are looked at; anomalies are above
LEAST_SCORES, MOST_SCORES = 3, 512  # between them; more would promise more than a formula for tails can keep
SPREAD = 0.1  # of the shapes that tails of scores have
SHAPES = np.arange(-0.3875, 0.6, 0.025)  # none is 0
LOG_SCALES = np.arange(-1.5, 1.5, 0.05)  # around that of an exponential tail
LEAST_WEIGHT = 1e-9
MOST_ANOMALIES, MANY = 0.1, 10
MOST_TIED = 0.05  # a larger share of values tied at the minimum is an atom of its own
HALVINGS = 60
RELATED = 1000.0  # times as likely as by chance, three nodes near a suspect are suspects


@dataclass(frozen=True)
class Tail:
    """A cautious upper tail: an atom at the lowest value, and an upper half of Weibull form for the rest.

    For x above the median m: S(x) = share · ½ exp(−ln(5/3) ((x − m) / width)^shape).
    """

    lowest: float
    share: float
    median: float
    width: float
    shape: float

    def numbers(self) -> FloatArray:
        """Return the five numbers as an array; ``type(self)(*numbers)`` makes the same distribution again."""
        return np.array(astuple(self))

    def surprise(self, values: FloatArray) -> FloatArray:
        """Return −log S(x); NaN stays NaN. Below the median it falls toward 0, so that the order is also kept there."""
        return np.asarray(by_blocks(self._surprise, values))

    def _surprise(self, values: FloatArray) -> FloatArray:
        base = np.log(2.0) - np.log(self.share)
        if self.width <= 0.0:
            above = values > (self.lowest if self.share < 1.0 else self.median)
            return np.where(np.isnan(values), np.nan, np.where(above, base, 0.0))
        with np.errstate(over="ignore"):  # what overflows is as large as it gets
            excess = (values - self.median) / self.width
            upper = base + np.log(5.0 / 3.0) * np.maximum(excess, 0.0) ** self.shape
        found = np.where(excess >= 0.0, upper, base * np.exp(np.minimum(excess, 0.0)))
        if self.share < 1.0:
            found = np.where(values <= self.lowest, 0.0, found)
        return np.asarray(np.minimum(found, LARGEST))


def fit_tail(values: FloatArray, expected: float = NORMAL_SHAPE) -> Tail:
    """Fit a cautious tail to the bulk of some values; NaN is left out.

    With m, a and b the quantiles at .5, .7 and .8: width = a − m and shape = log(ln(5/2) / ln(5/3)) / log((b − m) /
    (a − m)), pulled toward the expected one in small samples, by default that of a normal distribution. A bulk with a
    heavier tail than the normal has a smaller shape, and its extremes are believed less. Values tied at the minimum are
    an atom of their own. Where many values are tied elsewhere, as numbers of edges are, the heaviest tail through the
    quantile .9 is taken.
    """
    rest, lowest, share = _without_atom(values)
    if rest.size == 0:
        return Tail(0.0, 1.0, 0.0, 0.0, NORMAL_SHAPE)
    median, near, far, farthest = (float(level) for level in np.quantile(rest, (*LEVELS, 0.9)))
    widest = (farthest - median) / (np.log(5.0) / np.log(5.0 / 3.0)) ** (1.0 / HEAVIEST_SHAPE)
    if near - median < widest:
        return Tail(lowest, share, median, widest, HEAVIEST_SHAPE)
    if near <= median:
        return Tail(lowest, share, median, float(rest.std()) * NEAR, NORMAL_SHAPE)
    ratio = max((far - median) / (near - median), 1.0 + 1e-9)
    shape = float(np.log(np.log(2.5) / np.log(5.0 / 3.0)) / np.log(ratio))
    shape = _shrunk(min(max(shape, HEAVIEST_SHAPE), NORMAL_SHAPE), expected, rest.size)
    return Tail(lowest, share, median, near - median, shape)


class Order(Protocol):
    """Values in ascending order, wherever they are."""

    @property
    def n_values(self) -> int:
        """How many there are."""

    def at(self, places: IntArray) -> FloatArray:
        """Return the values at some places, 0 for the smallest."""

    def n_above(self, value: float) -> int:
        """Return how many values are larger."""


class Ordered:
    """Values in memory, in ascending order; NaN is left out."""

    def __init__(self, values: FloatArray) -> None:
        self.values = np.sort(values[~np.isnan(values)])
        self.n_values = self.values.size

    def at(self, places: IntArray) -> FloatArray:
        """Return the values at some places, 0 for the smallest."""
        return np.asarray(self.values[places], dtype=np.float64)

    def n_above(self, value: float) -> int:
        """Return how many values are larger."""
        return int(self.n_values - np.searchsorted(self.values, value, side="right"))


@dataclass(frozen=True)
class ScoreTail:
    """How likely an ordinary node has a score as high, learned from scores below the top.

    For x above the start u: S(x) = share · Σ w (1 + ξ (x − u) / σ)^(−1/ξ), a mean over generalized Pareto tails of
    shape ξ and scale σ. Their weights w are those of Bayes: the likelihood of the scores between the quantiles .7 and
    .93, with the higher ones counted but not looked at, times a normal prior of the shape. Scores are made of
    logarithms of tail probabilities, which have an exponential tail (ξ = 0) where these are right. A few scores leave
    many tails possible, so that a small graph has a heavy one.
    """

    start: float
    share: float
    shapes: FloatArray
    scales: FloatArray
    weights: FloatArray

    @classmethod
    def fit(cls, order: Order, n_anomalies: int = 0, shape: float = 0.0) -> ScoreTail | None:
        """Fit the tail to some scores; None if too few of them differ.

        Parameters
        ----------
        order
            The scores. Those tied at the minimum say nothing about the others if they are many.
        n_anomalies
            Number of the highest scores that are known to be those of anomalies.
        shape
            The mean of the prior: 0 for scores that are independent, more if one cause lifts many of them.
        """
        n_low = order.n_values - order.n_above(float(order.at(np.zeros(1, dtype=np.int64))[0])) if order.n_values else 0
        n_low = n_low if n_low > MOST_TIED * order.n_values else 0
        n = order.n_values - n_low - n_anomalies
        first, last = (int(level * n) for level in BAND)
        if last - first < LEAST_SCORES:
            return None
        places = np.unique(np.linspace(first - 1, last - 1, min(last - first, MOST_SCORES) + 1).astype(np.int64))
        known = order.at(n_low + places)
        excess = known[1:] - known[0]
        n_higher = excess.size * (n - last) / (last - first)
        mean = float(excess.sum() + n_higher * excess[-1]) / excess.size
        if mean <= 0.0:
            return None
        shapes, scales = (grid.ravel() for grid in np.meshgrid(SHAPES, mean * np.exp(LOG_SCALES)))
        surprise = _surprise(excess, shapes, scales)
        fitting = (1.0 + shapes) * surprise.sum(axis=0) + n_higher * surprise[-1] + excess.size * np.log(scales)
        fitting += ((shapes - shape) / SPREAD) ** 2 / 2.0
        weights = np.exp(fitting.min() - fitting)
        kept = weights > LEAST_WEIGHT * weights.sum()
        share = (n - first) / (order.n_values - n_anomalies)
        return cls(float(known[0]), share, shapes[kept], scales[kept], weights[kept] / weights[kept].sum())

    def chance(self, values: FloatArray) -> FloatArray:
        """Return S(x) of each value, and 1 up to the start."""

        def chance(some: FloatArray) -> FloatArray:
            surprise = _surprise(np.maximum(some - self.start, 0.0), self.shapes, self.scales)
            return np.where(some > self.start, self.share * (np.exp(-surprise) * self.weights).sum(axis=1), 1.0)

        return np.asarray(by_blocks(chance, values))

    def score_at(self, chance: float, *, strengths: bool = False) -> float:
        """Return the score that an ordinary node exceeds with a small chance, also by its strength if it is one."""

        def above(score: float) -> float:
            found = float(self.chance(np.array([score]))[0])
            return 2.0 * float(np.sqrt(found * 10.0**-score)) if strengths else found

        low, high = self.start, self.start + float(self.scales.max())
        while above(high) > chance:
            low, high = high, high + 2.0 * (high - self.start)
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            low, high = (middle, high) if above(middle) > chance else (low, middle)
        return high


def flag_limit(order: Order, false_alarms: float, shape: float = 0.0, *, strengths: bool = False) -> float:
    """Return the score above which nodes are flagged.

    The most nodes, k of n, are flagged that all have S(x) ≤ false_alarms · k / n (Benjamini and Hochberg 1995), where
    the tail S is that of the nodes without the k / 2 highest: many anomalies do not hide each other, and ordinary nodes
    among them still count as such. The search begins with a tenth of the nodes and takes as many as pass for the next
    k; fewer than ten hide nothing. Without a tail no node passes.

    Parameters
    ----------
    order, shape
        As for :meth:`ScoreTail.fit`.
    false_alarms
        The share of ordinary nodes among the flagged that is asked for.
    strengths
        The scores are strengths, which say themselves that about one of 10ˣ ordinary nodes has the score x. Then 10⁻ˣ
        is as small as well, however light the tail of the others is, and 2 √(S(x) 10⁻ˣ) takes the place of S(x): twice
        the geometric mean of two p-values is one, however they depend on each other (Makarov 1981).
    """
    n_passing = int(MOST_ANOMALIES * order.n_values)
    while True:
        n_tested = n_passing
        tail = ScoreTail.fit(order, n_tested // 2 if n_tested >= MANY else 0, shape)
        if tail is None or false_alarms == 0.0:
            return _highest(order)
        chance = false_alarms * max(n_tested, 1) / order.n_values
        limit = tail.score_at(chance, strengths=strengths)
        limit = max(limit, -float(np.log10(chance))) if strengths else limit
        n_passing = order.n_above(limit)
        if n_passing >= n_tested:
            return limit


def group_limit(order: Order, false_alarms: float) -> float:
    """Return the evidence above which nodes may form a group, p ≤ (false_alarms / (1000 n))^⅓ of each.

    Evidence of one node alone means little here, since the members must also be densely connected: if one of n nodes
    is a suspect by chance, three others have to be. They depend on each other, hence the 1000.
    """
    tail = ScoreTail.fit(order)
    if tail is None:
        return _highest(order)
    return tail.score_at(float((false_alarms / (RELATED * order.n_values)) ** (1.0 / 3.0)))


def _highest(order: Order) -> float:
    return float(order.at(np.array([order.n_values - 1]))[0]) if order.n_values else 0.0


def _surprise(excess: FloatArray, shapes: FloatArray, scales: FloatArray) -> FloatArray:
    """Return log(1 + ξ x / σ) / ξ for each excess x and each tail, infinite beyond the end of a tail."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log1p(np.maximum(excess[:, None] * (shapes / scales), -1.0)) / shapes
    return np.asarray(found)


def _without_atom(values: FloatArray) -> tuple[FloatArray, float, float]:
    """Return the sorted values above those tied at the minimum, the minimum, and their share; all if few are tied."""
    known = np.sort(values[~np.isnan(values)])
    if known.size == 0:
        return known, 0.0, 1.0
    lowest = float(known[0])
    rest = known[np.searchsorted(known, lowest, side="right") :]
    share = rest.size / known.size
    return (known, lowest, 1.0) if share > 1.0 - MOST_TIED or not rest.size else (rest, lowest, share)


def _shrunk(shape: float, usual: float, n_values: int) -> float:
    weight = n_values / (n_values + PRIOR_NODES)
    return weight * shape + (1.0 - weight) * usual
