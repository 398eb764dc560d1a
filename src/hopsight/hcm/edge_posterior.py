"""Running mean and variance of the hop count that the posterior samples predict for each edge."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hopsight.hcm.calibration import UNCHANGED, calibrated
from hopsight.hcm.checkpoint import Checkpoint
from hopsight.system.compiled import compiled

PREDICTIONS = ("argmax", "expected")
SINGLE_PRECISION_EDGES = 1 << 22  # beyond, what is known of each edge stays in single precision, in which it is found


class EdgePosterior:
    """Running mean and variance of the predictions for each edge (Welford), so that no T×m array is kept."""

    def __init__(self, n_edges: int, device: torch.device) -> None:
        self.state = torch.zeros((5, n_edges), device=device)  # one row each, so that a GPU finds an edge once
        self.count, self.hop, self.square, self.probability, self.surprise = self.state

    def add(
        self, edges: Tensor, logits: Tensor, prediction: str, calibration: Tensor | NDArray[np.float64] | None = None
    ) -> None:
        """Add the logits of one posterior sample for some edges, calibrated or as they are."""
        if logits.device.type == "cpu":
            plain = np.concatenate([[1.0], np.zeros(logits.shape[1]), UNCHANGED])
            fair = plain if calibration is None else np.asarray(calibration)
            room = np.empty(logits.shape[1])
            _add(edges.numpy(), logits.numpy(), fair, prediction == "argmax", self.state.numpy(), room)
            return
        log_p = torch.log_softmax(logits, dim=1) if calibration is None else calibrated(logits, calibration)
        found = predicted_hop(log_p, prediction)
        count, hop, square, probability, surprise = self.state[:, edges]
        count = count + 1
        shift = found - hop
        hop = hop + shift / count
        self.state[:, edges] = torch.stack([
            count, hop, square + shift * (found - hop),
            probability + (log_p[:, 0].exp() - probability) / count, surprise - (log_p[:, 0] + surprise) / count,
        ])  # fmt: skip

    def save(self, checkpoint: Checkpoint, n_turns: int) -> None:
        """Leave the state after so many turns, each of one sample of one network."""
        checkpoint.save({"posterior": self.state}, {"n_turns": n_turns})

    def restore(self, checkpoint: Checkpoint) -> int:
        """Take up a saved state, if there is one, and return the number of turns that it contains."""
        tensors, values = checkpoint.load() or ({}, {})
        if "n_turns" not in values:
            return 0
        with checkpoint.taking_up():
            self.state.copy_(tensors["posterior"])
            return int(values["n_turns"])

    @property
    def variance(self) -> Tensor:
        """Squared deviation over T, as in the paper."""
        return self.square / self.count.clamp(min=1)


def edge_values(values: Tensor) -> NDArray[Any]:
    """Return one number per edge as a NumPy array on the CPU, in double precision unless there are many."""
    found = values.cpu().numpy()
    return found.astype(np.float64) if found.size <= SINGLE_PRECISION_EDGES else np.asarray(found, dtype=np.float32)


def as_tensor(edges: NDArray[np.int64]) -> Tensor:
    """Return read-only edges as a tensor that nothing may write to; a copy of many edges would be large."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(edges)


def predicted_hop(log_p: Tensor, prediction: str) -> Tensor:
    """Return the hop count from class probabilities: the likeliest class (from 1), or the expectation."""
    if prediction == "argmax":
        return log_p.argmax(dim=1).to(log_p.dtype) + 1
    hops = torch.arange(1, log_p.shape[1] + 1, dtype=log_p.dtype, device=log_p.device)
    return log_p.exp() @ hops


@compiled(nogil=True)
def _add(edges: Any, logits: Any, calibration: Any, likeliest: bool, state: Any, odds: Any) -> None:
    """Do on a CPU what :meth:`EdgePosterior.add` does on a GPU, one edge after the other in one pass.

    ``odds`` has room for the odds of one edge.
    """
    n = odds.size
    for row in range(edges.size):
        largest = -math.inf
        for kind in range(n):
            odds[kind] = logits[row, kind] / calibration[0] + calibration[kind + 1]
            if odds[kind] > largest:
                largest = odds[kind]
        first, rest, far = odds[0] - largest, 1e-300, 0.0
        for kind in range(1, n):
            odds[kind] = math.exp(odds[kind] - largest)
            rest += odds[kind]
            far += (kind + 1) * odds[kind]
        all_log = math.log(math.exp(first) + rest)
        near = calibration[n + 1] * (first - all_log) - calibration[n + 2] * (math.log(rest) - all_log)
        near += calibration[n + 3]  # in log odds
        surprise = math.log1p(math.exp(-abs(near))) - min(near, 0.0)
        p = math.exp(-surprise)
        hop = p + (1.0 - p) * far / rest
        if likeliest:
            hop, largest = 1.0, p
            for kind in range(1, n):
                if (1.0 - p) * odds[kind] / rest > largest:
                    hop, largest = kind + 1.0, (1.0 - p) * odds[kind] / rest
        edge = edges[row]
        state[0, edge] += np.float32(1.0)
        shift, count = hop - state[1, edge], state[0, edge]
        state[1, edge] += shift / count
        state[2, edge] += shift * (hop - state[1, edge])
        state[3, edge] += (p - state[3, edge]) / count
        state[4, edge] += (surprise - state[4, edge]) / count
