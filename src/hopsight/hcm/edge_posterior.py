"""Running mean and variance of the hop count that the posterior samples predict for each edge."""

from __future__ import annotations

import torch
from torch import Tensor

from hopsight.hcm.checkpoint import Checkpoint

PREDICTIONS = ("argmax", "expected")


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


def predicted_hop(log_p: Tensor, prediction: str) -> Tensor:
    """Return the hop count from class probabilities: the likeliest class (from 1), or the expectation."""
    if prediction == "argmax":
        return log_p.argmax(dim=1).to(log_p.dtype) + 1
    hops = torch.arange(1, log_p.shape[1] + 1, dtype=log_p.dtype, device=log_p.device)
    return log_p.exp() @ hops
