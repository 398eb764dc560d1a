"""Running mean and variance of the hop count that the posterior samples predict for each edge."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hopsight.hcm.checkpoint import Checkpoint

PREDICTIONS = ("argmax", "expected")
SINGLE_PRECISION_EDGES = 1 << 22  # beyond, what is known of each edge stays in single precision, in which it is found


class EdgePosterior:
    """Running mean and variance of the predictions for each edge (Welford), so that no T×m array is kept."""

    def __init__(self, n_edges: int, device: torch.device) -> None:
        self.count = torch.zeros(n_edges, device=device)
        self.hop = torch.zeros(n_edges, device=device)
        self.square = torch.zeros(n_edges, device=device)
        self.probability = torch.zeros(n_edges, device=device)
        self.surprise = torch.zeros(n_edges, device=device)

    def add(self, edges: Tensor, logits: Tensor, prediction: str) -> None:
        """Add the logits of one posterior sample for some edges."""
        log_p = torch.log_softmax(logits, dim=1)
        hop = predicted_hop(log_p, prediction)
        count = self.count[edges] + 1
        mean = self.hop[edges]
        shift = hop - mean
        self.count[edges] = count
        self.hop[edges] = mean + shift / count
        self.square[edges] += shift * (hop - self.hop[edges])
        self.probability[edges] += (log_p[:, 0].exp() - self.probability[edges]) / count
        self.surprise[edges] += (-log_p[:, 0] - self.surprise[edges]) / count

    def save(self, checkpoint: Checkpoint, n_turns: int) -> None:
        """Leave the state after so many turns, each of one sample of one network."""
        checkpoint.save({f"posterior.{name}": value for name, value in vars(self).items()}, {"n_turns": n_turns})

    def restore(self, checkpoint: Checkpoint) -> int:
        """Take up a saved state, if there is one, and return the number of turns that it contains."""
        tensors, values = checkpoint.load() or ({}, {})
        if "n_turns" not in values:
            return 0
        with checkpoint.taking_up():
            for name, value in vars(self).items():
                value.copy_(tensors[f"posterior.{name}"])
            return int(values["n_turns"])

    @property
    def variance(self) -> Tensor:
        """Squared deviation over T, as in the paper."""
        return self.square / self.count.clamp(min=1)


def edge_values(values: Tensor) -> NDArray[Any]:
    """Return one number per edge as a NumPy array on the CPU, in double precision unless there are many."""
    found = values.cpu().numpy()
    return found.astype(np.float64) if found.size <= SINGLE_PRECISION_EDGES else np.asarray(found, dtype=np.float32)


def as_tensor(edges: NDArray[np.int64]) -> Tensor:
    """Return read-only edges as a tensor that nothing may write to; a copy of many edges would be large."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(edges)


def predicted_hop(log_p: Tensor, prediction: str) -> Tensor:
    """Return the hop count from class probabilities: the likeliest class (from 1), or the expectation."""
    if prediction == "argmax":
        return log_p.argmax(dim=1).to(log_p.dtype) + 1
    hops = torch.arange(1, log_p.shape[1] + 1, dtype=log_p.dtype, device=log_p.device)
    return log_p.exp() @ hops
