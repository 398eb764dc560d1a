"""Adam (Kingma & Ba 2015) without the compiler that torch's optimizers import on first use."""

from __future__ import annotations

from collections.abc import Iterable

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
