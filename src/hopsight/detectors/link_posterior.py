"""What the posterior samples say of every link: running mean and variance of its predicted hop count."""

from __future__ import annotations

import torch
from torch import Tensor

PREDICTIONS = ("argmax", "expected")


class LinkPosterior:
    """Running mean and variance of every link's predictions (Welford), never T×m in memory."""

    def __init__(self, n_links: int, device: torch.device) -> None:
        self.count = torch.zeros(n_links, device=device)
        self.hop = torch.zeros(n_links, device=device)
        self.square = torch.zeros(n_links, device=device)
        self.probability = torch.zeros(n_links, device=device)
        self.surprise = torch.zeros(n_links, device=device)

    def add(self, links: Tensor, logits: Tensor, prediction: str) -> None:
        """Take in one posterior sample's logits for some links."""
        log_p = torch.log_softmax(logits, dim=1)
        hop = predicted_hop(log_p, prediction)
        count = self.count[links] + 1
        mean = self.hop[links]
        shift = hop - mean
        self.count[links] = count
        self.hop[links] = mean + shift / count
        self.square[links] += shift * (hop - self.hop[links])
        self.probability[links] += (log_p[:, 0].exp() - self.probability[links]) / count
        self.surprise[links] += (-log_p[:, 0] - self.surprise[links]) / count

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
