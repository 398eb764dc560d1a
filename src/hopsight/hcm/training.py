"""Train the hop-count model, and judge edges with the weights it passes through.

:func:`sample_posterior` reads top to bottom: draw pairs, descend the loss, judge the edges of the fold at the epochs
that count as posterior samples, and leave a checkpoint from time to time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.optim import SGD, Adam, Optimizer

from hopsight.detectors.base import Callback, Epoch
from hopsight.hcm.checkpoint import Checkpoint
from hopsight.hcm.edge_posterior import EdgePosterior
from hopsight.hcm.folds import Fold
from hopsight.hcm.network import HopNetwork
from hopsight.hcm.sgld import SGLD
from hopsight.hcm.stage_clock import StageClock
from hopsight.hcm.training_state import Generators, TrainingState
from hopsight.system.threads import Run, workers

OPTIMIZERS = ("psgld", "sgld", "adam", "sgd")
AT_ONCE = 1 << 13
AT_ONCE_ON_GPU = 1 << 20
PAIRS_IN_MEMORY = 1 << 23

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class HopTask:
    """What to learn, and what to judge.

    Attributes
    ----------
    network, folds
        The model, and what it sees: epoch t trains and judges on fold t mod len(folds).
    draw
        ``draw(epoch, n)`` returns the pairs of the next n epochs, (n, 2, n_pairs).
    labels
        Hop class of every pair of an epoch.
    edges
        (2, n_edges) all edges of the graph.
    """

    network: HopNetwork
    folds: Sequence[Fold]
    draw: Callable[[int, int], Tensor]
    labels: Tensor
    edges: Tensor


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
    dtype: torch.dtype = torch.float32  # of matrix products in training; edges are always judged in float32

    def sample_epochs(self, n_folds: int = 1) -> list[int]:
        """Return the epochs that end in a posterior sample: whole rounds over the folds, spread after the burn-in."""
        n_rounds = max(1, (self.n_epochs - self.burn_in) // n_folds)
        wanted = min(max(1, self.n_samples // n_folds), n_rounds)
        rounds = {n_rounds - 1 - int(i * n_rounds / wanted) for i in range(wanted)}
        start = max(0, self.n_epochs - n_rounds * n_folds)
        epochs = (start + turn * n_folds + fold for turn in sorted(rounds) for fold in range(n_folds))
        return [epoch for epoch in epochs if epoch < self.n_epochs]

    def lr_at(self, epoch: int) -> float:
        """Return the step size of an epoch, counted from 0."""
        return self.lr * (1 + epoch) ** -self.lr_decay


@dataclass(frozen=True)
class Observer:
    """Who hears of the progress of a fit, and how nodes are scored for them."""

    callback: Callback | None = None
    node_scores: Callable[[EdgePosterior], FloatArray] | None = None
    clock: StageClock = field(default_factory=lambda: StageClock(None))


class Trained(NamedTuple):
    """What training leaves: predictions for the edges, the loss per epoch, and (n_samples, n_weights) samples."""

    posterior: EdgePosterior
    losses: FloatArray
    samples: NDArray[np.float32]


def sample_posterior(
    task: HopTask,
    schedule: Schedule,
    generators: Generators,
    *,
    observer: Observer | None = None,
    checkpoint: Checkpoint | None = None,
) -> Trained:
    """Train, and judge the edges of each sampled epoch's fold.

    Parameters
    ----------
    task, schedule, generators
        What to learn, how, and the sources of randomness.
    observer
        Its callback is called after every epoch, its clock measures the stages "pairs", "train" and "judge".
    checkpoint
        Where to resume from, if it holds a state, and where to leave one from time to time.
    """
    observer, checkpoint = observer or Observer(), checkpoint or Checkpoint(None, "")
    network, folds, clock = task.network, task.folds, observer.clock
    optimizer = make_optimizer(network, schedule, task.labels.numel(), generators.noise)
    state = TrainingState(network, optimizer, EdgePosterior(task.edges.shape[1], task.edges.device), generators)
    state.losses = np.empty(schedule.n_epochs)
    first = state.restore(checkpoint)
    sampled = set(schedule.sample_epochs(len(folds)))
    chunk = max(1, min(schedule.n_epochs, PAIRS_IN_MEMORY // task.labels.numel()))
    pairs = None
    with workers(_n_blocks(task, schedule)) as run:
        for epoch in range(first, schedule.n_epochs):
            if epoch % chunk == 0:
                state.before_draw = generators.pairs.bit_generator.state
            if pairs is None or epoch % chunk == 0:
                start = epoch - epoch % chunk
                clock.begin("pairs")
                pairs = task.draw(start, min(chunk, schedule.n_epochs - start))
            clock.begin("train")
            for group in optimizer.param_groups:
                group["lr"] = schedule.lr_at(epoch)
            fold = folds[epoch % len(folds)]
            loss = _step(network, fold, pairs[epoch % chunk], task.labels, optimizer, schedule, generators.dropout, run)
            state.losses[epoch] = _finite(loss, epoch)
            if epoch in sampled:
                clock.begin("judge")
                state.samples.append(network.flat_weights().cpu())
                judge(network, fold, task.edges, state.posterior, schedule, generators.for_judging(epoch), run)
            if observer.callback is not None:
                now = _current_scores(task, schedule, observer)
                observer.callback(Epoch(epoch + 1, schedule.n_epochs, state.losses[epoch], now))
            if checkpoint.due:
                state.save(checkpoint, epoch + 1, chunk_ends=(epoch + 1) % chunk == 0)
    return Trained(state.posterior, state.losses, torch.stack(state.samples).numpy())


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
        with torch.no_grad():  # each thread has its own setting
            return network(nodes, edges[:, part], dropout=share, generator=dropout)

    for part, logits in zip(parts, run(predict, parts), strict=True):
        posterior.add(part, logits, schedule.prediction)


def replay(
    network: HopNetwork,
    folds: Sequence[Fold],
    edges: Tensor,
    samples: NDArray[np.float32],
    schedule: Schedule,
    generators: Generators | None = None,
) -> EdgePosterior:
    """Judge edges with the samples of an earlier fit, each on the fold it was taken on, with the same dropout masks."""
    posterior = EdgePosterior(edges.shape[1], edges.device)
    for epoch, flat in zip(schedule.sample_epochs(len(folds)), samples, strict=True):
        network.set_flat_weights(flat)
        dropout = None if generators is None else generators.for_judging(epoch)
        judge(network, folds[epoch % len(folds)], edges, posterior, schedule, dropout)
    return posterior


def _n_blocks(task: HopTask, schedule: Schedule) -> int:
    """Return how many blocks of pairs or edges may run side by side; dropout draws its masks block after block."""
    if schedule.dropout or task.edges.is_cuda:
        return 1
    return max(task.labels.numel(), task.edges.shape[1]) // AT_ONCE + 1


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


def _current_scores(task: HopTask, schedule: Schedule, observer: Observer) -> Callable[[], FloatArray]:
    """Return a function that scores the nodes by this epoch's weights alone."""

    def scores() -> FloatArray:
        if observer.node_scores is None:
            raise ValueError("scores of single epochs are not available here")
        posterior = EdgePosterior(task.edges.shape[1], task.edges.device)
        for fold in task.folds:
            judge(task.network, fold, task.edges, posterior, schedule)
        return observer.node_scores(posterior)

    return scores


def _finite(loss: Tensor, epoch: int) -> float:
    value = float(loss.detach())
    if not np.isfinite(value):
        raise ValueError(f"the loss is no longer finite after epoch {epoch + 1}: use a smaller lr or temperature")
    return value
