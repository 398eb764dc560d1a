"""A few nodes see what they see in the whole graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from hopsight.graph import AttributedGraph
from hopsight.hcm.splits import Splits, edge_hashes
from hopsight.hcm.views import adjacency_of, edges_at, local_views
from hopsight.nn.gcn import smoothed
from toys import two_groups


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_a_few_nodes_see_what_they_see_in_the_whole_graph(
    directed: bool, weighted: bool, rng: np.random.Generator
) -> None:
    graph = two_groups(0, directed=directed)
    if directed:  # some arcs have an opposite one, which stays where they go
        arcs = np.concatenate([graph.edges, graph.edges[::-1, :40]], axis=1)
        graph = AttributedGraph.from_edges(*arcs, graph.attributes, directed=True)
    if weighted:
        graph = replace(graph, edge_weight=rng.normal(size=graph.n_edges))
    values, splits, rows = rng.normal(size=(graph.n_nodes, 3)), Splits(5, 2, 3), np.array([3, 17, 60])
    absent = edges_at(graph, np.array([17]))[:2]
    found = local_views(graph, splits, rows, lambda nodes: values[nodes], absent)
    assert found.shape == (6, 3, 3)
    for fold in splits.folds:
        shown = ~splits.of(edge_hashes(graph)).hidden(fold)
        shown[absent] = False
        matrix = adjacency_of(graph, shown, directed=False, weighted=weighted)
        whole = smoothed(matrix, torch.from_numpy(values.astype(np.float32)))
        np.testing.assert_allclose(found[fold], whole.numpy()[rows], rtol=1e-4, atol=1e-5)


def test_edges_at_some_nodes() -> None:
    path = AttributedGraph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], np.zeros((5, 1)))
    assert edges_at(path, np.array([0, 3])).tolist() == [0, 2, 3]


@pytest.mark.parametrize("directed", [False, True])
def test_edges_at_nodes_are_those_that_a_scan_finds(rng: np.random.Generator, directed: bool) -> None:
    graph = AttributedGraph.from_edges(*rng.integers(0, 60, (2, 300)), np.ones((62, 1)), directed=directed)
    for size in (1, 5, 62):
        nodes = np.sort(rng.choice(62, size, replace=False))
        wanted = np.flatnonzero(np.isin(graph.edges, nodes).any(axis=0))
        np.testing.assert_array_equal(edges_at(graph, nodes), wanted)
    assert edges_at(graph, np.array([61])).size == 0  # a node without edges
