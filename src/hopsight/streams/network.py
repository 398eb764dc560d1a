"""What the past says of a pair of nodes, and a small network that learns from it which pairs become edges."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hopsight.streams import memory as at
from hopsight.streams.memory import N_FEATURES, Memory, find, pair_key_of, refresh
from hopsight.system.kernels import inner
from hopsight.system.threads import few_threads

N_UNITS = 24
N_STEPS = 400
BATCH = 256
RATE = 5e-3
DECAY = 1e-4
BETAS = (0.9, 0.999)
N_APART = 2  # features of attributes
N_MIDDLE = 8  # neighbors whose own neighbors are searched for paths of three edges
FAR = 4.0  # hop count of a pair without a known path of at most three edges

FloatArray = NDArray[np.float64]


class Network(NamedTuple):
    """One hidden layer on standardized features, and a curve that calibrates its answer."""

    center: FloatArray
    scale: FloatArray
    hidden: FloatArray  # (features, units)
    offsets: FloatArray
    output: FloatArray
    last: FloatArray  # offset, and slope and offset of the calibration


def new_network(seed: int) -> Network:
    """Return an untrained network, which answers ½."""
    rng = np.random.default_rng([seed, 1])
    past, attributes = N_FEATURES - N_APART, np.zeros((N_APART, N_UNITS))  # those begin at nothing
    return Network(
        np.zeros(N_FEATURES),
        np.ones(N_FEATURES),
        np.concatenate([rng.normal(size=(past, N_UNITS)) / np.sqrt(past), attributes]),
        np.zeros(N_UNITS),
        np.zeros(N_UNITS),
        np.array([0.0, 1.0, 0.0]),
    )


def fit(network: Network, examples: NDArray[np.float32], seed: int) -> Network:
    """Return the network after training on (n, 2, features): true pairs and random ones, from its present weights.

    Every fifth example is kept out of training and calibrates the answer.
    """
    held = np.arange(len(examples)) % 5 == 4
    train = examples[~held].astype(np.float64).reshape(-1, N_FEATURES)
    scale = train.std(axis=0)
    network = network._replace(center=train.mean(axis=0), scale=np.where(scale > 1e-6, scale, 1.0))
    truth = np.tile([1.0, 0.0], len(train) // 2)
    standard = _standard(network, train)
    rng = np.random.default_rng([seed, len(examples)])
    values = [network.hidden.copy(), network.offsets.copy(), network.output.copy(), network.last[:1].copy()]
    first, second = [np.zeros_like(value) for value in values], [np.zeros_like(value) for value in values]
    with few_threads(N_FEATURES):
        for step in range(1, N_STEPS + 1):
            rows = rng.integers(0, len(standard), BATCH)
            rate = RATE * (1.0 - 0.9 * step / N_STEPS)
            for number, slope in enumerate(_slopes(values, standard[rows], truth[rows])):
                first[number] = BETAS[0] * first[number] + (1 - BETAS[0]) * slope
                second[number] = BETAS[1] * second[number] + (1 - BETAS[1]) * slope**2
                unbiased = first[number] / (1 - BETAS[0] ** step)
                values[number] -= rate * unbiased / (np.sqrt(second[number] / (1 - BETAS[1] ** step)) + 1e-8)
    trained = network._replace(
        hidden=values[0], offsets=values[1], output=values[2], last=np.array([values[3][0], 1.0, 0.0])
    )
    return _calibrated(trained, examples[held].astype(np.float64).reshape(-1, N_FEATURES))


def loss_of(network: Network, examples: NDArray[np.float32]) -> float:
    """Return the mean of −log P(one hop) of true pairs − log(1 − P) of random ones, over two."""
    odds = log_odds(network, examples.astype(np.float64).reshape(-1, N_FEATURES))
    sign = np.tile([-1.0, 1.0], len(examples))
    return float(np.logaddexp(0.0, sign * odds).mean())


def log_odds(network: Network, features: FloatArray) -> FloatArray:
    """Return the calibrated log-odds of one hop for rows of features."""
    hidden = np.tanh(_standard(network, features) @ network.hidden + network.offsets)
    raw = hidden @ network.output + network.last[0]
    return np.asarray(network.last[1] * raw + network.last[2])


@inner
def judge(network: Network, row: NDArray[np.float32]) -> float:
    """Return the calibrated log-odds of one hop for one row of features."""
    inner = network.offsets.copy()
    for column in range(row.size):
        value = (row[column] - network.center[column]) / network.scale[column]
        value = min(max(value, -5.0), 5.0)
        for unit in range(inner.size):
            inner[unit] += network.hidden[column, unit] * value
    total = network.last[0]
    for unit in range(inner.size):
        total += network.output[unit] * math.tanh(inner[unit])
    return network.last[1] * total + network.last[2]


def _standard(network: Network, features: FloatArray) -> FloatArray:
    return np.clip((features - network.center) / network.scale, -5.0, 5.0)


def _slopes(values: list[FloatArray], rows: FloatArray, truth: FloatArray) -> list[FloatArray]:
    """Return the gradient of the logistic loss."""
    hidden, offsets, output, last = values
    inner = np.tanh(rows @ hidden + offsets)
    wrong = (1.0 / (1.0 + np.exp(-np.clip(inner @ output + last[0], -50, 50))) - truth) / len(rows)
    back = wrong[:, None] * output * (1.0 - inner**2)
    return [
        rows.T @ back + DECAY * hidden,
        back.sum(axis=0),
        inner.T @ wrong + DECAY * output,
        wrong.sum(keepdims=True),
    ]


def _calibrated(network: Network, rows: FloatArray) -> Network:
    """Fit slope and offset of the log-odds on pairs that were not trained on (Platt scaling, by Newton's method)."""
    if len(rows) < 50:
        return network
    raw, truth = log_odds(network, rows), np.tile([1.0, 0.0], len(rows) // 2)
    columns, curve = np.stack([raw, np.ones_like(raw)], axis=1), np.array([1.0, 0.0])
    for _ in range(20):
        predicted = 1.0 / (1.0 + np.exp(-np.clip(columns @ curve, -50, 50)))
        slope = columns.T @ (predicted - truth) + 5.0 * (curve - [1.0, 0.0])
        curvature = (columns * (predicted * (1 - predicted))[:, None]).T @ columns + 5.0 * np.eye(2)
        curve = curve - np.linalg.solve(curvature, slope)
    curve[0] = min(max(curve[0], 0.2), 3.0)
    return network._replace(last=np.array([network.last[0], curve[0], curve[1]]))


@inner
def describe(
    memory: Memory, source: int, target: int, source_key: np.uint64, target_key: np.uint64, tick: int, stamp: int,
    row: NDArray[np.float32],
) -> float:  # fmt: skip
    """Fill ``row`` with what was known of a pair before this tick, and return their hop count in the past graph.

    A slot of −1 is a node that was never seen. ``stamp`` must be a multiple of 4 that was not used before.
    """
    row[:] = np.float32(0.0)
    hop = FAR
    nodes, pairs = memory.nodes, memory.pairs
    n_known = 0
    for end in range(2):
        slot, known = source if end == 0 else target, False
        if slot >= 0:
            refresh(nodes, slot, tick)
            known = nodes.counts[slot, at.SENT] + nodes.counts[slot, at.RECEIVED] > 0
        if known:
            n_known += 1
            row[5 + end] = np.log1p(nodes.counts[slot, at.SENT])
            row[7 + end] = np.log1p(nodes.counts[slot, at.RECEIVED])
            row[9 + end] = np.log1p(nodes.counts[slot, at.MET])
            row[11 + end] = np.log1p(tick - nodes.active[slot])
        else:
            row[13 + end] = 1.0
    if n_known == 2:
        for turn in range(2):
            first, second = (source_key, target_key) if turn == 0 else (target_key, source_key)
            slot, known = find(pairs, pair_key_of(first, second))
            if known:
                refresh(pairs, slot, tick)
                row[turn] = np.log1p(pairs.counts[slot, at.BEFORE])
        paths, weighted, longer = _paths(memory, source, target, tick, stamp)
        row[2], row[3], row[4] = np.log1p(paths), weighted, np.log1p(longer)
        row[15] = row[9] * row[10] / 8.0  # preferential attachment
        row[16] = abs(row[9] - row[10])
        hop = 1.0 if row[0] + row[1] > 0 else 2.0 if paths > 0 else 3.0 if longer > 0 else FAR
    row[17] = row[13] * row[14]
    if source >= 0 and target >= 0:
        row[18], row[19] = apart(memory.attributes[source], memory.attributes[target])
    return hop


@inner
def apart(source: NDArray[np.float32], target: NDArray[np.float32]) -> tuple[float, float]:
    """Return how far the attributes of two nodes are apart, as a logarithm, and 1; or 0 and 0 if one is unknown."""
    total = 0.0
    for axis in range(source.size):
        total += (source[axis] - target[axis]) ** 2
    return (0.0, 0.0) if math.isnan(total) else (0.5 * math.log1p(total), 1.0)


@inner
def _paths(memory: Memory, source: int, target: int, tick: int, stamp: int) -> tuple[float, float, float]:
    """Return the number of common neighbors, the same weighted by log degree, and paths over two nodes, of a sample."""
    marks, ring, counts = memory.marks, memory.ring, memory.nodes.counts
    for place in range(_oldest(counts[source]), counts[source, at.MET]):
        marks[ring[source, place % at.N_NEIGHBORS]] = stamp + 1
    paths, weighted, longer = 0.0, 0.0, 0.0
    for place in range(_oldest(counts[target]), counts[target, at.MET]):
        middle = ring[target, place % at.N_NEIGHBORS]
        if marks[middle] == stamp + 1:
            marks[middle] = stamp + 2
            paths += 1.0
            weighted += 1.0 / np.log(2.0 + counts[middle, at.MET] + counts[middle, at.MET_NOW])
    for place in range(max(_oldest(counts[target]), counts[target, at.MET] - N_MIDDLE), counts[target, at.MET]):
        middle = ring[target, place % at.N_NEIGHBORS]
        if middle == source:
            continue
        refresh(memory.nodes, middle, tick)
        for step in range(_oldest(counts[middle]), counts[middle, at.MET]):
            end = ring[middle, step % at.N_NEIGHBORS]
            if end != target and end != source and marks[end] > stamp:
                longer += 1.0
    return paths, weighted, longer


@inner
def _oldest(counts: NDArray[np.int64]) -> int:
    """Return the number of the oldest neighbor that the ring still holds."""
    return max(0, counts[at.MET] + counts[at.MET_NOW] - at.N_NEIGHBORS)
