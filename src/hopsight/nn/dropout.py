"""Dropout with an explicit generator; torch's own uses the global random state."""

from __future__ import annotations

import torch
from torch import Tensor

LEVELS = 1 << 16  # 16 random bits of each unit are compared with the share


def relu_drop(values: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
    """Return ReLU(values) with a share of the entries set to 0 and the others divided by 1 − share.

    Nothing is dropped when the share is 0 or no generator is given. Four units share one draw of 64 bits, which takes
    half the time of a draw for each of them; the share is exact to 1 in 131,072.

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
