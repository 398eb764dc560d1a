"""Dropout with an explicit generator and few random bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from hopsight.system.compiled import compiled

LEVELS = 1 << 16  # where four units share a draw, 16 random bits of each are compared with its share


def relu_drop(values: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
    """Return ReLU(values) with a share of the entries set to 0 and the others divided by 1 − share.

    Nothing is dropped when the share is 0 or no generator is given. On a CPU the random bits of a unit follow from one
    draw and its position; on a GPU, and in half precision, four units share one draw of 64 bits, and the share is exact
    to 1 in 131,072.

    >>> out = relu_drop(torch.ones(1000, 8), 0.5, torch.Generator().manual_seed(0))
    >>> out.unique().tolist(), abs(float((out == 0).float().mean()) - 0.5) < 0.02
    ([0.0, 2.0], True)
    """
    if share == 0.0 or generator is None:
        return torch.relu(values)
    dropped: Tensor = _ReluDrop.apply(values, share, generator)  # type: ignore[no-untyped-call]
    return dropped


class _ReluDrop(torch.autograd.Function):
    """The output is positive exactly where the gradient passes, so that no mask needs to be kept."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, share: float, generator: torch.Generator) -> Tensor:
        ctx.scale, out = 1.0 / (1.0 - share), torch.empty_like(values, memory_format=torch.contiguous_format)
        one_pass = values.device.type == "cpu" and values.dtype in (torch.float32, torch.float64)
        draws = torch.empty(1 if one_pass else (values.numel() + 3) // 4, dtype=torch.int64, device=values.device)
        draws.random_(-(2**63), None, generator=generator)
        if one_pass:
            flat, (low, high) = values.detach().reshape(-1).numpy(), draws.numpy().view(np.uint32)
            level, scale = np.uint32(min(round(share * 2**32), 2**32 - 1)), flat.dtype.type(ctx.scale)
            _keep(flat, low, high, level, scale, flat.dtype.type(0.0), out.view(-1).numpy())
        else:
            bits = draws.view(torch.int16)[: values.numel()].view(values.shape)
            torch.ge(bits, round(share * LEVELS) - LEVELS // 2, out=out).mul_(torch.relu(values)).mul_(ctx.scale)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (out,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(gradient, out, 0.0).mul_(ctx.scale), None, None


@compiled(nogil=True)
def _keep(values: Any, low: Any, high: Any, level: Any, scale: Any, zero: Any, out: Any) -> None:
    """Fill ``out`` in one pass on a CPU: 32 random bits of each unit follow from two words and its position.

    The bits are those of the finalizer of MurmurHash3. Processors do this for several units at a time.
    """
    for place in range(values.size):
        bits = np.uint32(np.uint32(np.uint32(place) ^ low) * np.uint32(0x9E3779B1) + high)
        bits = np.uint32(np.uint32(bits ^ (bits >> np.uint32(16))) * np.uint32(0x85EBCA6B))
        bits = np.uint32(np.uint32(bits ^ (bits >> np.uint32(13))) * np.uint32(0xC2B2AE35))
        bits = np.uint32(bits ^ (bits >> np.uint32(16)))
        out[place] = max(values[place], zero) * (scale if bits >= level else zero)
