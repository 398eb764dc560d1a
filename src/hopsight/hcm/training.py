"""Model training and inference: one loop that descends the hop loss and judges edges with posterior samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.optim import SGD, Adam, Optimizer

from hopsight.detectors.base import Callback, Epoch
from hopsight.hcm.checkpoint import Checkpoint, Generators, Progress
from hopsight.hcm.edge_posterior import EdgePosterior
from hopsight.hcm.network import HopNetwork
from hopsight.hcm.sgld import SGLD
from hopsight.hcm.stage_clock import StageClock
from hopsight.nn.reconstruction import Run
from hopsight.system.threads import workers

OPTIMIZERS = ("psgld", "sgld", "adam", "sgd")
AT_ONCE = 1 << 13
AT_ONCE_ON_GPU = 1 << 20
PAIRS_IN_MEMORY = 1 << 23

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Fold:
    """What the network sees of the graph, and which edges it may judge while it sees no more than that."""

    view: Sequence[Any]  # the argument of HopNetwork.represent
    judged: Tensor  # (n_judged,) positions among the graph's edges


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
    dtype: torch.dtype = torch.float32  # of matrix products while training; judging is always in single precision

    def sample_epochs(self, n_folds: int = 1) -> list[int]:
        """Return the epochs that end in a posterior sample: whole rounds over the folds, spread after the burn-in."""
        n_rounds = max(1, (self.n_epochs - self.burn_in) // n_folds)
        wanted = min(max(1, self.n_samples // n_folds), n_rounds)
        rounds = {n_rounds - 1 - int(i * n_rounds / wanted) for i in range(wanted)}
        start = max(0, self.n_epochs - n_rounds * n_folds)
        epochs = (start + turn * n_folds + fold for turn in sorted(rounds) for fold in range(n_folds))
        return [epoch for epoch in epochs if epoch < self.n_epochs]


def make_optimizer(network: HopNetwork, schedule: Schedule, n_observations: int, noise: torch.Generator) -> Optimizer:
    """Return the optimizer by name; ``psgld`` is preconditioned SGLD."""
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
    edges: Tensor,
    schedule: Schedule,
    generators: Generators,
    *,
    node_scores: Callable[[EdgePosterior], FloatArray],
    callback: Callback | None = None,
    checkpoint: Checkpoint | None = None,
    clock: StageClock | None = None,
) -> tuple[EdgePosterior, FloatArray, NDArray[np.float32]]:
    """Train, and judge the edges of each sampled epoch's fold; return their posterior, the losses and the samples.

    Parameters
    ----------
    network, folds
        The model, and what it sees: epoch t trains and judges on fold t mod len(folds).
    draw
        ``draw(epoch, n)`` returns the pairs of the next n epochs, (n, 2, n_pairs), by ``generators.pairs``.
    labels
        Hop class of every pair of an epoch.
    edges
        (2, n_edges) all edges of the graph.
    schedule
        Optimizer and sampling.
    generators
        Sources of chance.
    node_scores
        From a posterior of the edges to scores of the nodes, for the callback.
    callback
        Told after every epoch; its ``scores()`` judge all edges with the current weights alone.
    checkpoint
        Where to begin, if it holds a state, and where to leave one from time to time.
    clock
        Told of the stages "pairs", "train" and "judge".
    """
    optimizer = make_optimizer(network, schedule, labels.numel(), generators.noise)
    posterior = EdgePosterior(edges.shape[1], edges.device)
    progress = Progress(network, optimizer, posterior, generators, np.empty(schedule.n_epochs), [])
    keeper, watch = checkpoint or Checkpoint(None, ""), clock or StageClock(None)
    first = progress.restore(keeper)
    sampled = set(schedule.sample_epochs(len(folds)))
    n_blocks = 1 if schedule.dropout or edges.is_cuda else max(labels.numel(), edges.shape[1]) // AT_ONCE + 1
    chunk = max(1, min(schedule.n_epochs, PAIRS_IN_MEMORY // labels.numel()))
    pairs = None
    with workers(n_blocks) as run:  # dropout draws in order, so block after block
        for epoch in range(first, schedule.n_epochs):
            if pairs is None or epoch % chunk == 0:
                progress.before_draw = generators.pairs.bit_generator.state
                start = epoch - epoch % chunk
                watch.begin("pairs")
                pairs = draw(start, min(chunk, schedule.n_epochs - start))
                watch.begin("train")
            for group in optimizer.param_groups:
                group["lr"] = schedule.lr * (1 + epoch) ** -schedule.lr_decay
            fold = folds[epoch % len(folds)]
            loss = _step(network, fold, pairs[epoch % chunk], labels, optimizer, schedule, generators.dropout, run)
            progress.losses[epoch] = _finite(loss, epoch)
            if epoch in sampled:
                watch.begin("judge")
                progress.samples.append(network.flat_weights().cpu())
                judge(network, fold, edges, posterior, schedule, generators.dropout, run)
                watch.begin("train")
            if callback is not None:
                now = _now(network, folds, edges, schedule, node_scores)
                callback(Epoch(epoch + 1, schedule.n_epochs, progress.losses[epoch], now))
            if (epoch + 1) % chunk == 0:
                progress.before_draw = generators.pairs.bit_generator.state  # the next chunk is drawn from here
            if keeper.due:
                progress.save(keeper, epoch + 1)
    return posterior, progress.losses, torch.stack(progress.samples).numpy()


def _step(
    network: HopNetwork,
    fold: Fold,
    pairs: Tensor,
    labels: Tensor,
    optimizer: Optimizer,
    schedule: Schedule,
    dropout: torch.Generator,
    run: Run = map,
) -> Tensor:
    """Descend the hop loss once and return it; gradients add up over blocks of pairs that fit a processor's cache."""
    device, half = labels.device.type, schedule.dtype == torch.bfloat16
    optimizer.zero_grad()
    view, pairs = network.focus(fold.view, pairs)
    with torch.autocast(device, torch.bfloat16, enabled=half):
        nodes = network.represent(view, dropout=schedule.dropout, generator=dropout)
    leaves = [rows.detach().requires_grad_(rows.requires_grad) for rows in nodes]
    learned = [tensor for tensor in (*leaves, *network.parameters()) if tensor.requires_grad]

    def gradients(block: Tensor, wanted: Tensor) -> tuple[Tensor, Sequence[Tensor | None]]:
        with torch.autocast(device, torch.bfloat16, enabled=half, cache_enabled=False):
            logits = network(leaves, block, dropout=schedule.dropout, generator=dropout)
        loss = cross_entropy(logits.float(), wanted, reduction="sum") / labels.numel()
        return loss.detach(), torch.autograd.grad(loss, learned, allow_unused=True)

    total = torch.zeros((), device=labels.device)
    for loss, parts in run(gradients, *(torch.split(t, _at_once(device), dim=-1) for t in (pairs, labels))):
        total += loss
        for tensor, part in zip(learned, parts, strict=True):
            if part is not None:
                tensor.grad = part if tensor.grad is None else tensor.grad.add_(part)
    for rows, leaf in zip(nodes, leaves, strict=True):
        if leaf.grad is not None:
            rows.backward(leaf.grad)  # type: ignore[no-untyped-call]
    optimizer.step()
    return total


