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

from hopsight.detectors.base import Callback, Epoch
from hopsight.hcm.checkpoint import Checkpoint
from hopsight.hcm.edge_posterior import EdgePosterior
from hopsight.hcm.folds import Fold
from hopsight.hcm.network import HopNetwork
from hopsight.hcm.stage_clock import StageClock
from hopsight.hcm.steps import HopTask, Schedule, at_once, block_generators, make_optimizer, steps_of
from hopsight.hcm.training_state import Generators, TrainingState
from hopsight.system.threads import Run, workers

PAIRS_IN_MEMORY = 1 << 23
EPOCHS_AT_ONCE = 25  # drawn, and on a GPU started, before the next ones

FloatArray = NDArray[np.float64]


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
    chunk = max(1, min(EPOCHS_AT_ONCE, PAIRS_IN_MEMORY // (n_pairs * len(task.networks))))
    waits = task.labels.device.type == "cpu" or observer.callback is not None  # for the loss of every epoch
    pairs, running = None, []
    with workers(_n_blocks(n_pairs, task.labels.device, len(task.networks))) as run:
        take_step = steps_of(task, schedule, optimizers, generators.dropout, run)
        for epoch in range(first, schedule.n_epochs):
            if epoch % chunk == 0:
                state.before_draw = generators.pairs.bit_generator.state
            if pairs is None or epoch % chunk == 0:
                start = epoch - epoch % chunk
                observer.clock.begin("pairs")
                pairs = task.draw(start, min(chunk, schedule.n_epochs - start))
            observer.clock.begin("train")
            running.append(torch.stack([loss.detach() for loss in take_step(epoch, pairs[epoch % chunk])]).mean())
            if epoch in sampled:
                state.samples.append(torch.stack([network.flat_weights() for network in task.networks]))
            leaves = checkpoint.due
            if waits or leaves or len(running) == 2 * chunk or epoch == schedule.n_epochs - 1:
                state.losses[epoch + 1 - len(running) : epoch + 1] = _finite(running, epoch)
                running = []
            observer.report(epoch, schedule.n_epochs, state.losses[epoch])
            if leaves:
                state.save(checkpoint, epoch + 1, chunk_ends=(epoch + 1) % chunk == 0)
    return Trained(torch.stack(state.samples).cpu().numpy(), state.losses)


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
    """Let every sample of every network judge its edges, one network after the other.

    A sample judges on the fold that it was trained on last.

    ``calibrations`` holds, for each network, what :meth:`EdgePosterior.add` needs.
    """
    posterior = EdgePosterior(edges.shape[1], edges.device)
    checkpoint = checkpoint or Checkpoint(None, "")
    done, weights = posterior.restore(checkpoint), torch.from_numpy(samples).to(edges.device)
    fair = None if calibrations is None else torch.from_numpy(calibrations).to(edges.device)
    with workers(_n_blocks(edges.shape[1], edges.device)) as run:

        def judge_network(k: int) -> None:
            """Keep what this network sees no longer than needed: that of two might not fit into memory."""
            mine, network, first = folds[k], networks[k], k * len(samples)

            def judge(part: Tensor, logits: Tensor) -> None:
                posterior.add(part, logits, schedule.prediction, None if fair is None else fair[k])

            turns = zip(schedule.sample_epochs(len(mine)), weights[:, k], strict=True)
            for turn, (epoch, sample) in enumerate(turns, first):
                if turn < done:
                    continue
                network.set_flat_weights(sample)
                fold, dropout = mine[epoch % len(mine)], judging_generator(judging_seed, epoch, edges.device)
                for _ in predict(network, fold.view, edges, fold.judged, schedule, dropout, run, use=judge):
                    pass
                if checkpoint.due:
                    posterior.save(checkpoint, turn + 1)

        for k in range(done // len(samples), len(networks)):
            judge_network(k)
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
    parts = torch.split(chosen, at_once(pairs.device.type))
    generators = block_generators(dropout if share else None, len(parts))

    def classify(part: Tensor, generator: torch.Generator | None) -> Any:
        with torch.no_grad():  # each thread has its own setting
            logits = network(nodes, pairs[:, part], dropout=share, generator=generator)
            return logits if use is None else use(part, logits)

    yield from zip(parts, run(classify, parts, generators), strict=True)


def judging_generator(seed: int, epoch: int, device: torch.device) -> torch.Generator:
    """Return the generator of the dropout masks with which one posterior sample judges."""
    return torch.Generator(device).manual_seed((seed + epoch) % 2**63)


def _n_blocks(n_items: int, device: torch.device, n_networks: int = 1) -> int:
    """Return how many blocks of pairs or edges may run side by side; a GPU works on one after the other."""
    return 1 if device.type != "cpu" else n_networks * -(-n_items // at_once(device.type))


def _no_scores() -> FloatArray:
    raise ValueError("scores of single epochs are not available here")


def _finite(losses: Sequence[Tensor], epoch: int) -> FloatArray:
    """Return the losses of the epochs up to this one, once a GPU has found them."""
    values = torch.stack(list(losses)).cpu().numpy().astype(np.float64)
    if not np.isfinite(values).all():
        first = epoch + 2 - len(losses) + int(np.argmin(np.isfinite(values)))
        raise ValueError(f"the loss is no longer finite after epoch {first}: use a smaller lr or temperature")
    return values
