"""A few rows of Â are those of the whole Â."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from hopsight.graph import AttributedGraph
from hopsight.hcm.locality import adjacency_of, edges_at, local_operator
from hopsight.nn.gcn import normalized_adjacency, smoothed
from toys import two_groups


@pytest.mark.parametrize("directed", [False, True])
def test_local_operator_is_a_part_of_the_whole(directed: bool, rng: np.random.Generator) -> None:
    graph = two_groups(0, directed=directed)
    visible = rng.random(graph.n_edges) < 0.7
    whole = normalized_adjacency(adjacency_of(graph, visible, directed=False)).toarray()
    rows = np.array([3, 17, 60])
    around = np.union1d(rows, graph.edges[:, edges_at(graph, rows)])
    near = graph.adjacency.toarray()[rows].any(axis=0) | graph.adjacency.toarray()[:, rows].any(axis=1)
    assert set(around.tolist()) == set(np.flatnonzero(near).tolist()) | set(rows.tolist())
    edges = edges_at(graph, around)
    part = local_operator(graph.edges[:, edges[visible[edges]]], rows, around, directed=directed).toarray()
    np.testing.assert_allclose(part, whole[np.ix_(rows, around)], rtol=1e-6)
    assert whole[rows].sum() == pytest.approx(part.sum(), rel=1e-6)  # nothing lies outside


def test_edges_at_some_nodes() -> None:
    path = AttributedGraph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], np.zeros((5, 1)))
    assert edges_at(path, np.array([0, 3])).tolist() == [0, 2, 3]


def test_weights_enter_the_local_operator_as_they_enter_the_views() -> None:
    graph = two_groups(0)
    weighted = replace(graph, edge_weight=np.random.default_rng(0).normal(size=graph.n_edges))
    everything = np.ones(graph.n_edges, dtype=np.bool_)
    rows = np.array([3, 17])
    around = np.union1d(rows, graph.edges[:, edges_at(graph, rows)])
    edges = edges_at(graph, around)
    part = local_operator(graph.edges[:, edges], rows, around, directed=False, weight=weighted.relative_weight[edges])
    values = np.random.default_rng(1).normal(size=(graph.n_nodes, 2)).astype(np.float32)
    whole = smoothed(adjacency_of(weighted, everything, directed=False, weighted=True), torch.from_numpy(values))
    np.testing.assert_allclose(part @ values[around], whole.numpy()[rows], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("directed", [False, True])
def test_edges_at_nodes_are_those_that_a_scan_finds(rng: np.random.Generator, directed: bool) -> None:
    graph = AttributedGraph.from_edges(*rng.integers(0, 60, (2, 300)), np.ones((62, 1)), directed=directed)
    for size in (1, 5, 62):
        nodes = np.sort(rng.choice(62, size, replace=False))
        wanted = np.flatnonzero(np.isin(graph.edges, nodes).any(axis=0))
        np.testing.assert_array_equal(edges_at(graph, nodes), wanted)
    assert edges_at(graph, np.array([61])).size == 0  # a node without edges
