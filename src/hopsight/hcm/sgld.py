"""SGLD: gradient steps with the noise that turns them into samples of the posterior."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from hopsight.checks import check_choice, check_count, check_not_negative, check_positive


class SGLD(Optimizer):
    r"""Stochastic gradient Langevin dynamics (Welling & Teh 2011), plain or preconditioned (Li et al. 2016).

    With the mean loss L over N observations, prior precision λ (``weight_decay``), step ``lr``, temperature T
    and preconditioner G (the identity, or RMSprop's 1 / (√v + ε)):

        w ← w − lr · G · (∇L + λ w) + √(2 · lr · T · G / N) · ξ,   ξ ~ N(0, 1)

    At T = 1 and small steps the iterates are samples of exp(−N · (L + λ‖w‖²/2)). The paper's ε is 2·lr/N.

    Parameters
    ----------
    params
        Parameters to optimize.
    lr, weight_decay, temperature, n_observations
        As above.
    preconditioner
        ``"none"`` or ``"rmsprop"``.
    generator
        Source of the noise, on the device of the parameters.
    smoothing, epsilon
        RMSprop's decay and floor.

    Notes
    -----
    The paper subtracts the gradient of log p, and Algorithm 1 adds that of log p(w): both signs are slips. Its
    literal step (mean loss, noise variance 0.01) diverges.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        *,
        lr: float,
        n_observations: int,
        generator: torch.Generator,
        weight_decay: float = 0.0,
        temperature: float = 1.0,
        preconditioner: str = "none",
        smoothing: float = 0.99,
        epsilon: float = 1e-5,
    ) -> None:
        check_positive("lr", lr)
        check_count("n_observations", n_observations)
        check_not_negative("weight_decay", weight_decay)
        check_not_negative("temperature", temperature)
        check_choice("preconditioner", preconditioner, ("none", "rmsprop"))
        defaults = {"lr": lr, "weight_decay": weight_decay, "temperature": temperature}
        super().__init__(params, defaults)
        self.n_observations = n_observations
        self.generator = generator
        self.preconditioner = preconditioner
        self.smoothing = smoothing
        self.epsilon = epsilon

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step."""
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for weights in group["params"]:
                if weights.grad is not None:
                    self._update(weights, group)
        return loss

    def _update(self, weights: Tensor, group: dict[str, Any]) -> None:
        gradient = weights.grad.add(weights, alpha=group["weight_decay"])  # type: ignore[union-attr]
        variance = 2.0 * group["lr"] * group["temperature"] / self.n_observations
        noise = torch.randn(weights.shape, generator=self.generator, device=weights.device, dtype=weights.dtype)
        if self.preconditioner == "rmsprop":
            scale = self._preconditioner(weights, gradient)
            weights.addcmul_(scale, gradient, value=-group["lr"])
            weights.addcmul_(scale.sqrt(), noise, value=variance**0.5)
        else:
            weights.add_(gradient, alpha=-group["lr"])
            weights.add_(noise, alpha=variance**0.5)

    def _preconditioner(self, weights: Tensor, gradient: Tensor) -> Tensor:
        """Return G = 1 / (√v̂ + ε), v the running mean of squared gradients, v̂ corrected for its start at zero."""
        state = self.state[weights]
        if not state:
            state["step"], state["square"] = 0, torch.zeros_like(weights)
        state["step"] += 1
        state["square"].mul_(self.smoothing).addcmul_(gradient, gradient, value=1 - self.smoothing)
        corrected = state["square"] / (1 - self.smoothing ** int(state["step"]))
        return 1.0 / (corrected.sqrt() + self.epsilon)
