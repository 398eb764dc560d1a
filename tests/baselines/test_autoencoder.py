"""DOMINANT's network against dense convolutions and PyTorch Geometric's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from hopsight.baselines.autoencoder import Autoencoder
from hopsight.graph import AttributedGraph
from hopsight.nn.layers import Inputs, Layers
from toys import dense_propagation

CPU = torch.device("cpu")


def make(
    n_inputs: int,
    *,
    attribute_units: tuple[int, ...] = (5,),
    structure_units: tuple[int, ...] = (6,),
    ends_in_relu: bool = True,
    bias: bool = True,
    initial: str = "uniform",
) -> Autoencoder:
    return Autoencoder(
        n_inputs,
        (7, 4),
        attribute_units,
        structure_units,
        ends_in_relu=ends_in_relu,
        bias=bias,
        initial=initial,
        generator=torch.Generator().manual_seed(3),
    ).double()


def dense_forward(network: Autoencoder, graph: AttributedGraph) -> tuple[Tensor, Tensor]:
    """Every layer as act(Â H W + b) with dense matrices, in the authors' order."""
    A = dense_propagation(graph)

    def block(layers: Layers, values: Tensor) -> Tensor:
        for position, weight in enumerate(layers.weights):
            values = A @ (values @ weight) + (layers.biases[position] if len(layers.biases) else 0.0)
            if network.ends_in_relu or position < len(layers) - 1:
                values = torch.relu(values)
        return values

    Z = block(network.encoder, torch.tensor(graph.attributes))
    return block(network.attribute, Z), block(network.structure, Z)


@pytest.mark.parametrize("stored", ["dense", "sparse"])
@pytest.mark.parametrize("ends_in_relu", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_factorized_network_equals_the_dense_one(
    random_graph: AttributedGraph, stored: str, ends_in_relu: bool, bias: bool, depth: int
) -> None:
    network = make(6, attribute_units=(5,) * depth, structure_units=(6,) * depth, ends_in_relu=ends_in_relu, bias=bias)
    attributes = random_graph.attributes if stored == "dense" else sp.csr_array(random_graph.attributes)
    output = network(Inputs.of(random_graph.adjacency, attributes, CPU, torch.float64))
    attributes_hat = output.left @ output.right.T
    expected, units = dense_forward(network, random_graph)
    torch.testing.assert_close(torch.relu(attributes_hat) if ends_in_relu else attributes_hat, expected)
    torch.testing.assert_close(output.units, units)


def test_gradients_reach_every_weight_and_match_the_dense_network(random_graph: AttributedGraph) -> None:
    network = make(6)
    output = network(Inputs.of(random_graph.adjacency, sp.csr_array(random_graph.attributes), CPU, torch.float64))
    loss = torch.relu(output.left @ output.right.T).square().sum() + output.units.square().sum()
    attributes_hat, units = dense_forward(network, random_graph)
    expected = attributes_hat.square().sum() + units.square().sum()
    weights = list(network.parameters())
    for ours, theirs in zip(torch.autograd.grad(loss, weights), torch.autograd.grad(expected, weights), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-8, rtol=1e-10)
        assert ours.abs().sum() > 0


def test_dropout_draws_from_its_own_generator(random_graph: AttributedGraph) -> None:
    network = make(6)
    inputs = Inputs.of(random_graph.adjacency, random_graph.attributes, CPU, torch.float64)
    state = torch.get_rng_state()
    first, again = (network(inputs, 0.5, torch.Generator().manual_seed(1)).units for _ in range(2))
    other = network(inputs, 0.5, torch.Generator().manual_seed(2)).units
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)
    assert ((first == 0).double().mean() - (network(inputs).units == 0).double().mean()) > 0.1


def test_equals_pytorch_geometric_convolutions(random_graph: AttributedGraph) -> None:
    geometric = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")
    network = make(6, ends_in_relu=False)
    theirs = geometric.GCN(6, 7, num_layers=2, out_channels=4).double()
    with torch.no_grad():
        for conv, weight, bias in zip(theirs.convs, network.encoder.weights, network.encoder.biases, strict=True):
            conv.lin.weight.copy_(weight.T)
            conv.bias.copy_(bias)
    source, target = random_graph.adjacency.nonzero()
    index = torch.from_numpy(np.stack([source, target]).astype(np.int64))
    expected = theirs(torch.tensor(random_graph.attributes), index)
    output = network(Inputs.of(random_graph.adjacency, random_graph.attributes, CPU, torch.float64))
    torch.testing.assert_close(output.encoding, expected, atol=1e-6, rtol=1e-6)  # our Â is rounded to single precision
