"""The MLP that turns the difference of two node representations into logits of hop classes."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hopsight.nn.dropout import relu_drop
from hopsight.nn.gcn import draw_layers


class HopMLP(nn.Module):
    """Logits of the hop classes, F(v_m, v_n) = W₂ ReLU(W₁ |z_m − z_n| + b₁) + b₂.

    Parameters
    ----------
    n_inputs, n_units, n_classes
        Width of z, of the hidden layer, and the number of hop classes.
    directed
        Keep the sign of z_m − z_n, so that the hop count can depend on the direction.
    generator
        Source of the initial weights.
    """

    def __init__(
        self, n_inputs: int, n_units: int, n_classes: int, *, directed: bool, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.directed = directed
        self.weights, self.biases = draw_layers([n_inputs, n_units, n_classes], generator)

    def forward(self, difference: Tensor, *, dropout: float = 0.0, generator: torch.Generator | None = None) -> Tensor:
        """Return logits from z_m − z_n. Shapes: (n_pairs, n_inputs) -> (n_pairs, n_classes)."""
        if not self.directed:  # in its own memory, unless a gradient needs what was there
            difference = difference.abs() if torch.is_grad_enabled() else difference.abs_()
        hidden = relu_drop(torch.addmm(self.biases[0], difference, self.weights[0]), dropout, generator)
        return torch.addmm(self.biases[1], hidden, self.weights[1])
