"""Calibration: values by hand, an independent optimizer, and probabilities that mean what they say."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from hopsight.hcm.posterior import PENALTY, SLOPES, calibrate, calibrated, fit_curve


def one_hop(logits: np.ndarray, calibration: np.ndarray) -> np.ndarray:
    """Return the calibrated probability of one hop, the mean over the samples."""
    return np.mean([torch.exp(calibrated(torch.from_numpy(z), calibration))[:, 0].numpy() for z in logits], axis=0)


def test_calibrated_probabilities_by_hand() -> None:
    """Logits z with z / 2 + b = (log 2, 0, 0) give p = (1/2, 1/4, 1/4); with the curve + log 3 the odds are 3."""
    logits = torch.tensor([[2.0 * np.log(2.0) - 2.0, 0.0, 4.0]], dtype=torch.float64)
    unchanged, curved = (np.array([2.0, 1.0, 0.0, -2.0, 1.0, 1.0, shift]) for shift in (0.0, np.log(3.0)))
    np.testing.assert_allclose(torch.exp(calibrated(logits, unchanged)), [[0.5, 0.25, 0.25]])
    np.testing.assert_allclose(torch.exp(calibrated(logits, curved)), [[0.75, 0.125, 0.125]])


def test_the_curve_is_that_of_an_independent_optimizer(rng: np.random.Generator) -> None:
    p = rng.uniform(0.02, 0.98, 400)
    truth = rng.random(400) < p**2

    def loss(curve: np.ndarray) -> float:
        odds = curve[0] * np.log(p) - curve[1] * np.log1p(-p) + curve[2]
        penalty = (PENALTY * (curve - [1.0, 1.0, 0.0]) ** 2).sum() / 2
        return float(np.logaddexp(0.0, np.where(truth, -odds, odds)).sum() + penalty)

    found = fit_curve(p, truth)
    np.testing.assert_allclose(found, minimize(loss, [1.0, 1.0, 0.0]).x, atol=1e-3)
    assert not np.allclose(found, [1.0, 1.0, 0.0], atol=0.2)


def test_probabilities_that_hardly_differ_are_not_amplified(rng: np.random.Generator) -> None:
    """A network that knows nothing says .25 of every pair, give or take rounding: no curve may blow that up."""
    p = 0.25 + 1e-4 * rng.standard_normal(2_000)
    curve = fit_curve(p, rng.random(2_000) < 0.25)
    assert SLOPES[0] <= curve[:2].min() and curve[:2].max() <= SLOPES[1]
    calibrated_p = 1 / (1 + np.exp(-(curve[0] * np.log(p) - curve[1] * np.log1p(-p) + curve[2])))
    assert calibrated_p.mean() == pytest.approx(0.25, abs=0.03) and np.ptp(calibrated_p) < 0.01


def test_logits_that_know_nothing_are_calibrated_to_the_shares(rng: np.random.Generator) -> None:
    """Of pairs that it knows nothing about a network says 1/4, however confident it is."""
    labels = np.repeat(np.arange(4), 500)
    logits = rng.normal(scale=4.0, size=(3, labels.size, 4)) + np.array([3.0, 0.0, 0.0, -3.0])
    p = one_hop(logits, calibrate(torch.from_numpy(logits), labels))
    assert p.mean() == pytest.approx(0.25, abs=0.02) and p.std() < 0.1
    plain = one_hop(logits, np.array([1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0]))
    assert plain.mean() > 0.4 and plain.std() > 0.2


@pytest.mark.parametrize("confidence", [0.5, 1.0, 4.0])
def test_probabilities_mean_what_they_say(confidence: float, rng: np.random.Generator) -> None:
    """Labels are drawn from softmax(z), the network's logits are c · z: on other pairs the truth is found again."""
    z = rng.normal(scale=1.5, size=(12_000, 3))
    truth = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    labels = (truth.cumsum(axis=1) < rng.random((12_000, 1))).sum(axis=1)
    calibration = calibrate(torch.from_numpy(confidence * z[None, :6_000]), labels[:6_000])
    found = one_hop(confidence * z[None, 6_000:], calibration)
    assert abs(found - truth[6_000:, 0]).mean() < 0.03
