"""The state of a fit: everything that the epochs still to come depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hopsight.hcm.checkpoint import Checkpoint
from hopsight.hcm.network import HopNetwork
from hopsight.hcm.steps import Mover


@dataclass(frozen=True)
class Generators:
    """Sources of randomness: pairs, dropout in training, Langevin noise, and the seed of dropout while judging."""

    pairs: np.random.Generator
    dropout: torch.Generator
    noise: torch.Generator
    judging_seed: int = 0

    @classmethod
    def spawn(cls, rngs: Sequence[np.random.Generator], device: torch.device) -> Generators:
        """Return generators on a device from three of NumPy's: for pairs, dropout and noise."""
        pairs, dropout, noise = rngs
        return cls(pairs, torch_generator(dropout, device), torch_generator(noise, device), _seed(dropout))


def torch_generator(rng: np.random.Generator, device: torch.device | str) -> torch.Generator:
    """Return torch's generator, seeded by NumPy's."""
    return torch.Generator(device=device).manual_seed(_seed(rng))


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**63))


@dataclass
class TrainingState:
    """How far a fit has come."""

    networks: Sequence[HopNetwork]
    optimizers: Sequence[Mover]
    generators: Generators
    losses: NDArray[np.float64]
    samples: list[Tensor] = field(default_factory=list)
    before_draw: Any = None  # state of the pairs' generator before the current chunk of epochs was drawn

    def save(self, checkpoint: Checkpoint, epoch: int, *, chunk_ends: bool) -> None:
        """Leave a state from which ``epoch`` is the next one; after the last epoch of a chunk, new pairs are drawn."""
        tensors = {"losses": torch.from_numpy(self.losses)}
        for k, (network, optimizer) in enumerate(zip(self.networks, self.optimizers, strict=True)):
            tensors[f"{k}.weights"] = network.flat_weights()
            tensors |= {f"{k}.{name}": value for name, value in _optimizer_tensors(optimizer).items()}
        tensors |= {"dropout": self.generators.dropout.get_state(), "noise": self.generators.noise.get_state()}
        if self.samples:
            tensors["samples"] = torch.stack(self.samples)
        pairs = self.generators.pairs.bit_generator.state if chunk_ends else self.before_draw
        checkpoint.save(tensors, {"epoch": epoch, "pairs": pairs})

    def restore(self, checkpoint: Checkpoint) -> int:
        """Take up a saved state, if there is one, and return the epoch to begin with."""
        tensors, values = checkpoint.load() or ({}, {})
        if "epoch" not in values:  # there is no checkpoint, or it was written before the first epoch
            return 0
        with checkpoint.taking_up():
            for k, (network, optimizer) in enumerate(zip(self.networks, self.optimizers, strict=True)):
                network.set_flat_weights(tensors[f"{k}.weights"])
                mine = {
                    name.removeprefix(f"{k}."): value for name, value in tensors.items() if name.startswith(f"{k}.")
                }
                _restore_optimizer(optimizer, mine)
            self.losses[:] = tensors["losses"].numpy()
            device = next(self.networks[0].parameters()).device
            self.samples += list(tensors["samples"].to(device)) if "samples" in tensors else []
            self.generators.dropout.set_state(tensors["dropout"])
            self.generators.noise.set_state(tensors["noise"])
            self.generators.pairs.bit_generator.state = values["pairs"]
            self.before_draw = values["pairs"]
            return int(values["epoch"])


def _optimizer_tensors(optimizer: Mover) -> dict[str, Tensor]:
    """Return an optimizer's state as named tensors."""
    state = optimizer.state_dict()["state"]
    return {
        f"optimizer.{number}.{name}": torch.as_tensor(value)
        for number, slots in state.items()
        for name, value in slots.items()
    }


def _restore_optimizer(optimizer: Mover, tensors: dict[str, Tensor]) -> None:
    """Give a fresh optimizer the saved state."""
    state: dict[int, dict[str, Any]] = {}
    for label, value in tensors.items():
        kind, _, rest = label.partition(".")
        if kind == "optimizer":
            number, _, name = rest.partition(".")
            state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
