"""What a stream remembers: tables of nodes and pairs of a fixed size, in which the least recently seen make room."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hopsight.hops.search import scramble
from hopsight.system.kernels import inner

WAYS = 8  # entries per bucket: a new key takes the place of the least recently seen of them
N_NODES, N_PAIRS = 2**18, 2**20
N_NEIGHBORS = 32  # most recent neighbors kept per node
N_HOURS = 24
N_FEATURES = 20
N_ATTRIBUTES = 8
N_BINS = 128  # of the histogram of surprise
N_EXAMPLES = 20_000  # most recent pairs to train on

# Positions in ``Memory.clock``.
EVENTS, NOW, N_ORDER, N_KNOWN, N_TRAINED, SINCE_FIT, N_LATE, STEP, SPAN, SPAN_STEP = range(10)
# Positions in ``Memory.sums``.
LOSS, BASE_LOSS, NEWEST, FITTED = range(4)
# Columns of a row of ``bursts``: events in this tick, what is carried over, the tick, sum of log counts, ticks, the
# window in which a burst was last learned as usual, and the log count that the last ticks all reached.
COUNT, CARRY, TICK, LOGS, TICKS, LEARNED_IN, LASTING = range(7)
# Columns of a row of ``population``: sum of log counts, ticks, squares of residuals; mean and spread, which follow.
ALL_LOGS, ALL_TICKS, ALL_SQUARES, ALL_USUAL, ALL_SPREAD = range(5)
LEAST_SPREAD, START_SPREAD = math.log(1.5), math.log(2.0)  # counts vary by a factor of 1.5 at least
N_OFFS, LARGEST_LOG = 32, math.log(8.0)  # bins of the histograms of log(count / usual count), and their end
N_SCALES = 2  # bursts are looked for within a tick, and within a span of many
# Columns of ``Table.counts``: before this tick, then the same in it. Nodes: events sent and received, neighbors met.
SENT, RECEIVED, MET, SENT_NOW, RECEIVED_NOW, MET_NOW = range(6)
BEFORE, WITHIN = range(2)  # of pairs: events
# Columns of ``Memory.judged``: the step in which a pair was judged last, its log-odds and its hop count then.
STEP_JUDGED, ODDS, PAST = range(3)
# Columns of ``Memory.streaks``: evidence and number of recent events, the span, what was learned as usual of how many.
TOTAL, NUMBER, STREAK_SPAN, LEARNED, OF = range(5)
# Rows of ``seen`` and ``tail``: of the pair, the amount and the hour of an event; of their sum, the strongest of them,
# and the stronger of both; of streaks by end and kind.
SEEN_HOP, SEEN_AMOUNT, SEEN_HOUR, SEEN_SUM, SEEN_STRONGEST, SEEN_TOGETHER, SEEN_STREAKS = range(7)
# Columns of ``Memory.blocks``: the block; of it and of the one before it: new partners, the size of their first events,
# the time of the first one; then the largest size of one earlier block, and the strongest score. To be told, as they
# were paid: of the block and of the one before it the amounts of new partners (number, sum, currency, smallest,
# largest) and of all events (sum, currency), and of earlier blocks the largest sum and the currency.
(
    BLOCK, NEW, NEW_BEFORE, SIZE_NEW, SIZE_BEFORE, FIRST, FIRST_BEFORE, MOST_SIZE,
    STRONGEST, N_PAID, N_PAID_BEFORE, NEW_PAID, NEW_PAID_BEFORE, NEW_IN, NEW_IN_BEFORE, LOW, LOW_BEFORE, HIGH,
    HIGH_BEFORE, ALL_PAID, ALL_PAID_BEFORE, ALL_IN, ALL_IN_BEFORE, MOST_PAID, MOST_IN,
) = range(25)  # fmt: skip
SEVERAL = -1.0  # for the currency of amounts in several; they have numbers from 1 on, and 0 is none
N_LENGTHS = 3  # of blocks
CHAINS = 2 * N_LENGTHS  # row of ``block_seen``: what the links of chains count; before it one per end and length
# Columns of ``Memory.arrivals``: when an amount came in (in windows plus 1, and in seconds), the amount, the slot that
# it came from, what the links up to it count, their number, when their chain began, and the amount as it was paid with
# its currency.
CAME, CAME_AT, CAME_AMOUNT, CAME_FROM, CAME_DIGITS, CAME_LINKS, CHAIN_BEGAN, CAME_PAID, CAME_IN = range(9)
N_ARRIVALS = 4  # most recent ones kept per node
N_SIZES, LEAST_SIZE, SIZE = 128, -3.0, 0.18  # bins of log amounts, where they begin, and their width
N_PARTS = 3  # kinds of evidence that count together: of the pair, the amount and the hour


class Table(NamedTuple):
    """Entries by key: nodes, or ordered pairs of nodes."""

    key: NDArray[np.uint64]  # 0 is an empty entry
    seen: NDArray[np.int64]  # number of the last event
    tick: NDArray[np.int64]  # tick up to which "before" and "in it" are told apart
    active: NDArray[np.int64]  # last tick with an event, before ``tick``
    counts: NDArray[np.int64]
    bursts: NDArray[np.float64]  # (entries, 2 for sent and received or 1, scales, 7)
    amount: NDArray[np.float64]  # number, mean


class Memory(NamedTuple):
    """Arrays that the compiled code reads and changes in place."""

    nodes: Table
    pairs: Table
    node_hours: NDArray[np.float32]
    ring: NDArray[np.int32]  # slots of the most recent neighbors per node
    streaks: NDArray[np.float64]  # (nodes, 2 for sent and received, kinds of evidence, 5)
    since: NDArray[np.float64]  # (nodes, 2): when it first sent and received, in windows since the beginning, plus 1
    late: NDArray[np.int64]  # (nodes, 2): events sent and received that came late
    blocks: NDArray[np.float64]  # (nodes, 2 for sent and received, lengths, 25)
    arrivals: NDArray[np.float64]  # (nodes, 4, 9): amounts that came in from new partners
    met: NDArray[np.float64]  # per pair: when it had its first event, in windows
    attributes: NDArray[np.float32]  # per node, NaN if unknown
    judged: NDArray[np.float64]  # per pair
    order: NDArray[np.int32]  # slots of nodes by first appearance, to draw from
    marks: NDArray[np.int64]  # scratch space for counting common neighbors
    population: NDArray[np.float64]  # (levels, scales, 5): what is usual for all
    offs: NDArray[np.float64]  # (levels, scales, bins): how far ticks are above what is usual
    amounts: NDArray[np.float64]  # number and mean; then number and squares of residuals, by what is known
    dispersion: NDArray[np.float64]  # of streaks, (2, kinds)
    hours: NDArray[np.float64]
    seen: NDArray[np.float64]  # histograms
    tail: NDArray[np.float64]  # −log of the share beyond each bin, as of the start of the tick
    sizes: NDArray[np.float64]  # histogram of log amounts
    customs: NDArray[np.float64]  # of this longest block and the last: number, senders, those with many new partners
    block_seen: NDArray[np.float64]  # histograms of blocks
    block_tail: NDArray[np.float64]  # −log of the share beyond each bin, as of the start of the span
    examples: NDArray[np.float32]  # ring of features: true pairs, random pairs
    clock: NDArray[np.int64]
    sums: NDArray[np.float64]


TABLES = {
    "nodes": ("node_hours", "ring", "streaks", "since", "late", "blocks", "arrivals", "attributes"),
    "pairs": ("judged", "met"),
}  # and the other arrays with a row per entry
SMALL_ARRAYS = (
    "population", "offs", "amounts", "dispersion", "hours", "seen", "tail", "sizes", "customs", "block_seen",
    "block_tail", "clock", "sums",
)  # fmt: skip


def new_memory(n_nodes: int = N_NODES, n_pairs: int = N_PAIRS) -> Memory:
    """Return an empty memory; pages of the tables take space when they are first used."""
    zeros: Any = np.zeros
    memory = Memory(
        nodes=_new_table(n_nodes, n_counts=3, n_levels=2),
        pairs=_new_table(n_pairs, n_counts=1, n_levels=1),
        node_hours=zeros((n_nodes, N_HOURS), np.float32),
        ring=zeros((n_nodes, N_NEIGHBORS), np.int32),
        streaks=zeros((n_nodes, 2, N_PARTS, 5)),
        since=zeros((n_nodes, 2)),
        late=zeros((n_nodes, 2), np.int64),
        blocks=zeros((n_nodes, 2, N_LENGTHS, 25)),
        arrivals=zeros((n_nodes, N_ARRIVALS, 9)),
        met=zeros(n_pairs),
        attributes=zeros((n_nodes, N_ATTRIBUTES), np.float32),
        judged=zeros((n_pairs, 3)),
        order=zeros(n_nodes, np.int32),
        marks=zeros(n_nodes, np.int64),
        population=zeros((3, N_SCALES, 5)),
        offs=zeros((3, N_SCALES, N_OFFS)),
        amounts=zeros((4, 2)),
        dispersion=np.ones((2, N_PARTS)),
        hours=zeros(N_HOURS),
        seen=zeros((SEEN_STREAKS + 2 * N_PARTS, N_BINS)),
        tail=zeros((SEEN_STREAKS + 2 * N_PARTS, N_BINS + 1)),
        sizes=zeros(N_SIZES),
        customs=zeros((2, 3)),
        block_seen=zeros((CHAINS + 1, N_BINS)),
        block_tail=zeros((CHAINS + 1, N_BINS + 1)),
        examples=zeros((N_EXAMPLES, 2, N_FEATURES), np.float32),
        clock=zeros(10, np.int64),
        sums=zeros(4),
    )
    # Until something is known: one event per tick, ± a factor of 2.
    memory.population[:] = (START_SPREAD, 1.0, 0.5, START_SPREAD, math.sqrt(0.5))
    memory.amounts[1:, 1] = 1.0
    memory.hours[:] = 1.0 / N_HOURS
    memory.clock[NOW] = np.iinfo(np.int64).min
    memory.sums[NEWEST] = -np.inf
    return memory


def _new_table(size: int, *, n_counts: int, n_levels: int) -> Table:
    zeros: Any = np.zeros
    return Table(
        key=zeros(size, np.uint64),
        seen=zeros(size, np.int64),
        tick=zeros(size, np.int64),
        active=zeros(size, np.int64),
        counts=zeros((size, 2 * n_counts), np.int64),
        bursts=zeros((size, n_levels, N_SCALES, 7)),
        amount=zeros((size, 2)),
    )


@inner
def mixed(value: np.uint64) -> np.uint64:
    """Return well-mixed bits of a number (SplitMix64)."""
    return np.uint64(scramble(np.uint64(value + np.uint64(0x9E3779B97F4A7C15))))


@inner
def find(table: Table, key: np.uint64) -> tuple[int, bool]:
    """Return the slot of a key and True; or False and where to put it: an empty slot, or the least recently seen."""
    bucket: Any = np.int64(mixed(key) % np.uint64(table.key.size // WAYS)) * WAYS
    best = bucket
    for slot in range(bucket, bucket + WAYS):
        if table.key[slot] == key:
            return slot, True
        if table.key[best] != np.uint64(0) and (table.key[slot] == np.uint64(0) or table.seen[slot] < table.seen[best]):
            best = slot
    return best, False


@inner
def entry(table: Table, key: np.uint64, tick: int, now: int) -> tuple[int, bool]:
    """Return the slot of a key, brought up to this tick, and whether it is a new entry."""
    slot, known = find(table, key)
    if not known:
        table.key[slot] = key
        table.tick[slot] = table.active[slot] = tick
        table.counts[slot] = 0
        table.bursts[slot] = 0.0
        table.amount[slot] = 0.0
    refresh(table, slot, tick)
    table.seen[slot] = now
    return slot, not known


@inner
def refresh(table: Table, slot: int, tick: int) -> None:
    """Let what an entry did in an earlier tick count as known."""
    if table.tick[slot] != tick:
        half = table.counts.shape[1] // 2
        for column in range(half):
            table.counts[slot, column] += table.counts[slot, half + column]
            table.counts[slot, half + column] = 0
        table.active[slot] = table.tick[slot]
        table.tick[slot] = tick


@inner
def pair_key_of(source: np.uint64, target: np.uint64) -> np.uint64:
    """Return the key of an ordered pair of nodes; never 0, which marks an empty slot."""
    return np.uint64(mixed(np.uint64(source ^ (mixed(target) << np.uint64(1)))) | np.uint64(1))
