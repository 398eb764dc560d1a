"""Pairs of an epoch are drawn evenly from a class."""

from __future__ import annotations

import numpy as np

from hopsight.hops.search import draw_epochs


def test_columns_are_drawn_evenly_and_once_each(rng: np.random.Generator) -> None:
    pairs, drawn = np.stack([np.arange(13), np.arange(100, 113)]), np.empty((10_000, 2, 2, 8), dtype=np.int64)
    counts, order, words = np.zeros(13), np.arange(12), rng.integers(2**64, size=(10_000, 2, 2), dtype=np.uint64)
    starts, folds = np.array([[0, 0, 0], [0, 10, 13]]), np.ones(10_000, dtype=np.int64)
    draw_epochs(pairs, starts, folds, words, 1, order, drawn)
    assert order.tolist() == list(range(12))  # ready for the next draw
    for epoch in drawn[:, 1]:
        assert np.unique(epoch[0, :4]).size == 4 and (epoch[1] == epoch[0] + 100).all()
        assert set(epoch[0, 4:].tolist()) <= {10, 11, 12}
        counts[epoch[0, :4]] += 1
    assert (counts[10:] == 0).all()
    counts = counts[:10]
    np.testing.assert_allclose(counts, 4000, atol=4 * np.sqrt(4000 * 0.6))  # four standard errors


def test_of_too_few_columns_some_are_drawn_again() -> None:
    drawn, order = np.empty((1, 1, 2, 500), dtype=np.int64), np.arange(2)
    words, one = np.full((1, 1, 1), 3, dtype=np.uint64), np.zeros(1, dtype=np.int64)
    draw_epochs(np.array([[7, 8], [1, 2]]), np.array([[0, 2]]), one, words, 0, order, drawn)
    found = drawn[0, 0]
    assert set(map(tuple, found.T.tolist())) == {(7, 1), (8, 2)} and 200 < (found[0] == 7).sum() < 300
    assert order.tolist() == [0, 1]
