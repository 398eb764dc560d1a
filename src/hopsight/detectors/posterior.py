"""Model training and inference: one loop that descends the hop loss and judges links with posterior samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.optim import SGD, Adam, Optimizer

from hopsight.detectors.base import Callback, Epoch
from hopsight.nn.hop_network import HopNetwork
from hopsight.nn.sgld import SGLD

OPTIMIZERS = ("psgld", "sgld", "adam", "sgd")
PREDICTIONS = ("argmax", "expected")
LINKS_AT_ONCE = 1 << 15
PAIRS_IN_MEMORY = 1 << 23

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Fold:
    """What the network sees of the graph, and which links it may judge while it sees no more than that."""

    view: Sequence[Any]  # the argument of HopNetwork.represent
    judged: Tensor  # (n_judged,) positions among the graph's links


@dataclass(frozen=True)
class Schedule:
    """How to train and when to take samples."""

    optimizer: str
    lr: float
    lr_decay: float
    weight_decay: float
    temperature: float
    n_epochs: int
    burn_in: int
    n_samples: int
    dropout: float
    dropout_at_prediction: bool
    prediction: str

    def sample_epochs(self, n_folds: int = 1) -> list[int]:
        """Return the epochs that end in a posterior sample: whole rounds over the folds, spread after the burn-in."""
        n_rounds = max(1, (self.n_epochs - self.burn_in) // n_folds)
        wanted = min(max(1, self.n_samples // n_folds), n_rounds)
        rounds = {n_rounds - 1 - int(i * n_rounds / wanted) for i in range(wanted)}
        start = max(0, self.n_epochs - n_rounds * n_folds)
        epochs = (start + turn * n_folds + fold for turn in sorted(rounds) for fold in range(n_folds))
        return [epoch for epoch in epochs if epoch < self.n_epochs]


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

    @classmethod
    def of(cls, hop: FloatArray, variance: FloatArray, probability: FloatArray, surprise: FloatArray) -> Self:
        """Return a posterior with given means, as one sample's worth."""
        posterior = cls(hop.size, torch.device("cpu"))
        posterior.count += 1
        values = (hop, variance, probability, surprise)
        posterior.hop, posterior.square, posterior.probability, posterior.surprise = map(torch.from_numpy, values)
        return posterior

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


def make_optimizer(network: HopNetwork, schedule: Schedule, n_observations: int, noise: torch.Generator) -> Optimizer:
    """Return the optimiser by name; ``psgld`` is preconditioned SGLD."""
    lr, decay = schedule.lr, schedule.weight_decay
    if schedule.optimizer == "adam":
        return Adam(network.parameters(), lr=lr, weight_decay=decay, fused=True)
    if schedule.optimizer == "sgd":
        return SGD(network.parameters(), lr=lr, weight_decay=decay)
    return SGLD(
        network.parameters(),
        lr=lr,
        weight_decay=decay,
        temperature=schedule.temperature,
        n_observations=n_observations,
        preconditioner="rmsprop" if schedule.optimizer == "psgld" else "none",
        generator=noise,
    )


def sample_posterior(
    network: HopNetwork,
    folds: Sequence[Fold],
    draw: Callable[[int, int], Tensor],
    labels: Tensor,
    links: Tensor,
    schedule: Schedule,
    *,
    dropout: torch.Generator,
    noise: torch.Generator,
    callback: Callback | None = None,
    node_scores: Callable[[LinkPosterior], FloatArray],
) -> tuple[LinkPosterior, FloatArray, NDArray[np.float32]]:
    """Train, and judge the links of each sampled epoch's fold; return their posterior, the losses and the samples.

    Parameters
    ----------
    network, folds
        The model, and what it sees: epoch t trains and judges on fold t mod len(folds).
    draw
        ``draw(epoch, n)`` returns the pairs of the next n epochs, (n, 2, n_pairs).
    labels
        Hop class of every pair of an epoch.
    links
        (2, n_links) all links of the graph.
    schedule
        Optimiser and sampling.
    dropout, noise
        Generators of dropout masks and of Langevin noise.
    callback
        Told after every epoch; its ``scores()`` judge all links with the current weights alone.
    node_scores
        From a posterior of the links to scores of the nodes, for the callback.
    """
    optimizer = make_optimizer(network, schedule, labels.numel(), noise)
    posterior = LinkPosterior(links.shape[1], links.device)
    sampled = set(schedule.sample_epochs(len(folds)))
    losses, samples = np.empty(schedule.n_epochs), []
    chunk = max(1, min(schedule.n_epochs, PAIRS_IN_MEMORY // labels.numel()))
    pairs = torch.empty(0)
    for epoch in range(schedule.n_epochs):
        if epoch % chunk == 0:
            pairs = draw(epoch, min(chunk, schedule.n_epochs - epoch))
        for group in optimizer.param_groups:
            group["lr"] = schedule.lr * (1 + epoch) ** -schedule.lr_decay
        fold = folds[epoch % len(folds)]
        optimizer.zero_grad()
        z = network.represent(fold.view, dropout=schedule.dropout, generator=dropout)
        logits = network.mlp(z, pairs[epoch % chunk], dropout=schedule.dropout, generator=dropout)
        loss = cross_entropy(logits, labels)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses[epoch] = _finite(loss, epoch)
        if epoch in sampled:
            samples.append(network.flat_weights().cpu().numpy())
            judge(network, fold, links, posterior, schedule, dropout)
        if callback is not None:
            callback(
                Epoch(epoch + 1, schedule.n_epochs, losses[epoch], _now(network, folds, links, schedule, node_scores))
            )
    return posterior, losses, np.stack(samples)


@torch.no_grad()
def judge(
    network: HopNetwork,
    fold: Fold,
    links: Tensor,
    posterior: LinkPosterior,
    schedule: Schedule,
    dropout: torch.Generator | None = None,
) -> None:
    """Add the current weights' predictions for a fold's links to the posterior."""
    share = schedule.dropout if schedule.dropout_at_prediction else 0.0
    z = network.represent(fold.view, dropout=share, generator=dropout)
    for part in torch.split(fold.judged, LINKS_AT_ONCE):
        logits = network.mlp(z, links[:, part], dropout=share, generator=dropout)
        posterior.add(part, logits, schedule.prediction)


def replay(
    network: HopNetwork,
    folds: Sequence[Fold],
    links: Tensor,
    samples: NDArray[np.float32],
    schedule: Schedule,
) -> LinkPosterior:
    """Judge links with samples kept from an earlier fit, each on the fold it was drawn on."""
    posterior = LinkPosterior(links.shape[1], links.device)
    for epoch, flat in zip(schedule.sample_epochs(len(folds)), samples, strict=True):
        network.set_flat_weights(flat)
        judge(network, folds[epoch % len(folds)], links, posterior, schedule)
    return posterior


def _now(
    network: HopNetwork,
    folds: Sequence[Fold],
    links: Tensor,
    schedule: Schedule,
    node_scores: Callable[[LinkPosterior], FloatArray],
) -> Callable[[], FloatArray]:
    """Return a function that scores the nodes by this epoch's weights alone."""

    def scores() -> FloatArray:
        posterior = LinkPosterior(links.shape[1], links.device)
        for fold in folds:
            judge(network, fold, links, posterior, schedule)
        return node_scores(posterior)

    return scores


def _finite(loss: Tensor, epoch: int) -> float:
    value = float(loss.detach())
    if not np.isfinite(value):
        raise ValueError(f"the loss is no longer finite after epoch {epoch + 1}: use a smaller lr or temperature")
    return value
