"""Training and judging: schedules by hand, optimizers by name, networks side by side, samples judged again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hopsight.hcm import train as steps_module
from hopsight.hcm import train as training
from hopsight.hcm.network import ViewHopNetwork
from hopsight.hcm.posterior import EdgePosterior
from hopsight.hcm.splits import Fold
from hopsight.hcm.train import (
    SGLD,
    Generators,
    HopTask,
    Schedule,
    Trained,
    judge_edges,
    make_optimizer,
    predict,
    sample_weights,
)
from hopsight.nn.adam import Adam

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


def folds_of(n_networks: int = 1, n_folds: int = 1) -> list[list[Fold]]:
    """Return folds whose views differ; network k judges every n_networks-th edge."""
    return [
        [Fold([POINTS + number], torch.arange(k, 4, n_networks)) for number in range(n_folds)]
        for k in range(n_networks)
    ]


def same_pairs(n_networks: int) -> Any:
    return lambda epoch, n: EDGES.repeat(n, n_networks, 1, 1)


def train(n_networks: int = 1, n_folds: int = 1, **changes: Any) -> Trained:
    networks = [network(seed) for seed in range(n_networks)]
    task = HopTask(networks, folds_of(n_networks, n_folds), same_pairs(n_networks), LABELS)
    return sample_weights(task, schedule(**changes), generators())


def judge(samples: np.ndarray, n_networks: int = 1, n_folds: int = 1, **changes: Any) -> EdgePosterior:
    """Judge with networks whose own weights are others than those of the samples."""
    networks = [network(seed + 9) for seed in range(n_networks)]
    return judge_edges(networks, folds_of(n_networks, n_folds), EDGES, samples, schedule(**changes))


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


@pytest.mark.parametrize(("name", "kind"), [("psgld", SGLD), ("sgld", SGLD), ("adam", Adam), ("sgd", torch.optim.SGD)])
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
    plan: dict[str, Any] = {"optimizer": name, "lr": lr, "n_epochs": 150, "burn_in": 100, "n_samples": 10}
    samples, losses = train(temperature=1e-4, **plan)
    assert losses.shape == (150,) and losses[-1] < 0.5 * losses[0]
    hop = judge(samples, temperature=1e-4, **plan).hop
    assert hop[[0, 3]].max() < hop[[1, 2]].min()


def test_steps_shrink_with_the_epoch() -> None:
    """Plain gradient steps of size lr · t^−decay: with a steep decay the weights stop moving."""
    still = train(optimizer="sgd", lr=0.05, lr_decay=8.0, n_epochs=12, burn_in=9, n_samples=3).samples
    moving = train(optimizer="sgd", lr=0.05, lr_decay=0.0, n_epochs=12, burn_in=9, n_samples=3).samples
    assert abs(np.diff(still, axis=0)).max() < 1e-6 < 1e-4 < abs(np.diff(moving, axis=0)).max()


def test_networks_side_by_side_train_as_each_would_alone() -> None:
    """Without shared noise a network does not notice the others; the loss is their mean."""
    samples, losses = train(n_networks=2)
    assert samples.shape == (4, 2, network().flat_weights().numel())
    alone = []
    for k in range(2):
        task = HopTask([network(k)], folds_of(2)[k : k + 1], same_pairs(1), LABELS)
        alone.append(sample_weights(task, schedule(), generators()))
        assert np.array_equal(alone[k].samples[:, 0], samples[:, k])
    np.testing.assert_allclose(losses, (alone[0].losses + alone[1].losses) / 2, rtol=1e-6)


def test_each_network_trains_on_its_own_pairs_and_its_folds_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Epoch t of network k: the pairs that were drawn for it, and fold t mod n_folds."""
    seen: list[tuple[int, float, list[list[int]]]] = []
    step = steps_module.Step

    def note(mine: Any, fold: Fold, pairs: Tensor, *others: Any) -> steps_module.Step:
        seen.append((networks.index(mine), float(fold.view[0][0, 0]), pairs.tolist()))
        return step(mine, fold, pairs, *others)

    monkeypatch.setattr(steps_module, "Step", note)
    networks = [network(0), network(1)]
    drawn = torch.randint(0, 5, (3, 2, 2, 4), generator=torch.Generator().manual_seed(0))
    task = HopTask(networks, folds_of(2, 2), lambda epoch, n: drawn, LABELS)
    sample_weights(task, schedule(n_epochs=3, burn_in=0), generators())
    assert seen == [(k, float(epoch % 2), drawn[epoch, k].tolist()) for epoch in range(3) for k in range(2)]


