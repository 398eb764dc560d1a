"""What the posterior samples say of each edge, calibrated, and the scores of nodes that follow: AHP, IV and HAV."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import logsigmoid

from hopsight.hcm.checkpoint import Checkpoint
from hopsight.hcm.network import HopNetwork
from hopsight.hcm.train import Schedule, at_once, block_generators, n_blocks
from hopsight.hops.pool import PairPool
from hopsight.system.threads import Run, few_threads, in_order, one_torch_thread, workers

NODE_VALUES = {
    "ahp": "mean number of hops its neighbors look away",
    "iv": "mean variance of these hop counts over the posterior",
    "hav": "both, each divided by its maximum",
}
SINGLE_PRECISION_EDGES = 1 << 22  # beyond, the values of edges stay in single precision, in which they are found
CALIBRATION_PAIRS = 1024  # of each hop class
LOG_TEMPERATURES = np.linspace(-1.0, 3.0, 21)
COARSE = 4  # every fourth is tried first, then those around the best
SCALING_ROUNDS = 6
UNCHANGED = np.array([1.0, 1.0, 0.0])  # a, b and c of a curve that leaves a probability as it is
PENALTY = 4.0  # the unchanged curve counts as much as four pairs
SLOPES = (0.1, 5.0)  # of the curve, so that it never falls and never jumps
CURVE_ROUNDS, CONVERGED = 20, 1e-12

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
View = Sequence[Any]  # the argument of HopNetwork.represent


class JudgedEdges(NamedTuple):
    """For each edge: mean and variance of the predicted hop count, probability of one hop, and −log of it."""

    hop: NDArray[Any]
    variance: NDArray[Any]
    probability: NDArray[Any]
    surprise: NDArray[Any]


def median_where_unknown(values: NDArray[Any], known: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return values of edges, of those whose ends are not both known the median of the others: no evidence.

    >>> median_where_unknown(np.array([1.0, 9.0, 3.0]), np.array([True, False, True])).tolist()
    [1.0, 2.0, 3.0]
    """
    if known is None:
        return values
    usual = np.median(values[known] if known.any() else values)
    return np.where(known, values, usual.astype(values.dtype))


class EdgePosterior:
    """Running mean and variance of the predictions for each edge (Welford), so that no T×m array is kept."""

    def __init__(self, n_edges: int, device: torch.device) -> None:
        self.state = torch.zeros((5, n_edges), device=device)  # one row each, so that an edge is found once
        self.count, self.hop, self.square, self.probability, self.surprise = self.state

    def add(
        self, edges: Tensor, logits: Tensor, prediction: str, calibration: Tensor | FloatArray | None = None
    ) -> None:
        """Add the logits of one posterior sample for some edges, calibrated or as they are.

        In double precision, because the predictions for an edge may differ by little; the state is in single precision.
        """
        exact = logits.double()
        log_p = torch.log_softmax(exact, dim=1) if calibration is None else calibrated(exact, calibration)
        found = predicted_hop(log_p, prediction)
        count, hop, square, probability, surprise = self.state[:, edges].double()
        count = count + 1
        shift = found - hop
        hop = (hop + shift / count).float().double()  # as it will be kept
        self.state[:, edges] = torch.stack([
            count, hop, square + shift * (found - hop),
            probability + (log_p[:, 0].exp() - probability) / count, surprise - (log_p[:, 0] + surprise) / count,
        ]).float()  # fmt: skip

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

    def judged(self, deviation: str = "variance") -> JudgedEdges:
        """Return the values of each edge; squared deviations are divided by T, as in the paper."""
        variance = edge_values(self.square / self.count.clamp(min=1))
        spread = np.sqrt(variance) if deviation == "std" else variance
        return JudgedEdges(edge_values(self.hop), spread, edge_values(self.probability), edge_values(self.surprise))


