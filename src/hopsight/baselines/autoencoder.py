"""The graph autoencoder of DOMINANT: an encoder of graph convolutions, and decoders of attributes and of edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from hopsight.nn.dropout import relu_drop
from hopsight.nn.layers import Inputs, Layers


class Reconstruction(NamedTuple):
    """Both reconstructions in factorized form: attributes f(left rightᵀ), edges g(units unitsᵀ)."""

    encoding: Tensor  # (n_nodes, n_encoded)
    left: Tensor  # (n_nodes, n_hidden), one column more with a bias
    right: Tensor  # (n_attributes, n_hidden), one column more with a bias
    units: Tensor  # (n_nodes, n_units)


class Autoencoder(nn.Module):
    """Encoder, attribute decoder and structure decoder, all of graph convolutions Â H W + b.

    The last convolution of the attribute decoder stays a product of two thin matrices, (Â H, 1)(W, b), so that no
    n × d matrix is held.

    Parameters
    ----------
    n_inputs
        Number of attributes.
    encoder_units, attribute_units, structure_units
        Widths of the encoder, of the attribute decoder before its last layer, and of the structure decoder.
    ends_in_relu
        Whether a ReLU follows the last layer of the encoder and of the structure decoder.
    bias, initial, generator
        See :class:`hopsight.nn.layers.Layers`.
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

    def forward(self, inputs: Inputs, dropout: float = 0.0, generator: torch.Generator | None = None) -> Reconstruction:
        """Return the reconstructed attributes and edges in factorized form."""
        encoding = self._encode(inputs, dropout, generator)
        spread = inputs.propagate(encoding)  # the first step of both decoders
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
        return Reconstruction(encoding, left, right, units)

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
