"""How unusual one event is, by kind: −log of the chance that an ordinary event is at least as unusual."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hopsight.streams import memory as at
from hopsight.system.kernels import inner

KINDS = ("hop", "pair", "sender", "receiver", "amount", "hour", "streak")
PAIR, SENDER = 0, 1  # rows of the population's counts; the last is the receiver's

PRIOR = 10.0  # ticks that the population counts for in what is usual for one pair or node
PRIOR_AMOUNT = 3.0
PRIOR_HOURS = 20.0
KEEP = 0.5  # share of a count that is carried over to the next tick
BURST = math.log(4.0)  # a count of more than about 4 times the usual is hardly learned as usual
N_LASTING = 4.0  # ticks in which most of a higher level becomes lasting
LONGEST = 200.0  # ticks after which old ones fade
FREE_BURST = 2.0  # nats: bursts are common by this measure, so that only a strong one counts
MANY = 1e6
OFFS_KEPT = 20_000.0
LEAST_AMOUNTS = 30.0
FORGET = 20_000.0  # events of a histogram, after which old ones fade
FEW = 10.0  # events beyond which a histogram says too little
ENOUGH = 2_000.0  # events from which it can be continued
LARGEST_STREAK = 64.0  # nats, the end of the histogram of streaks
MOST_LEARNED = 2.0  # times what is usual: more is not learned from one span


@inner
def tail_evidence(seen: NDArray[np.float64], tail: NDArray[np.float64], share: float) -> float:
    """Return −log of the share of earlier events that were at least as surprising, and count this one.

    ``share`` is the surprise as a share of the largest that is told apart, ``seen`` their histogram, and ``tail`` that
    logarithm at the edges of its bins as of the start of the tick; between them it is interpolated.
    """
    seen[min(int(min(share, 1.0) * seen.size), seen.size - 1)] += 1.0
    return looked_up(tail, share)


@inner
def looked_up(tail: NDArray[np.float64], share: float) -> float:
    """Return the value of a tail at a share of its length, interpolated between its bins."""
    place = min(share, 1.0) * (tail.size - 1)
    low = min(int(place), tail.size - 2)
    return tail[low] + (place - low) * (tail[low + 1] - tail[low])


@inner
def fill_tail(seen: NDArray[np.float64], tail: NDArray[np.float64], extend: bool) -> None:
    """Set ``tail`` to −log of the share of earlier events beyond each edge of the bins; old events fade.

    With ``extend`` it continues as a straight line where fewer than 10 earlier events tell, at its slope over the last
    100; not before there are 2,000 events: fewer say little of what is rarer than all of them.
    """
    total = min(_faded(seen, FORGET), FORGET)
    beyond = 0.0
    for place in range(seen.size, -1, -1):
        if place < seen.size:
            beyond += seen[place]
        tail[place] = -math.log((beyond + 0.5) / (total + 1.0))
    if not extend or seen.sum() < ENOUGH:
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

    Half of a count is carried over to the next tick, where no more events than usual are no burst. log(1 + count) is
    compared with its mean over the past ticks in which this pair or node was active; the population counts as ten more
    ticks and says how much such counts vary. Of a burst one tick per window is learned, and of that no more than four
    times the usual: it takes several windows to become usual. A tick with A events is looked at A times, so log(A /
    usual count) is subtracted. With ``lasts``, which is for long ticks of a young stream, what the last ticks all
    reached is also usual: who is popular from the start has no burst.
    """
    if counts[at.TICK] != tick + 1:  # stored plus one, so that an empty row belongs to no tick
        if counts[at.TICK] != 0.0:
            _close_tick(counts, population, offs, tick, window)
            counts[at.CARRY] = (counts[at.COUNT] + counts[at.CARRY]) * KEEP ** min(tick + 1 - counts[at.TICK], 60.0)
        counts[at.COUNT] = 0.0
        counts[at.TICK] = tick + 1
    counts[at.COUNT] += 1.0
    seen = counts[at.COUNT] + counts[at.CARRY]
    usual = population[at.ALL_USUAL]
    mean = (counts[at.LOGS] + PRIOR * usual) / (counts[at.TICKS] + PRIOR)
    if lasts:
        mean = max(mean, counts[at.LASTING])
    found = math.log1p(seen)
    excess = (found - mean) / population[at.ALL_SPREAD]
    if excess <= 1.0 or math.log1p(counts[at.COUNT]) <= mean:  # −log of the tail is less than what is free
        return 0.0, seen, mean
    if excess < 20.0:  # −log of the tail of the normal distribution, beyond that by its asymptotic form
        tail = -math.log(0.5 * math.erfc(excess / math.sqrt(2.0)))
    else:
        tail = 0.5 * excess * excess + math.log(excess) + 0.5 * math.log(2.0 * math.pi)
    return max(0.0, tail - max(0.0, found - usual) - FREE_BURST), seen, mean


