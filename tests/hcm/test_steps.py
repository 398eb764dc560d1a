"""Steps of the networks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hopsight.hcm.network import ViewHopNetwork
from hopsight.hcm.splits import Fold
from hopsight.hcm.train import HopTask, RecordedSteps, Schedule, Steps, make_optimizer, steps_of

LABELS = torch.tensor([0, 1, 0, 1])
PAIRS = torch.tensor([[[0, 0, 2, 1], [1, 4, 3, 4]]])  # near, far, near, far
SCHEDULE = Schedule("adam", 0.1, 0.5, 0.0, 0.0, 10, 0, 1, 0.0, False, "expected")


def task(device: str) -> HopTask:
    network = ViewHopNetwork(
        [2], n_units=3, mlp_units=4, n_classes=2, directed=False, generator=torch.Generator().manual_seed(0)
    ).to(device)
    view = torch.arange(10.0, device=device).reshape(5, 2)
    folds = [[Fold([view], torch.arange(4)), Fold([view.flip(0)], torch.arange(4))]]
    return HopTask([network], folds, lambda epoch, n: PAIRS, LABELS.to(device))


def taken(device: str, kind: type[Steps]) -> tuple[list[float], torch.Tensor]:
    mine = task(device)
    optimizers = [make_optimizer(network, SCHEDULE, 4, torch.Generator(device)) for network in mine.networks]
    steps = kind(mine, SCHEDULE, optimizers, torch.Generator(device), map)
    losses = [float(steps(epoch, PAIRS.to(device))[0]) for epoch in range(8)]
    return losses, mine.networks[0].flat_weights().cpu()


def test_the_rate_of_an_epoch_is_that_of_the_schedule() -> None:
    mine = task("cpu")
    optimizer = make_optimizer(mine.networks[0], SCHEDULE, 4, torch.Generator())
    steps = steps_of(mine, SCHEDULE, [optimizer], torch.Generator(), map)
    assert type(steps) is Steps
    steps(3, PAIRS)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.1 * 4**-0.5)


def test_the_loss_falls_over_the_folds_in_turn() -> None:
    losses, _ = taken("cpu", Steps)
    assert losses[6] < losses[0]
    assert losses[7] < losses[1]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="only a GPU records steps")
def test_recorded_steps_are_those_taken_one_by_one() -> None:
    losses, weights = taken("cuda", Steps)
    again, replayed = taken("cuda", RecordedSteps)
    np.testing.assert_allclose(again, losses, rtol=1e-4)
    torch.testing.assert_close(replayed, weights, rtol=1e-3, atol=1e-4)
