"""What the past says of a pair of nodes, as numbers for the network; the cost has a fixed bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hopsight.streams import memory as at
from hopsight.streams.memory import Memory, find, pair_key_of, refresh
from hopsight.system.compiled import inner

N_MIDDLE = 8  # neighbors whose own neighbors are searched for paths of three edges
FAR = 4.0  # hop count of a pair without a known path of at most three edges


@inner
def describe(
    memory: Memory, source: int, target: int, source_key: np.uint64, target_key: np.uint64, tick: int, stamp: int,
    row: NDArray[np.float32],
) -> float:  # fmt: skip
    """Fill ``row`` with what was known of a pair before this tick, and return their hop count in the past graph.

    A slot of −1 is a node that was never seen. ``stamp`` must be a multiple of 4 that was not used before.
    """
    for column in range(row.size):
        row[column] = np.float32(0.0)
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
            slot = find(pairs.key, pair_key_of(first, second))
            if slot >= 0:
                refresh(pairs, slot, tick)
                row[turn] = np.log1p(pairs.counts[slot, at.BEFORE])
        paths, weighted, longer = _paths(memory, source, target, tick, stamp)
        row[2], row[3], row[4] = np.log1p(paths), weighted, np.log1p(longer)
        row[15] = row[9] * row[10] / 8.0  # preferential attachment
        row[16] = abs(row[9] - row[10])
        hop = 1.0 if row[0] + row[1] > 0 else 2.0 if paths > 0 else 3.0 if longer > 0 else FAR
    row[17] = row[13] * row[14]
    return hop


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
