"""One pass over events: stops where a fit is due, and the strongest evidence decides."""

from __future__ import annotations

import numpy as np
import pytest

from hopsight.streams.kernel import (
    EV_AMOUNT,
    EV_HOP,
    EV_PAIR,
    EV_RECEIVER,
    EV_STREAK,
    EV_TOGETHER,
    FIRST_FIT,
    KIND,
    N_READINGS,
    NEW_PAIR,
    SCORE,
    SURPRISE,
    process,
)
from hopsight.streams.memory import EVENTS, N_TRAINED, SINCE_FIT, new_memory
from hopsight.streams.network import new_network


def test_what_is_a_little_unusual_three_times_is_more_so_together() -> None:
    """Of 20,000 ordinary events, with hours and amounts, an event with a rare pair, hour and amount stands out."""
    rng = np.random.default_rng(0)
    n_events = 6000
    ends = rng.integers(0, 20, (n_events, 2)).astype(np.uint64)
    ends[:, 1] = 1 + 20 * (ends[:, 0] // 5) + (ends[:, 0] + ends[:, 1] % 3) % 5
    hours, amounts = 8 + rng.integers(0, 10, n_events), np.exp(rng.normal(3.0, 0.3, n_events))
    tested = {"ordinary": n_events - 40, "amount": n_events - 30, "all": n_events - 20}
    amounts[[tested["amount"], tested["all"]]] = np.exp(3.9)
    hours[tested["all"]], ends[tested["all"], 1] = 7, 61
    hours[::150] = 7
    memory, readings = new_memory(256, 4096), np.zeros((n_events, N_READINGS), np.float32)
    place = 0
    while place < n_events:
        place = process(
            memory, new_network(0), ends[:, 0] + np.uint64(1), ends[:, 1], np.arange(n_events) // 10,
            np.arange(n_events) // 100, hours, amounts, place, 0, readings,
        )  # fmt: skip
        memory.clock[SINCE_FIT] = 0
    found = {name: readings[row, EV_TOGETHER] for name, row in tested.items()}
    assert found["ordinary"] < found["amount"] < found["all"]
    assert readings[tested["amount"], EV_AMOUNT] == pytest.approx(readings[tested["all"], EV_AMOUNT], abs=1.0)


def run(n_events: int) -> tuple[int, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    ends = rng.integers(1, 40, (n_events, 2)).astype(np.uint64)
    ends[200:260, 0], ends[300:360, 1] = 7, 5  # one sends to many, and many send to one
    memory, readings = new_memory(256, 4096), np.zeros((n_events, N_READINGS), np.float32)
    stopped = process(
        memory, new_network(0), ends[:, 0].copy(), ends[:, 1].copy(), np.arange(n_events) // 10,
        np.arange(n_events) // 30, np.full(n_events, -1), np.full(n_events, np.nan), 0, 0, readings,
    )  # fmt: skip
    return stopped, readings, memory.clock


def test_it_stops_at_the_first_tick_after_enough_examples() -> None:
    stopped, readings, clock = run(2000)
    assert FIRST_FIT < stopped < 2000
    assert stopped % 10 == 0
    assert clock[EVENTS] == stopped
    assert clock[SINCE_FIT] == clock[N_TRAINED] >= FIRST_FIT
    assert not readings[stopped:].any()


def test_before_the_first_fit_no_pair_is_surprising() -> None:
    stopped, readings, _ = run(300)
    assert stopped == 300
    np.testing.assert_allclose(readings[:, SURPRISE], np.log(2.0), rtol=1e-6)
    assert not readings[:, EV_HOP].any()


def test_the_strongest_evidence_is_the_score() -> None:
    _, readings, _ = run(2000)
    evidence = readings[:, [EV_TOGETHER, *range(EV_PAIR, EV_RECEIVER + 1), EV_STREAK]]
    np.testing.assert_allclose(readings[:, SCORE], evidence.max(axis=1) / np.log(10.0), rtol=1e-5)
    kinds = np.array([0, 1, 2, 3, 6])[evidence.argmax(axis=1)]  # without amounts and hours only the pair is together
    np.testing.assert_array_equal(readings[:, KIND], kinds)
    assert len(set(kinds)) > 2
    assert set(np.unique(readings[:, NEW_PAIR])) == {0.0, 1.0}
