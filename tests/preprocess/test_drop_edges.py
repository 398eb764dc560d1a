"""Exactly ⌊R·m⌋ of the least similar edges are dropped, with ties broken at random."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest

from hopsight.preprocess import drop_edges


def test_the_least_similar_edges_are_dropped() -> None:
    similarity = np.array([0.9, 0.1, 0.5, 0.4, 0.8])
    kept = drop_edges(similarity, 0.4, rng=np.random.default_rng(0))
    assert kept.tolist() == [True, False, True, False, True]
    assert drop_edges(similarity, 0.0, rng=np.random.default_rng(0)).all()


@pytest.mark.parametrize("n_edges", [1, 7, 10, 100, 1003])
@pytest.mark.parametrize("ratio", ["0", "0.1", "0.2", "0.3", "0.5", "0.7", "0.99"])
def test_exactly_the_floor_of_the_share_is_dropped(n_edges: int, ratio: str, rng: np.random.Generator) -> None:
    """Counted with fractions: 0.3 · 10 is 3, whatever floating point makes of it."""
    similarity = rng.choice([0.0, 0.5, 1.0], size=n_edges)  # ties throughout
    kept = drop_edges(similarity, float(ratio), rng=rng)
    assert (~kept).sum() == floor(Fraction(ratio) * n_edges)
    if kept.any() and not kept.all():
        assert similarity[~kept].max() <= similarity[kept].min()


def test_ties_are_broken_fairly_and_by_the_seed() -> None:
    ties = np.zeros(10)
    first, again = (drop_edges(ties, 0.5, rng=np.random.default_rng(4)) for _ in range(2))
    assert np.array_equal(first, again)
    rng = np.random.default_rng(0)
    kept = np.sum([drop_edges(ties, 0.5, rng=rng) for _ in range(400)], axis=0)
    assert (abs(kept - 200) < 4 * 10).all()  # four standard deviations of a fair coin thrown 400 times


@pytest.mark.parametrize("ratio", [-0.1, 1.0, float("nan")])
def test_shares_outside_the_range_are_refused(ratio: float) -> None:
    with pytest.raises(ValueError, match="drop_ratio must be"):
        drop_edges(np.ones(3), ratio, rng=np.random.default_rng(0))


def test_without_edges_nothing_is_dropped(rng: np.random.Generator) -> None:
    assert drop_edges(np.empty(0), 0.4, rng=rng).shape == (0,)
