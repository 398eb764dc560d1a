"""The state of a fit: generators by seed, and a checkpoint that restores every part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from hopsight.hcm.checkpoint import Checkpoint
from hopsight.hcm.network import ViewHopNetwork
from hopsight.hcm.train import Generators, TrainingState, judging_generator

CPU = torch.device("cpu")


def spawned(seed: int = 0) -> Generators:
    return Generators.spawn(np.random.default_rng(seed).spawn(3), CPU)


def state(seed: int, n_networks: int = 12) -> TrainingState:
    networks = [
        ViewHopNetwork(
            [2], n_units=3, mlp_units=4, n_classes=2, directed=False, generator=torch.Generator().manual_seed(seed + k)
        )
        for k in range(n_networks)
    ]
    optimizers = [torch.optim.Adam(network.parameters()) for network in networks]
    return TrainingState(networks, optimizers, spawned(seed), np.zeros(2))


def step(states: TrainingState) -> None:
    """Move every network by its optimizer, each by a gradient of its own."""
    for k, (network, optimizer) in enumerate(zip(states.networks, states.optimizers, strict=True)):
        for tensor in network.parameters():
            tensor.grad = torch.full_like(tensor, k + 1.0)
        optimizer.step()


def test_the_masks_of_a_sample_depend_on_seed_and_epoch_only() -> None:
    first, again, other, elsewhere = (
        torch.rand(3, generator=judging_generator(seed, epoch, CPU)) for seed, epoch in ((7, 5), (7, 5), (7, 6), (9, 5))
    )
    assert torch.equal(first, again) and not torch.equal(first, other) and not torch.equal(first, elsewhere)
    assert judging_generator(2**63 - 1, 5, CPU).initial_seed() == 4
    assert spawned(0).judging_seed != spawned(1).judging_seed


def test_a_checkpoint_restores_networks_optimizers_generators_and_samples(tmp_path: Path) -> None:
    """Twelve networks: number 1 must not take what belongs to 10 and 11."""
    before = state(0)
    step(before)
    before.losses[:] = [0.5, 0.25]
    before.samples.append(torch.stack([network.flat_weights() for network in before.networks]))
    before.generators.pairs.random(7)
    torch.rand(3, generator=before.generators.dropout)
    before.save(Checkpoint(tmp_path / "state", "key"), 2, chunk_ends=True)
    after = state(1)
    assert after.restore(Checkpoint(tmp_path / "state", "key")) == 2
    assert after.losses.tolist() == [0.5, 0.25] and len(after.samples) == 1
    assert torch.equal(after.samples[0], before.samples[0])
    assert after.generators.pairs.random() == before.generators.pairs.random()
    for name in ("dropout", "noise"):
        assert torch.equal(getattr(after.generators, name).get_state(), getattr(before.generators, name).get_state())
    for each in (before, after):
        step(each)  # Adam's moments matter from the second step on
    for one, two in zip(before.networks, after.networks, strict=True):
        assert torch.equal(one.flat_weights(), two.flat_weights())


def test_within_a_chunk_the_pairs_are_drawn_again(tmp_path: Path) -> None:
    before = state(0, 1)
    before.before_draw = before.generators.pairs.bit_generator.state
    drawn = before.generators.pairs.random(4)
    before.save(Checkpoint(tmp_path / "state", "key"), 1, chunk_ends=False)
    after = state(1, 1)
    after.restore(Checkpoint(tmp_path / "state", "key"))
    assert np.array_equal(after.generators.pairs.random(4), drawn)


def test_without_a_state_a_fit_starts_at_the_first_epoch(tmp_path: Path) -> None:
    assert state(0).restore(Checkpoint(tmp_path / "state", "key")) == 0
    prepared = Checkpoint(tmp_path / "state", "key")
    prepared.prepare("pool", {"sizes": np.arange(3)})
    assert state(0).restore(Checkpoint(tmp_path / "state", "key")) == 0
