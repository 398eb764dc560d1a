"""What the posterior samples say of each edge, calibrated, and the scores of nodes that follow: AHP, IV and HAV."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hopsight.hcm.checkpoint import Checkpoint
from hopsight.system.arrays import frozen
from hopsight.system.compiled import compiled
from hopsight.system.kernels import arcs_by_degree, each_once_in_order, triangles_from
from hopsight.system.threads import in_order

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LOG_TEMPERATURES = np.linspace(-1.0, 3.0, 21)
COARSE = 4  # every fourth is tried first, then those around the best
SCALING_ROUNDS = 6
UNCHANGED = np.array([1.0, 1.0, 0.0])  # a, b and c of a curve that leaves a probability as it is
PENALTY = 4.0  # the unchanged curve counts as much as four pairs
SLOPES = (0.1, 5.0)  # of the curve, so that it never falls and never jumps
CURVE_ROUNDS, CONVERGED = 20, 1e-12


def calibrated(logits: Tensor, calibration: Tensor | FloatArray) -> Tensor:
    """Return calibrated log-probabilities: ``calibration`` is what :func:`calibrate` returned.

    The logits become z / T + b. Then the probability p of one hop becomes sigmoid(a log p − b log(1 − p) + c) (beta
    calibration, Kull et al. 2017), and the other classes share the rest as before.
    """
    numbers = torch.as_tensor(calibration).to(logits)
    temperature, offsets, (a, b, c) = numbers[0], numbers[1:-3], numbers[-3:]
    log_p = torch.log_softmax(logits / temperature + offsets, dim=1)
    near, rest = log_p[:, :1], torch.logsumexp(log_p[:, 1:], dim=1, keepdim=True)
    odds = a * near - b * rest + c
    new_near = torch.nn.functional.logsigmoid(odds)
    new_rest = log_p[:, 1:] - rest + torch.nn.functional.logsigmoid(-odds)
    return torch.cat([new_near, new_rest], dim=1)


def calibrate(logits: FloatArray | Tensor, labels: IntArray) -> FloatArray:
    """Return temperature, class offsets and the curve of one hop under which held-out pairs are least surprising.

    With z_s the logits of sample s, p = mean_s softmax(z_s / T + b). For each T that is tried, b makes the mean of p
    over the pairs equal to the share of each class (iterative scaling). T is the one of a grid, searched from coarse
    to fine, that answers best whether a pair is one hop apart: it minimizes −Σ log p₁ over such pairs − Σ log(1 − p₁)
    over the others. ``logits`` has the shape (n_samples, n_pairs, n_classes); a GPU that holds them tries the
    temperatures. Limit BLAS to one thread: several add up in another order.
    """
    known = torch.as_tensor(logits).double()
    centered: Any = (known - known.amax(dim=2, keepdim=True)).movedim(2, 0).contiguous()
    near: Any = torch.from_numpy(labels == 0).to(known.device)
    shares: Any = torch.from_numpy(np.bincount(labels, minlength=len(centered)) / labels.size).to(known.device)
    if known.device.type == "cpu":
        centered, near, shares = centered.numpy(), near.numpy(), shares.numpy()
    tried: dict[int, tuple[float, Any, Any]] = {}

    def best_of(numbers: Sequence[int]) -> int:
        """Return the number of the best temperature; a GPU tries several at once."""
        new = [number for number in numbers if 0 <= number < LOG_TEMPERATURES.size and number not in tried]
        for some in [new] if known.device.type != "cpu" and new else [[number] for number in new]:
            tried.update(
                zip(some, _at_temperatures(centered, near, shares, np.exp(LOG_TEMPERATURES[some])), strict=True)
            )
        return min((number for number in numbers if number in tried), key=lambda number: tried[number][0])

    best, step = best_of(range(0, LOG_TEMPERATURES.size, COARSE)), COARSE // 2
    while step:
        best, step = best_of((best, best - step, best + step)), step // 2
    offsets, one_hop = (np.asarray(torch.as_tensor(each).cpu()) for each in tried[best][1:])
    return np.concatenate([[np.exp(LOG_TEMPERATURES[best])], offsets, fit_curve(one_hop, labels == 0)])


def _at_temperatures(
    centered: Any, near: Any, shares: Any, temperatures: FloatArray
) -> Iterator[tuple[float, Any, Any]]:
    """Yield the loss at each temperature, the offsets, and the probability of one hop, with NumPy or with torch.

    ``centered`` has the shape (n_classes, n_samples, n_pairs).
    """
    xp: Any = np if isinstance(centered, np.ndarray) else torch
    divisors: Any = temperatures if xp is np else torch.from_numpy(temperatures).to(centered.device)
    columns = centered.reshape(len(centered), -1) / divisors[:, None, None]
    odds = xp.exp(columns)  # once per temperature: offsets only multiply them
    offsets = xp.zeros_like(columns[:, :, 0])
    for _ in range(SCALING_ROUNDS):
        factors = xp.exp(offsets)
        weights = 1.0 / (factors[:, None] @ odds)
        mean = factors * (odds @ weights.swapaxes(1, 2))[:, :, 0] / odds.shape[2]
        offsets += xp.log(shares / mean)
    factors = xp.exp(offsets)
    first = factors[:, :1] * odds[:, 0] / (factors[:, None] @ odds)[:, 0]
    one_hop = xp.clip(first.reshape(len(first), *centered.shape[1:]).mean(1), 1e-12, 1.0 - 1e-12)
    losses = -xp.log(xp.where(near, one_hop, 1.0 - one_hop)).mean(1)
    yield from zip(losses.tolist(), offsets, one_hop, strict=True)


def fit_curve(probability: FloatArray, truth: NDArray[np.bool_]) -> FloatArray:
    """Return a, b and c of the curve sigmoid(a log p − b log(1 − p) + c), by Newton's method.

    The penalty pulls toward the curve that changes nothing, so that few pairs change little. Then the slopes are held
    within bounds, and the offset is fitted to them.
    """
    features = np.stack([np.log(probability), -np.log1p(-probability), np.ones_like(probability)])
    curve = UNCHANGED.copy()
    for free in (np.ones(3), np.array([0.0, 0.0, 1.0])):
        for _ in range(CURVE_ROUNDS):
            predicted = 1.0 / (1.0 + np.exp(-np.clip(curve @ features, -50.0, 50.0)))
            gradient = features @ (predicted - truth) + PENALTY * (curve - UNCHANGED)
            hessian = (features * (predicted * (1.0 - predicted))) @ features.T + PENALTY * np.eye(3)
            change = np.linalg.solve(hessian * np.outer(free, free) + np.diag(1.0 - free), free * gradient)
            curve = curve - free * change
            if abs(change).max() < CONVERGED:
                break
        curve[:2] = np.clip(curve[:2], *SLOPES)
    return curve if np.isfinite(curve).all() else UNCHANGED.copy()


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


TRIANGLE_BLOCKS = 16  # of nodes with about as many edges each; a fixed number, so that sums have a fixed order


def ahp(edges: NDArray[np.int64], hops: FloatArray, n_nodes: int) -> FloatArray:
    """Return the Average Hop Prediction: the mean predicted hop count between each node and its neighbors.

    An edge counts at both of its ends; a node without neighbors gets NaN.

    >>> ahp(np.array([[0, 1], [1, 2]]), np.array([1.0, 3.0]), 4).tolist()
    [1.0, 2.0, 3.0, nan]
    """
    return neighbor_mean(edges, hops, n_nodes)


def inferred_variance(edges: NDArray[np.int64], variances: FloatArray, n_nodes: int) -> FloatArray:
    """Return the Inferred Variance: the mean posterior variance of the predictions for each node's edges."""
    return neighbor_mean(edges, variances, n_nodes)


