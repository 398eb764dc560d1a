"""Estimate what is ordinary from the bulk of some scores, and turn scores into tail probabilities and flags.

Nobody says which nodes are normal, so both distributions here come from the middle of the data (Efron's empirical
null): anomalies are rare and sit in the tail, and quantiles near the middle hardly notice them. :class:`Tail` is
cautious about far values and serves for ranking, :class:`Null` is sharper and serves for flagging.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from hopsight.system.threads import by_blocks

FloatArray = NDArray[np.float64]

LEVELS = (0.5, 0.7, 0.8)  # quantiles that describe the upper bulk
NEAR, FAR = 0.5244005127080407, 0.8416212335729143  # where a standard normal has the last two
NORMAL_90 = 1.2815515655446004  # where it has the quantile .9
HEAVIEST, LIGHTEST = 0.4, 0.96  # powers of the null; even where the bulk looks normal, its tail is taken to be heavier
HEAVIEST_SHAPE, NORMAL_SHAPE = 0.5, 1.245  # shapes of the cautious tail; the second fits a normal bulk
HEAVY = 0.65  # shape of a null whose bulk is heavy by itself
PRIOR_NODES = 200.0  # the lightest tail counts as much as this many nodes
ROUNDS = 6
SUSPECT = 0.05  # more values than this share beyond its quantile are taken for anomalies
MOST_ANOMALIES = 0.25
LARGEST = 700.0  # nearly −log of the smallest positive number


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
        """Return −log S(x); NaN stays NaN. Below the median it falls toward 0, so that the order is kept there, too."""
        return np.asarray(by_blocks(self._surprise, values))

    def _surprise(self, values: FloatArray) -> FloatArray:
        base = np.log(2.0) - np.log(self.share)
        if self.width <= 0.0:
            return np.where(np.isnan(values), np.nan, np.where(values > self.median, base, 0.0))
        with np.errstate(over="ignore"):  # what overflows is as large as it gets
            excess = (values - self.median) / self.width
            upper = self._upper(np.maximum(excess, 0.0))
        found = np.where(excess >= 0.0, upper, base * np.exp(np.minimum(excess, 0.0)))
        if self.share < 1.0:
            found = np.where(values <= self.lowest, 0.0, found)
        return np.asarray(np.minimum(found, LARGEST))

    def _upper(self, excess: FloatArray) -> FloatArray:
        return np.asarray(np.log(2.0) - np.log(self.share) + np.log(5.0 / 3.0) * excess**self.shape)


class Null(Tail):
    """A null distribution: an atom at the lowest value, and a normal upper half in a power of the distance.

    For x above the median m: S(x) = share · Φ(−t), t = .524 ((x − m) / width)^shape. The shape is .96 for a normal
    bulk, which allows for a tail heavier than its bulk, and smaller where the bulk shows a heavy tail.
    """

    def _upper(self, excess: FloatArray) -> FloatArray:
        return np.asarray(-log_ndtr(-NEAR * excess**self.shape) - np.log(self.share))


def fit_tail(values: FloatArray) -> Tail:
    """Fit a cautious tail to the bulk of some values; NaN is left out.

    With m, a and b the quantiles at .5, .7 and .8: width = a − m and shape = log(ln(5/2) / ln(5/3)) / log((b − m) /
    (a − m)), pulled toward that of a normal distribution in small samples. A bulk with a heavier tail than the normal
    has a smaller shape, and its extremes are believed less. Values tied at the minimum are an atom of their own. Where
    many values are tied elsewhere, as numbers of edges are, the heaviest tail through the quantile .9 is taken.
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
    shape = _shrunk(min(max(shape, HEAVIEST_SHAPE), NORMAL_SHAPE), NORMAL_SHAPE, rest.size)
    return Tail(lowest, share, median, near - median, shape)


