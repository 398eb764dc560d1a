"""The training loop: fixed epochs, a refusal on divergence, one retry after a collapse, weights as one array."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hopsight.baselines.networks import (
    flat_weights,
    retry_if_collapsed,
    set_weights,
    train,
)
from hopsight.detectors.base import Epoch


class Parabola(nn.Module):
    """One weight w with the loss (w − 3)²."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def loss(self) -> Tensor:
        """Return (w − 3)²."""
        return (self.weight - 3.0).square().sum()


def no_scores() -> np.ndarray:
    return np.zeros(2)


def test_training_reaches_the_minimum_and_reports_every_epoch() -> None:
    model, seen = Parabola(), []
    losses = train(model, model.loss, no_scores, name="P", lr=0.1, n_epochs=200, callback=seen.append)
    assert losses[0] == 9.0
    assert model.weight.item() == pytest.approx(3.0, abs=0.02)
    assert [epoch.number for epoch in seen] == list(range(1, 201))
    assert isinstance(seen[0], Epoch) and seen[0].total == 200 and seen[0].loss == 9.0
    assert seen[0].scores().tolist() == [0.0, 0.0]


def test_without_the_last_step_the_weights_are_those_of_the_last_pass() -> None:
    model = Parabola()
    train(model, model.loss, no_scores, name="P", lr=0.1, n_epochs=1, last_step=False)
    assert model.weight.item() == 0.0
    train(model, model.loss, no_scores, name="P", lr=0.1, n_epochs=1)
    assert model.weight.item() == pytest.approx(0.1)


def test_divergence_stops_the_training_and_says_what_to_do() -> None:
    model = Parabola()
    with pytest.raises(ValueError, match=r"loss of P became nan in epoch 1 of 5: lower lr \(now 0.1\) or set scaling"):
        train(model, lambda: model.loss() * float("nan"), no_scores, name="P", lr=0.1, n_epochs=5)


def test_a_second_collapse_is_reported_too() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        retry_if_collapsed("P", lambda rng: (np.zeros(2), False), np.random.default_rng(0))
    assert ["second time" in str(warning.message) for warning in caught] == [False, True]


def test_weights_are_restored_from_one_array() -> None:
    first, second = (nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1)) for _ in range(2))
    flat = flat_weights(first)
    assert flat.shape == (3 * 2 + 2 + 2 + 1,) and flat.dtype == np.float32
    set_weights(second, flat)
    for ours, theirs in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    with pytest.raises(ValueError, match="has 10 weights, but its parameters require 11"):
        set_weights(second, flat[:-1])
