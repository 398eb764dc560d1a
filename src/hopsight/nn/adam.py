"""Adam (Kingma & Ba 2015) without the compiler that torch's optimizers import on first use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor


class Adam:
    r"""Take steps w ← w − lr · m̂ / (√v̂ + ε), where m and v are running means of gradients and of their squares.

    The steps are those of ``torch.optim.Adam`` with its defaults. Constructing torch's optimizer takes over a second,
    more than many a fit.

    Parameters
    ----------
    parameters
        The tensors to optimize.
    lr
        Learning rate.
    decays, epsilon
        Decay rates of the two running means, and the floor of the denominator.

    Examples
    --------
    >>> w = torch.zeros(1, requires_grad=True)
    >>> optimizer = Adam([w], lr=0.1)
    >>> (w - 3.0).square().sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 6)
    0.1
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        *,
        lr: float,
        decays: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
    ) -> None:
        self.parameters = list(parameters)
        self.lr = lr
        self.decays = decays
        self.epsilon = epsilon
        self.n_steps = 0
        self.means = [torch.zeros_like(weights) for weights in self.parameters]
        self.squares = [torch.zeros_like(weights) for weights in self.parameters]

    def clear(self) -> None:
        """Set all gradients to None."""
        for weights in self.parameters:
            weights.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Take one step; a parameter without a gradient keeps its value."""
        self.n_steps += 1
        first, second = (1 - decay**self.n_steps for decay in self.decays)
        for weights, mean, square in zip(self.parameters, self.means, self.squares, strict=True):
            if weights.grad is None:
                continue
            mean.lerp_(weights.grad, 1 - self.decays[0])
            square.mul_(self.decays[1]).addcmul_(weights.grad, weights.grad, value=1 - self.decays[1])
            weights.addcdiv_(mean, (square / second).sqrt_().add_(self.epsilon), value=-self.lr / first)


class FusedAdam(Adam):
    """The steps of ``torch.optim.Adam(..., fused=True)``, to the bit: one call of torch's kernel for all parameters.

    It has what a training that can be interrupted, or recorded on a GPU, needs of an optimizer: ``param_groups`` with
    the learning rate (a tensor on a GPU, which can change in a recorded step) and its state by torch's names.
    """

    def __init__(self, parameters: Iterable[Tensor], *, lr: float, weight_decay: float = 0.0) -> None:
        super().__init__(parameters, lr=lr)
        device = self.parameters[0].device
        rate = lr if device.type == "cpu" else torch.tensor(lr, device=device)
        self.param_groups: list[dict[str, Any]] = [{"lr": rate, "weight_decay": weight_decay}]
        self.steps = [torch.zeros((), device=device) for _ in self.parameters]

    @torch.no_grad()
    def step(self) -> None:
        """Take one step; a parameter without a gradient keeps its value."""
        slots = zip(self.parameters, self.means, self.squares, self.steps, strict=True)
        moved = [slot for slot in slots if slot[0].grad is not None]
        if not moved:
            return
        weights, means, squares, steps = (list(each) for each in zip(*moved, strict=True))
        torch._foreach_add_(steps, 1.0)
        gradients, (first, second) = [each.grad for each in weights], self.decays
        torch._fused_adam_(
            weights, gradients, means, squares, [], steps, **self.param_groups[0], beta1=first, beta2=second,
            eps=self.epsilon, amsgrad=False, maximize=False,
        )  # fmt: skip

    def state_dict(self) -> dict[str, Any]:
        """Return the state of every parameter that has moved, and the groups."""
        slots = enumerate(zip(self.steps, self.means, self.squares, strict=True))
        names = "step", "exp_avg", "exp_avg_sq"
        state = {number: dict(zip(names, slot, strict=True)) for number, slot in slots if slot[0] > 0}
        return {"state": state, "param_groups": self.param_groups}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Take up a state of :meth:`state_dict`."""
        for number, slot in saved["state"].items():
            for own, name in ((self.steps, "step"), (self.means, "exp_avg"), (self.squares, "exp_avg_sq")):
                own[number].copy_(slot[name])