@inner
def _close_tick(
    counts: NDArray[np.float64], population: NDArray[np.float64], offs: NDArray[np.float64], tick: int, window: int
) -> None:
    """Learn from the last tick with an event.

    Of what the last ticks all reached, the first counts as it is, a lower one at once, a higher one slowly.
    """
    found = math.log1p(counts[at.COUNT] + counts[at.CARRY])
    if counts[at.TICKS] == 0.0 or found < counts[at.LASTING]:
        counts[at.LASTING] = found
    else:
        counts[at.LASTING] += (found - counts[at.LASTING]) / N_LASTING
    if tick + 1 > counts[at.TICK] + 1:  # it was silent since
        counts[at.LASTING] = 0.0
    mean = (counts[at.LOGS] + PRIOR * population[at.ALL_USUAL]) / (counts[at.TICKS] + PRIOR)
    off = found - mean
    learned = mean + off if off <= BURST else mean
    if off <= BURST or counts[at.LEARNED_IN] != window + 1:  # never learned, who is busy for good would never be usual
        counts[at.LOGS] += mean + min(off, BURST)
        counts[at.TICKS] += 1.0
        counts[at.LEARNED_IN] = window + 1 if off > BURST else counts[at.LEARNED_IN]
    if counts[at.TICKS] > LONGEST:
        counts[at.LOGS] *= LONGEST / counts[at.TICKS]
        counts[at.TICKS] = LONGEST
    limit = max(BURST, 3.0 * math.sqrt(population[at.ALL_SQUARES] / population[at.ALL_TICKS]))
    population[at.ALL_LOGS] += learned
    population[at.ALL_TICKS] += 1.0
    population[at.ALL_SQUARES] += min(off * off, limit * limit)
    if population[at.ALL_TICKS] > MANY:
        for part in range(at.ALL_SQUARES + 1):
            population[part] *= 0.5
    population[at.ALL_USUAL] = population[at.ALL_LOGS] / population[at.ALL_TICKS]
    offs[min(max(int(off / at.LARGEST_LOG * offs.size), 0), offs.size - 1)] += 1.0


@inner
def spread_of(population: NDArray[np.float64], offs: NDArray[np.float64]) -> float:
    """Return how much log counts vary: as a normal distribution would that has their variance, or their 99.9% quantile.

    Counts have a heavier tail. The quantile has a limit: many bursts are not learned as usual.
    """
    total = _faded(offs, OFFS_KEPT)
    beyond, place = 1.0, offs.size
    while place > 0 and beyond + offs[place - 1] <= 0.001 * (total + 1.0):
        place -= 1
        beyond += offs[place]
    quantile = place * at.LARGEST_LOG / offs.size / 3.09
    return max(math.sqrt(population[at.ALL_SQUARES] / population[at.ALL_TICKS]), quantile, at.LEAST_SPREAD)


@inner
def usual_amount(node: NDArray[np.float64], pair: NDArray[np.float64], habits: NDArray[np.float64]) -> float:
    """Return what is usual, as a logarithm: the pair's own mean, shrunk toward the sender's, that one toward all."""
    sender = (node[0] * node[1] + PRIOR_AMOUNT * habits[0, 1]) / (node[0] + PRIOR_AMOUNT)
    return (pair[0] * pair[1] + PRIOR_AMOUNT * sender) / (pair[0] + PRIOR_AMOUNT)


@inner
def amount_surprise(
    node: NDArray[np.float64], pair: NDArray[np.float64], habits: NDArray[np.float64], amount: float
) -> float:
    """Learn an amount and return how many standard deviations it is off for this pair and sender.

    Amounts count as sign · log(1 + |amount|).
    How much amounts vary depends on what is known: of a new sender, of a known one with a new partner, or of a pair.
    ``habits`` holds number and mean of all amounts, then for each of these cases number and sum of squared residuals.
    """
    value = math.copysign(math.log1p(abs(amount)), amount)
    mean = usual_amount(node, pair, habits)
    habit = habits[1 if node[0] < PRIOR_AMOUNT else 2 if pair[0] < PRIOR_AMOUNT else 3]
    spread = math.sqrt(max(habit[1] / max(habit[0], 1.0), 1e-12))
    enough = habit[0] >= LEAST_AMOUNTS
    off = (value - mean) / spread
    limited = mean + spread * min(max(off, -4.0), 4.0) if enough else value
    for row in (node, pair):
        row[0] = min(row[0] + 1.0, LONGEST)
        row[1] += (limited - row[1]) / row[0]
    habits[0, 0] = min(habits[0, 0] + 1.0, MANY)
    habits[0, 1] += (limited - habits[0, 1]) / habits[0, 0]
    habit[0] = min(habit[0] + 1.0, MANY)
    habit[1] += (limited - mean) ** 2 - (habit[1] / habit[0] if habit[0] >= MANY else 0.0)
    return abs(off) if enough else 0.0


