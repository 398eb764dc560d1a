"""Calibrate probabilities on pairs that a network has not trained on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

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
CURVE_ROUNDS, CONVERGED = 20, 1e-12


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


def calibrate(logits: FloatArray | Tensor, labels: IntArray) -> FloatArray:
    """Return temperature, class offsets and the curve of one hop under which held-out pairs are least surprising.

    With z_s the logits of sample s, p = mean_s softmax(z_s / T + b). For each T that is tried, b makes the mean of p
    over the pairs equal to the share of each class (iterative scaling). T is the one of a grid, searched from coarse
    to fine, that answers best whether a pair is one hop apart: it minimizes −Σ log p₁ over such pairs − Σ log(1 − p₁)
    over the others. ``logits`` has the shape (n_samples, n_pairs, n_classes); a GPU that holds them tries the
    temperatures. Limit BLAS to one thread: several add up in another order.
    """
    known = torch.as_tensor(logits).double()
    centered: Any = (known - known.amax(dim=2, keepdim=True)).movedim(2, 0).contiguous()
    near: Any = torch.from_numpy(labels == 0).to(known.device)
    shares: Any = torch.from_numpy(np.bincount(labels, minlength=len(centered)) / labels.size).to(known.device)
    if known.device.type == "cpu":
        centered, near, shares = centered.numpy(), near.numpy(), shares.numpy()
    tried: dict[int, tuple[float, Any, Any]] = {}

    def best_of(numbers: Sequence[int]) -> int:
        """Return the number of the best temperature; a GPU tries several at once."""
        new = [number for number in numbers if 0 <= number < LOG_TEMPERATURES.size and number not in tried]
        for some in [new] if known.device.type != "cpu" and new else [[number] for number in new]:
            tried.update(
                zip(some, _at_temperatures(centered, near, shares, np.exp(LOG_TEMPERATURES[some])), strict=True)
            )
        return min((number for number in numbers if number in tried), key=lambda number: tried[number][0])

    best, step = best_of(range(0, LOG_TEMPERATURES.size, COARSE)), COARSE // 2
    while step:
        best, step = best_of((best, best - step, best + step)), step // 2
    offsets, one_hop = (np.asarray(torch.as_tensor(each).cpu()) for each in tried[best][1:])
    return np.concatenate([[np.exp(LOG_TEMPERATURES[best])], offsets, fit_curve(one_hop, labels == 0)])


def _at_temperatures(
    centered: Any, near: Any, shares: Any, temperatures: FloatArray
) -> Iterator[tuple[float, Any, Any]]:
    """Yield the loss at each temperature, the offsets, and the probability of one hop, with NumPy or with torch.

    ``centered`` has the shape (n_classes, n_samples, n_pairs).
    """
    xp: Any = np if isinstance(centered, np.ndarray) else torch
    divisors: Any = temperatures if xp is np else torch.from_numpy(temperatures).to(centered.device)
    columns = centered.reshape(len(centered), -1) / divisors[:, None, None]
    odds = xp.exp(columns)  # once per temperature: offsets only multiply them
    offsets = xp.zeros_like(columns[:, :, 0])
    for _ in range(SCALING_ROUNDS):
        factors = xp.exp(offsets)
        weights = 1.0 / (factors[:, None] @ odds)
        mean = factors * (odds @ weights.swapaxes(1, 2))[:, :, 0] / odds.shape[2]
        offsets += xp.log(shares / mean)
    factors = xp.exp(offsets)
    first = factors[:, :1] * odds[:, 0] / (factors[:, None] @ odds)[:, 0]
    one_hop = xp.clip(first.reshape(len(first), *centered.shape[1:]).mean(1), 1e-12, 1.0 - 1e-12)
    losses = -xp.log(xp.where(near, one_hop, 1.0 - one_hop)).mean(1)
    yield from zip(losses.tolist(), offsets, one_hop, strict=True)


def fit_curve(probability: FloatArray, truth: NDArray[np.bool_]) -> FloatArray:
    """Return a, b and c of the curve sigmoid(a log p − b log(1 − p) + c), by Newton's method.

    The penalty pulls toward the curve that changes nothing, so that few pairs change little. Then the slopes are held
    within bounds, and the offset is fitted to them.
    """
    features = np.stack([np.log(probability), -np.log1p(-probability), np.ones_like(probability)])
    curve = UNCHANGED.copy()
    for free in (np.ones(3), np.array([0.0, 0.0, 1.0])):
        for _ in range(CURVE_ROUNDS):
            predicted = 1.0 / (1.0 + np.exp(-np.clip(curve @ features, -50.0, 50.0)))
            gradient = features @ (predicted - truth) + PENALTY * (curve - UNCHANGED)
            hessian = (features * (predicted * (1.0 - predicted))) @ features.T + PENALTY * np.eye(3)
            change = np.linalg.solve(hessian * np.outer(free, free) + np.diag(1.0 - free), free * gradient)
            curve = curve - free * change
            if abs(change).max() < CONVERGED:
                break
        curve[:2] = np.clip(curve[:2], *SLOPES)
    return curve if np.isfinite(curve).all() else UNCHANGED.copy()