def test_edges_are_judged_by_their_own_network_on_the_fold_of_the_sample() -> None:
    samples, _ = train(n_networks=2, n_folds=2)
    found = judge(samples, n_networks=2, n_folds=2)
    epochs = schedule().sample_epochs(2)
    assert found.count.tolist() == [len(epochs)] * 4
    expected = np.zeros((len(epochs), 4))
    for number, epoch in enumerate(epochs):
        for k in range(2):
            alone = network(5)
            alone.set_flat_weights(samples[number, k])
            with torch.no_grad():
                logits = alone(alone.represent([POINTS + epoch % 2]), EDGES)
            expected[number, k::2] = torch.softmax(logits, dim=1)[k::2, 0].numpy()
    np.testing.assert_allclose(found.probability, expected.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(found.surprise, -np.log(expected).mean(axis=0), rtol=1e-5)


def test_calibrations_belong_to_their_network() -> None:
    """A huge temperature leaves softmax(0, 1, 0) of the second network; the first one is not touched."""
    samples, _ = train(n_networks=2)
    plain = judge(samples, n_networks=2)
    calibrations = np.array(
        [[1.0, 0, 0, 0, 1, 1, 0], [1e9, 0, 1, 0, 1, 1, 0]]
    )  # T, offsets, a curve that changes nothing
    networks = [network(9), network(10)]
    found = judge_edges(networks, folds_of(2), EDGES, samples, schedule(), calibrations=calibrations)
    torch.testing.assert_close(found.probability[::2], plain.probability[::2])
    np.testing.assert_allclose(found.probability[1::2], 1.0 / (2.0 + np.e), rtol=1e-6)


def test_dropout_masks_depend_on_the_judging_seed_alone() -> None:
    plan: dict[str, Any] = {"dropout": 0.5, "dropout_at_prediction": True}
    samples, _ = train(**plan)
    first, again, other = (
        judge_edges([network(9)], folds_of(), EDGES, samples, schedule(**plan), judging_seed=seed) for seed in (3, 3, 4)
    )
    assert torch.equal(first.hop, again.hop) and not torch.equal(first.hop, other.hop)


def test_dropout_while_judging_spreads_the_predictions() -> None:
    still = {"dropout": 0.5, "lr": 1e-12}
    moving = {**still, "dropout_at_prediction": True}
    spread = [judge(train(**plan).samples, **plan).variance.max() for plan in (still, moving)]
    assert spread[0] < 1e-6 < spread[1]


def test_fewer_epochs_than_folds_still_judge_every_edge() -> None:
    samples, _ = train(n_folds=4, n_epochs=3, burn_in=0)
    assert len(samples) == 3
    found = judge(samples, n_folds=4, n_epochs=3, burn_in=0)
    assert (found.count > 0).all() and torch.isfinite(found.hop).all()


def test_edges_are_judged_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    samples, _ = train()
    whole = judge(samples)
    monkeypatch.setattr(steps_module, "AT_ONCE", 3)
    torch.testing.assert_close(judge(samples).hop, whole.hop)


def test_pairs_are_drawn_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn at once does not change what each epoch sees."""
    asked: list[tuple[int, int]] = []

    def draw(epoch: int, n: int) -> Tensor:
        asked.append((epoch, n))
        return torch.stack([EDGES if (epoch + i) % 2 else EDGES.flip(0) for i in range(n)])[:, None]

    def losses() -> np.ndarray:
        return sample_weights(HopTask([network()], folds_of(), draw, LABELS), schedule(), generators()).losses

    whole = losses()
    monkeypatch.setattr(training, "PAIRS_IN_MEMORY", 5 * LABELS.numel())
    assert np.array_equal(losses(), whole)
    assert asked == [(0, 12), (0, 5), (5, 5), (10, 2)]


def test_predictions_come_in_blocks_of_the_chosen_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps_module, "AT_ONCE", 2)
    chosen = torch.tensor([1, 3, 0])
    blocks = list(predict(network(), [POINTS], EDGES, chosen, schedule()))
    assert [block.tolist() for block, _ in blocks] == [[1, 3], [0]]
    mine = network()
    with torch.no_grad():
        expected = mine(mine.represent([POINTS]), EDGES[:, chosen])
    torch.testing.assert_close(torch.cat([logits for _, logits in blocks]), expected)


def test_a_loss_that_explodes_says_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"no longer finite after epoch .*: use a smaller lr"):
        train(optimizer="sgd", lr=1e30, n_epochs=12)


@pytest.mark.parametrize("n_networks", [1, 2])
def test_dropout_gives_the_same_bits_for_any_number_of_threads(
    n_networks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every block of pairs has its own generator, in training and in judging."""
    monkeypatch.setattr(steps_module, "AT_ONCE", 2)  # two blocks of pairs and of edges
    found = []
    for count in (1, 2, 4):
        monkeypatch.setattr("hopsight.system.threads.n_threads", lambda count=count: count)
        settings = {"dropout": 0.5, "dropout_at_prediction": True}
        samples = train(n_networks, **settings).samples
        found.append((samples, judge(samples, n_networks, **settings).probability))
    for samples, probability in found[1:]:
        assert np.array_equal(samples, found[0][0]) and torch.equal(probability, found[0][1])
    assert not np.array_equal(found[0][0], train(n_networks).samples)  # units are really dropped
