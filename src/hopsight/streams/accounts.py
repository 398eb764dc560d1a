"""What the events of one node did together: many new partners and much money to or from them, or an amount passed on.

An account is looked at over three lengths of time, a quarter of a window, one window and four (by default 6 hours, a
day and four days), what it sends and what it receives apart. Time is cut into blocks of that length; the present and
the last block count together. With S the sum of log₂(1 + a / m) over the amounts a of the first event with each new
partner, 1 at least, where m is the geometric mean of all amounts, and S₀ the largest such sum of one earlier block of
this account, x = √S − √(S₀ + 1), as in the bursts of :mod:`hopsight.flow.evidence`. So gifts at a wedding, or one large
payment for a house, count less than large payments to several strangers.
The score is −log₁₀ of the share of all accounts' blocks of this length, sent or received, that reached as much; while
fewer than 2,000 of these are known, those of all lengths count as well.

Too little is known in the first windows, in which every partner is new. An account without a past may have a monthly
rhythm, as employers do: what it sends is judged once it has sent before, what it receives once it has been seen before,
or once the stream is a month old. In the first month it is neither judged nor learned while 1% of those that send have
as many new partners at the same time: on the first payday every employer has.

An account that sends on what it has just received is one of a chain. An event follows an earlier one if it leaves the
account that the other reached within three windows before, goes to another account than it came from, and has .75 to
1.1 of its amount; both are between partners that met less than two weeks (of windows of a day) ago. With c such amounts
that came in during that time, and q the share of all events with such an amount, the link counts −log₁₀(c q), and a
chain what its links count together. The score of the account that sends on is that sum minus 1, if there are two links
at least, but no more than −log₁₀ of the share of earlier events with such a chain.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hopsight.flow.evidence import HIGHEST, KNOWN_DAYS, LEAST_LINK, LOWEST, PASSING_DAYS  # days are windows here
from hopsight.streams import memory as at
from hopsight.streams.evidence import ENOUGH, fill_tail, looked_up
from hopsight.streams.memory import Memory
from hopsight.system.kernels import inner

LENGTHS = (0.25, 1.0, 4.0)  # of a block, in windows
FIRST_JUDGED = 6.0  # windows in which nearly every partner is new
SOME_PAST = 5.0  # windows since the first event, from which an account has a past
LONG = 31.0  # windows after which an account without a past is judged: a month, by days
# New partners that something was done with together, by length, sent and received. By whom an account is paid, others
# decide: a few customers in an hour are a shop's luck.
FEWEST = ((3.0, 3.0, 4.0), (7.0, 7.0, 7.0))
CUSTOM, FEWEST_CUSTOM = 0.01, 3.0  # share of senders, and number, that had so many at the same time: a custom
LEAST_AMOUNT = 1e-9  # what amounts usually are, at least
UNUSUAL = 3.0  # a score from which a block is hardly learned as usual
HARDLY = 0.25
TOP = 12.8  # end of the histograms of x
FEWEST_LINKS = 2.0
FREE = 1.0  # digits of a chain that count nothing: every event may be the end of one
TOP_DIGITS = 8.0
# What is said of an account: its score, and of the strongest length of time the new partners, their amount, the time of
# the first, the smallest and the largest amount, the most that it moved in one earlier block, its other events so far,
# and which length it is; then the currency of the most, and of the new partners the number of amounts and the currency;
# and the events that came late. Amounts are as they were paid.
SCORE, N_NEW, AMOUNT, BEGAN, SMALLEST, LARGEST, MOST, OTHERS, LENGTH, MOST_IN, N_AMOUNTS, AMOUNT_IN, N_LATE = range(13)
N_SAID = 13
# What is said of an account that sends on: its score, what it received, when, the number of links, when the chain
# began, and the most that it sent in one earlier block of the longest; then the currencies of both amounts.
RECEIVED, RECEIVED_AT, N_LINKS, CHAIN_BEGAN, MOST_SENT, RECEIVED_IN, MOST_SENT_IN = range(1, 8)


@inner
def look_at_account(
    memory: Memory, slot: int, end: int, place: float, second: float, new: bool, amount: float,
    paid: NDArray[np.float64], said: NDArray[np.float64],
) -> None:  # fmt: skip
    """Count an event that a node sent (``end`` 0) or received (1), and say how unusual its recent ones are together.

    ``place`` is the time in windows since the stream began, ``second`` the same in seconds; ``paid`` is the amount as
    it was paid, 0 if unknown or a refund, and the number of its currency.
    """
    said[SCORE] = 0.0
    if memory.since[slot, end] == 0.0:
        memory.since[slot, end] = place + 1.0  # plus one, so that 0 means never
    since = memory.since[slot, end] - 1.0
    if end == 1 and memory.since[slot, 0] > 0.0:
        since = min(since, memory.since[slot, 0] - 1.0)
    size = max(1.0, math.log2(1.0 + amount / max(math.expm1(memory.amounts[0, 1]), LEAST_AMOUNT)))
    judged = new and place >= FIRST_JUDGED and _has_past(place, since)
    for scale in range(at.N_LENGTHS):
        row = memory.blocks[slot, end, scale]
        block = math.floor(place / LENGTHS[scale])
        if row[at.BLOCK] != block + 1.0:
            if row[at.BLOCK] > 0.0:
                _close_block(memory, row, end, scale, since)
            _shift(row, block)
            if end == 0 and scale == at.N_LENGTHS - 1:
                customs = memory.customs
                if customs[0, 0] != block + 1.0:
                    for column in range(3):
                        customs[1, column] = customs[0, column] if customs[0, 0] == block else 0.0
                    customs[0, 0], customs[0, 1], customs[0, 2] = block + 1.0, 0.0, 0.0
                customs[0, 1] += 1.0
        if paid[0] > 0.0:
            row[at.ALL_PAID] += paid[0]
            row[at.ALL_IN] = _common(row[at.ALL_IN], paid[1])
        if not new:
            continue
        if row[at.NEW] == 0.0:
            row[at.FIRST], row[at.LOW], row[at.HIGH] = second, math.inf, 0.0
        row[at.NEW] += 1.0
        if paid[0] > 0.0:
            row[at.N_PAID] += 1.0
            row[at.NEW_PAID] += paid[0]
            row[at.NEW_IN] = _common(row[at.NEW_IN], paid[1])
            row[at.LOW], row[at.HIGH] = min(row[at.LOW], paid[0]), max(row[at.HIGH], paid[0])
        if end == 0 and scale == at.N_LENGTHS - 1 and row[at.NEW] == FEWEST[0][scale]:
            memory.customs[0, 2] += 1.0
        row[at.SIZE_NEW] += size
        number = row[at.NEW] + row[at.NEW_BEFORE]
        if not judged or number < FEWEST[end][scale]:
            continue
        n_senders, n_many = memory.customs[:, 1].sum(), memory.customs[:, 2].sum()
        if end == 0 and place < LONG and n_many >= max(FEWEST_CUSTOM, CUSTOM * n_senders):
            row[at.STRONGEST] = -1.0
            continue
        score = looked_up(memory.block_tail[end * at.N_LENGTHS + scale], _beyond(row) / TOP) / math.log(10.0)
        row[at.STRONGEST] = max(row[at.STRONGEST], score)
        if score > said[SCORE]:
            earlier = row[at.NEW_BEFORE] > 0.0
            said[SCORE], said[N_NEW], said[AMOUNT] = score, number, row[at.NEW_PAID] + row[at.NEW_PAID_BEFORE]
            said[N_AMOUNTS] = row[at.N_PAID] + row[at.N_PAID_BEFORE]
            said[AMOUNT_IN] = _common(row[at.NEW_IN], row[at.NEW_IN_BEFORE])
            said[BEGAN] = row[at.FIRST_BEFORE] if earlier else row[at.FIRST]
            said[SMALLEST] = min(row[at.LOW], row[at.LOW_BEFORE]) if earlier else row[at.LOW]
            said[LARGEST] = max(row[at.HIGH], row[at.HIGH_BEFORE]) if earlier else row[at.HIGH]
            said[MOST], said[MOST_IN], said[LENGTH] = row[at.MOST_PAID], row[at.MOST_IN], scale
            counts, said[N_LATE] = memory.nodes.counts[slot], memory.late[slot].sum()
            n_events = counts[at.SENT] + counts[at.RECEIVED] + counts[at.SENT_NOW] + counts[at.RECEIVED_NOW]
            said[OTHERS] = n_events - number - said[N_LATE]


@inner
def open_span(memory: Memory) -> None:
    """Let what the blocks so far reached count as known."""
    every = memory.block_seen[: at.CHAINS].sum(axis=0)
    for kind in range(at.CHAINS + 1):
        seen = memory.block_seen[kind]
        known = seen.sum() / ENOUGH
        if kind < at.CHAINS and known < 1.0:
            seen = known * seen + (1.0 - known) * every
        fill_tail(seen, memory.block_tail[kind], True)


@inner
def look_at_chain(
    memory: Memory, source: int, target: int, pair: int, place: float, second: float, amount: float,
    paid: NDArray[np.float64], said: NDArray[np.float64],
) -> None:  # fmt: skip
    """Follow an amount from account to account, and say how unusual it is that the source sent it on."""
    said[SCORE] = 0.0
    if amount <= 0.0:
        return
    size = min(max(int((math.log(amount) - at.LEAST_SIZE) / at.SIZE), 0), at.N_SIZES - 1)
    memory.sizes[size] += 1.0
    if place - memory.met[pair] > KNOWN_DAYS:
        return
    count, oldest, best = 0.0, place + 1.0, -1
    for number in range(at.N_ARRIVALS):
        row = memory.arrivals[source, number]
        if row[at.CAME] > 0.0 and row[at.CAME] >= place + 1.0 - PASSING_DAYS:
            count, oldest = count + 1.0, min(oldest, row[at.CAME])
            ratio = amount / row[at.CAME_AMOUNT]
            fits = LOWEST <= ratio <= HIGHEST and row[at.CAME_FROM] != target
            if fits and (best < 0 or row[at.CAME_DIGITS] > memory.arrivals[source, best, at.CAME_DIGITS]):
                best = number
    digits, links, began = 0.0, 0.0, second
    if best >= 0:
        if count == at.N_ARRIVALS:  # there may have been more
            count *= PASSING_DAYS / max(place + 1.0 - oldest, PASSING_DAYS / 100.0)
        low = (math.log(amount / HIGHEST) - at.LEAST_SIZE) / at.SIZE
        high = (math.log(amount / LOWEST) - at.LEAST_SIZE) / at.SIZE
        fitting = 1.0
        for number in range(at.N_SIZES):
            fitting += memory.sizes[number] * max(0.0, min(high, number + 1.0) - max(low, float(number)))
        link = -math.log10(min(1.0, count * fitting / (memory.sizes.sum() + 1.0)))
        if link >= LEAST_LINK:
            row = memory.arrivals[source, best]
            digits, links, began = row[at.CAME_DIGITS] + link, row[at.CAME_LINKS] + 1.0, row[at.CHAIN_BEGAN]
            rare = looked_up(memory.block_tail[at.CHAINS], digits / TOP_DIGITS) / math.log(10.0)
            if links >= FEWEST_LINKS and place >= FIRST_JUDGED:
                said[SCORE], said[N_LINKS], said[CHAIN_BEGAN] = min(digits - FREE, rare), links, began
                said[RECEIVED], said[RECEIVED_IN] = row[at.CAME_PAID], row[at.CAME_IN]
                longest, said[RECEIVED_AT] = memory.blocks[source, 0, at.N_LENGTHS - 1], row[at.CAME_AT]
                said[MOST_SENT], said[MOST_SENT_IN] = longest[at.MOST_PAID], longest[at.MOST_IN]
    weight = HARDLY / links if said[SCORE] >= UNUSUAL else 1.0  # every link of a chain is an event
    _count(memory.block_seen[at.CHAINS], digits / TOP_DIGITS if links >= FEWEST_LINKS else 0.0, weight)
    place_of_oldest = 0
    for number in range(at.N_ARRIVALS):
        if memory.arrivals[target, number, at.CAME] < memory.arrivals[target, place_of_oldest, at.CAME]:
            place_of_oldest = number
    row = memory.arrivals[target, place_of_oldest]
    row[at.CAME], row[at.CAME_AT], row[at.CAME_AMOUNT], row[at.CAME_FROM] = place + 1.0, second, amount, source
    row[at.CAME_DIGITS], row[at.CAME_LINKS], row[at.CHAIN_BEGAN] = digits, links, began
    row[at.CAME_PAID], row[at.CAME_IN] = paid[0], paid[1]


@inner
def _common(one: float, other: float) -> float:
    """Return the currency of amounts that are in these two."""
    if one == 0.0 or other == 0.0:
        return one + other
    return one if one == other else at.SEVERAL


@inner
def _has_past(place: float, since: float) -> bool:
    return place - since >= SOME_PAST or place >= LONG


@inner
def _close_block(memory: Memory, row: NDArray[np.float64], end: int, scale: int, since: float) -> None:
    """Learn what is usual from a block that is over; of an unusual one only a part, so that it does not hide others."""
    if row[at.STRONGEST] >= 0.0 and _has_past((row[at.BLOCK] - 1.0) * LENGTHS[scale], since):
        weight = HARDLY if row[at.STRONGEST] >= UNUSUAL else 1.0
        _count(memory.block_seen[end * at.N_LENGTHS + scale], _beyond(row) / TOP, weight)


@inner
def _shift(row: NDArray[np.float64], block: int) -> None:
    """Let the present block become the last one; what was the last one counts for what the account did at most."""
    follows = row[at.BLOCK] == block  # it is stored plus one
    row[at.MOST_SIZE] = max(row[at.MOST_SIZE], row[at.SIZE_BEFORE])
    row[at.MOST_PAID] = max(row[at.MOST_PAID], row[at.ALL_PAID_BEFORE])
    row[at.MOST_IN] = _common(row[at.MOST_IN], row[at.ALL_IN_BEFORE])
    if not follows:
        row[at.MOST_SIZE] = max(row[at.MOST_SIZE], row[at.SIZE_NEW])
        row[at.MOST_PAID] = max(row[at.MOST_PAID], row[at.ALL_PAID])
        row[at.MOST_IN] = _common(row[at.MOST_IN], row[at.ALL_IN])
        row[at.STRONGEST] = 0.0
    for now, before in (
        (at.NEW, at.NEW_BEFORE), (at.SIZE_NEW, at.SIZE_BEFORE), (at.FIRST, at.FIRST_BEFORE),
        (at.N_PAID, at.N_PAID_BEFORE), (at.NEW_PAID, at.NEW_PAID_BEFORE), (at.NEW_IN, at.NEW_IN_BEFORE),
        (at.LOW, at.LOW_BEFORE), (at.HIGH, at.HIGH_BEFORE), (at.ALL_PAID, at.ALL_PAID_BEFORE),
        (at.ALL_IN, at.ALL_IN_BEFORE),
    ):  # fmt: skip
        row[before] = row[now] if follows else 0.0
        row[now] = 0.0
    row[at.BLOCK] = block + 1.0


@inner
def _beyond(row: NDArray[np.float64]) -> float:
    """Return x of the module's docstring."""
    return max(0.0, math.sqrt(row[at.SIZE_NEW] + row[at.SIZE_BEFORE]) - math.sqrt(row[at.MOST_SIZE] + 1.0))


@inner
def _count(seen: NDArray[np.float64], share: float, weight: float) -> None:
    seen[min(int(share * seen.size), seen.size - 1)] += weight
