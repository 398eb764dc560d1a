"""Layers of networks, drawn from explicit generators: propagation over edges, dropout, the GCN and the MLP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from hopsight.system.arrays import csr_tensor

LEVELS = 1 << 16  # 16 random bits of each unit are compared with the share that is dropped


@dataclass(frozen=True)
class Propagation:
    """The operator Â = D̃^{-1/2} (A + I) D̃^{-1/2} on one device, and its transpose for the backward pass."""

    forward: Tensor  # sparse CSR (n_nodes, n_nodes), or some of its rows
    backward: Tensor  # the same tensor when Â is symmetric

    def __call__(self, values: Tensor) -> Tensor:
        """Return Â @ values, differentiable in values."""
        return _Propagate.apply(values, self.forward, self.backward)  # type: ignore[no-untyped-call]

    def rows(self, wanted: Tensor) -> tuple[Propagation, Tensor]:
        """Return the operator that computes only these rows of Â @ values, and the nodes whose values it needs.

        Where it would need most nodes, it takes all of them. Works on the CPU only.
        """
        part = self._matrix[wanted.numpy()]
        used = np.zeros(part.shape[1], dtype=np.bool_)
        used[part.indices] = True
        if 2 * used.sum() > used.size:
            used[:] = True
        else:
            number = np.cumsum(used) - 1
            part = sp.csr_array((part.data, number[part.indices], part.indptr), shape=(part.shape[0], number[-1] + 1))
        device = self.forward.device
        chosen = Propagation(torch_csr(part, device), torch_csr(part.T.tocsr(), device))
        return chosen, torch.from_numpy(np.flatnonzero(used))

    @cached_property
    def _matrix(self) -> Any:
        parts = (self.forward.values(), self.forward.col_indices(), self.forward.crow_indices())
        return sp.csr_array(tuple(part.numpy() for part in parts), shape=tuple(self.forward.shape))


def normalized_adjacency(adjacency: Any, dtype: Any = np.float32) -> Any:
    """Return Â = D̃^{-1/2} (A + I) D̃^{-1/2} as a CSR array.

    For a directed graph, D̃ holds out-degrees on the left and in-degrees on the right.

    >>> normalized_adjacency(sp.csr_array(np.array([[0, 1], [1, 0]]))).toarray().tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    with_loops = sp.csr_array(adjacency + sp.eye_array(adjacency.shape[0], format="csr"))
    left = 1.0 / np.sqrt(np.asarray(with_loops.sum(axis=1)).ravel())
    right = 1.0 / np.sqrt(np.asarray(with_loops.sum(axis=0)).ravel())
    rows = np.repeat(np.arange(with_loops.shape[0]), np.diff(with_loops.indptr))
    with_loops.data = (left[rows] * right[with_loops.indices] * with_loops.data).astype(dtype)
    return with_loops


def propagation(
    adjacency: Any, *, directed: bool, device: torch.device, dtype: torch.dtype = torch.float32
) -> Propagation:
    """Put Â of a 0/1 CSR adjacency on a device."""
    normalized = normalized_adjacency(adjacency, np.float64 if dtype == torch.float64 else np.float32)
    forward = torch_csr(normalized, device, dtype)
    backward = torch_csr(sp.csr_array(normalized.T), device, dtype) if directed else forward
    return Propagation(forward, backward)


