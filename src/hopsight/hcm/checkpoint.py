"""Checkpoints: what an interrupted fit needs to go on to the same result, bit for bit."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor
from torch.optim import Optimizer

from hopsight.hcm.edge_posterior import EdgePosterior
from hopsight.hcm.network import HopNetwork

EVERY = 10.0  # seconds between two checkpoints
SHARE = 20  # and at least so many times what writing one takes


class Checkpoint:
    """One file that is replaced as a whole, so that it is always the old state or the new one.

    Parameters
    ----------
    path
        The file; None keeps nothing.
    key
        What the state belongs to. A file with another key is refused.
    """

    def __init__(self, path: Path | None, key: str) -> None:
        self.path = path
        self.key = key
        self._next = 0.0
        self._always: dict[str, Tensor] = {}

    @property
    def due(self) -> bool:
        """Whether it is time to save: at once, and then every ten seconds."""
        return self.path is not None and time.monotonic() >= self._next

    def save(self, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
        """Write a state, and what is to be remembered; ``values`` is anything JSON can hold."""
        assert self.path is not None
        start = time.monotonic()
        content = save(
            {name: tensor.detach().cpu().contiguous() for name, tensor in (self._always | tensors).items()},
            {"key": self.key, "values": json.dumps(values)},
        )
        partial = self.path.with_name(self.path.name + ".part")
        partial.write_bytes(content)
        partial.replace(self.path)
        end = time.monotonic()
        self._next = end + max(EVERY, SHARE * (end - start))

    def remember(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Write what took long to prepare: it is part of every state from now on."""
        if self.path is not None:
            self._always = {f"prepared.{name}": torch.from_numpy(values.copy()) for name, values in arrays.items()}
            self.save({}, {})

    def recall(self) -> dict[str, NDArray[Any]] | None:
        """Return what an earlier fit remembered, and remember it again."""
        tensors, _ = self.load() or ({}, {})
        self._always = {name: tensor for name, tensor in tensors.items() if name.startswith("prepared.")}
        return {name.partition(".")[2]: tensor.numpy() for name, tensor in self._always.items()} or None

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Return the state that was kept, or None when there is none.

        Raises
        ------
        ValueError
            If the file is damaged, or belongs to another network, seed or set of parameters.
        """
        if self.path is None or not self.path.exists():
            return None
        try:
            content = self.path.read_bytes()
            header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
            if header["key"] != self.key:
                raise ValueError("it belongs to another network or other parameters")
            return load(content), json.loads(header["values"])
        except (KeyError, TypeError, ValueError, OverflowError, SafetensorError) as error:
            raise ValueError(f"cannot resume from {self.path.name}: {error}; run again without --resume") from None


@dataclass(frozen=True)
class Generators:
    """Where the chances of a fit come from: pairs, dropout masks, Langevin noise."""

    pairs: np.random.Generator
    dropout: torch.Generator
    noise: torch.Generator


@dataclass
class Progress:
    """How far a fit has come: everything that the rest of it depends on."""

    network: HopNetwork
    optimizer: Optimizer
    posterior: EdgePosterior
    generators: Generators
    losses: NDArray[np.float64]
    samples: list[Tensor]
    before_draw: Any = None  # state of the pairs' generator before the chunk of the next epoch was drawn

    def save(self, checkpoint: Checkpoint, epoch: int) -> None:
        """Leave a state from which ``epoch`` is the next to be done."""
        tensors = {f"posterior.{name}": value for name, value in vars(self.posterior).items()}
        tensors |= _optimizer_tensors(self.optimizer)
        tensors |= {"weights": self.network.flat_weights(), "losses": torch.from_numpy(self.losses)}
        tensors |= {"dropout": self.generators.dropout.get_state(), "noise": self.generators.noise.get_state()}
        if self.samples:
            tensors["samples"] = torch.stack(self.samples)
        checkpoint.save(tensors, {"epoch": epoch, "pairs": self.before_draw})

    def restore(self, checkpoint: Checkpoint) -> int:
        """Take up a state, if there is one, and return the epoch to begin with."""
        kept = checkpoint.load()
        if kept is None:
            return 0
        tensors, values = kept
        if not values:  # no epoch was done
            return 0
        self.network.set_flat_weights(tensors["weights"])
        _restore_optimizer(self.optimizer, tensors)
        for name, value in vars(self.posterior).items():
            value.copy_(tensors[f"posterior.{name}"])
        self.losses[:] = tensors["losses"].numpy()
        self.samples += list(tensors["samples"]) if "samples" in tensors else []
        self.generators.dropout.set_state(tensors["dropout"])
        self.generators.noise.set_state(tensors["noise"])
        self.generators.pairs.bit_generator.state = values["pairs"]
        return int(values["epoch"])


def _optimizer_tensors(optimizer: Optimizer) -> dict[str, Tensor]:
    """Return an optimizer's memory as tensors with names."""
    state = optimizer.state_dict()["state"]
    return {
        f"optimizer.{number}.{name}": torch.as_tensor(value)
        for number, slots in state.items()
        for name, value in slots.items()
    }


def _restore_optimizer(optimizer: Optimizer, tensors: dict[str, Tensor]) -> None:
    """Give a fresh optimizer its memory back."""
    state: dict[int, dict[str, Any]] = {}
    for label, value in tensors.items():
        kind, _, rest = label.partition(".")
        if kind == "optimizer":
            number, _, name = rest.partition(".")
            state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
