"""Choose nodes at random that are, on average, neither large nor small in anything."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_N_DRAWS = 256  # at most, until one is even enough: a draw of 150 nodes is off by .024 (one sd)
_EVEN_ENOUGH = 0.01


def share_below(values: NDArray[Any], population: NDArray[Any]) -> NDArray[np.float64]:
    """Return the share of a population below each value, ties counted half.

    Its mean over some nodes is the ROC-AUC with which the quantity tells those nodes from the population.

    >>> share_below(np.array([1, 2, 9]), np.array([1, 2, 2, 3])).tolist()
    [0.125, 0.5, 1.0]
    """
    ordered = np.sort(population)
    below = np.searchsorted(ordered, values, side="left") + np.searchsorted(ordered, values, side="right")
    return below / (2.0 * ordered.size)


def balanced_choice(shares: NDArray[np.float64], size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the positions of ``size`` different rows of ``shares`` with a mean of about one half in every column.

    Row i is drawn with weight exp(λ·(shares_i − ½)), where λ makes the weighted mean of every column one half: of
    all such weights these are the nearest to equal ones. Uneven draws are repeated; at last the most even one counts.
    """
    if size == 0:
        return np.empty(0, dtype=np.int64)
    centered = shares - 0.5  # (n, n_columns)
    log_weights = np.log(_even_weights(centered))
    best, least = np.empty(0, dtype=np.int64), np.inf
    for _ in range(_N_DRAWS):  # the largest of log weight + Gumbel noise: a weighted draw without replacement
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

    The weights minimize log Σ exp(λ·x_i), which is convex in λ; a column that cannot be balanced gets as near as
    λ = 50 takes it.
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
