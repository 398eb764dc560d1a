"""What a stream remembers: tables of nodes and pairs of a fixed size, in which the least recently seen make room."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hopsight.system.compiled import compiled

WAYS = 8  # entries per bucket: a new key takes the place of the least recently seen of them
N_NODES, N_PAIRS = 2**18, 2**20
N_NEIGHBORS = 32  # most recent neighbors kept per node
N_HOURS = 24
N_FEATURES = 18
N_BINS = 128  # of the histogram of surprise
N_EXAMPLES = 20_000  # most recent pairs to train on

# Positions in ``Memory.clock``.
EVENTS, NOW, N_ORDER, N_KNOWN, N_TRAINED, SINCE_FIT, N_LATE, STEP = range(8)
# Positions in ``Memory.sums``.
LOSS, BASE_LOSS, NEWEST, FITTED = range(4)
# Columns of a row of ``bursts``: events in this tick, what is carried over, the tick, sum of log counts, ticks.
COUNT, CARRY, TICK, LOGS, TICKS = range(5)
# Columns of ``node_counts``: events sent and received before this tick, and in it.
SENT, RECEIVED, SENT_NOW, RECEIVED_NOW = range(4)


class Memory(NamedTuple):
    """Arrays that the compiled code reads and changes in place."""

    node_key: NDArray[np.uint64]
    node_seen: NDArray[np.int64]  # number of the last event
    node_first: NDArray[np.int64]  # tick of the first event
    node_tick: NDArray[np.int64]  # tick up to which "before" and "now" are told apart
    node_active: NDArray[np.int64]  # last tick with an event, before node_tick
    node_counts: NDArray[np.float32]
    node_bursts: NDArray[np.float64]  # (nodes, sent or received, 5)
    node_hours: NDArray[np.float32]
    node_amount: NDArray[np.float64]  # number, mean
    ring: NDArray[np.int32]  # slots of neighbors
    ring_size: NDArray[np.int64]  # neighbors ever added: all, and before this tick
    pair_key: NDArray[np.uint64]
    pair_seen: NDArray[np.int64]
    pair_tick: NDArray[np.int64]
    pair_counts: NDArray[np.float32]  # events before this tick, and in it
    pair_bursts: NDArray[np.float64]
    pair_amount: NDArray[np.float64]
    order: NDArray[np.int32]  # slots of nodes by first appearance, to draw from
    marks: NDArray[np.int64]  # scratch space for counting common neighbors
    population: NDArray[np.float64]  # per level: sum, number, squares, number of log counts
    amounts: NDArray[np.float64]  # number, mean, squares of residuals
    hours: NDArray[np.float64]
    surprises: NDArray[np.float64]  # histogram of the surprise of events
    tail: NDArray[np.float64]  # −log of the share beyond each bin, as of the start of the tick
    examples: NDArray[np.float32]  # ring of features: true pairs, random pairs
    clock: NDArray[np.int64]
    sums: NDArray[np.float64]


NODE_ARRAYS = tuple(name for name in Memory._fields if name.startswith(("node_", "ring")))
PAIR_ARRAYS = tuple(name for name in Memory._fields if name.startswith("pair_"))
SMALL_ARRAYS = ("population", "amounts", "hours", "surprises", "tail", "clock", "sums")


def new_memory(n_nodes: int = N_NODES, n_pairs: int = N_PAIRS) -> Memory:
    """Return an empty memory; pages of the tables take space when they are first used."""
    zeros: Any = np.zeros
    memory = Memory(
        node_key=zeros(n_nodes, np.uint64),
        node_seen=zeros(n_nodes, np.int64),
        node_first=zeros(n_nodes, np.int64),
        node_tick=zeros(n_nodes, np.int64),
        node_active=zeros(n_nodes, np.int64),
        node_counts=zeros((n_nodes, 4), np.float32),
        node_bursts=zeros((n_nodes, 2, 5)),
        node_hours=zeros((n_nodes, N_HOURS), np.float32),
        node_amount=zeros((n_nodes, 2)),
        ring=zeros((n_nodes, N_NEIGHBORS), np.int32),
        ring_size=zeros((n_nodes, 2), np.int64),
        pair_key=zeros(n_pairs, np.uint64),
        pair_seen=zeros(n_pairs, np.int64),
        pair_tick=zeros(n_pairs, np.int64),
        pair_counts=zeros((n_pairs, 2), np.float32),
        pair_bursts=zeros((n_pairs, 5)),
        pair_amount=zeros((n_pairs, 2)),
        order=zeros(n_nodes, np.int32),
        marks=zeros(n_nodes, np.int64),
        population=zeros((3, 4)),
        amounts=zeros(3),
        hours=zeros(N_HOURS),
        surprises=zeros(N_BINS),
        tail=zeros(N_BINS + 1),
        examples=zeros((N_EXAMPLES, 2, N_FEATURES), np.float32),
        clock=zeros(8, np.int64),
        sums=zeros(4),
    )
    memory.population[:] = (np.log(2.0), 1.0, 0.5, 1.0)  # until something is known: one event per tick, ± a factor of 2
    memory.amounts[:] = (0.0, 0.0, 1.0)
    memory.hours[:] = 1.0 / N_HOURS
    memory.clock[NOW] = np.iinfo(np.int64).min
    memory.sums[NEWEST] = -np.inf
    return memory


@compiled()
def mixed(value: np.uint64) -> np.uint64:
    """Return well-mixed bits of a number (splitmix64)."""
    value = np.uint64(value + np.uint64(0x9E3779B97F4A7C15))
    value = np.uint64((value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9))
    value = np.uint64((value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB))
    return np.uint64(value ^ (value >> np.uint64(31)))


@compiled()
def find(keys: NDArray[np.uint64], key: np.uint64) -> int:
    """Return the slot of a key, or −1."""
    start: Any = np.int64(mixed(key) % np.uint64(keys.size // WAYS)) * WAYS
    for slot in range(start, start + WAYS):
        if keys[slot] == key:
            return slot
    return -1


@compiled()
def place_for(keys: NDArray[np.uint64], seen: NDArray[np.int64], key: np.uint64) -> int:
    """Return the slot that a new key takes: an empty one, or that of the least recently seen key of its bucket."""
    start: Any = np.int64(mixed(key) % np.uint64(keys.size // WAYS)) * WAYS
    best = start
    for slot in range(start, start + WAYS):
        if keys[slot] == np.uint64(0):
            return slot
        if seen[slot] < seen[best]:
            best = slot
    return best


@compiled()
def node_slot(memory: Memory, key: np.uint64, tick: int, now: int) -> int:
    """Return the slot of a node, with a new one if it is unknown, and bring it up to this tick."""
    slot = find(memory.node_key, key)
    if slot < 0:
        slot = place_for(memory.node_key, memory.node_seen, key)
        memory.node_key[slot] = key
        memory.node_first[slot] = tick
        memory.node_tick[slot] = tick
        memory.node_active[slot] = tick
        memory.node_counts[slot] = np.float32(0.0)
        memory.node_bursts[slot] = 0.0
        memory.node_hours[slot] = np.float32(0.0)
        memory.node_amount[slot] = 0.0
        memory.ring_size[slot] = 0
        memory.order[memory.clock[N_ORDER] % memory.order.size] = slot
        memory.clock[N_ORDER] += 1
    refresh_node(memory, slot, tick)
    memory.node_seen[slot] = now
    return slot


@compiled()
def refresh_node(memory: Memory, slot: int, tick: int) -> None:
    """Let what a node did in an earlier tick count as known."""
    if memory.node_tick[slot] != tick:
        counts = memory.node_counts[slot]
        counts[SENT] += counts[SENT_NOW]
        counts[RECEIVED] += counts[RECEIVED_NOW]
        counts[SENT_NOW] = counts[RECEIVED_NOW] = np.float32(0.0)
        memory.ring_size[slot, 1] = memory.ring_size[slot, 0]
        memory.node_active[slot] = memory.node_tick[slot]
        memory.node_tick[slot] = tick


@compiled()
def pair_slot(memory: Memory, key: np.uint64, tick: int, now: int) -> int:
    """Return the slot of a pair, with a new one if it is unknown, and bring it up to this tick."""
    slot = find(memory.pair_key, key)
    if slot < 0:
        slot = place_for(memory.pair_key, memory.pair_seen, key)
        memory.pair_key[slot] = key
        memory.pair_tick[slot] = tick
        memory.pair_counts[slot] = np.float32(0.0)
        memory.pair_bursts[slot] = 0.0
        memory.pair_amount[slot] = 0.0
    refresh_pair(memory, slot, tick)
    memory.pair_seen[slot] = now
    return slot


@compiled()
def refresh_pair(memory: Memory, slot: int, tick: int) -> None:
    """Let the events of a pair in an earlier tick count as known."""
    if memory.pair_tick[slot] != tick:
        memory.pair_counts[slot, 0] += memory.pair_counts[slot, 1]
        memory.pair_counts[slot, 1] = np.float32(0.0)
        memory.pair_tick[slot] = tick


@compiled()
def pair_key_of(source: np.uint64, target: np.uint64) -> np.uint64:
    """Return the key of an ordered pair of nodes; never 0, which marks an empty slot."""
    return np.uint64(mixed(np.uint64(source ^ (mixed(target) << np.uint64(1)))) | np.uint64(1))