def hav(ahp_scores: FloatArray, iv_scores: FloatArray) -> FloatArray:
    """Return HAV = AHP / max AHP + IV / max IV; a term whose maximum is zero is left out.

    >>> hav(np.array([1.0, 2.0]), np.array([0.5, 0.25])).tolist()
    [1.5, 1.5]
    """
    return _by_maximum(ahp_scores) + _by_maximum(iv_scores)


def triangle_sums(edges: NDArray[np.int64], sides: Sequence[FloatArray] | FloatArray, n_nodes: int) -> FloatArray:
    """Return, for each node, the sum over its triangles of the product of their three sides.

    ``sides`` has one number per edge for each of some kinds; the result is (n_kinds, n_nodes). Two arcs between
    the same nodes are one side, with the mean of their numbers.

    >>> triangle_and_tail = np.array([[0, 0, 1, 2], [1, 2, 2, 3]])
    >>> triangle_sums(triangle_and_tail, np.array([[1.0, 0.5, 0.5, 1.0]]), 4).tolist()
    [[0.25, 0.25, 0.25, 0.0]]
    """
    start, target, means = (_arcs if each_once_in_order(*edges) else _arcs_of_any)(edges, sides, n_nodes)
    bounds = np.searchsorted(start, np.linspace(0, target.size, TRIANGLE_BLOCKS + 1).astype(np.int64))
    bounds[0], bounds[-1] = 0, n_nodes
    blocks = in_order(lambda first, last: triangles_from(start, target, means, first, last), bounds[:-1], bounds[1:])
    total = np.zeros((n_nodes, len(sides)))
    for block in blocks:  # in this order, however many threads there are
        total += block
    return np.ascontiguousarray(total.T)


