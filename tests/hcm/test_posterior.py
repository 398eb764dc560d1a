"""Predicted hops, their moments and their calibration, by hand."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor

from hopsight.hcm.posterior import PENALTY, SLOPES, EdgePosterior, calibrate, calibrated, fit_curve, predicted_hop

CPU = torch.device("cpu")


def log_probabilities(*rows: list[float]) -> Tensor:
    return torch.log(torch.tensor(rows))


def test_predicted_hops_by_hand() -> None:
    log_p = log_probabilities([0.5, 0.3, 0.2], [0.1, 0.1, 0.8])
    assert predicted_hop(log_p, "argmax").tolist() == [1.0, 3.0]
    torch.testing.assert_close(predicted_hop(log_p, "expected"), torch.tensor([1.7, 2.7]))


def test_running_moments_equal_those_of_all_samples(rng: np.random.Generator) -> None:
    logits = rng.normal(size=(7, 3, 4)).astype(np.float32)  # samples, edges, classes
    edges = EdgePosterior(5, CPU)
    for t, sample in enumerate(logits):
        judged = torch.tensor([0, 2, 4]) if t % 2 else torch.tensor([0, 2])
        edges.add(judged, torch.from_numpy(sample[: len(judged)]), "expected")
    p = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    hops = p @ np.arange(1, 5)
    seen = [hops[:, 0], None, hops[:, 1], None, hops[1::2, 2]]  # the last edge was judged every other time
    assert edges.count.tolist() == [7, 0, 7, 0, 3]
    for edge, values in enumerate(seen):
        if values is None:
            assert edges.hop[edge] == 0 and edges.judged().variance[edge] == 0
        else:
            assert float(edges.hop[edge]) == pytest.approx(values.mean(), rel=1e-5)
            assert float(edges.judged().variance[edge]) == pytest.approx(values.var(), rel=1e-4)
    assert float(edges.probability[4]) == pytest.approx(p[1::2, 2, 0].mean(), rel=1e-5)
    assert float(edges.surprise[4]) == pytest.approx(-np.log(p[1::2, 2, 0]).mean(), rel=1e-5)


def test_argmax_moments_by_hand() -> None:
    edges = EdgePosterior(1, CPU)
    for sample in ([0.9, 0.05, 0.05], [0.2, 0.2, 0.6], [0.7, 0.1, 0.2], [0.1, 0.1, 0.8]):
        edges.add(torch.tensor([0]), log_probabilities(sample), "argmax")  # 1, 3, 1, 3
    assert float(edges.hop[0]) == 2.0 and float(edges.judged().variance[0]) == 1.0


@pytest.mark.parametrize("prediction", ["expected", "argmax"])
def test_calibrated_logits_count_as_torch_calibrates_them(prediction: str, rng: np.random.Generator) -> None:
    calibration = np.array([1.5, 0.2, 0.0, -0.3, 0.1, 0.6, 1.7, -0.4])
    logits = torch.from_numpy(rng.normal(scale=4.0, size=(50, 4)).astype(np.float32))
    logits[:2] = torch.tensor([[90.0, 0.0, 0.0, 0.0], [-90.0, 0.0, 0.0, 5.0]])  # certain, either way
    edges = EdgePosterior(50, CPU)
    edges.add(torch.arange(50), logits, prediction, calibration)
    log_p = calibrated(logits.double(), calibration)
    torch.testing.assert_close(edges.hop, predicted_hop(log_p, prediction).float())
    torch.testing.assert_close(edges.probability, log_p[:, 0].exp().float())
    torch.testing.assert_close(edges.surprise, -log_p[:, 0].float(), rtol=1e-4, atol=1e-6)


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