def fit_null(values: FloatArray) -> Null:
    """Fit the null to the bulk of some values; NaN is left out.

    With m, a and b the quantiles at .5, .7 and .8 of the ordinary values: width = a − m and shape = .96 log(.842 /
    .524) / log((b − m) / (a − m)), averaged with the same for the quantile .9, at most .96 and pulled toward it in
    small samples. Which values are ordinary is found in turns: if a share π lies in the tail beyond what the null
    expects there, the ordinary quantile q is the quantile q (1 − π) of all values. A bulk that is heavy by itself is
    not corrected so: its long tail is not taken for anomalies. Values tied at the minimum are an atom of their own.
    """
    rest, lowest, share = _without_atom(values)
    null = Null(0.0, 1.0, 0.0, 0.0, LIGHTEST)
    anomalies = 0.0
    for _ in range(ROUNDS if rest.size else 0):
        null = _null_of(rest, lowest, share, 1.0 - anomalies)
        if anomalies == 0.0 and null.shape < HEAVY:
            break
        tail = 1.0 - _place(null, rest, -np.log(SUSPECT) - np.log(share)) / rest.size
        anomalies = min(max((tail - SUSPECT) / (1.0 - SUSPECT), 0.0), MOST_ANOMALIES)
    return null


def tail_probability(values: FloatArray) -> FloatArray:
    """Return the upper-tail probability of each value under the null of their bulk; 1 for NaN."""
    return np.asarray(np.exp(-np.nan_to_num(fit_null(values).surprise(values), nan=0.0)))


def count_flagged(p_values: FloatArray, false_alarms: float) -> int:
    """Return how many to flag: the largest k with p₍ₖ₎ ≤ false_alarms · k / n for p₍₁₎ ≤ … ≤ p₍ₙ₎.

    Were the p-values exact, at most a share ``false_alarms`` of the flagged would be ordinary on average (Benjamini and
    Hochberg 1995). Those of a null that is estimated from the bulk are not.

    >>> count_flagged(np.array([0.5, 0.001, 0.03, 0.9]), 0.1)
    2
    """
    n = p_values.size
    low = np.sort(p_values[p_values <= false_alarms])  # no other can pass
    passing = np.flatnonzero(low <= false_alarms * np.arange(1, low.size + 1) / max(n, 1))
    return int(passing[-1]) + 1 if passing.size else 0


def _without_atom(values: FloatArray) -> tuple[FloatArray, float, float]:
    """Return the sorted values above those tied at the minimum, the minimum, and their share; all if few are tied."""
    known = np.sort(values[~np.isnan(values)])
    if known.size == 0:
        return known, 0.0, 1.0
    lowest = float(known[0])
    rest = known[np.searchsorted(known, lowest, side="right") :]
    share = rest.size / known.size
    return (known, lowest, 1.0) if share > 0.95 or rest.size < 2 else (rest, lowest, share)


def _null_of(rest: FloatArray, lowest: float, share: float, ordinary: float) -> Null:
    """Return the null whose quantiles are those of the lowest ``ordinary`` share of the values."""
    levels = np.array((*LEVELS, 0.9)) * ordinary
    median, near, far, farthest = (float(level) for level in np.quantile(rest, levels))
    widest = (farthest - median) / (NORMAL_90 / NEAR) ** (1.0 / HEAVIEST)
    if near - median < widest:  # many values are tied, as numbers of edges are
        return Null(lowest, share, median, widest, HEAVIEST)
    if near <= median:
        return Null(lowest, share, median, float(rest.std()) * NEAR, LIGHTEST)
    shapes = []
    for quantile, normal in ((far, FAR), (farthest, NORMAL_90)):
        ratio = max((quantile - median) / (near - median), normal / NEAR)
        shapes.append(float(np.log(normal / NEAR) / np.log(ratio)))
    shape = max(LIGHTEST * sum(shapes) / 2.0, HEAVIEST)
    return Null(lowest, share, median, near - median, _shrunk(shape, LIGHTEST, rest.size))


def _place(null: Null, ordered: FloatArray, surprise: float) -> int:
    """Return how many of some sorted values are at most so surprising."""
    return bisect_right(ordered, surprise, key=lambda value: float(null.surprise(np.array([value]))[0]))


def _shrunk(shape: float, usual: float, n_values: int) -> float:
    weight = n_values / (n_values + PRIOR_NODES)
    return weight * shape + (1.0 - weight) * usual
