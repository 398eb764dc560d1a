"""The compiled loops, by hand on a path of four nodes."""

from __future__ import annotations

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.hops.kernels import below, count, scramble, search
from hopsight.hops.search import csr_parts

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