def judge_edges(
    networks: Sequence[HopNetwork],
    views_of: Callable[[int], Sequence[View]],
    parts: Sequence[Tensor],
    edges: Tensor,
    samples: NDArray[np.float32],
    schedule: Schedule,
    *,
    judging_seed: int = 0,
    calibrations: FloatArray | None = None,
    checkpoint: Checkpoint | None = None,
) -> EdgePosterior:
    """Let every sample of every network judge its edges, one network after the other.

    Parameters
    ----------
    networks, views_of, parts
        The networks, what network k sees in each fold that it was trained on (``views_of(k)``), and the positions in
        ``edges`` of those that it judges. A sample judges in the fold that it was trained on last.
    edges
        (2, n_edges) positions in the views.
    samples, schedule, judging_seed
        (n_samples, n_networks, n_weights) weights, the schedule they were sampled with, and the seed of dropout.
    calibrations
        What :meth:`EdgePosterior.add` needs, for each network; None leaves probabilities as they are.
    checkpoint
        Where to resume from, and where to leave a state from time to time.
    """
    posterior = EdgePosterior(edges.shape[1], edges.device)
    checkpoint = checkpoint or Checkpoint(None, "")
    done, weights = posterior.restore(checkpoint), torch.from_numpy(samples).to(edges.device)
    fair = None if calibrations is None else torch.from_numpy(calibrations).to(edges.device)

    def judge_network(k: int, run: Run) -> None:
        """Keep what this network sees no longer than needed: that of two might not fit into memory."""
        views, network = views_of(k), networks[k]

        def judge(part: Tensor, logits: Tensor) -> None:
            posterior.add(part, logits, schedule.prediction, None if fair is None else fair[k])

        turns = zip(schedule.sample_epochs(len(views)), weights[:, k], strict=True)
        for turn, (epoch, sample) in enumerate(turns, k * len(samples)):
            if turn < done:
                continue
            network.set_flat_weights(sample)
            dropout = torch.Generator(edges.device).manual_seed((judging_seed + epoch) % 2**63)
            view = views[epoch % len(views)]
            for _ in predict(network, view, edges, parts[k], schedule, dropout, run, use=judge):
                pass
            if checkpoint.due:
                posterior.save(checkpoint, turn + 1)

    with one_torch_thread(), workers(n_blocks(edges.shape[1], edges.device)) as run:
        for k in range(done // len(samples), len(networks)):
            judge_network(k, run)
    return posterior


@torch.no_grad()
def predict(
    network: HopNetwork,
    view: View,
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


def predicted_hop(log_p: Tensor, prediction: str) -> Tensor:
    """Return the hop count from class probabilities: the likeliest class (from 1), or the expectation."""
    if prediction == "argmax":
        return log_p.argmax(dim=1).to(log_p.dtype) + 1
    hops = torch.arange(1, log_p.shape[1] + 1, dtype=log_p.dtype, device=log_p.device)
    return log_p.exp() @ hops


def edge_values(values: Tensor) -> NDArray[Any]:
    """Return one number per edge as a NumPy array on the CPU, in double precision unless there are many."""
    found = values.cpu().numpy()
    return found.astype(np.float64) if found.size <= SINGLE_PRECISION_EDGES else np.asarray(found, dtype=np.float32)


def as_tensor(edges: IntArray) -> Tensor:
    """Return read-only edges as a tensor that nothing may write to; a copy of many edges would be large."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(edges)


def calibrations_of(
    networks: Sequence[HopNetwork],
    views: Sequence[View],
    pairs: PairPool,
    samples: NDArray[np.float32],
    schedule: Schedule,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the calibration of each network, given its view without the fold that it set aside."""
    device = next(networks[0].parameters()).device
    found, on_device = [], torch.from_numpy(samples).to(device)
    for k, (network, view) in enumerate(zip(networks, views, strict=True)):
        drawn, labels = pairs.draw_aside(k, CALIBRATION_PAIRS, rng=rng)
        aside = torch.from_numpy(drawn).to(device)
        logits = []
        for weights in on_device[:, k]:
            network.set_flat_weights(weights)
            blocks = predict(network, view, aside, torch.arange(labels.size, device=device), schedule)
            logits.append(torch.cat([block for _, block in blocks]))
        found.append((torch.stack(logits), labels))
    n_at_once = len(found) if device.type == "cpu" else 1
    with one_torch_thread(), few_threads(1), workers(n_at_once) as run:  # several threads would add up in another order
        return np.array(list(run(calibrate, *zip(*found, strict=True))))


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
    return torch.cat([logsigmoid(odds), log_p[:, 1:] - rest + logsigmoid(-odds)], dim=1)


def calibrate(logits: Tensor, labels: IntArray) -> FloatArray:
    """Return temperature, class offsets and the curve of one hop under which held-out pairs are least surprising.

    With z_s the logits of sample s, p = mean_s softmax(z_s / T + b). For each T that is tried, b makes the mean of p
    over the pairs equal to the share of each class (iterative scaling). T is the one of a grid, searched from coarse
    to fine, that answers best whether a pair is one hop apart: it minimizes −Σ log p₁ over such pairs − Σ log(1 − p₁)
    over the others. ``logits`` has the shape (n_samples, n_pairs, n_classes). Limit BLAS to one thread: several add up
    in another order.
    """
    known = logits.double()
    centered = (known - known.amax(dim=2, keepdim=True)).movedim(2, 0).contiguous()
    near = torch.from_numpy(labels == 0).to(known.device)
    shares = torch.from_numpy(np.bincount(labels, minlength=len(centered)) / labels.size).to(known.device)
    tried: dict[int, tuple[float, Tensor, Tensor]] = {}

    def best_of(numbers: Sequence[int]) -> int:
        """Return the number of the best temperature."""
        inside = [number for number in numbers if 0 <= number < LOG_TEMPERATURES.size]
        for number in inside:
            if number not in tried:
                tried[number] = _at_temperature(centered, near, shares, float(np.exp(LOG_TEMPERATURES[number])))
        return min(inside, key=lambda number: tried[number][0])

    best, step = best_of(range(0, LOG_TEMPERATURES.size, COARSE)), COARSE // 2
    while step:
        best, step = best_of((best, best - step, best + step)), step // 2
    offsets, one_hop = (each.cpu().numpy() for each in tried[best][1:])
    return np.concatenate([[np.exp(LOG_TEMPERATURES[best])], offsets, fit_curve(one_hop, labels == 0)])


def _at_temperature(centered: Tensor, near: Tensor, shares: Tensor, temperature: float) -> tuple[float, Tensor, Tensor]:
    """Return the loss at a temperature, the offsets, and the probability of one hop.

    ``centered`` has the shape (n_classes, n_samples, n_pairs).
    """
    odds = torch.exp(centered.reshape(len(centered), -1) / temperature)  # offsets only multiply them
    offsets = torch.zeros_like(odds[:, 0])
    for _ in range(SCALING_ROUNDS):
        factors = offsets.exp()
        mean = factors * (odds @ (1.0 / (factors @ odds))) / odds.shape[1]
        offsets = offsets + torch.log(shares / mean)
    factors = offsets.exp()
    first = factors[0] * odds[0] / (factors @ odds)
    one_hop = first.reshape(centered.shape[1:]).mean(0).clamp(1e-12, 1.0 - 1e-12)
    loss = -torch.log(torch.where(near, one_hop, 1.0 - one_hop)).mean()
    return float(loss), offsets, one_hop


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


def node_scores(edges: IntArray, judged: JudgedEdges, n_nodes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return AHP, IV and HAV of each node; one without edges gets the median of the others.

    IV, the Inferred Variance, is the mean posterior variance of the predictions for its edges.
    """
    mean, spread = ahp(edges, judged.hop, n_nodes), neighbor_mean(edges, judged.variance, n_nodes)
    return fill_unjudged(mean), fill_unjudged(spread), fill_unjudged(hav(mean, spread))


def ahp(edges: NDArray[np.int64], hops: FloatArray, n_nodes: int) -> FloatArray:
    """Return the Average Hop Prediction: the mean predicted hop count between each node and its neighbors.

    An edge counts at both of its ends; a node without neighbors gets NaN.

    >>> ahp(np.array([[0, 1], [1, 2]]), np.array([1.0, 3.0]), 4).tolist()
    [1.0, 2.0, 3.0, nan]
    """
    return neighbor_mean(edges, hops, n_nodes)


def hav(ahp_scores: FloatArray, iv_scores: FloatArray) -> FloatArray:
    """Return HAV = AHP / max AHP + IV / max IV; a term whose maximum is zero is left out.

    >>> hav(np.array([1.0, 2.0]), np.array([0.5, 0.25])).tolist()
    [1.5, 1.5]
    """
    return _by_maximum(ahp_scores) + _by_maximum(iv_scores)


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
    first, second = (np.bincount(ends, values, n_nodes) for ends in edges)
    return np.asarray(first + second)


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
