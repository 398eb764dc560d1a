r"""SGLD: its moments on a Gaussian posterior, its steps by hand.

With the loss L(w) = a (w − μ)² / 2 over N observations, SGLD at temperature T and step lr is the autoregression
e ← (1 − lr·a) e + √(2·lr·T/N) ξ of e = w − μ, whose stationary distribution is N(0, T / (N·a·(1 − lr·a/2))). As lr
shrinks this is the posterior N(μ, T / (N·a)). Many independent chains run at once, as entries of one parameter.
"""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import chi2, norm

from hopsight.hcm.train import SGLD

N_CHAINS = 4_000
CURVATURE = 2.0
N_OBSERVATIONS = 50
CENTER = 3.0


def chains(n_steps: int, *, n_chains: int = N_CHAINS, prior: float = 0.0, **settings: Any) -> np.ndarray:
    """Return where independent chains end that started at 0 and saw the loss a (w − μ)² / 2."""
    weights = torch.zeros(n_chains, dtype=torch.float64, requires_grad=True)
    generator = torch.Generator().manual_seed(0)
    defaults: dict[str, Any] = {"n_observations": N_OBSERVATIONS, "generator": generator, "weight_decay": prior}
    optimizer = SGLD([weights], **defaults | settings)
    for _ in range(n_steps):
        weights.grad = CURVATURE * (weights.detach() - CENTER)
        optimizer.step()
    return weights.detach().numpy()


def assert_gaussian(values: np.ndarray, mean: float, variance: float) -> None:
    """Refuse a sample whose mean or variance is outside a confidence interval of 99.99 %."""
    n = values.size
    assert abs(values.mean() - mean) < norm.ppf(1 - 5e-5) * (variance / n) ** 0.5
    assert 5e-5 < chi2.cdf(n * values.var() / variance, n - 1) < 1 - 5e-5


@pytest.mark.parametrize("lr", [0.02, 0.2])
def test_plain_recovers_the_gaussian_posterior_at_temperature_one(lr: float) -> None:
    values = chains(round(8 / (lr * CURVATURE)), lr=lr)  # what is left of the start is e^-8
    posterior = 1 / (N_OBSERVATIONS * CURVATURE)
    start = CENTER * (1 - lr * CURVATURE) ** round(8 / (lr * CURVATURE))
    assert_gaussian(values, CENTER - start, posterior / (1 - lr * CURVATURE / 2))
    if lr == 0.02:  # small steps: the posterior itself, within the 2 % that discretization adds
        assert values.mean() == pytest.approx(CENTER, abs=0.01)
        assert values.var() == pytest.approx(posterior, rel=0.08)


@pytest.mark.parametrize("temperature", [0.0, 0.25])
def test_temperature_scales_the_variance(temperature: float) -> None:
    values = chains(100, lr=0.1, temperature=temperature)
    if temperature == 0.0:
        np.testing.assert_allclose(values, CENTER, atol=1e-8)  # plain gradient descent
    else:
        assert_gaussian(values, CENTER, temperature / (N_OBSERVATIONS * CURVATURE * (1 - 0.1 * CURVATURE / 2)))


def test_weight_decay_is_a_gaussian_prior() -> None:
    """Prior precision N·λ beside data precision N·a: the posterior mean is a μ / (a + λ)."""
    values = chains(100, lr=0.1, prior=1.0)
    total = CURVATURE + 1.0
    assert_gaussian(values, CURVATURE * CENTER / total, 1 / (N_OBSERVATIONS * total * (1 - 0.1 * total / 2)))


def test_preconditioned_recovers_the_gaussian_posterior_at_temperature_one() -> None:
    """One long chain per entry, averaged over time: G depends on the past, so moments are checked loosely.

    RMSprop with a long memory (0.999) makes G nearly constant within a chain, and a constant G leaves the posterior
    as it is. Its fluctuation is what the tolerance of 10 % on the variance is for.
    """
    n_chains, lr, n_steps = 1_000, 0.002, 2_500
    weights = torch.full((n_chains,), CENTER, dtype=torch.float64, requires_grad=True)
    with torch.no_grad():
        weights += torch.randn(n_chains, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 0.1
    generator = torch.Generator().manual_seed(0)
    optimizer = SGLD(
        [weights], lr=lr, n_observations=N_OBSERVATIONS, generator=generator, preconditioner="rmsprop", smoothing=0.999
    )
    seen: list[np.ndarray] = []
    for step in range(n_steps):
        weights.grad = CURVATURE * (weights.detach() - CENTER)
        optimizer.step()
        if step >= n_steps // 2 and step % 25 == 0:
            seen.append(weights.detach().numpy().copy())
    values = np.array(seen)
    assert values.mean() == pytest.approx(CENTER, abs=0.01)
    assert values.var() == pytest.approx(1 / (N_OBSERVATIONS * CURVATURE), rel=0.1)


def test_preconditioned_step_by_hand() -> None:
    """First step: v̂ = g², so G = 1 / (|g| + ε) and w moves by lr against the sign of g, at temperature 0."""
    weights = torch.tensor([1.0, -2.0, 5.0], dtype=torch.float64, requires_grad=True)
    optimizer = SGLD(
        [weights], lr=0.1, n_observations=1, temperature=0.0, preconditioner="rmsprop", generator=torch.Generator(),
        epsilon=0.0,
    )  # fmt: skip
    weights.grad = torch.tensor([10.0, -0.001, 3.0], dtype=torch.float64)
    optimizer.step()
    np.testing.assert_allclose(weights.detach(), [0.9, -1.9, 4.9])
    # second step, g = 6 in the last entry: v̂ = (0.99 · 0.01 · 9 + 0.01 · 36) / (1 − 0.99²)
    weights.grad = torch.tensor([10.0, -0.001, 6.0], dtype=torch.float64)
    optimizer.step()
    second = (0.99 * 0.01 * 9 + 0.01 * 36) / (1 - 0.99**2)
    np.testing.assert_allclose(weights.detach()[2], 4.9 - 0.1 * 6 / second**0.5)
