"""What the posterior samples say of every edge: running mean and variance of its predicted hop count."""

from __future__ import annotations

import torch
from torch import Tensor

PREDICTIONS = ("argmax", "expected")


class EdgePosterior:
    """Running mean and variance of every edge's predictions (Welford), never T×m in memory."""

    def __init__(self, n_edges: int, device: torch.device) -> None:
        self.count = torch.zeros(n_edges, device=device)
        self.hop = torch.zeros(n_edges, device=device)
        self.square = torch.zeros(n_edges, device=device)
        self.probability = torch.zeros(n_edges, device=device)
        self.surprise = torch.zeros(n_edges, device=device)

    def add(self, edges: Tensor, logits: Tensor, prediction: str) -> None:
        """Take in one posterior sample's logits for some edges."""
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

    @property
    def variance(self) -> Tensor:
        """Squared deviation over T, as in the paper."""
        return self.square / self.count.clamp(min=1)


def predicted_hop(log_p: Tensor, prediction: str) -> Tensor:
    """Turn class probabilities into a hop count: the likeliest class (from 1), or the expectation."""
    if prediction == "argmax":
        return log_p.argmax(dim=1).to(log_p.dtype) + 1
    hops = torch.arange(1, log_p.shape[1] + 1, dtype=log_p.dtype, device=log_p.device)
    return log_p.exp() @ hops
