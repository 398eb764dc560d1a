"""Adam (Kingma & Ba 2015) without the compiler that torch's optimizers import on first use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor


class Adam:
    r"""The steps of ``torch.optim.Adam(..., fused=True)``, to the bit: one call of torch's kernel for all parameters.

    Constructing torch's own optimizer takes over a second, more than many a fit. This one has what a training that can
    be interrupted, or recorded on a GPU, needs: ``param_groups`` with the learning rate (a tensor on a GPU, which can
    change in a recorded step) and its state by torch's names.

    Parameters
    ----------
    parameters
        The tensors to optimize, all on one device.
    lr, weight_decay
        Learning rate, and weight of ‖w‖² / 2 in the loss.

    Examples
    --------
    >>> w = torch.zeros(1, requires_grad=True)
    >>> optimizer = Adam([w], lr=0.1)
    >>> (w - 3.0).square().sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 6)
    0.1
    """

    def __init__(self, parameters: Iterable[Tensor], *, lr: float, weight_decay: float = 0.0) -> None:
        self.parameters = list(parameters)
        device = self.parameters[0].device
        rate = lr if device.type == "cpu" else torch.tensor(lr, device=device)
        self.param_groups: list[dict[str, Any]] = [{"lr": rate, "weight_decay": weight_decay}]
        self.steps = [torch.zeros((), device=device) for _ in self.parameters]
        self.means = [torch.zeros_like(weights) for weights in self.parameters]
        self.squares = [torch.zeros_like(weights) for weights in self.parameters]

    def zero_grad(self) -> None:
        """Set all gradients to None."""
        for weights in self.parameters:
            weights.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Take one step; a parameter without a gradient keeps its value."""
        slots = zip(self.parameters, self.means, self.squares, self.steps, strict=True)
        moved = [slot for slot in slots if slot[0].grad is not None]
        if not moved:
            return
        weights, means, squares, steps = (list(each) for each in zip(*moved, strict=True))
        torch._foreach_add_(steps, 1.0)
        gradients = [each.grad for each in weights]
        torch._fused_adam_(
            weights, gradients, means, squares, [], steps, **self.param_groups[0], beta1=0.9, beta2=0.999, eps=1e-8,
            amsgrad=False, maximize=False,
        )  # fmt: skip

    def state_dict(self) -> dict[str, Any]:
        """Return the state of every parameter that has moved, and the groups."""
        slots = enumerate(zip(self.steps, self.means, self.squares, strict=True))
        names = "step", "exp_avg", "exp_avg_sq"
        state = {number: dict(zip(names, slot, strict=True)) for number, slot in slots if slot[0] > 0}
        return {"state": state, "param_groups": self.param_groups}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Restore a state of :meth:`state_dict`."""
        for number, slot in saved["state"].items():
            for own, name in ((self.steps, "step"), (self.means, "exp_avg"), (self.squares, "exp_avg_sq")):
                own[number].copy_(slot[name])
