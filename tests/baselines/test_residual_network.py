"""ResGCN's network against dense layers, its limits in γ, and blocks of rows against all rows at once."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from hopsight.baselines import residual_network as residual
from hopsight.baselines.residual_network import ResidualGCN
from hopsight.graph import AttributedGraph
from hopsight.nn import reconstruction
from hopsight.nn.layers import Inputs
from toys import dense_propagation

CPU = torch.device("cpu")


def make(
    n_inputs: int,
    gamma: float = 0.5,
    encoder_units: tuple[int, ...] = (7, 5, 4),
    residual_units: tuple[int, ...] = (8, 6),
) -> ResidualGCN:
    generator = torch.Generator().manual_seed(1)
    return ResidualGCN(n_inputs, encoder_units, residual_units, (5,), gamma=gamma, generator=generator).double()


def inputs_of(graph: AttributedGraph, sparse: bool = False) -> Inputs:
    attributes = sp.csr_array(graph.attributes) if sparse else graph.attributes
    return Inputs.of(graph.adjacency, attributes, CPU, torch.float64)


def dense_forward(network: ResidualGCN, graph: AttributedGraph) -> tuple[Tensor, Tensor, Tensor]:
    """Return Z, R and X̂, every layer as printed, with dense matrices."""
    A = dense_propagation(graph)
    X = torch.tensor(graph.attributes)
    R = X
    for weight in network.residual.weights:
        R = torch.relu(R @ weight)
    S, H = R, torch.relu(A @ X @ network.encoder.weights[0])
    for attention, weight in zip(network.attention.weights, list(network.encoder.weights)[1:], strict=True):
        S = torch.relu(S @ attention)
        H = torch.relu(A @ (H * torch.exp(-network.gamma * S)) @ weight)
    first, last = network.decoder.weights
    return H, R, torch.relu(H @ first) @ last


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("kept", [1 << 27, 0])
def test_loss_and_gradients_equal_the_dense_form(
    random_graph: AttributedGraph, monkeypatch: pytest.MonkeyPatch, sparse: bool, kept: int
) -> None:
    monkeypatch.setattr(residual, "KEPT_VALUES", kept)  # 0: ten rows at a time, computed twice
    monkeypatch.setattr(residual, "BLOCK_VALUES", 60)
    monkeypatch.setattr(reconstruction, "BLOCK_VALUES", 24)
    network, inputs = make(6), inputs_of(random_graph, sparse)
    Z, R, X_hat = dense_forward(network, random_graph)
    expected = (torch.tensor(random_graph.attributes) - X_hat - 0.3 * R).square().sum()
    explained = network(inputs)
    torch.testing.assert_close(explained.units, Z, atol=1e-8, rtol=1e-8)
    loss = network.attribute_loss(explained, inputs, 0.3)
    torch.testing.assert_close(loss, expected, atol=1e-8, rtol=1e-8)
    torch.testing.assert_close(network.residual_norms(inputs), R.norm(dim=1), atol=1e-8, rtol=1e-8)
    weights = list(network.parameters())
    total, dense_total = loss + explained.units.sum(), expected + Z.sum()
    pairs = zip(torch.autograd.grad(total, weights), torch.autograd.grad(dense_total, weights), strict=True)
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs, atol=1e-8, rtol=1e-8)


def test_no_attention_is_a_plain_gcn(random_graph: AttributedGraph) -> None:
    network = make(6, gamma=0.0, encoder_units=(7, 4))
    A = dense_propagation(random_graph)
    first, second = network.encoder.weights
    plain = torch.relu(A @ torch.relu(A @ torch.tensor(random_graph.attributes) @ first) @ second)
    torch.testing.assert_close(network(inputs_of(random_graph)).units, plain, atol=1e-8, rtol=1e-8)


def test_full_attention_leaves_nothing(random_graph: AttributedGraph) -> None:
    network = make(6, gamma=1e6, encoder_units=(7, 4), residual_units=())
    with torch.no_grad():
        network.residual.weights[0].fill_(1.0)
        network.attention.weights[0].fill_(1.0)
    positive = AttributedGraph(random_graph.adjacency, abs(random_graph.attributes) + 0.1)  # so that S > 0
    assert not network(inputs_of(positive)).units.any()


def test_one_identity_layer_gives_the_attributes_back(random_graph: AttributedGraph) -> None:
    network = make(6, residual_units=())
    positive = AttributedGraph(random_graph.adjacency, abs(random_graph.attributes))
    with torch.no_grad():
        network.residual.weights[0].copy_(torch.eye(6))
        for weight in network.decoder.weights:
            weight.zero_()
    inputs = inputs_of(positive, sparse=True)
    norms = np.linalg.norm(positive.attributes, axis=1)
    np.testing.assert_allclose(network.residual_norms(inputs).numpy(), norms, rtol=1e-12)
    assert network.attribute_loss(network(inputs), inputs, 1.0).item() == pytest.approx(0.0, abs=1e-12)


def test_one_convolution_needs_no_attention(random_graph: AttributedGraph) -> None:
    network = make(6, encoder_units=(4,))
    assert network(inputs_of(random_graph)).units.shape == (60, 4)
    assert len(network.attention) == 0
