"""Compiled loops agree with polars and with brute force."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

from hopsight.system import compiled as module
from hopsight.system.compiled import compiled
from hopsight.system.kernels import triangles_from


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


def test_a_function_is_compiled_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba refuses to cache where the package and the user's cache are both read-only, as in a container."""
    whole = module.njit

    def no_cache(*, cache: bool = False, **options: Any) -> Any:
        if cache:
            raise RuntimeError("cannot cache function 'double': no locator available for file")
        return whole(**options)

    monkeypatch.setattr(module, "njit", no_cache)

    @compiled(nogil=True)
    def double(value: int) -> int:
        return 2 * value

    assert double(21) == 42
