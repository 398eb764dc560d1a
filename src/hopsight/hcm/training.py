"""Train the hop-count networks, and judge edges with the weights they passed through.

:func:`sample_weights` reads top to bottom: draw pairs, descend the loss of each network, keep the weights at the
epochs that count as posterior samples, and leave a checkpoint from time to time. :func:`judge_edges` then lets every
sample judge the edges of its network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.optim import SGD, Adam, Optimizer

from hopsight.detectors.base import Callback, Epoch
from hopsight.hcm.calibration import calibrated
from hopsight.hcm.checkpoint import Checkpoint
from hopsight.hcm.edge_posterior import EdgePosterior
from hopsight.hcm.folds import Fold
from hopsight.hcm.network import HopNetwork
from hopsight.hcm.sgld import SGLD
from hopsight.hcm.stage_clock import StageClock
from hopsight.hcm.training_state import Generators, TrainingState
from hopsight.system.threads import Run, workers

OPTIMIZERS = ("psgld", "sgld", "adam", "sgd")
AT_ONCE = 1 << 12
AT_ONCE_ON_GPU = 1 << 20
PAIRS_IN_MEMORY = 1 << 23

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class HopTask:
    """What to learn.

    Attributes
    ----------
    networks, folds
        The networks, each with what it sees: in epoch t network k trains on ``folds[k][t mod len(folds[k])]``.
    draw
        ``draw(epoch, n)`` returns the pairs of the next n epochs, (n, n_networks, 2, n_pairs).
    labels
        Hop class of every pair of an epoch, the same for all networks.
    """

    networks: Sequence[HopNetwork]
    folds: Sequence[Sequence[Fold]]
    draw: Callable[[int, int], Tensor]
    labels: Tensor


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
    """Who hears of the progress of a fit, and how the current weights score the nodes."""

    callback: Callback | None = None
    scores: Callable[[], FloatArray] | None = None
    clock: StageClock = field(default_factory=lambda: StageClock(None))

    def report(self, epoch: int, n_epochs: int, loss: float) -> None:
        """Call the callback after an epoch, counted from 0."""
        if self.callback is not None:
            self.callback(Epoch(epoch + 1, n_epochs, loss, self.scores or _no_scores))


class Trained(NamedTuple):
    """What training leaves: (n_samples, n_networks, n_weights) samples, and the mean loss per epoch."""

    samples: NDArray[np.float32]
    losses: FloatArray


def sample_weights(
    task: HopTask,
    schedule: Schedule,
    generators: Generators,
    *,
    observer: Observer | None = None,
    checkpoint: Checkpoint | None = None,
) -> Trained:
    """Train the networks side by side, and keep their weights at the epochs that count as posterior samples.

    Parameters
    ----------
    task, schedule, generators
        What to learn, how, and the sources of randomness.
    observer
        Its callback is called after every epoch, its clock measures the stages "pairs" and "train".
    checkpoint
        Where to resume from, if it holds a state, and where to leave one from time to time.
    """
    observer, checkpoint = observer or Observer(), checkpoint or Checkpoint(None, "")
    n_pairs = task.labels.numel()
    optimizers = [make_optimizer(network, schedule, n_pairs, generators.noise) for network in task.networks]
    state = TrainingState(task.networks, optimizers, generators, np.empty(schedule.n_epochs))
    first = state.restore(checkpoint)
    sampled = set(schedule.sample_epochs(len(task.folds[0])))
    chunk = max(1, min(schedule.n_epochs, PAIRS_IN_MEMORY // (n_pairs * len(task.networks))))
    pairs = None
    with workers(_n_blocks(n_pairs, task.labels.device) * len(task.networks)) as run:
        for epoch in range(first, schedule.n_epochs):
            if epoch % chunk == 0:
                state.before_draw = generators.pairs.bit_generator.state
            if pairs is None or epoch % chunk == 0:
                start = epoch - epoch % chunk
                observer.clock.begin("pairs")
                pairs = task.draw(start, min(chunk, schedule.n_epochs - start))
            observer.clock.begin("train")
            steps = [
                Step(network, task.folds[k][epoch % len(task.folds[k])], pairs[epoch % chunk, k], task.labels, schedule,
                     generators.dropout)
                for k, network in enumerate(task.networks)
            ]  # fmt: skip
            losses = descend(steps, run)
            for optimizer in optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = schedule.lr_at(epoch)
                optimizer.step()
            state.losses[epoch] = _finite(losses, epoch)
            if epoch in sampled:
                state.samples.append(torch.stack([network.flat_weights() for network in task.networks]).cpu())
            observer.report(epoch, schedule.n_epochs, state.losses[epoch])
            if checkpoint.due:
                state.save(checkpoint, epoch + 1, chunk_ends=(epoch + 1) % chunk == 0)
    return Trained(torch.stack(state.samples).numpy(), state.losses)


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


def judge_edges(
    networks: Sequence[HopNetwork],
    folds: Sequence[Sequence[Fold]],
    edges: Tensor,
    samples: NDArray[np.float32],
    schedule: Schedule,
    *,
    judging_seed: int = 0,
    calibrations: FloatArray | None = None,
    checkpoint: Checkpoint | None = None,
) -> EdgePosterior:
    """Let every sample of every network judge its edges, on the fold that it was trained on last.

    ``calibrations`` holds, for each network, what :func:`hopsight.hcm.calibration.calibrated` needs.
    """
    posterior = EdgePosterior(edges.shape[1], edges.device)
    checkpoint = checkpoint or Checkpoint(None, "")
    first = posterior.restore(checkpoint)
    epochs = schedule.sample_epochs(len(folds[0]))
    with workers(_n_blocks(edges.shape[1], edges.device)) as run:
        for number, (epoch, weights) in enumerate(zip(epochs, samples, strict=True)):
            if number < first:
                continue
            for k, network in enumerate(networks):
                network.set_flat_weights(weights[k])
                fold = folds[k][epoch % len(folds[k])]
                dropout = judging_generator(judging_seed, epoch, edges.device)

                def judge(part: Tensor, logits: Tensor, k: int = k) -> None:
                    fair = logits if calibrations is None else calibrated(logits, calibrations[k])
                    posterior.add(part, fair, schedule.prediction)

                for _ in predict(network, fold.view, edges, fold.judged, schedule, dropout, run, use=judge):
                    pass
            if checkpoint.due:
                posterior.save(checkpoint, number + 1)
    return posterior


@torch.no_grad()
def predict(
    network: HopNetwork,
    view: Sequence[Any],
    pairs: Tensor,
    chosen: Tensor,
    schedule: Schedule,
    dropout: torch.Generator | None = None,
    run: Run = map,
    use: Callable[[Tensor, Tensor], Any] | None = None,
) -> Iterator[tuple[Tensor, Any]]:
    """Yield blocks of the chosen columns of ``pairs`` and the logits of their hop classes, or what ``use`` returns.

    ``use`` is called with a block and its logits in the thread that computed them; blocks have no pair in common.
    """
    share = schedule.dropout if schedule.dropout_at_prediction else 0.0
    nodes = network.represent(view, dropout=share, generator=dropout)
    nodes = network.mapped(nodes, chosen.numel(), run)
    parts = torch.split(chosen, _at_once(pairs.device.type))
    generators = block_generators(dropout if share else None, len(parts))

    def classify(part: Tensor, generator: torch.Generator | None) -> Any:
        with torch.no_grad():  # each thread has its own setting
            logits = network(nodes, pairs[:, part], dropout=share, generator=generator)
            return logits if use is None else use(part, logits)

    yield from zip(parts, run(classify, parts, generators), strict=True)


def judging_generator(seed: int, epoch: int, device: torch.device) -> torch.Generator:
    """Return the generator of the dropout masks with which one posterior sample judges."""
    return torch.Generator(device).manual_seed((seed + epoch) % 2**63)


def block_generators(source: torch.Generator | None, n_blocks: int) -> Sequence[torch.Generator | None]:
    """Return one generator of dropout masks per block, so that blocks do not wait for each other's masks."""
    if source is None:
        return [None] * n_blocks
    seeds = torch.randint(2**62, (n_blocks,), generator=source, device=source.device).tolist()
    return [torch.Generator(source.device).manual_seed(seed) for seed in seeds]


