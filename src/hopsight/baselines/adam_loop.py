"""How DOMINANT and ResGCN train: Adam, one retry after a collapse, and the weights as one array."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hopsight.detectors.base import Callback, Epoch
from hopsight.nn.adam import Adam
from hopsight.nn.reconstruction import block_values
from hopsight.system.threads import Run, torch_threads, workers

FloatArray = NDArray[np.float64]


@contextmanager
def block_workers(n_values: int, device: torch.device) -> Iterator[Run]:
    """Limit torch to one thread and yield a ``map`` that works on several blocks of so many values at once.

    Sums are then the same for any number of threads, and so is the trained network.
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

    ``max_norm`` clips the gradient. Without ``last_step`` the weights remain those of the last forward pass.
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


def retry_if_collapsed(
    name: str, attempt: Callable[[np.random.Generator], tuple[FloatArray, bool]], rng: np.random.Generator
) -> FloatArray:
    """Return the scores of an attempt, or of a second one from other weights if the first network collapsed.

    ``attempt`` returns the scores and whether its network still tells nodes apart.
    """
    first, second = rng.spawn(2)
    scores, alive = attempt(first)
    if alive:
        return scores
    warnings.warn(f"{name} collapsed: its network no longer tells nodes apart; training it once more", stacklevel=4)
    scores, alive = attempt(second)
    if not alive:
        warnings.warn(
            f"{name} collapsed a second time: do not rely on its scores for this graph; try a lower lr or another seed",
            stacklevel=4,
        )
    return scores


def check_finite(scores: FloatArray, name: str) -> FloatArray:
    """Return the scores of a new graph, or refuse a graph whose attributes single precision cannot hold."""
    if not np.isfinite(scores).all():
        raise ValueError(f"{name} cannot score this graph: its attributes are too far from those of the fit")
    return scores


def is_constant(scores: FloatArray) -> bool:
    """Return whether all scores are equal up to single precision."""
    return bool(np.ptp(scores) <= 1e-6 * np.abs(scores).max())


def as_array(values: Tensor) -> FloatArray:
    """Return the values as a float64 NumPy array on the CPU."""
    return np.asarray(values.double().cpu().numpy())


def generators(rng: np.random.Generator, device: torch.device) -> tuple[torch.Generator, torch.Generator]:
    """Return a torch generator on the CPU for initial weights and sampled rows, and one on the device for dropout."""
    seeds = rng.integers(0, 2**62, size=2)
    return (
        torch.Generator().manual_seed(int(seeds[0])),
        torch.Generator(device).manual_seed(int(seeds[1])),
    )


def flat_weights(network: nn.Module) -> NDArray[np.float32]:
    """Return all weights as one array, in the order of ``network.parameters()``."""
    flat = nn.utils.parameters_to_vector(network.parameters())
    return np.asarray(flat.detach().cpu().numpy(), dtype=np.float32)


def set_weights(network: nn.Module, flat: NDArray[np.float32]) -> None:
    """Set all weights from the array that :func:`flat_weights` returned."""
    expected = sum(weights.numel() for weights in network.parameters())
    if flat.size != expected:
        raise ValueError(f"the saved model has {flat.size} weights, but its parameters require {expected}")
    values = torch.from_numpy(np.array(flat, dtype=np.float32)).to(next(network.parameters()))
    nn.utils.vector_to_parameters(values, network.parameters())
