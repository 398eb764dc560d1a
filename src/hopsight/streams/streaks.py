"""Streaks: events of one node in a short time that are unusual together, though none of them may be alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hopsight.streams.evidence import KEEP, LONGEST, PRIOR
from hopsight.streams.memory import LEARNED, NUMBER, OF, STREAK_SPAN, TOTAL
from hopsight.system.compiled import inner

LARGEST = 64.0  # nats, the end of the histogram of streaks
MOST_LEARNED = 2.0  # times what is usual: more is not learned from one span


@inner
def streak_evidence(row: NDArray[np.float64], seen: NDArray[np.float64], span: int, evidence: float) -> float:
    """Add the evidence of an event by one kind, and return how unusual the events of this node are together.

    The evidence of an ordinary event is −log of a share, which has an exponential distribution with a mean of 1. So the
    chance of a total of T for n events with a mean of m is at most exp(−n (x − 1 − log x)) with x = T / (n m)
    (Chernoff's bound). m is 1, or the node's own mean if it is larger; ten ordinary events count to it. Half of the
    total is carried over to the next span. An event that does not make the streak more unusual has no part in it.
    """
    if row[STREAK_SPAN] != span + 1:  # stored plus one, so that an empty row belongs to no span
        if row[STREAK_SPAN] != 0.0:
            _close_span(row, seen)
            kept = KEEP ** min(span + 1 - row[STREAK_SPAN], 60.0)
            row[TOTAL] *= kept
            row[NUMBER] *= kept
        row[STREAK_SPAN] = span + 1
    mean = _usual(row)
    before = _excess(row[TOTAL], row[NUMBER], mean)
    row[TOTAL] += evidence
    row[NUMBER] += 1.0
    after = _excess(row[TOTAL], row[NUMBER], mean)
    return after if after > before else 0.0


@inner
def streak_level(row: NDArray[np.float64]) -> float:
    """Return how unusual the recent events of this node are together, the last one included."""
    return _excess(row[TOTAL], row[NUMBER], _usual(row))


@inner
def _close_span(row: NDArray[np.float64], seen: NDArray[np.float64]) -> None:
    """Learn what is usual; of a streak only a part, so that it does not hide itself."""
    mean = _usual(row)
    place = _excess(row[TOTAL], row[NUMBER], mean) / LARGEST * seen.size
    seen[min(int(place), seen.size - 1)] += 1.0
    learned = min(row[TOTAL], MOST_LEARNED * mean * row[NUMBER])
    row[LEARNED] += (1.0 - KEEP) * learned  # over time, what is carried over would count twice
    row[OF] += (1.0 - KEEP) * row[NUMBER]
    if row[OF] > LONGEST:
        row[LEARNED] *= LONGEST / row[OF]
        row[OF] = LONGEST


@inner
def _usual(row: NDArray[np.float64]) -> float:
    return max(1.0, (row[LEARNED] + PRIOR) / (row[OF] + PRIOR))


@inner
def _excess(total: float, number: float, mean: float) -> float:
    if total <= number * mean or number == 0.0:
        return 0.0
    ratio = total / (number * mean)
    return number * (ratio - 1.0 - math.log(ratio))


@inner
def dispersion_of(tail: NDArray[np.float64]) -> float:
    """Return how many times as strong as chance alone would have it the strongest hundredth of streaks is.

    Events of one node are not independent. ``tail`` is −log of the share of streaks beyond the edges of the bins.
    """
    place = 0
    while place < tail.size - 1 and tail[place] < math.log(100.0):
        place += 1
    return max(1.0, place * LARGEST / (tail.size - 1) / math.log(100.0))
