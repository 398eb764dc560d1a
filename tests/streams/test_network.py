"""What the past says of a pair, worked out by hand, and the network that learns from it."""

from __future__ import annotations

import numpy as np
import pytest

from hopsight.metrics import roc_auc
from hopsight.streams import memory as tables
from hopsight.streams import network as module
from hopsight.streams.accounts import N_SAID
from hopsight.streams.kernel import N_COLUMNS, process
from hopsight.streams.memory import N_ATTRIBUTES, N_FEATURES, Memory, new_memory
from hopsight.streams.network import FAR, fit, log_odds, new_network
from toys import called

judge, describe, find = called(module.judge), called(module.describe), called(tables.find)


@pytest.fixture(scope="module")
def examples() -> np.ndarray:
    """Return true pairs, which have feature 2 twice as large as feature 3 on average, and random ones without that."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2000, 2, N_FEATURES)).astype(np.float32)
    values[:, 0, 2] += 1.5
    return values


def test_it_learns_what_tells_true_pairs_from_random_ones(examples: np.ndarray) -> None:
    network = fit(new_network(0), examples[:1500], 0)
    odds = log_odds(network, examples[1500:].reshape(-1, N_FEATURES).astype(float))
    truth = np.tile([1, 0], 500)
    best = roc_auc(truth, examples[1500:].reshape(-1, N_FEATURES)[:, 2])  # the rule itself
    assert roc_auc(truth, odds) > best - 0.03
    share = 1.0 / (1.0 + np.exp(-odds))
    for low in (0.1, 0.3, 0.5, 0.7):  # calibrated: among answers of about p, p are true
        chosen = (share >= low) & (share < low + 0.2)
        assert truth[chosen].mean() == pytest.approx(share[chosen].mean(), abs=0.1)


def remembered(edges: list[tuple[int, int]], ticks: list[int] | None = None) -> Memory:
    memory, ends = new_memory(256, 256), np.array(edges, dtype=np.uint64)
    process(
        memory, new_network(0), ends[:, 0].copy(), ends[:, 1].copy(), np.array(ticks or [0] * len(edges)),
        np.zeros(len(edges), np.int64),
        np.full(len(edges), -1), np.full(len(edges), np.nan), np.zeros(len(edges)), np.zeros(len(edges)), 0, 0,
        np.zeros((len(edges), N_COLUMNS), np.float32), np.zeros((len(edges), 2, N_SAID)),
            np.zeros((0, 2, N_ATTRIBUTES), np.float32),
    )  # fmt: skip
    return memory


def hop(memory: Memory, source: int, target: int, tick: int, stamp: int = 10_000) -> tuple[float, np.ndarray]:
    row = np.zeros(N_FEATURES, np.float32)
    one, two = np.uint64(source), np.uint64(target)
    found = find(memory.nodes, one), find(memory.nodes, two)
    slots = [slot if known else -1 for slot, known in found]
    return describe(memory, *slots, one, two, tick, 8 * stamp, row), row


def test_hop_counts_of_a_path() -> None:
    memory = remembered([(1, 2), (2, 3), (3, 4), (4, 5), (5, 6)])
    assert [hop(memory, 1, end, 1, stamp)[0] for stamp, end in enumerate((2, 3, 4, 5), 1000)] == [1.0, 2.0, 3.0, FAR]


def test_nothing_of_the_same_tick_is_known() -> None:
    memory = remembered([(1, 2), (2, 3)])
    assert hop(memory, 1, 2, 0)[0] == FAR
    assert hop(memory, 1, 2, 1)[0] == 1.0


def test_common_neighbors_are_counted_once_each() -> None:
    memory = remembered([(1, 10), (1, 11), (1, 12), (2, 10), (11, 2), (2, 20), (1, 10)])
    _, row = hop(memory, 1, 2, 1)
    assert np.expm1(row[2]) == np.float32(2.0)  # 10 and 11
    assert row[0] == row[1] == 0.0  # no event between them, in either direction


def test_a_node_never_seen() -> None:
    memory = remembered([(1, 2)])
    found, row = hop(memory, 1, 99, 1)
    assert found == FAR
    assert row[13] == 0.0
    assert row[14] == 1.0
