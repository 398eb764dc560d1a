"""The state of a fit: generators by seed, and a checkpoint that restores every part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from hopsight.hcm.checkpoint import Checkpoint
from hopsight.hcm.edge_posterior import EdgePosterior
from hopsight.hcm.network import ViewHopNetwork
from hopsight.hcm.training_state import Generators, TrainingState

CPU = torch.device("cpu")


def spawned(seed: int = 0) -> Generators:
    return Generators.spawn(np.random.default_rng(seed).spawn(3), CPU)


def state(seed: int) -> TrainingState:
    network = ViewHopNetwork(
        [2], n_units=3, mlp_units=4, n_classes=2, directed=False, generator=torch.Generator().manual_seed(seed)
    )
    return TrainingState(network, torch.optim.Adam(network.parameters()), EdgePosterior(3, CPU), spawned(seed))


def test_the_masks_of_a_sample_depend_on_seed_and_epoch_only() -> None:
    first, again, other = (torch.rand(3, generator=spawned().for_judging(epoch)) for epoch in (5, 5, 6))
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert spawned(0).judging_seed != spawned(1).judging_seed


def test_a_checkpoint_restores_weights_generators_and_samples(tmp_path: Path) -> None:
    before = state(0)
    before.losses = np.array([0.5, 0.25])
    before.samples.append(before.network.flat_weights())
    before.posterior.hop += 2.0
    before.generators.pairs.random(7)
    before.save(Checkpoint(tmp_path / "state", "key"), 2, chunk_ends=True)
    after = state(1)
    after.losses = np.zeros(2)
    assert after.restore(Checkpoint(tmp_path / "state", "key")) == 2
    assert torch.equal(after.network.flat_weights(), before.network.flat_weights())
    assert after.losses.tolist() == [0.5, 0.25] and len(after.samples) == 1
    assert after.posterior.hop.tolist() == [2.0, 2.0, 2.0]
    assert after.generators.pairs.random() == before.generators.pairs.random()


def test_without_a_file_a_fit_starts_at_the_first_epoch(tmp_path: Path) -> None:
    assert state(0).restore(Checkpoint(tmp_path / "state", "key")) == 0
