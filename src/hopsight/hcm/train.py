"""Train the hop-count networks and keep the weights they pass through as posterior samples.

:func:`train` reads top to bottom: draw pairs, descend the loss of each network, keep the weights at the epochs that
count as posterior samples, and leave a checkpoint from time to time.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.optim import SGD, Optimizer

from hopsight.checks import Refusal, check_choice, check_count, check_not_negative, check_positive, check_ratio
from hopsight.detectors.base import Callback, Detector, Epoch, alone
from hopsight.graph import AttributedGraph
from hopsight.hcm.checkpoint import Checkpoint
from hopsight.hcm.network import HopNetwork
from hopsight.hops.pool import PairPool
from hopsight.io import graph_of
from hopsight.nn.adam import Adam
from hopsight.nn.device import resolve_device, training_dtype
from hopsight.system.threads import Run, n_threads, one_torch_thread, safe_in_forks, workers

NO_EDGES = "the graph has no edges, so there are no neighbors to judge a node by"
OPTIMIZERS = ("psgld", "sgld", "adam", "sgd")
PREDICTIONS = ("argmax", "expected")
AT_ONCE = 1 << 12  # pairs or edges: few enough for a cache
AT_ONCE_ON_GPU = 1 << 17  # enough to fill it, and not its memory
PAIRS_IN_MEMORY = 1 << 23
EDGE_OPERATIONS = 8e5  # reading, preparing, scoring and writing an edge takes as long as this many operations
EPOCHS_AT_ONCE = 25  # drawn, and on a GPU started, before the next ones

FloatArray = NDArray[np.float64]
Mover = Optimizer | Adam
D = TypeVar("D", bound=Detector)
View = Sequence[Any]  # the argument of HopNetwork.represent


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


def schedule_of(detector: Any, n_samples: int, device: torch.device) -> Schedule:
    """Return the part of a detector's parameters that training reads."""
    return Schedule(
        detector.optimizer, detector.lr, detector.lr_decay, detector.weight_decay, detector.temperature,
        detector.n_epochs, detector.burn_in, n_samples, detector.dropout, detector.dropout_at_prediction,
        detector.prediction, training_dtype(detector.precision, device),
    )  # fmt: skip


def check_edges(graph: AttributedGraph) -> None:
    """Refuse a graph without edges."""
    if graph.n_edges == 0:
        raise ValueError(NO_EDGES)


def check_training(detector: Any) -> None:
    """Refuse a parameter of HCM or CrossHCM outside its range."""
    for name in ("n_units", "mlp_units", "n_epochs", "max_pairs", "min_class_pairs"):
        check_count(name, getattr(detector, name))
    check_count("burn_in", detector.burn_in, low=0)
    if detector.burn_in >= detector.n_epochs:
        raise Refusal(
            "burn_in",
            f"must be less than n_epochs, got burn_in {detector.burn_in} and n_epochs {detector.n_epochs}",
        )
    check_count("n_classes", detector.n_classes, low=2)
    check_ratio("dropout", detector.dropout)
    check_ratio("drop_ratio", detector.drop_ratio)
    check_ratio("sampling_ratio", detector.sampling_ratio, high=1.0 + 1e-12)
    check_positive("sampling_ratio", detector.sampling_ratio)
    check_positive("lr", detector.lr)
    for name in ("lr_decay", "weight_decay", "temperature"):
        check_not_negative(name, getattr(detector, name))
    check_choice("optimizer", detector.optimizer, OPTIMIZERS)
    check_choice("prediction", detector.prediction, PREDICTIONS)
    check_choice("deviation", detector.deviation, ("variance", "std"))
    check_choice("score", detector.score, detector.scores)
    training_dtype(detector.precision, torch.device("cpu"))


def training_need(
    detector: Any,
    graph: AttributedGraph,
    *,
    n_samples: int,
    weights: float,
    per_pair: float,
    product: float,
    per_epoch: float,
    judged: float,
    per_edge: float = 120,
) -> tuple[float, float]:
    """Return the bytes and operations of training and judging, beside those of the model's views.

    Adam keeps six numbers per weight, a posterior sample is copied twice while it is collected and saved, and
    every block of pairs or edges that is worked on keeps ``per_pair`` numbers for each. An epoch costs six
    operations for each product of a pair, a posterior sample two for each edge it judges.
    """
    pairs = min(detector.max_pairs, detector.n_classes * detector.sampling_ratio * graph.n_edges)
    n_samples = min(n_samples, detector.n_epochs - detector.burn_in)
    at_once = min(n_threads() * AT_ONCE, max(pairs, judged))
    memory = 32 * min(PAIRS_IN_MEMORY, detector.n_epochs * pairs) + per_edge * graph.n_edges
    memory += 4 * weights * (6 + 3 * n_samples) + 4 * at_once * per_pair + 16.0 * detector.n_epochs
    training = 6.0 * detector.n_epochs * (pairs * product + per_epoch)
    return memory, training + 2.0 * n_samples * judged * product + EDGE_OPERATIONS * graph.n_edges


