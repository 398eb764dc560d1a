"""What the past says of a pair: hop counts of a small graph worked out by hand, known from the next tick on."""

from __future__ import annotations

import numpy as np

from hopsight.streams import features
from hopsight.streams import memory as tables
from hopsight.streams.features import FAR
from hopsight.streams.kernel import N_READINGS, process
from hopsight.streams.memory import N_FEATURES, Memory, new_memory
from hopsight.streams.network import new_network
from toys import called

describe, find = called(features.describe), called(tables.find)


def remembered(edges: list[tuple[int, int]], ticks: list[int] | None = None) -> Memory:
    memory, ends = new_memory(256, 256), np.array(edges, dtype=np.uint64)
    process(
        memory, new_network(0), ends[:, 0].copy(), ends[:, 1].copy(), np.array(ticks or [0] * len(edges)),
        np.zeros(len(edges), np.int64),
        np.full(len(edges), -1), np.full(len(edges), np.nan), 0, 0, np.zeros((len(edges), N_READINGS), np.float32),
    )  # fmt: skip
    return memory


def hop(memory: Memory, source: int, target: int, tick: int, stamp: int = 10_000) -> tuple[float, np.ndarray]:
    row = np.zeros(N_FEATURES, np.float32)
    one, two = np.uint64(source), np.uint64(target)
    slots = find(memory.nodes.key, one), find(memory.nodes.key, two)
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
