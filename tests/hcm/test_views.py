"""What a fold sees of the graph."""

import numpy as np
import pytest
import torch

from hopsight.graph import AttributedGraph
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
    weight = rng.uniform(-1.0, 2.0, both_ways[0].size) if weighted else None
    graph = AttributedGraph.from_edges(*both_ways, np.ones((n_nodes, 1)), directed=directed, edge_weight=weight)
    pair = np.minimum(*graph.edges) * n_nodes + np.maximum(*graph.edges)
    hidden = pair % 3 == 0
    values = rng.standard_normal((n_nodes, 3))
    neighborhoods, tensor = Neighborhoods.of(graph, torch.device("cpu")), torch.from_numpy(values.astype(np.float32))
    found, nothing_hidden = neighborhoods.smooth(tensor, [hidden, np.zeros_like(hidden)])
    size = np.ones(graph.n_edges) if graph.edge_weight is None else np.asarray(graph.relative_weight)
    shown = np.zeros((n_nodes, n_nodes))
    np.add.at(shown, tuple(graph.edges[:, ~hidden]), size[~hidden])
    shown += shown.T
    shown = shown if weighted else np.minimum(shown, 1.0)  # two arcs between the same nodes are one neighbor
    scale = 1.0 / np.sqrt(1.0 + np.abs(shown).sum(axis=1))
    wanted = scale[:, None] * ((shown + np.eye(n_nodes)) @ (scale[:, None] * values))
    for form in (found, neighborhoods._smooth_on_device(tensor, hidden)):  # the second is that of a GPU
        np.testing.assert_allclose(form.numpy(), wanted, rtol=1e-5, atol=1e-5)
    if not weighted:
        np.testing.assert_allclose(wanted, normalized_adjacency(shown) @ values, rtol=1e-5, atol=1e-5)
    assert not torch.equal(found, nothing_hidden)
    rows = np.array([3, 17])
    some, other = neighborhoods.smooth(tensor, [hidden, np.zeros_like(hidden)], torch.float16, [rows, rows[:1]])
    torch.testing.assert_close(some, found[rows].half(), rtol=0, atol=0)
    torch.testing.assert_close(other, nothing_hidden[rows[:1]].half(), rtol=0, atol=0)


def test_more_views_than_bits_of_a_word(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = AttributedGraph.from_edges(*rng.integers(0, 30, (2, 90)), np.ones((30, 1)))
    hidden = [rng.random(graph.n_edges) < 0.5 for _ in range(40)]
    values = torch.from_numpy(rng.standard_normal((30, 2)).astype(np.float32))
    neighborhoods = Neighborhoods.of(graph, torch.device("cpu"))
    found = neighborhoods.smooth(values, hidden)
    monkeypatch.setattr("hopsight.hcm.views.BLOCK_VALUES", 7)
    for mask, view in zip(hidden, found, strict=True):
        torch.testing.assert_close(view, neighborhoods.smooth(values, [mask])[0], rtol=0, atol=0)
