"""A graph on a device, and fully connected weights that are drawn from an explicit generator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from hopsight.nn.gcn import Propagation, draw_layers, propagation
from hopsight.nn.target import Target


@dataclass(frozen=True)
class Inputs:
    """A graph on one device: Â, the attributes X, and ÂX where X is dense."""

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
        """Return Â X W; a sparse X stays sparse."""
        if self.propagated is not None:
            return self.propagated @ weight
        return self.propagate(self.attributes.times(weight))


class Layers(nn.Module):
    """Weights and biases of consecutive layers.

    Parameters
    ----------
    widths
        Width of the input and of every layer.
    bias
        Whether the layers have biases.
    initial
        ``"glorot"``: Glorot uniform weights and zero biases; ``"uniform"``: all values within ±1/√width.
    generator
        Source of the initial values.
    """

    def __init__(self, widths: Sequence[int], *, bias: bool, initial: str, generator: torch.Generator) -> None:
        super().__init__()
        draw = draw_layers if initial == "glorot" else _draw_uniform
        self.weights, biases = draw(widths, generator)
        self.biases = biases if bias else nn.ParameterList()

    def __len__(self) -> int:
        return len(self.weights)

    def convolve(self, layer: int, propagated: Tensor) -> Tensor:
        """Return Â H W + b from ÂH."""
        if len(self.biases):
            return torch.addmm(self.biases[layer], propagated, self.weights[layer])
        return propagated @ self.weights[layer]

    def add_bias(self, layer: int, values: Tensor) -> Tensor:
        """Return the values plus the bias of a layer, or the values themselves where there are no biases."""
        return values + self.biases[layer] if len(self.biases) else values


def _draw_uniform(widths: Sequence[int], generator: torch.Generator) -> tuple[nn.ParameterList, nn.ParameterList]:
    """Return weights and biases within ±1/√width for consecutive layers of the given widths."""
    weights, biases = nn.ParameterList(), nn.ParameterList()
    for n_in, n_out in pairwise(widths):
        drawn = (torch.rand((n_in + 1, n_out), generator=generator) * 2 - 1) / n_out**0.5
        weights.append(drawn[:-1].clone())
        biases.append(drawn[-1].clone())
    return weights, biases
