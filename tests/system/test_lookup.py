"""Nodes found by their ids and edges by their ends, as a dictionary would find them."""

from __future__ import annotations

import numpy as np
import pytest

from hopsight.graph import AttributedGraph
from hopsight.system.arrays import Positions, find_edges


@pytest.mark.parametrize("ascending", [True, False])
def test_numbers_are_found_where_they_are(rng: np.random.Generator, ascending: bool) -> None:
    ids = rng.choice(1000, 60, replace=False) - 500
    ids = np.sort(ids) if ascending else ids
    known = {int(node): position for position, node in enumerate(ids)}
    positions = Positions(ids.astype(np.int64))
    assert all(positions.get(node) == known.get(node) for node in range(-510, 510))
    for nobody in (2**70, -(2**70), "3", 1.5, True, None):
        assert positions.get(nobody) is None
    assert Positions(np.empty(0, dtype=np.int64)).get(3) is None


def test_texts_are_found_where_they_are() -> None:
    positions = Positions(np.array(["b", "a", "7"], dtype=object))
    assert [positions.get(node) for node in ("a", "7", 7, "c")] == [1, 2, None, None]


@pytest.mark.parametrize("directed", [False, True])
def test_edges_are_found_by_their_ends(rng: np.random.Generator, directed: bool) -> None:
    graph = AttributedGraph.from_edges(*rng.integers(0, 40, (2, 300)), np.zeros((40, 1)), directed=directed)
    keys = graph.edges[0] * 40 + graph.edges[1]
    source, target = rng.integers(0, 40, (2, 500))
    found = find_edges(graph.edges, graph.edge_starts, source, target)
    assert found.tolist() == np.searchsorted(keys, source * 40 + target).tolist()