def _arcs(edges: NDArray[np.int64], sides: Sequence[FloatArray] | FloatArray, n_nodes: int) -> tuple[Any, Any, Any]:
    """Return the edges as lists of arcs (:mod:`hopsight.system.kernels`): starts, targets, and their numbers."""
    degree = np.bincount(edges.ravel(), minlength=n_nodes)
    start, target, place = arcs_by_degree(edges[0], edges[1], degree)
    means = np.empty((target.size, len(sides)), dtype=np.asarray(sides[0]).dtype)
    for kind, values in enumerate(sides):
        means[place, kind] = values
    return start, target, means


def _arcs_of_any(
    edges: NDArray[np.int64], sides: Sequence[FloatArray] | FloatArray, n_nodes: int
) -> tuple[Any, Any, Any]:
    """Do the same for edges in any order, some of them perhaps given in both directions."""
    ends = np.sort(edges, axis=0)
    key = ends[0] * n_nodes + ends[1]
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: key.size])
    share = np.diff(first, append=key.size)
    means = [
        np.add.reduceat(np.asarray(values)[order], first) / share if first.size else np.empty(0) for values in sides
    ]
    return _arcs(np.stack([key[first] // n_nodes, key[first] % n_nodes]), means, n_nodes)


def neighbor_mean(edges: NDArray[np.int64], values: FloatArray, n_nodes: int) -> FloatArray:
    """Return the mean of the values of each node's edges, NaN for a node without edges."""
    return neighbor_means(edges, [values], n_nodes)[0]


def neighbor_means(edges: NDArray[np.int64], columns: Sequence[FloatArray], n_nodes: int) -> FloatArray:
    """Return (n_columns, n_nodes) means of several values of each node's edges."""
    count = np.bincount(edges.ravel(), minlength=n_nodes).astype(np.float64)
    means = np.full((len(columns), n_nodes), np.nan)
    sums = in_order(lambda values: neighbor_sum(edges, values, n_nodes), columns)
    for mean, total in zip(means, sums, strict=True):
        np.divide(total, count, out=mean, where=count > 0)
    return means


def neighbor_sum(edges: NDArray[np.int64], values: FloatArray, n_nodes: int) -> FloatArray:
    """Return the sum of the values of each node's edges."""
    first, second = np.zeros(n_nodes), np.zeros(n_nodes)
    _add_at_ends(frozen(edges[0]), frozen(edges[1]), values, first, second)
    return first + second


@compiled(nogil=True)
def _add_at_ends(source: Any, target: Any, values: Any, first: Any, second: Any) -> None:
    for edge in range(source.size):
        first[source[edge]] += values[edge]
        second[target[edge]] += values[edge]


def effective_count(edges: NDArray[np.int64], weight: FloatArray, n_nodes: int) -> FloatArray:
    """Return how many edges of equal weight each node's weighted mean is worth: (Σ|w|)² / Σw².

    The variance of a weighted mean of k independent readings is that of one reading divided by this number. It is k if
    the weights are equal, and near 1 if one of them outweighs the others. Edges without any weight count alike.

    >>> star = np.array([[0, 0, 0], [1, 2, 3]])
    >>> effective_count(star, np.array([3.0, 1.0, -1.0]), 4).round(3).tolist()
    [2.273, 1.0, 1.0, 1.0]
    """
    degree = np.bincount(edges.ravel(), minlength=n_nodes).astype(np.float64)
    size = np.abs(weight) / max(float(np.abs(weight).max(initial=0.0)), 1e-300)  # squares neither overflow nor vanish
    squares = neighbor_sum(edges, size**2, n_nodes)
    return np.divide(neighbor_sum(edges, size, n_nodes) ** 2, squares, out=degree, where=squares > 0.0)


def fill_unjudged(scores: FloatArray) -> FloatArray:
    """Replace the NaN of nodes that cannot be judged with the median of the others.

    >>> fill_unjudged(np.array([1.0, np.nan, 4.0])).tolist()
    [1.0, 2.5, 4.0]
    """
    judged = ~np.isnan(scores)
    return np.where(judged, scores, np.median(scores[judged]) if judged.any() else 0.0)


def _by_maximum(values: FloatArray) -> Any:
    highest = np.nanmax(values, initial=0.0)
    return values / highest if highest > 0 else np.zeros_like(values)
