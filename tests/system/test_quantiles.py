"""Quantiles of sorted values are those of NumPy."""

from __future__ import annotations

import numpy as np

from hopsight.system.arrays import sorted_quantiles


def test_quantiles_of_sorted_values_are_those_of_numpy(rng: np.random.Generator) -> None:
    levels = np.concatenate([[0.0, 1.0], rng.random(50)])
    for values in (rng.normal(size=(3, 77)), rng.integers(0, 4, size=(2, 500)), rng.lognormal(size=(1, 1))):
        found = sorted_quantiles(np.sort(values, axis=1), levels)
        assert np.array_equal(found, np.quantile(values, levels, axis=1).T)