def torch_csr(matrix: Any, device: torch.device, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return a scipy CSR matrix as a torch sparse CSR tensor."""
    start, columns = (torch.from_numpy(np.array(part, dtype=np.int64)) for part in (matrix.indptr, matrix.indices))
    return csr_tensor(start, columns, torch.from_numpy(np.array(matrix.data)).to(device, dtype), matrix.shape)


class _Propagate(torch.autograd.Function):
    """Sparse product whose backward pass is sparse too, not a dense n × n product; never in half precision."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, forward: Tensor, backward: Tensor) -> Tensor:
        ctx.operator, ctx.dtype = backward, values.dtype
        with torch.autocast(values.device.type, enabled=False):
            return _product(forward, values.to(forward.dtype))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _product(ctx.operator, gradient).to(ctx.dtype), None, None


def _product(matrix: Tensor, values: Tensor) -> Tensor:
    """Return matrix @ values. Sums over segments have a fixed order on a GPU, which its sparse products lack."""
    if values.device.type == "cpu":
        return matrix @ values
    start, columns, weights = matrix.crow_indices(), matrix.col_indices(), matrix.values()
    rows = values.contiguous()
    return embedding_bag(columns, rows, start, mode="sum", per_sample_weights=weights, include_last_offset=True)


def relu_drop(values: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
    """Return ReLU(values) with a share of the entries set to 0 and the others divided by 1 − share.

    Nothing is dropped when the share is 0 or no generator is given. Torch's dropout takes none. Four units share
    one draw of 64 bits, which takes half the time of a draw for each of them; the share is exact to 1 in 131,072.

    >>> out = relu_drop(torch.ones(1000, 8), 0.5, torch.Generator().manual_seed(0))
    >>> out.unique().tolist(), abs(float((out == 0).float().mean()) - 0.5) < 0.02
    ([0.0, 2.0], True)
    """
    kept = torch.relu(values)
    if share == 0.0 or generator is None:
        return kept
    draws = torch.empty((values.numel() + 3) // 4, dtype=torch.int64, device=values.device)
    draws.random_(-(2**63), None, generator=generator)
    bits = draws.view(torch.int16)[: values.numel()].view(values.shape)
    mask = torch.ge(bits, round(share * LEVELS) - LEVELS // 2).to(values.dtype)
    return kept * mask.mul_(1.0 / (1.0 - share))


class Layers(nn.Module):
    """Weights and biases of consecutive layers, given the widths of the input and of every layer.

    They are ``"glorot"``, Glorot uniform weights and zero biases, or ``"uniform"``, all values within ±1/√width.
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
        return torch.addmm(self.biases[layer], propagated, self.weights[layer])


class GCN(nn.Module):
    """Graph convolutions Z = Â f(… f(Â X W⁰ + b⁰) …) Wˡ + bˡ with a ReLU f between layers; the last one is linear.

    Weights are Glorot uniform, biases start at zero. The paper prints an unnormalized Ã in the first layer and a ReLU
    after the last; this follows the authors' script, which normalizes everywhere and leaves the last layer linear.
    """

    def __init__(self, n_inputs: int, n_units: int, n_layers: int, *, generator: torch.Generator) -> None:
        super().__init__()
        widths = [n_inputs] + [n_units] * n_layers
        self.weights, self.biases = draw_layers(widths, generator)

    def forward(
        self,
        propagated: Tensor,
        propagates: Sequence[Propagation],
        *,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return Z from ÂX, which the caller computes once, and from Â of every further layer.

        Shapes: ``propagated`` (n_nodes, n_inputs) -> (n_nodes, n_units).
        """
        hidden = propagated @ self.weights[0] + self.biases[0]
        for weight, bias, propagate in zip(list(self.weights)[1:], list(self.biases)[1:], propagates, strict=True):
            hidden = relu_drop(hidden, dropout, generator)
            n_out, n_in = propagate.forward.shape
            hidden = (propagate(hidden @ weight) if n_out == n_in else propagate(hidden) @ weight) + bias
        return hidden


class HopMLP(nn.Module):
    """Logits of the hop classes, F(v_m, v_n) = W₂ ReLU(W₁ |z_m − z_n| + b₁) + b₂.

    If ``directed``, z_m − z_n keeps its sign, so that the hop count can depend on the direction.
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


def draw_layers(widths: Sequence[int], generator: torch.Generator) -> tuple[nn.ParameterList, nn.ParameterList]:
    """Return Glorot weights and zero biases for consecutive layers of the given widths."""
    pairs = list(pairwise(widths))
    weights = nn.ParameterList([draw_weights(pair, generator) for pair in pairs])
    biases = nn.ParameterList([torch.zeros(n_out) for _, n_out in pairs])
    return weights, biases


def draw_weights(shape: tuple[int, int], generator: torch.Generator) -> Tensor:
    """Return a Glorot uniform matrix from an explicit generator; torch's own layers use the global random state."""
    bound = (6.0 / sum(shape)) ** 0.5
    return (torch.rand(shape, generator=generator) * 2 - 1) * bound


def _draw_uniform(widths: Sequence[int], generator: torch.Generator) -> tuple[nn.ParameterList, nn.ParameterList]:
    """Return weights and biases within ±1/√width for consecutive layers of the given widths."""
    weights, biases = nn.ParameterList(), nn.ParameterList()
    for n_in, n_out in pairwise(widths):
        drawn = (torch.rand((n_in + 1, n_out), generator=generator) * 2 - 1) / n_out**0.5
        weights.append(drawn[:-1].clone())
        biases.append(drawn[-1].clone())
    return weights, biases
