"""What a fold sees of the graph."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hopsight.graph import AttributedGraph
from hopsight.hcm.locality import adjacency_of
from hopsight.hcm.views import Neighborhoods
from hopsight.nn.gcn import normalized_adjacency


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_hidden_edges_are_left_out_of_the_neighborhoods(
    rng: np.random.Generator, directed: bool, weighted: bool
) -> None:
    """The same as the operator of the graph that has only the shown edges; both arcs of a pair are hidden together."""
    n_nodes = 40
    source, target = rng.integers(0, n_nodes, (2, 200))
    both_ways = np.concatenate([source, target[:60]]), np.concatenate([target, source[:60]])
    weight = rng.uniform(0.5, 2.0, both_ways[0].size) if weighted else None
    graph = AttributedGraph.from_edges(*both_ways, np.ones((n_nodes, 1)), directed=directed, edge_weight=weight)
    pair = np.minimum(*graph.edges) * n_nodes + np.maximum(*graph.edges)
    hidden = pair % 3 == 0
    values = rng.standard_normal((n_nodes, 3))
    found = Neighborhoods(graph, torch.device("cpu")).smooth(torch.from_numpy(values.astype(np.float32)), hidden)
    shown = adjacency_of(graph, ~hidden, directed=False, weighted=True).toarray().astype(np.float64)
    scale = 1.0 / np.sqrt(1.0 + shown.sum(axis=1))
    wanted = scale[:, None] * ((shown + np.eye(n_nodes)) @ (scale[:, None] * values))
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-5)
    if not weighted:
        np.testing.assert_allclose(wanted, normalized_adjacency(shown) @ values, rtol=1e-5, atol=1e-5)
