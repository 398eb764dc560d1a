"""Quantiles of sorted values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def sorted_quantiles(ordered: NDArray[Any], levels: ArrayLike) -> NDArray[Any]:
    """Return ``np.quantile`` along the last axis, which is sorted: that takes less time than to look for many of them.

    >>> sorted_quantiles(np.array([1.0, 2.0, 4.0]), [0.0, 0.75, 1.0]).tolist()
    [1.0, 3.0, 4.0]
    """
    last = ordered.shape[-1] - 1
    place = np.asarray(levels) * last
    below = np.floor(place).astype(np.int64)
    low, high, share = ordered[..., below], ordered[..., np.minimum(below + 1, last)], place - below
    return np.where(share < 0.5, low + (high - low) * share, high - (high - low) * (1.0 - share))
