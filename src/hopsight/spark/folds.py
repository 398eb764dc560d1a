"""Hide edges as :mod:`hopsight.hcm.folds` does, from the hashes of the edges alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopsight.hcm.folds import hides


@dataclass(frozen=True)
class Splits:
    """The folds of a run: each of ``n_repeats`` repeats hides the edges in ``n_folds`` parts."""

    seed: int
    n_folds: int
    n_repeats: int

    @property
    def folds(self) -> list[int]:
        """The numbers of all folds: repeat times ``n_folds`` plus part."""
        return list(range(self.n_folds * self.n_repeats))

    def hidden(self, hashes: NDArray[np.uint64], fold: int) -> NDArray[np.bool_]:
        """Return which edges a fold hides, given for each edge the sum of its ends' hashes."""
        return hides(hashes, self.seed, self.n_folds, fold)

    def visible(self, hashes: NDArray[np.uint64], fold: int) -> NDArray[np.bool_]:
        """Return which edges are visible in a fold."""
        return ~self.hidden(hashes, fold)
