"""Hidden edges on the cluster: the splits of :mod:`hopsight.hcm.folds`, from the hashes of edges alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopsight.hcm.folds import mix


@dataclass(frozen=True)
class Splits:
    """How edges are hidden: ``n_folds`` parts in each of ``n_repeats`` repeats."""

    seed: int | None
    n_folds: int
    n_repeats: int

    @property
    def folds(self) -> list[int]:
        """All folds, a number each: repeat times ``n_folds`` plus part."""
        return list(range(self.n_folds * self.n_repeats))

    def hidden(self, hashes: NDArray[np.uint64], fold: int) -> NDArray[np.bool_]:
        """Return which edges a fold hides; an edge is given by the sum of its ends' hashes."""
        edge = mix(hashes ^ mix(np.uint64((self.seed or 0) % 2**64)))
        drawn = mix(edge + np.uint64((fold // self.n_folds * 0x9E3779B97F4A7C15) % 2**64))
        part = (drawn >> np.uint64(32)) * np.uint64(self.n_folds) >> np.uint64(32)
        return part == np.uint64(fold % self.n_folds)

    def visible(self, hashes: NDArray[np.uint64], fold: int) -> NDArray[np.bool_]:
        """Return which edges a fold shows."""
        return ~self.hidden(hashes, fold)
