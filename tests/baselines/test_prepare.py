"""The form in which the baselines take a graph."""

from __future__ import annotations

import numpy as np

from hopsight.baselines.prepare import symmetric_adjacency, transformed
from hopsight.graph import AttributedGraph


def test_directed_edges_are_symmetrized() -> None:
    graph = AttributedGraph([[0, 1, 0], [0, 0, 0], [0, 1, 0]], np.eye(3), directed=True)
    assert symmetric_adjacency(graph).toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_attributes_are_scaled_and_reduced(random_graph: AttributedGraph, rng: np.random.Generator) -> None:
    unchanged, _ = transformed(random_graph, n_components=None, rng=rng)
    np.testing.assert_array_equal(unchanged, random_graph.attributes)
    reduced, transform = transformed(random_graph, scaling="standard", n_components=2, rng=rng)
    assert reduced.shape == (60, 2) and transform.scaling == "standard"
    again = transform.apply(random_graph.attributes, random_graph.attribute_names)
    np.testing.assert_array_equal(reduced, again)
