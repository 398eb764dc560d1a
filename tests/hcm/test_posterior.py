"""Running moments of the edges' predictions, and hop counts from class probabilities."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from hopsight.hcm.posterior import EdgePosterior, calibrated, predicted_hop

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
