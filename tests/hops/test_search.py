"""Breadth-first search: hop counts written by hand, and those of scipy on a random graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path

from hopsight.graph import AttributedGraph
from hopsight.hops.search import HopSearch


def hop_classes(adjacency: Any, n_classes: int, *, directed: bool = False) -> np.ndarray:
    """Return the (n_nodes, n_nodes) matrix of hop classes 1..C, 0 on the diagonal, as the search finds them."""
    n_nodes = adjacency.shape[0]
    hops = np.full((n_nodes, n_nodes), n_classes)

    def fill(reached: Any, batch: np.ndarray) -> None:
        for bit, source in enumerate(batch):
            for hop in range(n_classes):
                hops[source, (reached[hop] >> np.uint64(bit)) & np.uint64(1) == 1] = hop

    HopSearch(adjacency, n_classes - 1, directed=directed).each(fill, np.arange(n_nodes))
    return hops


def test_hop_classes_of_a_path(path_graph: AttributedGraph) -> None:
    assert hop_classes(path_graph.adjacency, 4).tolist() == [
        [0, 1, 2, 3, 4, 4],
        [1, 0, 1, 2, 3, 4],
        [2, 1, 0, 1, 2, 3],
        [3, 2, 1, 0, 1, 2],
        [4, 3, 2, 1, 0, 1],
        [4, 4, 3, 2, 1, 0],
    ]


@pytest.mark.parametrize("directed", [False, True])
def test_hops_are_those_of_scipy_over_several_batches(directed: bool) -> None:
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 197, size=(2, 300))
    adjacency = AttributedGraph.from_edges(*ends, np.zeros((200, 1)), directed=directed).adjacency
    truth = np.minimum(shortest_path(adjacency, directed=directed, unweighted=True), 4).astype(int)
    assert np.array_equal(hop_classes(adjacency, 4, directed=directed), truth)
