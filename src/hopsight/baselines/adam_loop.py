"""What DOMINANT and ResGCN share: an Adam loop that stops when it diverges, restarts, and weights as one array."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hopsight.detectors.base import Callback, Epoch
from hopsight.graph import AttributedGraph
from hopsight.nn.adam import Adam
from hopsight.nn.reconstruction import Run, block_values
from hopsight.system.threads import torch_threads, workers

FloatArray = NDArray[np.float64]


def undirected(graph: AttributedGraph) -> Any:
    """Return the 0/1 adjacency, symmetrized as max(A, Aᵀ)."""
    return graph.adjacency.maximum(graph.adjacency.T) if graph.directed else graph.adjacency


@contextmanager
def steady(n_values: int, device: torch.device) -> Iterator[Run]:
    """Keep torch to one thread and yield a ``map`` that has a thread for every block of so many rebuilt values.

    Sums are then the same for any number of threads, and so is what is learned.
    """
    n_blocks = n_values // block_values(device) + 1 if device.type == "cpu" else 1
    with torch_threads(1), workers(n_blocks) as run:
        yield run


def train(
    network: nn.Module,
    loss: Callable[[], Tensor],
    scores: Callable[[], FloatArray],
    *,
    name: str,
    lr: float,
    n_epochs: int,
    max_norm: float | None = None,
    last_step: bool = True,
    callback: Callback | None = None,
) -> list[float]:
    """Minimize ``loss`` with Adam for a fixed number of epochs and return its values.

    ``max_norm`` clips the gradient; without ``last_step`` the weights stay those of the last forward pass.
    """
    optimizer = Adam(network.parameters(), lr=lr)
    losses: list[float] = []
    for epoch in range(1, n_epochs + 1):
        optimizer.clear()
        value = loss()
        losses.append(float(value.detach()))
        if not math.isfinite(losses[-1]):
            raise ValueError(
                f"the loss of {name} became {losses[-1]} in epoch {epoch} of {n_epochs}: "
                f"lower lr (now {lr:g}) or set scaling='standard'"
            )
        if last_step or epoch < n_epochs:
            value.backward()  # type: ignore[no-untyped-call]
            if max_norm is not None:
                nn.utils.clip_grad_norm_(network.parameters(), max_norm)
            optimizer.step()
        if callback is not None:
            callback(Epoch(epoch, n_epochs, losses[-1], scores))
    return losses


def until_alive(
    name: str, attempt: Callable[[np.random.Generator], tuple[FloatArray, bool]], rng: np.random.Generator
) -> FloatArray:
    """Return the scores of an attempt, or of a second one from other weights if the first network is dead."""
    first, second = rng.spawn(2)
    scores, alive = attempt(first)
    if alive:
        return scores
    warnings.warn(f"{name} collapsed: its network no longer tells nodes apart; starting once more", stacklevel=4)
    scores, alive = attempt(second)
    if not alive:
        warnings.warn(
            f"{name} collapsed a second time: its scores mean little on this network; try a lower lr or other seeds",
            stacklevel=4,
        )
    return scores


def finite(scores: FloatArray, name: str) -> FloatArray:
    """Return the scores of a new graph, or refuse one whose attributes single precision cannot hold."""
    if not np.isfinite(scores).all():
        raise ValueError(f"{name} cannot judge this network: its attributes are too far from those of the fit")
    return scores


def is_constant(scores: FloatArray) -> bool:
    """Say whether all scores are the same up to single precision."""
    return bool(np.ptp(scores) <= 1e-6 * np.abs(scores).max())


def generators(rng: np.random.Generator, device: torch.device) -> tuple[torch.Generator, torch.Generator]:
    """Return one torch generator on the CPU for initial weights and sampled rows, one on the device for dropout."""
    seeds = rng.integers(0, 2**62, size=2)
    return (
        torch.Generator().manual_seed(int(seeds[0])),
        torch.Generator(device).manual_seed(int(seeds[1])),
    )


def flat_weights(network: nn.Module) -> NDArray[np.float32]:
    """Return all weights as one array, in the order of ``network.parameters()``."""
    parts = [weights.detach().cpu().reshape(-1) for weights in network.parameters()]
    return np.asarray(torch.cat(parts).numpy(), dtype=np.float32)


@torch.no_grad()
def set_weights(network: nn.Module, flat: NDArray[np.float32]) -> None:
    """Write back what :func:`flat_weights` returned."""
    parts = list(network.parameters())
    if flat.size != sum(weights.numel() for weights in parts):
        raise ValueError(f"the saved model has {flat.size} weights, which is not what its parameters ask for")
    values = torch.from_numpy(np.array(flat, dtype=np.float32))
    start = 0
    for weights in parts:
        weights.copy_(values[start : start + weights.numel()].view_as(weights))
        start += weights.numel()
