"""Triangles are those of NetworkX, whichever nodes they begin in."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from hopsight.system.kernels import meet, triangles_from
from toys import called


@pytest.fixture(scope="module")
def graph() -> nx.Graph:
    return nx.gnp_random_graph(30, 0.3, seed=1)


def lists(graph: nx.Graph) -> tuple[np.ndarray, np.ndarray]:
    ends = sorted((min(a, b), max(a, b)) for a, b in graph.edges)
    source, target = np.array(ends).T
    return np.searchsorted(source, np.arange(graph.number_of_nodes() + 1)), target


def test_sides_of_one_count_triangles_and_ranges_of_nodes_add_up(graph: nx.Graph) -> None:
    start, target = lists(graph)
    ones = np.ones((target.size, 2)) * [1.0, 2.0]
    parts = [triangles_from(start, target, ones, first, last) for first, last in ((0, 7), (7, 30))]
    counts = np.array([nx.triangles(graph)[node] for node in range(30)])
    assert counts.sum() > 100
    np.testing.assert_array_equal(sum(parts), np.column_stack([counts, 8 * counts]))


def test_the_lists_of_both_ends_may_be_in_different_arrays() -> None:
    total = np.zeros((4, 1))
    left, right = np.array([1, 2, 3]), np.array([3])  # 0 → 1, 2, 3 and 1 → 3
    called(meet)(0, 0, 0, 3, left, np.array([[2.0], [9.0], [3.0]]), 0, 1, right, np.array([[5.0]]), total)
    assert total.ravel().tolist() == [30.0, 30.0, 0.0, 30.0]
