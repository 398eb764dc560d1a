"""How unusual one event is, by kind: −log of the chance that an ordinary event is at least as unusual."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hopsight.streams.memory import (
    CARRY,
    COUNT,
    LAW_LOGS,
    LAW_SPREAD,
    LAW_SQUARES,
    LAW_TICKS,
    LAW_USUAL,
    LEAST_SPREAD,
    LOGS,
    N_HOURS,
    TICK,
    TICKS,
)
from hopsight.system.compiled import compiled

KINDS = ("hop", "pair", "sender", "receiver", "amount", "hour")
PAIR, SENDER, RECEIVER = 0, 1, 2  # rows of the population's counts

PRIOR = 10.0  # ticks that the population counts for in what is usual for one pair or node
PRIOR_AMOUNT = 3.0
PRIOR_HOURS = 20.0
KEEP = 0.5  # share of a count that is carried over to the next tick
BURST = math.log(4.0)  # a count of more than about 4 times the usual is not learned as usual
LONGEST = 200.0  # ticks after which old ones fade
FREE_BURST = 2.0  # nats: bursts are common by this law, so that only a strong one counts
FREE = math.log(50.0)  # the same for amounts and hours, so that they do not drown the other kinds
MANY = 1e6
LEAST_AMOUNTS = 30.0


@compiled()
def hop_evidence(tail: NDArray[np.float64], place: float) -> float:
    """Return −log of the share of earlier events that were at least as surprising, interpolated between bins."""
    low = min(int(place), tail.size - 2)
    part = min(place - low, 1.0)
    return tail[low] + part * (tail[low + 1] - tail[low])


@compiled()
def burst_evidence(
    counts: NDArray[np.float64], population: NDArray[np.float64], tick: int
) -> tuple[float, float, float]:
    """Count an event and return how unusual the count is, the count, and the logarithm of 1 + what is usual.

    log(1 + count) is compared with its mean over the past ticks in which this pair or node was active; the population
    counts as ten more ticks and says how much such counts vary. A burst is not learned as usual. A tick with A events
    is looked at A times, so log(A / usual count) is subtracted.
    """
    if counts[TICK] != tick + 1:  # stored plus one, so that an empty row belongs to no tick
        if counts[TICK] != 0.0:
            _close_tick(counts, population)
            counts[CARRY] = (counts[COUNT] + counts[CARRY]) * KEEP ** min(tick + 1 - counts[TICK], 60.0)
        counts[COUNT] = 0.0
        counts[TICK] = tick + 1
    counts[COUNT] += 1.0
    seen = counts[COUNT] + counts[CARRY]
    usual = population[LAW_USUAL]
    mean = (counts[LOGS] + PRIOR * usual) / (counts[TICKS] + PRIOR)
    found = math.log1p(seen)
    excess = (found - mean) / population[LAW_SPREAD]
    if excess <= 1.0:  # −log of the tail is less than what is free
        return 0.0, seen, mean
    return max(0.0, normal_tail(excess) - max(0.0, found - usual) - FREE_BURST), seen, mean


@compiled()
def _close_tick(counts: NDArray[np.float64], population: NDArray[np.float64]) -> None:
    mean = (counts[LOGS] + PRIOR * population[LAW_USUAL]) / (counts[TICKS] + PRIOR)
    off = math.log1p(counts[COUNT] + counts[CARRY]) - mean
    learned = mean + off if off <= BURST else mean
    counts[LOGS] += learned
    counts[TICKS] += 1.0
    if counts[TICKS] > LONGEST:
        counts[LOGS] *= LONGEST / counts[TICKS]
        counts[TICKS] = LONGEST
    limit = max(BURST, 3.0 * math.sqrt(population[LAW_SQUARES] / population[LAW_TICKS]))
    population[LAW_LOGS] += learned
    population[LAW_TICKS] += 1.0
    population[LAW_SQUARES] += min(off * off, limit * limit)
    if population[LAW_TICKS] > MANY:
        population[: LAW_SQUARES + 1] *= 0.5
    population[LAW_USUAL] = population[LAW_LOGS] / population[LAW_TICKS]
    population[LAW_SPREAD] = max(math.sqrt(population[LAW_SQUARES] / population[LAW_TICKS]), LEAST_SPREAD)


@compiled()
def amount_evidence(
    node: NDArray[np.float64], pair: NDArray[np.float64], population: NDArray[np.float64], amount: float
) -> float:
    """Learn an amount and return how unusual it is for this pair and sender, by a heavy tail (Student's t, 4 degrees).

    Amounts count as sign · log(1 + |amount|). The pair's own mean is shrunk toward the sender's, that one toward all.
    """
    if math.isnan(amount):
        return 0.0
    value = math.copysign(math.log1p(abs(amount)), amount)
    sender = (node[0] * node[1] + PRIOR_AMOUNT * population[1]) / (node[0] + PRIOR_AMOUNT)
    mean = (pair[0] * pair[1] + PRIOR_AMOUNT * sender) / (pair[0] + PRIOR_AMOUNT)
    spread = math.sqrt(max(population[2] / max(population[0], 1.0), 1e-12))
    off = (value - mean) / spread
    found = max(0.0, 2.0 * math.log1p(0.25 * off * off) - FREE) if population[0] >= LEAST_AMOUNTS else 0.0
    limited = mean + spread * min(max(off, -4.0), 4.0) if population[0] >= LEAST_AMOUNTS else value
    for row in (node, pair):
        row[0] = min(row[0] + 1.0, LONGEST)
        row[1] += (limited - row[1]) / row[0]
    population[0] = min(population[0] + 1.0, MANY)
    population[1] += (limited - population[1]) / population[0]
    population[2] += (limited - mean) ** 2 - (population[2] / population[0] if population[0] >= MANY else 0.0)
    return found


@compiled()
def hour_evidence(node: NDArray[np.float32], population: NDArray[np.float64], hour: int) -> float:
    """Learn the hour of an event and return how unusual it is for its sender: −log P(an hour at most as likely)."""
    if hour < 0:
        return 0.0
    total = node.sum() + PRIOR_HOURS
    everyone = population.sum()
    weight = PRIOR_HOURS / everyone
    here = node[hour] + weight * population[hour]
    beyond = 0.0
    if everyone > 100.0 and -math.log(here / total) > FREE:
        for other in range(N_HOURS):
            share = node[other] + weight * population[other]
            beyond += share if share <= here else 0.0
    node[hour] += np.float32(1.0)
    population[hour] += 1.0
    return max(0.0, -math.log(beyond / total) - FREE) if beyond > 0.0 else 0.0


@compiled()
def normal_tail(value: float) -> float:
    """Return −log of the chance that a standard normal number is at least ``value``, for ``value`` of 0 or more."""
    if value < 20.0:
        return -math.log(0.5 * math.erfc(value / math.sqrt(2.0)))
    return 0.5 * value * value + math.log(value) + 0.9189385332046727