def _at_once(device: str) -> int:
    """Return how many pairs or edges to work on at a time: few enough for a cache, or enough to fill a GPU."""
    return AT_ONCE if device == "cpu" else AT_ONCE_ON_GPU


@torch.no_grad()
def judge(
    network: HopNetwork,
    fold: Fold,
    edges: Tensor,
    posterior: EdgePosterior,
    schedule: Schedule,
    dropout: torch.Generator | None = None,
    run: Run = map,
) -> None:
    """Add the current weights' predictions for a fold's edges to the posterior."""
    share = schedule.dropout if schedule.dropout_at_prediction else 0.0
    nodes = network.represent(fold.view, dropout=share, generator=dropout)
    parts = torch.split(fold.judged, _at_once(edges.device.type))

    def predict(part: Tensor) -> Tensor:
        with torch.no_grad():  # every thread has a switch of its own
            return network(nodes, edges[:, part], dropout=share, generator=dropout)

    for part, logits in zip(parts, run(predict, parts), strict=True):
        posterior.add(part, logits, schedule.prediction)


def replay(
    network: HopNetwork,
    folds: Sequence[Fold],
    edges: Tensor,
    samples: NDArray[np.float32],
    schedule: Schedule,
) -> EdgePosterior:
    """Judge edges with samples kept from an earlier fit, each on the fold it was drawn on."""
    posterior = EdgePosterior(edges.shape[1], edges.device)
    for epoch, flat in zip(schedule.sample_epochs(len(folds)), samples, strict=True):
        network.set_flat_weights(flat)
        judge(network, folds[epoch % len(folds)], edges, posterior, schedule)
    return posterior


def _now(
    network: HopNetwork,
    folds: Sequence[Fold],
    edges: Tensor,
    schedule: Schedule,
    node_scores: Callable[[EdgePosterior], FloatArray],
) -> Callable[[], FloatArray]:
    """Return a function that scores the nodes by this epoch's weights alone."""

    def scores() -> FloatArray:
        posterior = EdgePosterior(edges.shape[1], edges.device)
        for fold in folds:
            judge(network, fold, edges, posterior, schedule)
        return node_scores(posterior)

    return scores


def _finite(loss: Tensor, epoch: int) -> float:
    value = float(loss.detach())
    if not np.isfinite(value):
        raise ValueError(f"the loss is no longer finite after epoch {epoch + 1}: use a smaller lr or temperature")
    return value
