"""The compiled loops, by hand on a path of four nodes."""

from __future__ import annotations

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.hops.search import below, count, csr_parts, draw_epochs, scramble, search

PATH = AttributedGraph.from_edges([0, 1, 2], [1, 2, 3], np.zeros((4, 1)))  # 0 - 1 - 2 - 3


def reached(sources: list[int], n_hops: int) -> np.ndarray:
    return search(*csr_parts(PATH.adjacency), np.array(sources), n_hops)


def test_a_bit_per_source_says_how_far_each_node_is() -> None:
    assert reached([0, 2], 2).tolist() == [[1, 0, 2, 0], [0, 3, 0, 2], [2, 0, 1, 0]]


def test_counts_of_each_source_and_class() -> None:
    assert count(reached([0, 1], 2), 2).tolist() == [[1, 1, 1], [2, 1, 0]]


def test_scramble_is_the_finalizer_of_splitmix64() -> None:
    words = np.array([0, 1], dtype=np.uint64)
    assert scramble(words).tolist() == [0, 0x5692161D100B05E5]


def test_only_pairs_below_the_limit_of_their_class_are_returned() -> None:
    hashes = np.array([11, 22, 33, 44], dtype=np.uint64)
    everything = np.full(3, 2**64 - 1, dtype=np.uint64)
    found = below(reached([0], 2), hashes[:1], hashes, np.uint64(0), np.array([0, 1, 2]), everything)
    assert [column.tolist() for column in found[:3]] == [[0, 0], [2, 3], [1, 2]]
    assert found[3].tolist() == scramble(hashes[[2, 3]] + hashes[0]).tolist()
    none = below(reached([0], 2), hashes[:1], hashes, np.uint64(0), np.array([0, 1, 2]), np.zeros(3, np.uint64))
    assert all(column.size == 0 for column in none)


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
