"""Training and judging: schedules by hand, optimizers by name, networks side by side, samples judged again."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hopsight.hcm import train as module
from hopsight.hcm.network import ViewHopNetwork
from hopsight.hcm.posterior import EdgePosterior, judge_edges
from hopsight.hcm.train import Generators, RecordedSteps, Schedule, Steps, Trained, make_optimizer


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


class SamePairs:
    """Pairs that are the same in every epoch and for every network."""

    labels = LABELS.numpy()

    def __init__(self, n_networks: int) -> None:
        self.n_networks = n_networks

    def draw(self, epoch: int, n_epochs: int, *, rng: np.random.Generator) -> np.ndarray:
        """Return the pairs of some epochs."""
        return EDGES.repeat(n_epochs, self.n_networks, 1, 1).numpy()


def views_of(n_networks: int = 1, n_folds: int = 1) -> list[list[list[Tensor]]]:
    """Return a view for each fold of each network; those of different folds differ."""
    return [[[POINTS + number] for number in range(n_folds)] for _ in range(n_networks)]


def train(n_networks: int = 1, n_folds: int = 1, **changes: Any) -> Trained:
    networks, pairs = [network(seed) for seed in range(n_networks)], SamePairs(n_networks)
    return module.train(networks, views_of(n_networks, n_folds), pairs, schedule(**changes), generators())  # type: ignore[arg-type]


def judge(
    samples: np.ndarray, n_networks: int = 1, n_folds: int = 1, options: dict[str, Any] | None = None, **changes: Any
) -> EdgePosterior:
    """Judge with networks whose own weights are others than those of the samples; k judges every n-th edge."""
    networks, views = [network(seed + 9) for seed in range(n_networks)], views_of(n_networks, n_folds)
    parts = [torch.arange(k, 4, n_networks) for k in range(n_networks)]
    return judge_edges(networks, views.__getitem__, parts, EDGES, samples, schedule(**changes), **options or {})


@pytest.mark.parametrize(("n_epochs", "burn_in", "n_samples", "n_folds", "expected"), [
    (10, 4, 6, 1, [4, 5, 6, 7, 8, 9]),  # every epoch after the burn-in
    (10, 4, 60, 1, [4, 5, 6, 7, 8, 9]),  # there are no more
    (10, 4, 3, 1, [5, 7, 9]),  # spread, the last included
    (10, 9, 3, 1, [9]), (10, 4, 1, 1, [9]), (10, 4, 6, 2, [4, 5, 6, 7, 8, 9]),
    (11, 4, 2, 3, [8, 9, 10]),  # a round over the folds at least
])  # fmt: skip
def test_sampled_epochs_by_hand(n_epochs: int, burn_in: int, n_samples: int, n_folds: int, expected: list[int]) -> None:
    assert schedule(n_epochs=n_epochs, burn_in=burn_in, n_samples=n_samples).sample_epochs(n_folds) == expected


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
        alone.append(module.train([network(k)], views_of(), SamePairs(1), schedule(), generators()))  # type: ignore[arg-type]
        assert np.array_equal(alone[k].samples[:, 0], samples[:, k])
    np.testing.assert_allclose(losses, (alone[0].losses + alone[1].losses) / 2, rtol=1e-6)


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
    found = judge(samples, n_networks=2, options={"calibrations": calibrations})
    torch.testing.assert_close(found.probability[::2], plain.probability[::2])
    np.testing.assert_allclose(found.probability[1::2], 1.0 / (2.0 + np.e), rtol=1e-6)


@pytest.mark.parametrize("n_networks", [1, 2])
def test_dropout_gives_the_same_bits_for_any_number_of_threads(
    n_networks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every block of pairs has its own generator, in training and in judging."""
    monkeypatch.setattr(module, "AT_ONCE", 2)  # two blocks of pairs and of edges
    found = []
    for count in (1, 2, 4):
        monkeypatch.setattr("hopsight.system.threads.n_threads", lambda count=count: count)
        settings = {"dropout": 0.5, "dropout_at_prediction": True}
        samples = train(n_networks, **settings).samples
        found.append((samples, judge(samples, n_networks, **settings).probability))
    for samples, probability in found[1:]:
        assert np.array_equal(samples, found[0][0]) and torch.equal(probability, found[0][1])
    assert not np.array_equal(found[0][0], train(n_networks).samples)  # units are really dropped


@pytest.mark.skipif(not torch.cuda.is_available(), reason="only a GPU records steps")
def test_recorded_steps_are_those_taken_one_by_one() -> None:
    found = []
    for kind in (Steps, RecordedSteps):
        mine = network().to("cuda")
        optimizer = make_optimizer(mine, schedule(), 4, torch.Generator("cuda"))
        views = [[[POINTS.to("cuda")], [POINTS.flip(0).to("cuda")]]]
        steps = kind([mine], views, LABELS.to("cuda"), schedule(), [optimizer], torch.Generator("cuda"), map)
        found.append([float(steps(epoch, EDGES[None].to("cuda"))[0]) for epoch in range(8)])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4)