def kept_pool(checkpoint: Checkpoint, find: Callable[[], PairPool]) -> PairPool:
    """Return the pool that a checkpoint holds, or find it and keep it there: in a large graph that takes a minute."""
    known = checkpoint.prepared("pool")
    if known:
        with checkpoint.taking_up():
            return PairPool.of(known)
    pool = find()
    checkpoint.prepare("pool", pool.arrays())
    return pool


def make_optimizer(network: HopNetwork, schedule: Schedule, n_observations: int, noise: torch.Generator) -> Mover:
    """Return the optimizer by name; ``psgld`` is preconditioned SGLD."""
    lr, decay = schedule.lr, schedule.weight_decay
    if schedule.optimizer == "adam":
        return Adam(network.parameters(), lr=lr, weight_decay=decay)
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


class Trained(NamedTuple):
    """What training leaves: (n_samples, n_networks, n_weights) samples, and the mean loss per epoch."""

    samples: NDArray[np.float32]
    losses: FloatArray


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


def train(
    networks: Sequence[HopNetwork],
    views: Sequence[Sequence[View]],
    pairs: PairPool,
    schedule: Schedule,
    generators: Generators,
    *,
    observer: Observer | None = None,
    checkpoint: Checkpoint | None = None,
) -> Trained:
    """Train the networks side by side, and keep their weights at the epochs that count as posterior samples.

    Parameters
    ----------
    networks, views
        The networks, each with what it sees in its folds: in epoch t network k trains on
        ``views[k][t mod len(views[k])]``.
    pairs
        The pairs to draw from, by the numbers that nodes have in the views.
    schedule, generators
        How to train, and the sources of randomness.
    observer
        Its callback is called after every epoch, its clock measures the stages "pairs" and "train".
    checkpoint
        Where to resume from, if it holds a state, and where to leave one from time to time. One that holds the samples
        of a finished training is used as it is.
    """
    observer, checkpoint = observer or Observer(), checkpoint or Checkpoint(None, "")
    known = checkpoint.prepared("trained")
    if known:
        with checkpoint.taking_up():
            return Trained(known["samples"], known["losses"])
    with one_torch_thread() as hold, warnings.catch_warnings():  # each block of pairs has a thread of its own
        warnings.filterwarnings("ignore", message="mkldnn_matmul failed")  # bfloat16 on a CPU without it
        trained = _trained(networks, views, pairs, schedule, generators, observer, checkpoint, hold)
    checkpoint.prepare("trained", trained._asdict())
    return trained


