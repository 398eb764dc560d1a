"""Drop the share R of edges whose ends resemble each other least."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import check_ratio


def drop_edges(
    similarity: NDArray[np.float64],
    drop_ratio: float,
    *,
    rng: np.random.Generator,
    chances: Callable[[NDArray[np.int64]], NDArray[Any]] | None = None,
) -> NDArray[np.bool_]:
    """Return which edges to keep; exactly ⌊R·m⌋ are dropped, with ties broken at random.

    ``chances`` returns a number for each of some edges: of tied ones, those with the smallest are dropped.

    >>> drop_edges(np.array([0.9, 0.1, 0.5, 0.4]), 0.5, rng=np.random.default_rng(0)).tolist()
    [True, False, True, False]
    """
    check_ratio("drop_ratio", drop_ratio)
    n_drop = int(np.floor(drop_ratio * similarity.size + 1e-9))  # 0.29 · 100 is 28.999999999999996
    keep = np.ones(similarity.size, dtype=np.bool_)
    if n_drop:
        limit = np.partition(similarity, n_drop - 1)[n_drop - 1]
        keep = similarity >= limit
        ties = np.flatnonzero(similarity == limit)
        n_more = n_drop - np.count_nonzero(~keep)
        tied = rng.random(similarity.size)[ties] if chances is None else chances(ties)
        keep[ties[np.argsort(tied)[:n_more]]] = False
    return keep
