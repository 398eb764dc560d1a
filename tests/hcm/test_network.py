"""Both models: what they compute from a view, and their weights as one vector."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hopsight.graph import AttributedGraph
from hopsight.hcm.network import GCNHopNetwork, Mapped, ViewHopNetwork
from hopsight.nn.gcn import propagation

CPU = torch.device("cpu")


def gcn_network(seed: int, n_layers: int = 2) -> GCNHopNetwork:
    generator = torch.Generator().manual_seed(seed)
    return GCNHopNetwork(6, n_units=5, n_layers=n_layers, mlp_units=7, n_classes=4, directed=False, generator=generator)


def view_network(seed: int) -> ViewHopNetwork:
    generator = torch.Generator().manual_seed(seed)
    return ViewHopNetwork([6, 6, 2], n_units=5, mlp_units=7, n_classes=4, directed=False, generator=generator)


def views(graph: AttributedGraph) -> dict[str, Any]:
    propagate = propagation(graph.adjacency, directed=False, device=CPU)
    own = torch.from_numpy(graph.attributes.astype(np.float32))
    return {"gcn": (propagate(own), propagate), "views": [own, propagate(own), own[:, :2]]}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_views_are_mapped_side_by_side(random_graph: AttributedGraph, dtype: torch.dtype) -> None:
    """The difference of mapped rows is the mapped difference of rows, whatever precision the rows are kept in."""
    network, pairs = view_network(0), torch.tensor([[0, 7], [1, 3]])
    view = [part.to(dtype) for part in views(random_graph)["views"]]
    z = torch.cat([part.float() @ weight for part, weight in zip(view, network.weights, strict=True)], dim=1)
    difference = network.difference(network.represent(view), pairs)
    assert difference.shape == (2, 15) and difference.dtype == torch.float32
    torch.testing.assert_close(difference, z[pairs[0]] - z[pairs[1]])


@pytest.mark.parametrize(("n_pairs", "mapped"), [(60, False), (61, True)])
def test_nodes_are_mapped_first_where_pairs_are_more(
    n_pairs: int, mapped: bool, random_graph: AttributedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopsight.hcm.network.ROWS_AT_ONCE", 7)  # several blocks, the last one short
    network, pairs = view_network(0), torch.tensor([[0, 7], [1, 3]])
    nodes = network.represent(views(random_graph)["views"])
    found = network.mapped(nodes, n_pairs)
    assert isinstance(found, Mapped) == mapped
    torch.testing.assert_close(network(found, pairs), network(nodes, pairs))


def test_more_layers_reach_farther(path_graph: AttributedGraph) -> None:
    """With two layers a change at one end of 0 – 1 – … – 5 reaches node 2; with four, node 4."""
    for n_layers, reach in ((2, 2), (4, 4)):
        network = gcn_network(0, n_layers)
        propagate = propagation(path_graph.adjacency, directed=False, device=CPU)
        own = torch.randn(6, 6, generator=torch.Generator().manual_seed(0))
        changed = own.clone()
        changed[0] += 1.0
        before, after = (network.represent((propagate(x), *[propagate] * (n_layers - 1)))[0] for x in (own, changed))
        moved = (before - after).abs().amax(dim=1) > 1e-7
        assert moved.tolist() == [node <= reach for node in range(6)]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("n_layers", [1, 2, 3, 4])
def test_a_few_pairs_are_judged_and_learnt_from_as_in_the_whole_graph(n_layers: int, directed: bool) -> None:
    """A ring of 400 nodes, so that three pairs see little of it: same logits, same gradients."""
    source = np.arange(400)
    arcs = sp.csr_array((np.ones(400), (source, (source + 1) % 400)), shape=(400, 400))
    propagate = propagation(arcs if directed else arcs + arcs.T, directed=directed, device=CPU)
    own = torch.randn(400, 6, generator=torch.Generator().manual_seed(0))
    view = (propagate(own), *[propagate] * (n_layers - 1))
    network, pairs = gcn_network(0, n_layers), torch.tensor([[3, 7, 3], [250, 3, 399]])
    near, local = network.focus(view, pairs)
    assert len(near[0]) <= 5 * (2 * n_layers - 1) and local.max() < 5  # five nodes and what they see
    found = []
    for seen, ends in ((view, pairs), (near, local)):
        logits = network(network.represent(seen), ends)
        found.append((logits, torch.autograd.grad(logits.square().sum(), list(network.parameters()))))
    torch.testing.assert_close(found[0], found[1])
