"""GCN: one layer by hand, three against dense algebra, and randomness from explicit generators."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hopsight.graph import AttributedGraph
from hopsight.nn.gcn import GCN, HopMLP, normalized_adjacency, propagation, relu_drop, smoothed_by, torch_csr

CPU = torch.device("cpu")


def test_normalized_adjacency_of_a_path_by_hand() -> None:
    """With self-loops the degrees of 0 – 1 – 2 are 2, 3, 2."""
    path = sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    across = 1 / np.sqrt(6)
    expected = [[1 / 2, across, 0], [across, 1 / 3, across], [0, across, 1 / 2]]
    np.testing.assert_allclose(normalized_adjacency(path).toarray(), expected, rtol=1e-6)


def test_normalized_adjacency_of_a_directed_edge_and_an_isolated_node() -> None:
    """0 → 1 with loops: out-degrees 2, 1, 1 on the left, in-degrees 1, 2, 1 on the right."""
    arc = sp.csr_array(([1.0], ([0], [1])), shape=(3, 3))
    expected = [[1 / np.sqrt(2), 1 / 2, 0], [0, 1 / np.sqrt(2), 0], [0, 0, 1]]
    np.testing.assert_allclose(normalized_adjacency(arc).toarray(), expected, rtol=1e-6)


def test_one_layer_by_hand() -> None:
    """Two connected nodes: Â is 1/2 everywhere, so Z = mean(X) W + b for both."""
    propagate = propagation(sp.csr_array(np.array([[0, 1], [1, 0]])), directed=False, device=CPU)
    gcn = GCN(2, 2, 1, generator=torch.Generator())
    with torch.no_grad():
        gcn.weights[0].copy_(torch.tensor([[1.0, -1.0], [2.0, 0.5]]))
        gcn.biases[0].copy_(torch.tensor([0.5, 0.0]))
    z = gcn(propagate(torch.tensor([[1.0, 2.0], [3.0, -6.0]])), [])
    # the mean row is (2, -2): 2·1 − 2·2 + 0.5 = −1.5 and −2 − 1 = −3; the last layer is linear, nothing is cut off
    torch.testing.assert_close(z, torch.tensor([[-1.5, -3.0], [-1.5, -3.0]]))


@pytest.mark.parametrize("directed", [False, True])
def test_three_layers_equal_dense_algebra(random_graph: AttributedGraph, directed: bool) -> None:
    adjacency = sp.triu(random_graph.adjacency).tocsr() if directed else random_graph.adjacency
    generator = torch.Generator().manual_seed(3)
    gcn = GCN(6, 5, 3, generator=generator).double()
    propagate = propagation(adjacency, directed=directed, device=CPU, dtype=torch.float64)
    loops = adjacency.toarray().astype(np.float64) + np.eye(60)
    A = torch.from_numpy(loops / np.sqrt(np.outer(loops.sum(axis=1), loops.sum(axis=0))))
    X = torch.tensor(random_graph.attributes, requires_grad=True)
    with torch.no_grad():
        for bias in gcn.biases:
            bias.copy_(torch.randn(5, generator=generator))
    hidden = X
    for layer, (weight, bias) in enumerate(zip(gcn.weights, gcn.biases, strict=True)):
        hidden = A @ hidden @ weight + bias
        if layer < 2:
            hidden = torch.relu(hidden)
    sparse = gcn(propagate(X), [propagate, propagate])
    torch.testing.assert_close(sparse, hidden)
    given = torch.randn(60, 5, generator=generator, dtype=torch.float64)
    inputs = [X, *gcn.parameters()]
    for ours, theirs in zip(
        torch.autograd.grad((sparse * given).sum(), inputs),
        torch.autograd.grad((hidden * given).sum(), inputs),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


def test_weights_enter_the_smoothing_by_their_size_and_sign() -> None:
    weights = sp.csr_array(np.array([[0.0, 3.0, 0.0], [3.0, 0.0, -1.0], [0.0, -1.0, 0.0]]))
    values = torch.tensor([[1.0], [2.0], [4.0]])
    scale = 1.0 / np.sqrt(np.array([4.0, 5.0, 2.0]))  # one more than the absolute weights of a node
    wanted = scale[:, None] * ((weights.toarray() + np.eye(3)) @ (scale[:, None] * values.numpy()))
    found = smoothed_by(torch_csr(weights, torch.device("cpu")), torch.tensor([3.0, 4.0, 1.0]), values)
    torch.testing.assert_close(found.double(), torch.from_numpy(wanted), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.75])
def test_share_is_dropped_evenly_and_the_mean_is_kept(share: float) -> None:
    out = relu_drop(torch.ones(40_000, 5), share, torch.Generator().manual_seed(1))
    assert (out == 0).float().mean().item() == pytest.approx(share, abs=0.005)
    assert out.mean().item() == pytest.approx(1.0, abs=0.01)
    by_column = (out == 0).float().mean(dim=0)
    torch.testing.assert_close(by_column, torch.full((5,), share), atol=0.01, rtol=0.0)
    pairs = ((out[:, 0] == 0) & (out[:, 1] == 0)).float().mean().item()  # neighbors share a draw but drop independently
    assert pairs == pytest.approx(share**2, abs=0.01)


def test_gradient_is_that_of_relu_where_a_unit_is_kept() -> None:
    values = torch.randn((7, 3), dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    out = relu_drop(values, 0.4, torch.Generator().manual_seed(2))
    kept = (out > 0).double() / 0.6
    torch.testing.assert_close(out, values.detach() * kept)
    out.square().sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(values.grad, 2 * out.detach() * kept)


Z = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.0, 0.0]])
DIFFERENCES = Z[[0, 1, 2]] - Z[[1, 0, 2]]


def by_hand(directed: bool) -> HopMLP:
    mlp = HopMLP(2, 2, 3, directed=directed, generator=torch.Generator())
    with torch.no_grad():
        mlp.weights[0].copy_(torch.tensor([[1.0, -1.0], [1.0, 0.0]]))
        mlp.biases[0].copy_(torch.tensor([-1.0, 3.0]))
        mlp.weights[1].copy_(torch.tensor([[1.0, 2.0, 0.0], [0.0, -1.0, 1.0]]))
        mlp.biases[1].copy_(torch.tensor([0.0, 0.0, -5.0]))
    return mlp


def test_undirected_logits_by_hand() -> None:
    """|z0 − z1| = (2, 3): hidden = ReLU(2 + 3 − 1, −2 + 3) = (4, 1); logits (4, 8 − 1, 1 − 5), no ReLU on them."""
    expected = [[4.0, 7.0, -4.0], [4.0, 7.0, -4.0], [0.0, -3.0, -2.0]]
    assert by_hand(directed=False)(DIFFERENCES).tolist() == expected


def test_directed_logits_keep_the_sign() -> None:
    """z0 − z1 = (−2, 3): hidden = (0, 5). z1 − z0 = (2, −3): hidden = (0, 1)."""
    expected = [[0.0, -5.0, 0.0], [0.0, -1.0, -4.0], [0.0, -3.0, -2.0]]
    assert by_hand(directed=True)(DIFFERENCES).tolist() == expected
