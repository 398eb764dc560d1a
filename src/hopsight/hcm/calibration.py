"""Calibrate probabilities on pairs that a network has not trained on."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LOG_TEMPERATURES = np.linspace(-1.0, 3.0, 21)
COARSE = 4  # every fourth is tried first, then those around the best
SCALING_ROUNDS = 6
UNCHANGED = np.array([1.0, 1.0, 0.0])  # a, b and c of a curve that leaves a probability as it is
PENALTY = 4.0  # the unchanged curve counts as much as four pairs
SLOPES = (0.1, 5.0)  # of the curve, so that it never falls and never jumps
CURVE_ROUNDS = 20


def calibrated(logits: Tensor, calibration: Tensor | FloatArray) -> Tensor:
    """Return calibrated log-probabilities: ``calibration`` is what :func:`calibrate` returned.

    The logits become z / T + b. Then the probability p of one hop becomes sigmoid(a log p − b log(1 − p) + c) (beta
    calibration, Kull et al. 2017), and the other classes share the rest as before.
    """
    numbers = torch.as_tensor(calibration).to(logits)
    temperature, offsets, (a, b, c) = numbers[0], numbers[1:-3], numbers[-3:]
    log_p = torch.log_softmax(logits / temperature + offsets, dim=1)
    near, rest = log_p[:, :1], torch.logsumexp(log_p[:, 1:], dim=1, keepdim=True)
    odds = a * near - b * rest + c
    new_near = torch.nn.functional.logsigmoid(odds)
    new_rest = log_p[:, 1:] - rest + torch.nn.functional.logsigmoid(-odds)
    return torch.cat([new_near, new_rest], dim=1)


def calibrate(logits: FloatArray, labels: IntArray) -> FloatArray:
    """Return temperature, class offsets and the curve of one hop under which held-out pairs are least surprising.

    With z_s the logits of sample s, p = mean_s softmax(z_s / T + b). For each T that is tried, b makes the mean of p
    over the pairs equal to the share of each class (iterative scaling). T is the one of a grid, searched from coarse
    to fine, that answers best whether a pair is one hop apart: it minimizes −Σ log p₁ over such pairs − Σ log(1 − p₁)
    over the others. ``logits`` has the shape (n_samples, n_pairs, n_classes). Limit BLAS to one thread: several add up
    in another order.
    """
    shares = np.bincount(labels, minlength=logits.shape[2]) / labels.size
    centered = np.ascontiguousarray(np.moveaxis(logits - logits.max(axis=2, keepdims=True), 2, 0))
    tried: dict[int, tuple[float, FloatArray, FloatArray]] = {}

    def loss(number: int) -> float:
        if number not in tried:
            tried[number] = _at_temperature(centered, labels, shares, np.exp(LOG_TEMPERATURES[number]))
        return tried[number][0]

    best, step = min(range(0, LOG_TEMPERATURES.size, COARSE), key=loss), COARSE // 2
    while step:
        near = (best, best - step, best + step)
        best, step = min((each for each in near if 0 <= each < LOG_TEMPERATURES.size), key=loss), step // 2
    _, found, one_hop = tried[best]
    return np.concatenate([found, fit_curve(one_hop, labels == 0)])


def _at_temperature(
    centered: FloatArray, labels: IntArray, shares: FloatArray, temperature: float
) -> tuple[float, FloatArray, FloatArray]:
    """Return the loss at a temperature, the temperature with its offsets, and the probability of one hop.

    ``centered`` has the shape (n_classes, n_samples, n_pairs).
    """
    odds = np.exp(centered / temperature)  # once per temperature: offsets only multiply them
    offsets = np.zeros(shares.size)
    for _ in range(SCALING_ROUNDS):
        offsets += np.log(shares / _mean_shares(odds, np.exp(offsets)))
    one_hop = np.clip(_first_probability(odds, np.exp(offsets)), 1e-12, 1.0 - 1e-12)
    loss = -np.log(np.where(labels == 0, one_hop, 1.0 - one_hop)).mean()
    return float(loss), np.concatenate([[temperature], offsets]), one_hop


def fit_curve(probability: FloatArray, truth: NDArray[np.bool_]) -> FloatArray:
    """Return a, b and c of the curve sigmoid(a log p − b log(1 − p) + c), by Newton's method.

    The penalty pulls toward the curve that changes nothing, so that few pairs change little.
    """
    features = np.stack([np.log(probability), -np.log1p(-probability), np.ones_like(probability)], axis=1)
    curve, free = UNCHANGED.copy(), np.ones(3)
    for step in range(2 * CURVE_ROUNDS):
        predicted = 1.0 / (1.0 + np.exp(-np.clip(features @ curve, -50.0, 50.0)))
        gradient = features.T @ (predicted - truth) + PENALTY * (curve - UNCHANGED)
        weighted = features * (predicted * (1.0 - predicted))[:, None]
        hessian = features.T @ weighted + PENALTY * np.eye(3)
        curve = curve - free * np.linalg.solve(hessian * np.outer(free, free) + np.diag(1.0 - free), free * gradient)
        if step == CURVE_ROUNDS - 1:  # hold the slopes within bounds, and fit the offset to them
            curve[:2], free = np.clip(curve[:2], *SLOPES), np.array([0.0, 0.0, 1.0])
    return curve if np.isfinite(curve).all() else UNCHANGED.copy()


def _mean_shares(odds: FloatArray, factors: FloatArray) -> FloatArray:
    """Return the mean probability of each class over samples and pairs."""
    columns = odds.reshape(factors.size, -1)
    return np.asarray(factors * (columns @ (1.0 / (factors @ columns))) / columns.shape[1])


def _first_probability(odds: FloatArray, factors: FloatArray) -> FloatArray:
    """Return the probability of the first class for each pair, as the mean over samples."""
    total = factors @ odds.reshape(factors.size, -1)
    return np.asarray((factors[0] * odds[0] / total.reshape(odds[0].shape)).mean(axis=0))
