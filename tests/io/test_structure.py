"""Structural attributes equal those of NetworkX."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from hopsight.io.derive import STRUCTURE
from hopsight.io.structure import structure


@pytest.fixture(scope="module")
def arcs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    source = rng.integers(0, 40, 300)
    target = np.minimum(39, (rng.random(300) ** 2 * 40).astype(np.int64))  # some nodes get many
    return source, target


def test_structure_equals_that_of_networkx(arcs: tuple[np.ndarray, np.ndarray]) -> None:
    found = structure(*arcs, 41)
    assert tuple(found) == STRUCTURE
    graph = nx.DiGraph([(a, b) for a, b in zip(*map(np.ndarray.tolist, arcs), strict=True) if a != b])
    graph.add_nodes_from(range(41))
    plain = graph.to_undirected()
    degree = dict(plain.degree)
    for node in range(41):
        near = [np.log1p(degree[other]) for other in plain[node]] or [0.0]
        mutual = sum(graph.has_edge(other, node) for other in graph.successors(node))
        outside = sum(node != far and far not in plain[node] for other in plain[node] for far in plain[other])
        expected = [
            np.log1p(graph.out_degree(node)),
            np.log1p(graph.in_degree(node)),
            mutual / max(degree[node], 1),
            nx.clustering(plain, node),
            nx.core_number(plain)[node],
            np.mean(near),
            np.std(near),
            np.log1p(outside / max(degree[node], 1)),
        ]
        np.testing.assert_allclose([values[node] for values in found.values()], expected, atol=1e-6)


def test_duplicate_rows_change_nothing(arcs: tuple[np.ndarray, np.ndarray]) -> None:
    once, twice = structure(*arcs, 41), structure(*(np.tile(end, 2) for end in arcs), 41)
    for name in STRUCTURE:
        np.testing.assert_array_equal(once[name], twice[name])
