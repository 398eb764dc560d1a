"""What the past says of a pair, worked out by hand."""

from __future__ import annotations

import numpy as np

from hopsight.streams import memory as tables
from hopsight.streams import network as module
from hopsight.streams.accounts import N_SAID
from hopsight.streams.kernel import N_COLUMNS, process
from hopsight.streams.memory import N_ATTRIBUTES, N_FEATURES, Memory, new_memory
from hopsight.streams.network import FAR, new_network
from toys import called

describe, find = called(module.describe), called(tables.find)


def remembered(edges: list[tuple[int, int]], ticks: list[int] | None = None) -> Memory:
    memory, ends = new_memory(256, 256), np.array(edges, dtype=np.uint64)
    process(
        memory, new_network(0), ends[:, 0].copy(), ends[:, 1].copy(), np.array(ticks or [0] * len(edges)),
        np.zeros(len(edges), np.int64),
        np.full(len(edges), -1), np.full(len(edges), np.nan), np.zeros((len(edges), 2)), np.zeros(len(edges)),
        np.zeros(len(edges)), np.zeros(len(edges), np.bool_), 0, 0, False,
        np.zeros((len(edges), N_COLUMNS), np.float32), np.zeros((len(edges), 3, N_SAID)),
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
