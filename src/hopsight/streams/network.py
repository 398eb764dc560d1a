"""A small network that learns from the past which pairs become edges: P(one hop) of a pair."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hopsight.streams.memory import N_FEATURES
from hopsight.system.compiled import inner
from hopsight.system.threads import few_threads

N_UNITS = 24
N_STEPS = 400
BATCH = 256
RATE = 5e-3
DECAY = 1e-4
BETAS = (0.9, 0.999)

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
    return Network(
        np.zeros(N_FEATURES),
        np.ones(N_FEATURES),
        rng.normal(size=(N_FEATURES, N_UNITS)) / np.sqrt(N_FEATURES),
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