def _n_blocks(n_items: int, device: torch.device) -> int:
    """Return how many blocks of pairs or edges may run side by side."""
    return 1 if device.type != "cpu" else -(-n_items // AT_ONCE)


class Step:
    """One step of one network: blocks of pairs that fit a processor's cache, and the gradients that they add up to."""

    def __init__(
        self,
        network: HopNetwork,
        fold: Fold,
        pairs: Tensor,
        labels: Tensor,
        schedule: Schedule,
        dropout: torch.Generator,
    ) -> None:
        self.network, self.schedule, self.n_pairs = network, schedule, labels.numel()
        self.device, self.half = labels.device.type, schedule.dtype == torch.bfloat16
        view, pairs = network.focus(fold.view, pairs)
        with torch.autocast(self.device, torch.bfloat16, enabled=self.half):
            self.nodes = network.represent(view, dropout=schedule.dropout, generator=dropout)
        self.leaves = [rows.detach().requires_grad_(rows.requires_grad) for rows in self.nodes]
        self.learned = [tensor for tensor in (*self.leaves, *network.parameters()) if tensor.requires_grad]
        for tensor in self.learned:
            tensor.grad = None
        size = _at_once(self.device)
        blocks = torch.split(pairs, size, dim=-1)
        masks = block_generators(dropout if schedule.dropout else None, len(blocks))
        self.blocks = list(zip(blocks, torch.split(labels, size), masks, strict=True))
        self.loss = torch.zeros((), device=labels.device)

    def gradients(
        self, pairs: Tensor, labels: Tensor, dropout: torch.Generator | None
    ) -> tuple[Tensor, Sequence[Tensor | None]]:
        """Return the loss of a block, and its gradients."""
        with torch.autocast(self.device, torch.bfloat16, enabled=self.half, cache_enabled=False):
            logits = self.network(self.leaves, pairs, dropout=self.schedule.dropout, generator=dropout)
        loss = cross_entropy(logits.float(), labels, reduction="sum") / self.n_pairs
        return loss.detach(), torch.autograd.grad(loss, self.learned, allow_unused=True)

    def add(self, loss: Tensor, gradients: Sequence[Tensor | None]) -> None:
        """Add the loss and the gradients of a block."""
        self.loss += loss
        for tensor, part in zip(self.learned, gradients, strict=True):
            if part is not None:
                tensor.grad = part if tensor.grad is None else tensor.grad.add_(part)

    def finish(self) -> Tensor:
        """Pass the gradients on to what represents the nodes, and return the loss."""
        for rows, leaf in zip(self.nodes, self.leaves, strict=True):
            if leaf.grad is not None:
                rows.backward(leaf.grad)  # type: ignore[no-untyped-call]
        return self.loss


def descend(steps: Sequence[Step], run: Run = map) -> list[Tensor]:
    """Leave the gradients of some networks, all blocks of all of them side by side, and return their losses."""
    tasks = [(step, block) for step in steps for block in step.blocks]
    found = run(lambda task: task[0].gradients(*task[1]), tasks)
    for (step, _), (loss, gradients) in zip(tasks, found, strict=True):
        step.add(loss, gradients)
    return [step.finish() for step in steps]


def _at_once(device: str) -> int:
    """Return how many pairs or edges to work on at a time: few enough for a cache, or enough to fill a GPU."""
    return AT_ONCE if device == "cpu" else AT_ONCE_ON_GPU


def _no_scores() -> FloatArray:
    raise ValueError("scores of single epochs are not available here")


def _finite(losses: Sequence[Tensor], epoch: int) -> float:
    value = float(torch.stack([loss.detach() for loss in losses]).mean())
    if not np.isfinite(value):
        raise ValueError(f"the loss is no longer finite after epoch {epoch + 1}: use a smaller lr or temperature")
    return value
