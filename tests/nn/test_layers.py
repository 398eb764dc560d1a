"""A graph on a device, and the weights of consecutive layers."""

from __future__ import annotations

import scipy.sparse as sp
import torch

from hopsight.graph import AttributedGraph
from hopsight.nn.layers import Inputs, Layers
from toys import dense_propagation


def test_initial_weights() -> None:
    generator = torch.Generator().manual_seed(0)
    uniform = Layers([30, 50], bias=True, initial="uniform", generator=generator)
    assert 0.95 / 50**0.5 < uniform.weights[0].abs().max().item() <= 1 / 50**0.5
    assert 0 < uniform.biases[0].abs().max().item() <= 1 / 50**0.5
    glorot = Layers([30, 50], bias=True, initial="glorot", generator=generator)
    assert 0.95 * (6 / 80) ** 0.5 < glorot.weights[0].abs().max().item() <= (6 / 80) ** 0.5
    assert not glorot.biases[0].any()
    assert len(Layers([30, 50], bias=False, initial="uniform", generator=generator).biases) == 0


def test_sparse_and_dense_attributes_are_convolved_alike(random_graph: AttributedGraph) -> None:
    weight = torch.arange(12.0, dtype=torch.float64).view(6, 2)
    expected = dense_propagation(random_graph) @ (torch.tensor(random_graph.attributes) @ weight)
    for attributes in (random_graph.attributes, sp.csr_array(random_graph.attributes)):
        inputs = Inputs.of(random_graph.adjacency, attributes, torch.device("cpu"), torch.float64)
        torch.testing.assert_close(inputs.convolve(weight), expected)
