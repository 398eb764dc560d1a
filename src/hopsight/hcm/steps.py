"""One step of every network: the loss of an epoch's pairs, its gradients, and the optimizer's move."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.optim import SGD, Optimizer

from hopsight.hcm.folds import Fold
from hopsight.hcm.network import HopNetwork
from hopsight.hcm.sgld import SGLD
from hopsight.nn.adam import FusedAdam
from hopsight.system.threads import Run

OPTIMIZERS = ("psgld", "sgld", "adam", "sgd")
AT_ONCE = 1 << 12  # pairs or edges: few enough for a cache
AT_ONCE_ON_GPU = 1 << 20  # enough to fill it
Mover = Optimizer | FusedAdam
_on_gpu = ContextVar("pairs on a GPU", default=AT_ONCE_ON_GPU)


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


def make_optimizer(network: HopNetwork, schedule: Schedule, n_observations: int, noise: torch.Generator) -> Mover:
    """Return the optimizer by name; ``psgld`` is preconditioned SGLD."""
    lr, decay = schedule.lr, schedule.weight_decay
    if schedule.optimizer == "adam":
        return FusedAdam(network.parameters(), lr=lr, weight_decay=decay)
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


def block_generators(source: torch.Generator | None, n_blocks: int) -> Sequence[torch.Generator | None]:
    """Return one generator of dropout masks per block, so that blocks do not wait for each other's masks."""
    if source is None:
        return [None] * n_blocks
    seeds = torch.randint(2**62, (n_blocks,), generator=source, device=source.device).tolist()
    return [torch.Generator(source.device).manual_seed(seed) for seed in seeds]


class Steps:
    """Take the step of an epoch with every network."""

    def __init__(
        self,
        task: HopTask,
        schedule: Schedule,
        optimizers: Sequence[Mover],
        dropout: torch.Generator,
        run: Run,
    ) -> None:
        self.task, self.schedule, self.optimizers, self.dropout, self.run = task, schedule, optimizers, dropout, run

    def __call__(self, epoch: int, pairs: Tensor) -> Sequence[Tensor]:
        """Return the loss of each network, before it moved; ``pairs`` is (n_networks, 2, n_pairs)."""
        self.set_rate(epoch)
        return self.move(epoch, pairs)

    def set_rate(self, epoch: int) -> None:
        """Set the step size of an epoch."""
        for group in (group for optimizer in self.optimizers for group in optimizer.param_groups):
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(self.schedule.lr_at(epoch))
            else:
                group["lr"] = self.schedule.lr_at(epoch)

    def move(self, epoch: int, pairs: Tensor) -> list[Tensor]:
        """Move the weights of every network, and return their losses."""
        task = self.task
        steps = [
            Step(network, task.folds[k][epoch % len(task.folds[k])], pairs[k], task.labels, self.schedule, self.dropout)
            for k, network in enumerate(task.networks)
        ]
        losses = descend(steps, self.run)
        for optimizer in self.optimizers:
            optimizer.step()
        return losses


class RecordedSteps(Steps):
    """Steps on a GPU, recorded once for each fold and then replayed as a whole.

    A step consists of some hundred small computations that take less time than to start them one by one.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.n_taken, self.n_folds = 0, len(self.task.folds[0])
        self.recorded: dict[int, tuple[torch.cuda.CUDAGraph, list[Tensor]]] = {}
        self.pairs: Tensor | None = None

    def __call__(self, epoch: int, pairs: Tensor) -> Sequence[Tensor]:
        """Return the loss of each network; the first round is taken as it comes, so that everything is in place."""
        self.set_rate(epoch)
        self.n_taken += 1
        if self.n_taken <= self.n_folds:
            return self.move(epoch, pairs)
        self.pairs = pairs.clone() if self.pairs is None else self.pairs.copy_(pairs)
        fold = epoch % self.n_folds
        if fold not in self.recorded:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                losses = self.move(epoch, self.pairs)
            self.recorded[fold] = graph, losses
        graph, losses = self.recorded[fold]
        graph.replay()
        return losses


def steps_of(
    task: HopTask, schedule: Schedule, optimizers: Sequence[Mover], dropout: torch.Generator, run: Run
) -> Steps:
    """Return how to take the steps of a task: recorded where a GPU can replay all of it."""
    replayed = task.labels.device.type == "cuda" and all(network.replayable for network in task.networks)
    kind = RecordedSteps if replayed and schedule.optimizer == "adam" and not schedule.dropout else Steps
    return kind(task, schedule, optimizers, dropout, run)


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
        with torch.autocast(self.device, torch.bfloat16) if self.half else nullcontext():
            self.nodes = network.represent(view, dropout=schedule.dropout, generator=dropout)
        self.leaves = [rows.detach().requires_grad_(rows.requires_grad) for rows in self.nodes]
        self.learned = [tensor for tensor in (*self.leaves, *network.parameters()) if tensor.requires_grad]
        for tensor in self.learned:
            tensor.grad = None
        size = at_once(self.device) // (2 if self.n_pairs <= 4 * AT_ONCE else 1)  # of few pairs every thread has some
        n_blocks = -(-self.n_pairs // size)  # all of about the same size, so that no thread waits for another
        blocks = torch.tensor_split(pairs, n_blocks, dim=-1), torch.tensor_split(labels, n_blocks)
        masks = block_generators(dropout if schedule.dropout else None, n_blocks)
        self.blocks = list(zip(*blocks, masks, strict=True))
        self.loss = torch.zeros((), device=labels.device)

    def gradients(
        self, pairs: Tensor, labels: Tensor, dropout: torch.Generator | None
    ) -> tuple[Tensor, Sequence[Tensor | None]]:
        """Return the loss of a block, and its gradients."""
        with torch.autocast(self.device, torch.bfloat16, cache_enabled=False) if self.half else nullcontext():
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


def at_once(device: str) -> int:
    """Return how many pairs or edges to work on at a time: few enough for a cache, or enough to fill a GPU."""
    return AT_ONCE if device == "cpu" else _on_gpu.get()


@contextmanager
def smaller_blocks() -> Iterator[None]:
    """Let a GPU work on a sixty-fourth of the usual pairs at a time, for the time of a ``with`` block."""
    token = _on_gpu.set(AT_ONCE_ON_GPU // 64)
    try:
        yield
    finally:
        _on_gpu.reset(token)