def _trained(
    networks: Sequence[HopNetwork],
    views: Sequence[Sequence[View]],
    pool: PairPool,
    schedule: Schedule,
    generators: Generators,
    observer: Observer,
    checkpoint: Checkpoint,
    hold: Callable[[], None],
) -> Trained:
    device = next(networks[0].parameters()).device
    labels = torch.from_numpy(pool.labels).to(device)
    n_pairs = labels.numel()
    optimizers = [make_optimizer(network, schedule, n_pairs, generators.noise) for network in networks]
    state = TrainingState(networks, optimizers, generators, np.empty(schedule.n_epochs))
    first = state.restore(checkpoint)
    sampled = set(schedule.sample_epochs(len(views[0])))
    chunk = max(1, min(EPOCHS_AT_ONCE, PAIRS_IN_MEMORY // (n_pairs * len(networks))))
    waits = device.type == "cpu" or observer.callback is not None  # for the loss of every epoch
    pairs, running = None, []
    with workers(n_blocks(n_pairs, device, len(networks))) as run:
        replayed = device.type == "cuda" and all(network.replayable for network in networks)
        replayed = replayed and schedule.optimizer == "adam" and not schedule.dropout
        kind = RecordedSteps if replayed else Steps  # a GPU replays them where it can
        take_step = kind(networks, views, labels, schedule, optimizers, generators.dropout, run)
        for epoch in range(first, schedule.n_epochs):
            if epoch % chunk == 0:
                state.before_draw = generators.pairs.bit_generator.state
            if pairs is None or epoch % chunk == 0:
                start = epoch - epoch % chunk
                observer.clock.begin("pairs")
                pairs = torch.from_numpy(pool.draw(start, min(chunk, schedule.n_epochs - start), rng=generators.pairs))
                hold()
                if device.type != "cpu":  # while it works on epochs before
                    pairs = pairs.pin_memory().to(device, non_blocking=True)
            observer.clock.begin("train")
            running.append(torch.stack([loss.detach() for loss in take_step(epoch, pairs[epoch % chunk])]).mean())
            if epoch in sampled:
                state.samples.append(torch.stack([network.flat_weights() for network in networks]))
            leaves = checkpoint.due
            if waits or leaves or len(running) == 2 * chunk or epoch == schedule.n_epochs - 1:
                state.losses[epoch + 1 - len(running) : epoch + 1] = _finite(running, epoch)
                running = []
            observer.report(epoch, schedule.n_epochs, state.losses[epoch])
            if leaves:
                state.save(checkpoint, epoch + 1, chunk_ends=(epoch + 1) % chunk == 0)
    return Trained(torch.stack(state.samples).cpu().numpy(), state.losses)


class Steps:
    """Take the step of an epoch with every network."""

    def __init__(
        self,
        networks: Sequence[HopNetwork],
        views: Sequence[Sequence[View]],
        labels: Tensor,
        schedule: Schedule,
        optimizers: Sequence[Mover],
        dropout: torch.Generator,
        run: Run,
    ) -> None:
        self.networks, self.views, self.labels = networks, views, labels
        self.schedule, self.optimizers, self.dropout, self.run = schedule, optimizers, dropout, run

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
        steps = [
            Step(network, mine[epoch % len(mine)], pairs[k], self.labels, self.schedule, self.dropout)
            for k, (network, mine) in enumerate(zip(self.networks, self.views, strict=True))
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
        self.n_taken, self.n_folds = 0, len(self.views[0])
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


class Step:
    """One step of one network: blocks of pairs that fit a processor's cache, and the gradients that they add up to."""

    def __init__(
        self,
        network: HopNetwork,
        view: View,
        pairs: Tensor,
        labels: Tensor,
        schedule: Schedule,
        dropout: torch.Generator,
    ) -> None:
        self.network, self.schedule, self.n_pairs = network, schedule, labels.numel()
        self.device, self.half = labels.device.type, schedule.dtype == torch.bfloat16
        view, pairs = network.focus(view, pairs)
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
    return AT_ONCE if device == "cpu" else AT_ONCE_ON_GPU


def n_blocks(n_items: int, device: torch.device, n_networks: int = 1) -> int:
    """Return how many blocks of pairs or edges may run side by side; a GPU works on one after the other."""
    return 1 if device.type != "cpu" else n_networks * -(-n_items // at_once(device.type))


@safe_in_forks
def fit_with_checkpoint(
    self: D, source: Any, label: Any = None, *, callback: Callback | None = None, checkpoint: Path | None = None
) -> D:
    """Learn from a graph and score it.

    Parameters
    ----------
    source, label, callback
        As for every detector.
    checkpoint
        A file that holds the state of the fit, renewed every ten seconds. Where it exists the fit resumes from it and
        gives the same result as if it had never been interrupted. The caller removes it.
    """
    learn: Callable[..., FloatArray] = self._fit
    with alone(self):
        return self._fit_with(partial(learn, checkpoint=checkpoint), graph_of(source), callback)


def fit_with_fallback(
    detector: Any,
    graph: AttributedGraph,
    *,
    rng: np.random.Generator,
    callback: Callback | None,
    checkpoint: Path | None = None,
) -> FloatArray:
    """Fit HCM or CrossHCM by the steps of its method ``_fit_on``, with six sources of randomness.

    Where the memory of the GPU runs out, the steps are taken again on the CPU, without the checkpoint of the GPU.
    """
    check_edges(graph)
    streams, device = rng.spawn(6), resolve_device(detector.device)

    def fit(on: torch.device, file: Path | None) -> FloatArray:
        saved = Checkpoint.of(file, detector, graph)
        scores: FloatArray = detector._fit_on(on, graph, copy.deepcopy(streams), callback, saved)
        return scores

    try:
        return fit(device, checkpoint)
    except torch.OutOfMemoryError:
        warnings.warn("the GPU's memory ran out: fitting on the CPU", stacklevel=4)
    torch.cuda.empty_cache()  # once the error, which holds tensors, is gone
    return fit(torch.device("cpu"), None)


def _no_scores() -> FloatArray:
    raise ValueError("scores of single epochs are not available here")


def _finite(losses: Sequence[Tensor], epoch: int) -> FloatArray:
    """Return the losses of the epochs up to this one, once a GPU has found them."""
    values = torch.stack(list(losses)).cpu().numpy().astype(np.float64)
    if not np.isfinite(values).all():
        first = epoch + 2 - len(losses) + int(np.argmin(np.isfinite(values)))
        raise ValueError(f"the loss is no longer finite after epoch {first}: use a smaller lr or temperature")
    return values


def block_generators(source: torch.Generator | None, n_blocks: int) -> Sequence[torch.Generator | None]:
    """Return one generator of dropout masks per block, so that blocks do not wait for each other's masks."""
    if source is None:
        return [None] * n_blocks
    seeds = torch.randint(2**62, (n_blocks,), generator=source, device=source.device).tolist()
    return [torch.Generator(source.device).manual_seed(seed) for seed in seeds]


@dataclass(frozen=True)
class Generators:
    """Sources of randomness: pairs, dropout in training, Langevin noise, and the seed of dropout while judging."""

    pairs: np.random.Generator
    dropout: torch.Generator
    noise: torch.Generator
    judging_seed: int = 0

    @classmethod
    def spawn(cls, rngs: Sequence[np.random.Generator], device: torch.device) -> Generators:
        """Return generators on a device from three of NumPy's: for pairs, dropout and noise."""
        pairs, dropout, noise = rngs
        return cls(pairs, torch_generator(dropout, device), torch_generator(noise, device), _seed(dropout))


def torch_generator(rng: np.random.Generator, device: torch.device | str) -> torch.Generator:
    """Return torch's generator, seeded by NumPy's."""
    return torch.Generator(device=device).manual_seed(_seed(rng))


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**63))


@dataclass
class TrainingState:
    """How far a fit has come."""

    networks: Sequence[HopNetwork]
    optimizers: Sequence[Mover]
    generators: Generators
    losses: NDArray[np.float64]
    samples: list[Tensor] = field(default_factory=list)
    before_draw: Any = None  # state of the pairs' generator before the current chunk of epochs was drawn

    def save(self, checkpoint: Checkpoint, epoch: int, *, chunk_ends: bool) -> None:
        """Leave a state from which ``epoch`` is the next one; after the last epoch of a chunk, new pairs are drawn."""
        tensors = {"losses": torch.from_numpy(self.losses)}
        for k, (network, optimizer) in enumerate(zip(self.networks, self.optimizers, strict=True)):
            tensors[f"{k}.weights"] = network.flat_weights()
            tensors |= {f"{k}.{name}": value for name, value in _optimizer_tensors(optimizer).items()}
        tensors |= {"dropout": self.generators.dropout.get_state(), "noise": self.generators.noise.get_state()}
        if self.samples:
            tensors["samples"] = torch.stack(self.samples)
        pairs = self.generators.pairs.bit_generator.state if chunk_ends else self.before_draw
        checkpoint.save(tensors, {"epoch": epoch, "pairs": pairs})

    def restore(self, checkpoint: Checkpoint) -> int:
        """Take up a saved state, if there is one, and return the epoch to begin with."""
        tensors, values = checkpoint.load() or ({}, {})
        if "epoch" not in values:  # there is no checkpoint, or it was written before the first epoch
            return 0
        with checkpoint.taking_up():
            for k, (network, optimizer) in enumerate(zip(self.networks, self.optimizers, strict=True)):
                network.set_flat_weights(tensors[f"{k}.weights"])
                mine = {
                    name.removeprefix(f"{k}."): value for name, value in tensors.items() if name.startswith(f"{k}.")
                }
                _restore_optimizer(optimizer, mine)
            self.losses[:] = tensors["losses"].numpy()
            device = next(self.networks[0].parameters()).device
            self.samples += list(tensors["samples"].to(device)) if "samples" in tensors else []
            self.generators.dropout.set_state(tensors["dropout"])
            self.generators.noise.set_state(tensors["noise"])
            self.generators.pairs.bit_generator.state = values["pairs"]
            self.before_draw = values["pairs"]
            return int(values["epoch"])


def _optimizer_tensors(optimizer: Mover) -> dict[str, Tensor]:
    """Return an optimizer's state as named tensors."""
    state = optimizer.state_dict()["state"]
    return {
        f"optimizer.{number}.{name}": torch.as_tensor(value)
        for number, slots in state.items()
        for name, value in slots.items()
    }


def _restore_optimizer(optimizer: Mover, tensors: dict[str, Tensor]) -> None:
    """Give a fresh optimizer the saved state."""
    state: dict[int, dict[str, Any]] = {}
    for label, value in tensors.items():
        kind, _, rest = label.partition(".")
        if kind == "optimizer":
            number, _, name = rest.partition(".")
            state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


class StageClock:
    """Clock for stages that follow one another and may recur.

    A callback with a method ``part`` receives the name of every stage when it first begins.

    >>> clock = StageClock(None)
    >>> clock.begin("hops"); clock.begin("train"); clock.begin("hops")
    >>> list(clock.end())
    ['hops', 'train']
    """

    def __init__(self, callback: Any) -> None:
        self._announce = getattr(callback, "part", None)
        self._seconds: dict[str, float] = defaultdict(float)
        self._stage: str | None = None
        self._since = 0.0

    def begin(self, stage: str) -> None:
        """End the current stage and begin another."""
        if self._announce is not None and stage not in self._seconds:
            self._announce(stage)
        self._switch(stage)

    def end(self) -> dict[str, float]:
        """End the last stage and return the seconds of each stage."""
        self._switch(None)
        return dict(self._seconds)

    def _switch(self, stage: str | None) -> None:
        now = time.perf_counter()
        if self._stage is not None:
            self._seconds[self._stage] += now - self._since
        self._stage, self._since = stage, now


class SGLD(Optimizer):
    r"""Stochastic gradient Langevin dynamics (Welling & Teh 2011), plain or preconditioned (Li et al. 2016).

    With the mean loss L over N observations, prior precision λ (``weight_decay``), step ``lr``, temperature T
    and preconditioner G (the identity, or RMSprop's 1 / (√v + ε)):

        w ← w − lr · G · (∇L + λ w) + √(2 · lr · T · G / N) · ξ,   ξ ~ N(0, 1)

    At T = 1 and small steps the iterates are samples of exp(−N · (L + λ‖w‖²/2)). The paper's ε is 2·lr/N.

    Parameters
    ----------
    params
        Parameters to optimize.
    lr, weight_decay, temperature, n_observations
        As above.
    preconditioner
        ``"none"`` or ``"rmsprop"``.
    generator
        Source of the noise, on the device of the parameters.
    smoothing, epsilon
        RMSprop's decay and floor.

    Notes
    -----
    The paper subtracts the gradient of log p, and Algorithm 1 adds that of log p(w): both signs are slips. Its
    literal step (mean loss, noise variance 0.01) diverges.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        *,
        lr: float,
        n_observations: int,
        generator: torch.Generator,
        weight_decay: float = 0.0,
        temperature: float = 1.0,
        preconditioner: str = "none",
        smoothing: float = 0.99,
        epsilon: float = 1e-5,
    ) -> None:
        check_positive("lr", lr)
        check_count("n_observations", n_observations)
        check_not_negative("weight_decay", weight_decay)
        check_not_negative("temperature", temperature)
        check_choice("preconditioner", preconditioner, ("none", "rmsprop"))
        defaults = {"lr": lr, "weight_decay": weight_decay, "temperature": temperature}
        super().__init__(params, defaults)
        self.n_observations = n_observations
        self.generator = generator
        self.preconditioner = preconditioner
        self.smoothing = smoothing
        self.epsilon = epsilon

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step."""
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for weights in group["params"]:
                if weights.grad is not None:
                    self._update(weights, group)
        return loss

    def _update(self, weights: Tensor, group: dict[str, Any]) -> None:
        gradient = weights.grad.add(weights, alpha=group["weight_decay"])  # type: ignore[union-attr]
        variance = 2.0 * group["lr"] * group["temperature"] / self.n_observations
        noise = torch.randn(weights.shape, generator=self.generator, device=weights.device, dtype=weights.dtype)
        if self.preconditioner == "rmsprop":
            scale = self._preconditioner(weights, gradient)
            weights.addcmul_(scale, gradient, value=-group["lr"])
            weights.addcmul_(scale.sqrt(), noise, value=variance**0.5)
        else:
            weights.add_(gradient, alpha=-group["lr"])
            weights.add_(noise, alpha=variance**0.5)

    def _preconditioner(self, weights: Tensor, gradient: Tensor) -> Tensor:
        """Return G = 1 / (√v̂ + ε), v the running mean of squared gradients, v̂ corrected for its start at zero."""
        state = self.state[weights]
        if not state:
            state["step"], state["square"] = 0, torch.zeros_like(weights)
        state["step"] += 1
        state["square"].mul_(self.smoothing).addcmul_(gradient, gradient, value=1 - self.smoothing)
        corrected = state["square"] / (1 - self.smoothing ** int(state["step"]))
        return 1.0 / (corrected.sqrt() + self.epsilon)
