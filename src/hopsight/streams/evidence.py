"""How unusual one event is, by kind: −log of the chance that an ordinary event is at least as unusual."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hopsight.streams import memory as at
from hopsight.system.compiled import inner

KINDS = ("hop", "pair", "sender", "receiver", "amount", "hour", "streak")
PAIR, SENDER = 0, 1  # rows of the population's counts; the last is the receiver's

PRIOR = 10.0  # ticks that the population counts for in what is usual for one pair or node
PRIOR_AMOUNT = 3.0
PRIOR_HOURS = 20.0
KEEP = 0.5  # share of a count that is carried over to the next tick
BURST = math.log(4.0)  # a count of more than about 4 times the usual is hardly learned as usual
N_LASTING = 4.0  # ticks in which most of a higher level becomes lasting
LONGEST = 200.0  # ticks after which old ones fade
FREE_BURST = 2.0  # nats: bursts are common by this law, so that only a strong one counts
MANY = 1e6
OFFS_KEPT = 20_000.0
LEAST_AMOUNTS = 30.0
FORGET = 20_000.0  # events of a histogram, after which old ones fade
FEW = 10.0  # events beyond which a histogram says too little
ENOUGH = 2_000.0  # events from which it can be continued


@inner
def tail_evidence(seen: NDArray[np.float64], tail: NDArray[np.float64], share: float) -> float:
    """Return −log of the share of earlier events that were at least as surprising, and count this one.

    ``share`` is the surprise as a share of the largest that is told apart, ``seen`` their histogram, and ``tail`` that
    logarithm at the edges of its bins as of the start of the tick; between them it is interpolated.
    """
    place = min(share, 1.0) * seen.size
    low = min(int(place), seen.size - 1)
    seen[low] += 1.0
    return tail[low] + (place - low) * (tail[low + 1] - tail[low])


@inner
def fill_tail(seen: NDArray[np.float64], tail: NDArray[np.float64]) -> None:
    """Set ``tail`` to −log of the share of earlier events beyond each edge of the bins; old events fade."""
    total = min(_faded(seen, FORGET), FORGET)
    beyond = 0.0
    for place in range(seen.size, -1, -1):
        if place < seen.size:
            beyond += seen[place]
        tail[place] = -math.log((beyond + 0.5) / (total + 1.0))


@inner
def extend_tail(seen: NDArray[np.float64], tail: NDArray[np.float64]) -> None:
    """Continue ``tail`` as a straight line where fewer than 10 earlier events tell, at its slope over the last 100.

    Not before there are 2,000 events: fewer say little of what is rarer than all of them.
    """
    if _total(seen) < ENOUGH:
        return
    beyond, end = 0.0, -1
    for place in range(seen.size - 1, -1, -1):
        beyond += seen[place]
        if end < 0 and beyond >= FEW:
            end = place
        if beyond >= 10.0 * FEW:
            for other in range(end + 1, tail.size) if end > place else range(0):
                tail[other] = tail[end] + (other - end) * (tail[end] - tail[place]) / (end - place)
            return


@inner
def burst_evidence(
    counts: NDArray[np.float64], population: NDArray[np.float64], offs: NDArray[np.float64], tick: int, window: int,
    lasts: bool = False,
) -> tuple[float, float, float]:  # fmt: skip
    """Count an event and return how unusual the count is, the count, and the logarithm of 1 + what is usual.

    log(1 + count) is compared with its mean over the past ticks in which this pair or node was active; the population
    counts as ten more ticks and says how much such counts vary. Of a burst one tick per
    window is learned, and of that no more than four times the usual: it takes several windows to become usual. A tick
    with A events is looked at A times, so log(A / usual count) is subtracted. With ``lasts``, which is for long
    ticks of a young stream, what the last ticks all reached is usual, too: who is popular from the start has no burst.
    """
    if counts[at.TICK] != tick + 1:  # stored plus one, so that an empty row belongs to no tick
        if counts[at.TICK] != 0.0:
            _close_lasting(counts, tick)
            _close_tick(counts, population, offs, window)
            counts[at.CARRY] = (counts[at.COUNT] + counts[at.CARRY]) * KEEP ** min(tick + 1 - counts[at.TICK], 60.0)
        counts[at.COUNT] = 0.0
        counts[at.TICK] = tick + 1
    counts[at.COUNT] += 1.0
    seen = counts[at.COUNT] + counts[at.CARRY]
    usual = population[at.LAW_USUAL]
    mean = (counts[at.LOGS] + PRIOR * usual) / (counts[at.TICKS] + PRIOR)
    if lasts:
        mean = max(mean, counts[at.LASTING])
    found = math.log1p(seen)
    excess = (found - mean) / population[at.LAW_SPREAD]
    if excess <= 1.0:  # −log of the tail is less than what is free
        return 0.0, seen, mean
    return max(0.0, normal_tail(excess) - max(0.0, found - usual) - FREE_BURST), seen, mean


@inner
def _close_lasting(counts: NDArray[np.float64], tick: int) -> None:
    """Update what the last ticks all reached: the first as it is, a lower one at once, a higher one slowly."""
    found = math.log1p(counts[at.COUNT] + counts[at.CARRY])
    if counts[at.TICKS] == 0.0 or found < counts[at.LASTING]:
        counts[at.LASTING] = found
    else:
        counts[at.LASTING] += (found - counts[at.LASTING]) / N_LASTING
    if tick + 1 > counts[at.TICK] + 1:  # it was silent since
        counts[at.LASTING] = 0.0


@inner
def _close_tick(
    counts: NDArray[np.float64], population: NDArray[np.float64], offs: NDArray[np.float64], window: int
) -> None:
    mean = (counts[at.LOGS] + PRIOR * population[at.LAW_USUAL]) / (counts[at.TICKS] + PRIOR)
    off = math.log1p(counts[at.COUNT] + counts[at.CARRY]) - mean
    learned = mean + off if off <= BURST else mean
    if off <= BURST or counts[at.LEARNED_IN] != window + 1:  # never learned, who is busy for good would never be usual
        counts[at.LOGS] += mean + min(off, BURST)
        counts[at.TICKS] += 1.0
        counts[at.LEARNED_IN] = window + 1 if off > BURST else counts[at.LEARNED_IN]
    if counts[at.TICKS] > LONGEST:
        counts[at.LOGS] *= LONGEST / counts[at.TICKS]
        counts[at.TICKS] = LONGEST
    limit = max(BURST, 3.0 * math.sqrt(population[at.LAW_SQUARES] / population[at.LAW_TICKS]))
    population[at.LAW_LOGS] += learned
    population[at.LAW_TICKS] += 1.0
    population[at.LAW_SQUARES] += min(off * off, limit * limit)
    if population[at.LAW_TICKS] > MANY:
        for part in range(at.LAW_SQUARES + 1):
            population[part] *= 0.5
    population[at.LAW_USUAL] = population[at.LAW_LOGS] / population[at.LAW_TICKS]
    offs[min(max(int(off / at.LARGEST_LOG * offs.size), 0), offs.size - 1)] += 1.0


@inner
def spread_of(population: NDArray[np.float64], offs: NDArray[np.float64]) -> float:
    """Return how much log counts vary: as a normal law would that has their variance, or their 99.9% quantile.

    Counts have a heavier tail than a normal law. The quantile has a limit: many bursts are not learned as usual.
    """
    total = _faded(offs, OFFS_KEPT)
    beyond, place = 1.0, offs.size
    while place > 0 and beyond + offs[place - 1] <= 0.001 * (total + 1.0):
        place -= 1
        beyond += offs[place]
    quantile = place * at.LARGEST_LOG / offs.size / 3.09
    return max(math.sqrt(population[at.LAW_SQUARES] / population[at.LAW_TICKS]), quantile, at.LEAST_SPREAD)


@inner
def amount_surprise(
    node: NDArray[np.float64], pair: NDArray[np.float64], laws: NDArray[np.float64], amount: float
) -> float:
    """Learn an amount and return how many standard deviations it is off for this pair and sender.

    Amounts count as sign · log(1 + |amount|). The pair's own mean is shrunk toward the sender's, that one toward all.
    How much amounts vary depends on what is known: of a new sender, of a known one with a new partner, or of a pair.
    ``laws`` holds number and mean of all amounts, then for each of these cases number and sum of squared residuals.
    """
    value = math.copysign(math.log1p(abs(amount)), amount)
    sender = (node[0] * node[1] + PRIOR_AMOUNT * laws[0, 1]) / (node[0] + PRIOR_AMOUNT)
    mean = (pair[0] * pair[1] + PRIOR_AMOUNT * sender) / (pair[0] + PRIOR_AMOUNT)
    law = laws[1 if node[0] < PRIOR_AMOUNT else 2 if pair[0] < PRIOR_AMOUNT else 3]
    spread = math.sqrt(max(law[1] / max(law[0], 1.0), 1e-12))
    enough = law[0] >= LEAST_AMOUNTS
    off = (value - mean) / spread
    limited = mean + spread * min(max(off, -4.0), 4.0) if enough else value
    for row in (node, pair):
        row[0] = min(row[0] + 1.0, LONGEST)
        row[1] += (limited - row[1]) / row[0]
    laws[0, 0] = min(laws[0, 0] + 1.0, MANY)
    laws[0, 1] += (limited - laws[0, 1]) / laws[0, 0]
    law[0] = min(law[0] + 1.0, MANY)
    law[1] += (limited - mean) ** 2 - (law[1] / law[0] if law[0] >= MANY else 0.0)
    return abs(off) if enough else 0.0


@inner
def hour_surprise(node: NDArray[np.float32], population: NDArray[np.float64], hour: int) -> float:
    """Learn the hour of an event and return how unusual it is for its sender: −log P(an hour at most as likely)."""
    total = _total(node) + PRIOR_HOURS
    everyone = _total(population)
    weight = PRIOR_HOURS / everyone
    here = node[hour] + weight * population[hour]
    beyond = 0.0
    for other in range(at.N_HOURS):
        share = node[other] + weight * population[other]
        beyond += share if share <= here else 0.0
    node[hour] += np.float32(1.0)
    population[hour] += 1.0
    return -math.log(beyond / total) if everyone > 100.0 else 0.0


@inner
def normal_tail(value: float) -> float:
    """Return −log of the chance that a standard normal number is at least ``value``, for ``value`` of 0 or more."""
    if value < 20.0:
        return -math.log(0.5 * math.erfc(value / math.sqrt(2.0)))
    return 0.5 * value * value + math.log(value) + 0.9189385332046727


@inner
def _faded(seen: NDArray[np.float64], kept: float) -> float:
    """Let the oldest of more than ``kept`` events fade from a histogram, and return how many there were."""
    total = _total(seen)
    if total > kept:
        for place in range(seen.size):
            seen[place] *= kept / total
    return total


@inner
def _total(values: NDArray[np.float64]) -> float:
    total = 0.0
    for place in range(values.size):
        total += values[place]
    return total
