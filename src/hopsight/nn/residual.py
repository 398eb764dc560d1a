"""The network of ResGCN: a GCN whose layers look away from nodes that a residual net finds hard to explain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from hopsight.nn.autoencoder import Inputs, Layers

BLOCK_VALUES = 1 << 23  # residual entries held at a time: above, blocks of rows are computed again when needed


class Explained(NamedTuple):
    """What the network says: links from units unitsᵀ, R = ReLU(residual W_R), X̂ = decoded W_X."""

    units: Tensor  # Z, (n_nodes, n_encoded)
    residual: Tensor  # last hidden layer of the residual net, (n_nodes, n_hidden)
    decoded: Tensor  # last hidden layer of the attribute decoder, (n_nodes, n_hidden)


class ResidualGCN(nn.Module):
    """Residual net, attention net, encoder and attribute decoder; no layer has a bias.

    R = ReLU(… ReLU(X Θ)) from the attributes alone, S⁽¹⁾ = ReLU(R Θ), S⁽²⁾ = ReLU(S⁽¹⁾ Θ), …;
    H⁽¹⁾ = ReLU(Â X W), H⁽ˡ⁺¹⁾ = ReLU(Â (H⁽ˡ⁾ ∘ exp(−γ S⁽ˡ⁾)) W), Z the last of them; X̂ = MLP(Z), its last layer linear.

    Parameters
    ----------
    n_inputs
        Number of attributes d.
    encoder_units, residual_units, decoder_units
        Widths of the GCN, of the residual net before its last, d-wide layer, and of the decoder before its own.
        The attention net has the widths of the GCN but for its last layer, which nothing looks away from.
    gamma
        The strength γ of the attention.
    generator
        Source of the Glorot initial weights.
    """

    def __init__(
        self,
        n_inputs: int,
        encoder_units: Sequence[int],
        residual_units: Sequence[int],
        decoder_units: Sequence[int],
        *,
        gamma: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.gamma = gamma
        self.residual, self.attention, self.encoder, self.decoder = (
            Layers(widths, bias=False, initial="glorot", generator=generator)
            for widths in (
                [n_inputs, *residual_units, n_inputs],
                [n_inputs, *encoder_units[:-1]],
                [n_inputs, *encoder_units],
                [encoder_units[-1], *decoder_units, n_inputs],
            )
        )

    def forward(self, inputs: Inputs) -> Explained:
        """Return units, and the last hidden layers of residual net and decoder."""
        residual = _before_last(self.residual, inputs)
        hidden = torch.relu(inputs.convolve(self.encoder.weights[0]))
        attention = residual
        for layer in range(1, len(self.encoder)):
            if layer == 1:
                attention = torch.relu(self._in_blocks(self._first_attention, residual))
            else:
                attention = torch.relu(attention @ self.attention.weights[layer - 1])
            hidden = hidden * torch.exp(-self.gamma * attention)
            hidden = torch.relu(inputs.propagate(hidden @ self.encoder.weights[layer]))
        decoded = hidden
        for weight in list(self.decoder.weights)[:-1]:
            decoded = torch.relu(decoded @ weight)
        return Explained(hidden, residual, decoded)

    def attribute_loss(self, explained: Explained, inputs: Inputs, residual_share: float) -> Tensor:
        """Return ‖X − X̂ − λR‖², a block of rows at a time; λ is the residual share."""

        def loss(residual: Tensor, decoded: Tensor, rows: Tensor) -> Tensor:
            error: Tensor = decoded @ self.decoder.weights[-1] + residual_share * self._rows(residual)
            inputs.attributes.subtract_from(error, rows)
            return error.square().sum(1)

        rows = torch.arange(explained.units.shape[0], device=explained.units.device)
        return self._in_blocks(loss, explained.residual, explained.decoded, rows).sum()

    @torch.no_grad()
    def residual_norms(self, inputs: Inputs) -> Tensor:
        """Return ‖R_i‖ of every node."""
        return self._in_blocks(self._norms, _before_last(self.residual, inputs))

    def _rows(self, residual: Tensor) -> Tensor:
        rows: Tensor = residual @ self.residual.weights[-1]
        return rows.relu()

    def _norms(self, residual: Tensor) -> Tensor:
        norms: Tensor = torch.linalg.vector_norm(self._rows(residual), dim=1)
        return norms

    def _first_attention(self, residual: Tensor) -> Tensor:
        weight: Tensor = self.attention.weights[0]
        return self._rows(residual) @ weight

    def _in_blocks(self, function: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
        """Apply a function of rows; what it holds inside is not kept but computed again in the backward pass."""
        n_rows, n_columns = tensors[0].shape[0], self.residual.weights[-1].shape[1]
        step = max(1, BLOCK_VALUES // n_columns)
        if step >= n_rows:
            return function(*tensors)
        parts = [
            checkpoint(
                function,
                *(values[start : start + step] for values in tensors),
                use_reentrant=False,
                preserve_rng_state=False,
            )
            for start in range(0, n_rows, step)
        ]
        return torch.cat(parts)


def _before_last(layers: Layers, inputs: Inputs) -> Tensor:
    """Return the last hidden layer of a fully connected ReLU net on the attributes."""
    if len(layers) == 1:
        return inputs.attributes.as_dense()
    hidden = torch.relu(inputs.attributes.times(layers.weights[0]))
    for weight in list(layers.weights)[1:-1]:
        hidden = torch.relu(hidden @ weight)
    return hidden
