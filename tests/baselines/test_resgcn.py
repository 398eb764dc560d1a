"""ResGCN: closed forms with zero weights, residuals as scores, new graphs, collapse."""

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from hopsight.baselines import networks
from hopsight.baselines.networks import Inputs, Target, set_weights
from hopsight.baselines.resgcn import ResGCN, ResidualGCN
from hopsight.graph import AttributedGraph
from toys import dense_propagation

CPU = torch.device("cpu")


def loss_with(graph: AttributedGraph, weights: float, **settings: Any) -> float:
    """Return the loss of a network whose weights are all equal."""
    model = ResGCN(**settings)
    inputs = Inputs.of(graph.adjacency, graph.attributes, CPU)
    network = model._network(inputs, torch.Generator())
    n_weights = sum(values.numel() for values in network.parameters())
    set_weights(network, np.full(n_weights, weights, dtype=np.float32))
    return float(model._loss(network, inputs, Target.of(graph.adjacency, CPU), torch.Generator()).detach())


def test_defaults_are_those_of_the_paper() -> None:
    model = ResGCN()
    assert (model.encoder_units, model.residual_units, model.decoder_units) == ((64, 32), (64, 64, 64), (32, 64))
    assert (model.attribute_weight, model.residual_share, model.gamma, model.lr) == (0.8, 0.1, 0.1, 0.01)


def test_with_zero_weights_every_edge_has_probability_one_half(random_graph: AttributedGraph) -> None:
    assert loss_with(random_graph, 0.0, attribute_weight=0.0) == pytest.approx(60**2 / 4)
    assert loss_with(random_graph, 0.0, attribute_weight=1.0) == pytest.approx((random_graph.attributes**2).sum())
    sampled = loss_with(random_graph, 0.0, attribute_weight=0.0, n_rows=7)
    assert sampled == pytest.approx(60**2 / 4)  # every row has the same error, so any sample gives the total


def test_with_zero_weights_every_score_is_zero(random_graph: AttributedGraph) -> None:
    model = ResGCN(n_epochs=1).fit(random_graph)
    model.weights_ = np.zeros_like(model.weights_)
    assert not model.decision_function(random_graph).any()


def test_identity_residual_scores_the_norm(random_graph: AttributedGraph) -> None:
    graph = AttributedGraph(random_graph.adjacency, abs(random_graph.attributes))
    model = ResGCN(n_epochs=1, residual_units=(), scaling="none").fit(graph)
    model.weights_[:36] = np.eye(6, dtype=np.float32).ravel()  # the residual network comes first
    np.testing.assert_allclose(
        model.decision_function(graph), np.linalg.norm(graph.attributes, axis=1), rtol=1e-6, atol=1e-6
    )


def test_training_reduces_the_loss_and_scores_its_graph_again(random_graph: AttributedGraph) -> None:
    model = ResGCN(n_epochs=60).fit(random_graph)
    assert model.loss_.shape == (60,) and model.loss_[-1] < 0.8 * model.loss_[0]
    np.testing.assert_allclose(model.decision_function(random_graph), model.decision_score_, atol=1e-4)
    assert np.ptp(model.decision_score_) > 0.1 and model.decision_score_.min() >= 0


def test_a_collapse_after_large_steps_is_reported(random_graph: AttributedGraph) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ResGCN(lr=1.0, n_epochs=20, residual_share=10.0).fit(random_graph)
    assert "ResGCN collapsed" in str(caught[0].message)


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
def test_loss_and_gradients_equal_the_dense_form(
    random_graph: AttributedGraph, monkeypatch: pytest.MonkeyPatch, sparse: bool
) -> None:
    monkeypatch.setattr(networks, "BLOCK_VALUES", 24)
    generator = torch.Generator().manual_seed(1)
    network = ResidualGCN(6, (7, 5, 4), (8, 6), (5,), gamma=0.5, generator=generator).double()
    inputs = inputs_of(random_graph, sparse)
    Z, R, X_hat = dense_forward(network, random_graph)
    expected = (torch.tensor(random_graph.attributes) - X_hat - 0.3 * R).square().sum()
    explained = network(inputs)
    torch.testing.assert_close(explained.units, Z, atol=1e-8, rtol=1e-8)
    loss = network.attribute_loss(explained, inputs, 0.3)
    torch.testing.assert_close(loss, expected, atol=1e-8, rtol=1e-8)
    torch.testing.assert_close(network.residuals(inputs), R, atol=1e-8, rtol=1e-8)
    weights = list(network.parameters())
    total, dense_total = loss + explained.units.sum(), expected + Z.sum()
    pairs = zip(torch.autograd.grad(total, weights), torch.autograd.grad(dense_total, weights), strict=True)
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs, atol=1e-8, rtol=1e-8)
