"""Choose random nodes that are, on average, in the middle of every quantity."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_N_DRAWS = 256  # at most, until a draw is even enough; one of 150 nodes is off by .024 (one standard deviation)
_EVEN_ENOUGH = 0.01


def share_below(values: NDArray[Any], population: NDArray[Any]) -> NDArray[np.float64]:
    """Return the share of a population below each value; ties count half.

    The mean over a set of nodes is the ROC-AUC with which the quantity separates them from the population.

    >>> share_below(np.array([1, 2, 9]), np.array([1, 2, 2, 3])).tolist()
    [0.125, 0.5, 1.0]
    """
    ordered = np.sort(population)
    below = np.searchsorted(ordered, values, side="left") + np.searchsorted(ordered, values, side="right")
    return below / (2.0 * ordered.size)


def balanced_choice(shares: NDArray[np.float64], size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the positions of ``size`` different rows of ``shares`` with a mean of about one half in every column.

    Row i is drawn with weight exp(λ·(shares_i − ½)), where λ makes the weighted mean of every column one half; of
    all such weights, these are the closest to equal weights. Uneven draws are repeated, and the most even one counts.
    """
    if size == 0:
        return np.empty(0, dtype=np.int64)
    centered = shares - 0.5  # (n, n_columns)
    log_weights = np.log(_even_weights(centered))
    best, least = np.empty(0, dtype=np.int64), np.inf
    for _ in range(_N_DRAWS):  # the largest sums of log weight and Gumbel noise are a weighted draw without replacement
        keys = log_weights + rng.gumbel(size=log_weights.size)
        draw = np.argpartition(keys, log_weights.size - size)[-size:]
        unevenness = float(np.abs(centered[draw].mean(axis=0)).max())
        if unevenness < least:
            best, least = draw, unevenness
        if least <= _EVEN_ENOUGH:
            break
    return rng.permutation(best)


def _even_weights(centered: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return positive weights with a weighted mean of (nearly) zero in every column, by Newton's method.

    The weights minimize log Σ exp(λ·x_i), which is convex in λ. For a column that cannot be balanced, λ stops at 50.
    """
    multipliers = np.zeros(centered.shape[1])
    for _ in range(100):
        exponents = centered @ multipliers
        weights = np.exp(exponents - exponents.max())
        weights /= weights.sum()
        mean = weights @ centered
        if np.abs(mean).max() < 1e-9:
            break
        spread = (centered * weights[:, None]).T @ centered - np.outer(mean, mean)
        step = np.linalg.solve(spread + 1e-6 * np.eye(mean.size), mean)
        multipliers = np.clip(multipliers - np.clip(step, -2.0, 2.0), -50.0, 50.0)
    return np.asarray(np.maximum(weights, 1e-300))
