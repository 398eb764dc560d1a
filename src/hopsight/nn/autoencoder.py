"""The graph autoencoder of DOMINANT: one encoder of graph convolutions, one decoder of attributes, one of edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from hopsight.nn.dropout import relu_drop
from hopsight.nn.gcn import Propagation, draw_weights, propagation
from hopsight.nn.target import Target


@dataclass(frozen=True)
class Inputs:
    """One network on a device: Â, the attributes X, and ÂX where X is dense."""

    propagate: Propagation
    attributes: Target
    propagated: Tensor | None

    @classmethod
    def of(cls, adjacency: Any, attributes: Any, device: torch.device, dtype: torch.dtype = torch.float32) -> Inputs:
        """Put a symmetric 0/1 adjacency and a dense or sparse attribute matrix on a device."""
        propagate = propagation(adjacency, directed=False, device=device, dtype=dtype)
        target = Target.of(attributes, device, dtype)
        return cls(propagate, target, None if target.dense is None else propagate(target.dense))

    def convolve(self, weight: Tensor) -> Tensor:
        """Return Â X W; sparse X is never multiplied out."""
        if self.propagated is not None:
            return self.propagated @ weight
        return self.propagate(self.attributes.times(weight))


class Rebuilt(NamedTuple):
    """What the network says: X̂ = f(left rightᵀ), and edges from units unitsᵀ."""

    encoding: Tensor  # (n_nodes, n_encoded)
    left: Tensor  # (n_nodes, n_hidden), one column more with a bias
    right: Tensor  # (n_attributes, n_hidden), one column more with a bias
    units: Tensor  # (n_nodes, n_units)


class Layers(nn.Module):
    """Weights and biases of consecutive layers.

    Parameters
    ----------
    widths
        Of the input and of every layer.
    bias
        Whether layers add one.
    initial
        ``"glorot"``: Glorot uniform weights, biases 0; ``"uniform"``: everything within ±1/√width.
    generator
        Source of the initial values.
    """

    def __init__(self, widths: Sequence[int], *, bias: bool, initial: str, generator: torch.Generator) -> None:
        super().__init__()
        weights, biases = [], []
        for n_in, n_out in pairwise(widths):
            if initial == "glorot":
                weights.append(draw_weights((n_in, n_out), generator))
                biases.append(torch.zeros(n_out))
            else:
                draw = (torch.rand((n_in + 1, n_out), generator=generator) * 2 - 1) / n_out**0.5
                weights.append(draw[:-1].clone())
                biases.append(draw[-1].clone())
        self.weights = nn.ParameterList(weights)
        self.biases = nn.ParameterList(biases if bias else [])

    def __len__(self) -> int:
        return len(self.weights)

    def convolve(self, layer: int, propagated: Tensor) -> Tensor:
        """Return Â H W + b from ÂH."""
        if len(self.biases):
            return torch.addmm(self.biases[layer], propagated, self.weights[layer])
        return propagated @ self.weights[layer]

    def add_bias(self, layer: int, values: Tensor) -> Tensor:
        """Return values + b of a layer, or the values themselves."""
        return values + self.biases[layer] if len(self.biases) else values


class Autoencoder(nn.Module):
    """Encoder, attribute decoder and structure decoder, all of graph convolutions Â H W + b.

    The last convolution of the attribute decoder is left as a product of two thin matrices, (Â H, 1)(W, b), so
    that the n × d matrix need not be held.

    Parameters
    ----------
    n_inputs
        Number of attributes.
    encoder_units, attribute_units, structure_units
        Widths of the encoder, of the attribute decoder before its last layer, and of the structure decoder.
    ends_in_relu
        ReLU after the last layer of encoder and structure decoder too.
    bias, initial, generator
        As in :class:`Layers`.
    """

    def __init__(
        self,
        n_inputs: int,
        encoder_units: Sequence[int],
        attribute_units: Sequence[int],
        structure_units: Sequence[int],
        *,
        ends_in_relu: bool,
        bias: bool,
        initial: str,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.ends_in_relu = ends_in_relu
        encoded = encoder_units[-1]
        self.encoder, self.attribute, self.structure = (
            Layers(widths, bias=bias, initial=initial, generator=generator)
            for widths in (
                [n_inputs, *encoder_units],
                [encoded, *attribute_units, n_inputs],
                [encoded, *structure_units],
            )
        )

    def forward(self, inputs: Inputs, dropout: float = 0.0, generator: torch.Generator | None = None) -> Rebuilt:
        """Return the rebuilt attributes and edges in factorized form."""
        encoding = self._encode(inputs, dropout, generator)
        spread = inputs.propagate(encoding)  # both decoders begin with it
        left = spread
        for layer in range(len(self.attribute) - 1):
            hidden = self.attribute.convolve(layer, left)
            left = inputs.propagate(relu_drop(hidden, dropout, generator))
        right = self.attribute.weights[-1].T
        if len(self.attribute.biases):
            left = torch.cat([left, left.new_ones((left.shape[0], 1))], dim=1)
            right = torch.cat([right, self.attribute.biases[-1][:, None]], dim=1)
        units = encoding
        for layer in range(len(self.structure)):
            convolved = spread if layer == 0 else inputs.propagate(units)
            units = self.structure.convolve(layer, convolved)
            if self.ends_in_relu or layer < len(self.structure) - 1:
                units = relu_drop(units, dropout, generator)
        return Rebuilt(encoding, left, right, units)

    def _encode(self, inputs: Inputs, dropout: float, generator: torch.Generator | None) -> Tensor:
        if inputs.propagated is not None:
            hidden = self.encoder.convolve(0, inputs.propagated)
        else:
            hidden = self.encoder.add_bias(0, inputs.convolve(self.encoder.weights[0]))
        for layer in range(1, len(self.encoder)):
            hidden = relu_drop(hidden, dropout, generator)
            weight = self.encoder.weights[layer]
            if weight.shape[1] < weight.shape[0]:  # fewer columns to propagate after the product
                hidden = self.encoder.add_bias(layer, inputs.propagate(hidden @ weight))
            else:
                hidden = self.encoder.convolve(layer, inputs.propagate(hidden))
        return torch.relu(hidden) if self.ends_in_relu else hidden