@inner
def hour_surprise(node: NDArray[np.float32], population: NDArray[np.float64], hour: int) -> float:
    """Learn the hour of an event and return how unusual it is for its sender: −log P(an hour at most as likely).

    This hour counts with the two before and after it, by 3, 2 and 1 in 9, if that is more: an empty one among others is
    chance.
    """
    everyone = population.sum()
    weight = PRIOR_HOURS / everyone
    around = 3.0 * node[hour]
    for step in (1, 2):
        around += (3.0 - step) * (node[hour - step] + node[(hour + step) % at.N_HOURS])
    here = max(node[hour], around / 9.0) + weight * population[hour]
    total, beyond = PRIOR_HOURS, 0.0
    for other in range(at.N_HOURS):
        share = here if other == hour else node[other] + weight * population[other]
        total += node[other]
        beyond += share if share <= here else 0.0
    node[hour] += np.float32(1.0)
    population[hour] += 1.0
    return -math.log(beyond / total) if everyone > 100.0 else 0.0


@inner
def _faded(seen: NDArray[np.float64], kept: float) -> float:
    """Let the oldest of more than ``kept`` events fade from a histogram, and return how many there were."""
    total = seen.sum()
    if total > kept:
        seen *= kept / total
    return total


@inner
def streak_evidence(
    row: NDArray[np.float64], seen: NDArray[np.float64], span: int, evidence: float
) -> tuple[float, float]:
    """Add the evidence of an event by one kind; return its part in a streak, and how unusual the streak is so far.

    A streak are events of one node in a short time that are unusual together, though none of them may be alone. The
    evidence of an ordinary event is −log of a share, which has an exponential distribution with a mean of 1. So the
    chance of a total of T for n events with a mean of m is at most exp(−n (x − 1 − log x)) with x = T / (n m)
    (Chernoff's bound). m is 1, or the node's own mean if it is larger; ten ordinary events count to it. Half of the
    total is carried over to the next span. An event that does not make the streak more unusual has no part in it.
    """
    if row[at.STREAK_SPAN] != span + 1:  # stored plus one, so that an empty row belongs to no span
        if row[at.STREAK_SPAN] != 0.0:
            # Learn what is usual; of a streak only a part, so that it does not hide itself.
            mean = _usual(row)
            place = streak_level(row) / LARGEST_STREAK * seen.size
            seen[min(int(place), seen.size - 1)] += 1.0
            learned = min(row[at.TOTAL], MOST_LEARNED * mean * row[at.NUMBER])
            row[at.LEARNED] += (1.0 - KEEP) * learned  # over time, what is carried over would count twice
            row[at.OF] += (1.0 - KEEP) * row[at.NUMBER]
            if row[at.OF] > LONGEST:
                row[at.LEARNED] *= LONGEST / row[at.OF]
                row[at.OF] = LONGEST
            kept = KEEP ** min(span + 1 - row[at.STREAK_SPAN], 60.0)
            row[at.TOTAL] *= kept
            row[at.NUMBER] *= kept
        row[at.STREAK_SPAN] = span + 1
    before = streak_level(row)
    row[at.TOTAL] += evidence
    row[at.NUMBER] += 1.0
    after = streak_level(row)
    return after if after > before else 0.0, after


@inner
def streak_level(row: NDArray[np.float64]) -> float:
    """Return how unusual the recent events of a node are together, the last one included."""
    expected = row[at.NUMBER] * _usual(row)
    if row[at.TOTAL] <= expected or row[at.NUMBER] == 0.0:
        return 0.0
    ratio = row[at.TOTAL] / expected
    return row[at.NUMBER] * (ratio - 1.0 - math.log(ratio))


@inner
def _usual(row: NDArray[np.float64]) -> float:
    return max(1.0, (row[at.LEARNED] + PRIOR) / (row[at.OF] + PRIOR))


@inner
def dispersion_of(tail: NDArray[np.float64]) -> float:
    """Return how many times as strong as chance alone would have it the strongest hundredth of streaks is.

    Events of one node are not independent. ``tail`` is −log of the share of streaks beyond the edges of the bins.
    """
    place = 0
    while place < tail.size - 1 and tail[place] < math.log(100.0):
        place += 1
    return max(1.0, place * LARGEST_STREAK / (tail.size - 1) / math.log(100.0))
