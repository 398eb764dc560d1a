"""The network of ResGCN: a GCN whose layers pay less attention to nodes with a large residual."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from hopsight.nn.layers import Inputs, Layers
from hopsight.nn.reconstruction import block_values, row_slices
from hopsight.nn.target import Target
from hopsight.system.threads import Run

KEPT_VALUES = 1 << 27  # entries up to which R is kept whole (0.5 GB); a larger one is recomputed in blocks
BLOCK_VALUES = 1 << 23  # entries of such a block


class Explained(NamedTuple):
    """Output of the network: edges from units unitsᵀ, R = ReLU(residual W_R), X̂ = decoded W_X."""

    units: Tensor  # Z, (n_nodes, n_encoded)
    residual: Tensor  # last hidden layer of the residual network, (n_nodes, n_hidden)
    decoded: Tensor  # last hidden layer of the attribute decoder, (n_nodes, n_hidden)
    rows: Tensor | None  # R itself where it is kept whole, (n_nodes, n_attributes)


class ResidualGCN(nn.Module):
    """Residual network, attention network, encoder and attribute decoder; no layer has a bias.

    R = ReLU(… ReLU(X Θ)) from the attributes alone, S⁽¹⁾ = ReLU(R Θ), S⁽²⁾ = ReLU(S⁽¹⁾ Θ), …;
    H⁽¹⁾ = ReLU(Â X W), H⁽ˡ⁺¹⁾ = ReLU(Â (H⁽ˡ⁾ ∘ exp(−γ S⁽ˡ⁾)) W), Z the last of them; X̂ = MLP(Z), its last layer linear.

    Parameters
    ----------
    n_inputs
        Number of attributes d.
    encoder_units, residual_units, decoder_units
        Widths of the GCN, and of the residual network and the decoder before their last layers of width d. The
        attention network has the widths of the GCN without its last layer.
    gamma
        Strength γ of the attention.
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
        """Return Z and the last hidden layers of the residual network and of the decoder."""
        residual = _before_last(self.residual, inputs)
        whole = residual.shape[0] * self.residual.weights[-1].shape[1] <= KEPT_VALUES
        rows = self._rows(residual) if whole else None
        hidden = torch.relu(inputs.convolve(self.encoder.weights[0]))
        attention = residual
        for layer in range(1, len(self.encoder)):
            if layer > 1:
                attention = attention @ self.attention.weights[layer - 1]
            elif rows is not None:
                attention = rows @ self.attention.weights[0]
            else:
                attention = torch.cat(self._in_blocks(self._first_attention, residual))
            attention = torch.relu(attention)
            hidden = hidden * torch.exp(-self.gamma * attention)
            hidden = torch.relu(inputs.propagate(hidden @ self.encoder.weights[layer]))
        decoded = hidden
        for weight in list(self.decoder.weights)[:-1]:
            decoded = torch.relu(decoded @ weight)
        return Explained(hidden, residual, decoded, rows)

    def attribute_loss(self, explained: Explained, inputs: Inputs, residual_share: float, run: Run = map) -> Tensor:
        """Return ‖X − X̂ − λR‖², where λ is the residual share."""

        def loss(decoded: Tensor, rows: Tensor, start: int) -> Tensor:
            weight, target = self.decoder.weights[-1], inputs.attributes
            part: Tensor = _AttributeLoss.apply(decoded, weight, rows, target, residual_share, start, run)  # type: ignore[no-untyped-call]
            return part

        if explained.rows is not None:
            return loss(explained.decoded, explained.rows, 0)
        numbers = torch.arange(explained.units.shape[0])
        parts = self._in_blocks(
            lambda residual, decoded, numbers: loss(decoded, self._rows(residual), int(numbers[0])),
            explained.residual,
            explained.decoded,
            numbers,
        )
        return torch.stack(parts).sum()

    @torch.no_grad()
    def residual_norms(self, inputs: Inputs) -> Tensor:
        """Return ‖R_i‖ of every node."""
        return torch.cat(self._in_blocks(self._norms, _before_last(self.residual, inputs)))

    def _rows(self, residual: Tensor) -> Tensor:
        rows: Tensor = residual @ self.residual.weights[-1]
        return rows.relu_()

    def _norms(self, residual: Tensor) -> Tensor:
        norms: Tensor = torch.linalg.vector_norm(self._rows(residual), dim=1)
        return norms

    def _first_attention(self, residual: Tensor) -> Tensor:
        weight: Tensor = self.attention.weights[0]
        return self._rows(residual) @ weight

    def _in_blocks(self, function: Callable[..., Tensor], *tensors: Tensor) -> list[Tensor]:
        """Apply a function to blocks of rows; its intermediate values are recomputed in the backward pass, not kept."""
        n_rows, n_columns = tensors[0].shape[0], self.residual.weights[-1].shape[1]
        return [
            checkpoint(function, *(values[part] for values in tensors), use_reentrant=False, preserve_rng_state=False)
            for part in row_slices(n_rows, n_columns, BLOCK_VALUES)
        ]


class _AttributeLoss(torch.autograd.Function):
    """‖X − decoded W − λR‖² over the rows of X from ``start`` on, with its gradients, block by block."""

    @staticmethod
    def forward(
        ctx: Any, decoded: Tensor, weight: Tensor, rows: Tensor, target: Target, share: float, start: int, run: Run
    ) -> Tensor:
        decoded, weight, rows = decoded.detach(), weight.detach(), rows.detach()
        to_decoded, to_weight = torch.empty_like(decoded), torch.zeros_like(weight)
        to_rows = torch.empty_like(rows)

        def work(block: slice) -> tuple[Tensor, Tensor]:
            error = torch.addmm(rows[block], decoded[block], weight, beta=share)
            target.subtract_from(error, slice(start + block.start, start + block.stop))
            torch.mul(error, 2 * share, out=to_rows[block])
            torch.mm(error, weight.T, out=to_decoded[block]).mul_(2)
            return torch.linalg.vector_norm(error, dim=1).double().square().sum(), decoded[block].T @ error

        total = torch.zeros((), dtype=torch.float64, device=rows.device)
        for loss, part in run(work, row_slices(rows.shape[0], rows.shape[1], block_values(rows.device))):
            total += loss
            to_weight.add_(part, alpha=2)
        ctx.save_for_backward(to_decoded, to_weight, to_rows)
        return total.to(rows.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        to_decoded, to_weight, to_rows = ctx.saved_tensors
        return gradient * to_decoded, gradient * to_weight, gradient * to_rows, None, None, None, None


def _before_last(layers: Layers, inputs: Inputs) -> Tensor:
    """Return the last hidden layer of a fully connected ReLU network on the attributes."""
    if len(layers) == 1:
        return inputs.attributes.as_dense()
    hidden = torch.relu(inputs.attributes.times(layers.weights[0]))
    for weight in list(layers.weights)[1:-1]:
        hidden = torch.relu(hidden @ weight)
    return hidden
