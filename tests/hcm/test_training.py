"""The training loop: schedules by hand, running moments, optimizers by name, replayed samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hopsight.hcm import training as posterior
from hopsight.hcm.edge_posterior import EdgePosterior
from hopsight.hcm.folds import Fold
from hopsight.hcm.network import ViewHopNetwork
from hopsight.hcm.sgld import SGLD
from hopsight.hcm.training import HopTask, Observer, Schedule, judge, make_optimizer, replay, sample_posterior
from hopsight.hcm.training_state import Generators

CPU = torch.device("cpu")


def schedule(**changes: Any) -> Schedule:
    settings: dict[str, Any] = {
        "optimizer": "adam", "lr": 0.01, "lr_decay": 0.0, "weight_decay": 0.0, "temperature": 0.0, "n_epochs": 12,
        "burn_in": 4, "n_samples": 4, "dropout": 0.0, "dropout_at_prediction": False, "prediction": "expected",
    }  # fmt: skip
    return Schedule(**settings | changes)


def network(seed: int = 0, n_classes: int = 3) -> ViewHopNetwork:
    return ViewHopNetwork(
        [2], n_units=4, mlp_units=5, n_classes=n_classes, directed=False,
        generator=torch.Generator().manual_seed(seed),
    )  # fmt: skip


def generators() -> Generators:
    return Generators(np.random.default_rng(0), torch.Generator().manual_seed(1), torch.Generator().manual_seed(2))


POINTS = torch.tensor([[0.0, 0.0], [0.1, 0.0], [3.0, 3.0], [9.0, 0.0], [9.1, 0.2]])
EDGES = torch.tensor([[0, 0, 1, 3], [1, 2, 2, 4]])
LABELS = torch.tensor([0, 2, 2, 0])


def run(n_folds: int = 1, **changes: Any) -> tuple[EdgePosterior, np.ndarray, np.ndarray, list[Fold], Schedule]:
    plan = schedule(**changes)
    parts = torch.arange(4).chunk(n_folds)
    folds = [Fold([POINTS + number], part) for number, part in enumerate(parts)]
    task = HopTask(network(), folds, lambda epoch, n: EDGES.repeat(n, 1, 1), LABELS, EDGES)
    found, losses, samples = sample_posterior(
        task, plan, generators(), observer=Observer(node_scores=lambda edges: edges.hop.numpy())
    )
    return found, losses, samples, folds, plan


@pytest.mark.parametrize(
    ("n_epochs", "burn_in", "n_samples", "n_folds", "expected"),
    [
        (10, 4, 6, 1, [4, 5, 6, 7, 8, 9]),  # every epoch after the burn-in
        (10, 4, 60, 1, [4, 5, 6, 7, 8, 9]),  # there are no more
        (10, 4, 3, 1, [5, 7, 9]),  # spread, the last included
        (10, 9, 3, 1, [9]),
        (10, 4, 1, 1, [9]),
        (10, 4, 6, 2, [4, 5, 6, 7, 8, 9]),
        (11, 4, 2, 3, [8, 9, 10]),  # a round over the folds at least
    ],
)
def test_sampled_epochs_by_hand(n_epochs: int, burn_in: int, n_samples: int, n_folds: int, expected: list[int]) -> None:
    assert schedule(n_epochs=n_epochs, burn_in=burn_in, n_samples=n_samples).sample_epochs(n_folds) == expected


@pytest.mark.parametrize("n_folds", [1, 2, 3, 4, 10])
@pytest.mark.parametrize("n_samples", [1, 5, 100])
@pytest.mark.parametrize(("n_epochs", "burn_in"), [(1, 0), (2, 1), (7, 3), (20, 0), (20, 19), (200, 100)])
def test_sampled_epochs_exist_and_follow_the_folds(n_epochs: int, burn_in: int, n_samples: int, n_folds: int) -> None:
    epochs = schedule(n_epochs=n_epochs, burn_in=burn_in, n_samples=n_samples).sample_epochs(n_folds)
    assert epochs == sorted(set(epochs)) and epochs[0] >= 0 and epochs[-1] == n_epochs - 1
    if n_epochs - burn_in >= n_folds:
        assert epochs[0] >= burn_in
        assert len(epochs) % n_folds == 0 and len(epochs) <= max(n_samples, n_folds)
        assert set(np.bincount(np.array(epochs) % n_folds)) == {len(epochs) // n_folds}  # each fold as often


@pytest.mark.parametrize(
    ("name", "kind"), [("psgld", SGLD), ("sgld", SGLD), ("adam", torch.optim.Adam), ("sgd", torch.optim.SGD)]
)
def test_optimizers_by_name(name: str, kind: type) -> None:
    optimizer = make_optimizer(
        network(), schedule(optimizer=name, lr=0.2, weight_decay=0.3, temperature=0.4), 77, torch.Generator()
    )
    assert type(optimizer) is kind
    group = optimizer.param_groups[0]
    assert group["lr"] == 0.2 and group["weight_decay"] == 0.3
    if isinstance(optimizer, SGLD):
        assert group["temperature"] == 0.4 and optimizer.n_observations == 77
        assert optimizer.preconditioner == ("rmsprop" if name == "psgld" else "none")


@pytest.mark.parametrize("name", ["psgld", "sgld", "adam", "sgd"])
def test_every_optimizer_learns_who_is_close(name: str) -> None:
    lr = {"sgld": 0.05, "sgd": 0.05}.get(name, 0.01)
    found, losses, _, _, _ = run(optimizer=name, lr=lr, n_epochs=150, burn_in=100, n_samples=10, temperature=1e-4)
    assert losses.shape == (150,) and losses[-1] < 0.5 * losses[0]
    assert found.hop[[0, 3]].max() < found.hop[[1, 2]].min()


def test_steps_shrink_with_the_epoch() -> None:
    """Plain gradient steps of size lr · t^−decay: with a steep decay the weights stop moving."""
    _, _, still, _, _ = run(optimizer="sgd", lr=0.05, lr_decay=8.0, n_epochs=12, burn_in=9, n_samples=3)
    _, _, moving, _, _ = run(optimizer="sgd", lr=0.05, lr_decay=0.0, n_epochs=12, burn_in=9, n_samples=3)
    assert abs(np.diff(still, axis=0)).max() < 1e-6 < 1e-4 < abs(np.diff(moving, axis=0)).max()


@pytest.mark.parametrize("n_folds", [1, 2])
def test_replayed_samples_judge_as_they_did(n_folds: int) -> None:
    found, _, samples, folds, plan = run(n_folds)
    again = replay(network(seed=9), folds, EDGES, samples, plan)
    for name in ("count", "hop", "variance", "probability", "surprise"):
        assert torch.equal(getattr(again, name), getattr(found, name)), name
    assert len(samples) == 4 and (found.count > 0).all()


def test_dropout_masks_of_the_fit_are_replayed() -> None:
    found, _, samples, folds, plan = run(dropout=0.5, dropout_at_prediction=True)
    again = replay(network(seed=9), folds, EDGES, samples, plan, generators())
    assert torch.equal(again.hop, found.hop) and torch.equal(again.probability, found.probability)


def test_fewer_epochs_than_folds_can_still_be_replayed() -> None:
    _, _, samples, folds, plan = run(4, n_epochs=3, burn_in=0)
    assert len(samples) == 3
    assert torch.isfinite(replay(network(seed=9), folds, EDGES, samples, plan).hop).all()


def test_edges_are_judged_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run()[0]
    monkeypatch.setattr(posterior, "AT_ONCE", 3)
    torch.testing.assert_close(run()[0].hop, whole.hop)


def test_pairs_are_drawn_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn at once does not change what each epoch sees."""
    asked: list[tuple[int, int]] = []

    def draw(epoch: int, n: int) -> Tensor:
        asked.append((epoch, n))
        return torch.stack([EDGES if (epoch + i) % 2 else EDGES.flip(0) for i in range(n)])

    def losses() -> np.ndarray:
        task = HopTask(network(), [Fold([POINTS], torch.arange(4))], draw, LABELS, EDGES)
        return sample_posterior(task, schedule(), generators()).losses

    whole = losses()
    monkeypatch.setattr(posterior, "PAIRS_IN_MEMORY", 5 * LABELS.numel())
    assert np.array_equal(losses(), whole)
    assert asked == [(0, 12), (0, 5), (5, 5), (10, 2)]


def test_dropout_while_predicting_spreads_the_predictions() -> None:
    still = run(dropout=0.5, lr=1e-12)[0]
    moving = run(dropout=0.5, lr=1e-12, dropout_at_prediction=True)[0]
    assert still.variance.max() < 1e-6 < moving.variance.max()


def test_judging_alone_adds_one_sample() -> None:
    edges = EdgePosterior(4, CPU)
    judge(network(), Fold([POINTS], torch.tensor([1, 3])), EDGES, edges, schedule())
    assert edges.count.tolist() == [0, 1, 0, 1] and edges.variance.tolist() == [0, 0, 0, 0]
    assert 1 <= edges.hop[1] <= 3 and 0 < edges.probability[1] < 1


def test_a_loss_that_explodes_says_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"no longer finite after epoch .*: use a smaller lr"):
        run(optimizer="sgd", lr=1e30, n_epochs=12)
