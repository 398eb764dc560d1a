"""One pass over events: stops where a fit is due, and the strongest evidence decides."""

from __future__ import annotations

import numpy as np

from hopsight.streams.kernel import EV_HOP, EV_HOUR, FIRST_FIT, KIND, N_READINGS, NEW_PAIR, SCORE, SURPRISE, process
from hopsight.streams.memory import EVENTS, N_TRAINED, SINCE_FIT, new_memory
from hopsight.streams.network import new_network


def run(n_events: int) -> tuple[int, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    ends = rng.integers(1, 40, (n_events, 2)).astype(np.uint64)
    memory, readings = new_memory(256, 4096), np.zeros((n_events, N_READINGS), np.float32)
    stopped = process(
        memory, new_network(0), ends[:, 0].copy(), ends[:, 1].copy(), np.arange(n_events) // 10,
        np.zeros(n_events, np.int64),
        np.full(n_events, -1), np.full(n_events, np.nan), 0, 0, readings,
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
    evidence = readings[:, EV_HOP : EV_HOUR + 1]
    np.testing.assert_allclose(readings[:, SCORE], evidence.max(axis=1) / np.log(10.0), rtol=1e-5)
    np.testing.assert_array_equal(readings[:, KIND], evidence.argmax(axis=1))
    assert set(np.unique(readings[:, NEW_PAIR])) == {0.0, 1.0}
