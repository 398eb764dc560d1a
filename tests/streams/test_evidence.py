"""Kinds of evidence, against values worked out by hand or by SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from hopsight.streams.evidence import amount_surprise, burst_evidence, hour_surprise, normal_tail, tail_evidence


@pytest.mark.parametrize("value", [0.0, 1.0, 5.0, 19.9, 20.1, 30.0])
def test_the_normal_tail_is_that_of_scipy(value: float) -> None:
    assert normal_tail(value) == pytest.approx(-norm.logsf(value), rel=2e-3)


def test_tail_evidence_is_interpolated_between_bins_and_counts() -> None:
    seen, tail = np.zeros(2), np.array([0.0, 1.0, 3.0])
    assert [tail_evidence(seen, tail, share) for share in (0.25, 0.75, 9.0)] == [0.5, 2.0, 3.0]
    assert seen.tolist() == [1.0, 2.0]


LAW = np.array([np.log(2.0), 1.0, 0.5, np.log(2.0), np.sqrt(0.5)])  # of the population, before anything is known


def counted(ticks: list[int], population: np.ndarray | None = None) -> list[float]:
    row = np.zeros(5)
    law = LAW.copy() if population is None else population
    return [burst_evidence(row, law, np.zeros(32), tick)[0] for tick in ticks]


def test_one_event_per_tick_is_no_burst_and_a_thousand_are() -> None:
    assert max(counted(list(range(100)))) == 0.0
    found = counted([*range(100), *[100] * 1000])
    assert found[-1] > np.log(1000.0)
    assert (np.diff(found[100:]) >= -1e-9).all()  # it only grows while the burst goes on


def test_half_of_a_count_is_carried_over_to_the_next_tick() -> None:
    row, law = np.zeros(5), LAW.copy()
    for _ in range(8):
        burst_evidence(row, law, np.zeros(32), 0)
    assert burst_evidence(row, law, np.zeros(32), 1)[1] == 5.0  # 8 / 2 and this one
    assert burst_evidence(row, law, np.zeros(32), 3)[1] == 5.0 / 4.0 + 1.0


def test_a_burst_is_not_learned_as_usual() -> None:
    row, law = np.zeros(5), LAW.copy()
    before = [burst_evidence(row, law, np.zeros(32), tick)[2] for tick in range(50)][-1]
    for tick in range(50, 60):
        for _ in range(500):
            last = burst_evidence(row, law, np.zeros(32), tick)
    assert last[2] < 2.0 * before
    assert last[0] > 0.0


def test_an_unusual_amount() -> None:
    rng = np.random.default_rng(0)
    node, pair, law = np.zeros(2), np.zeros(2), np.array([0.0, 0.0, 1.0])
    usual = [amount_surprise(node, pair, law, value) for value in np.exp(rng.normal(3.0, 0.3, 3000))]
    assert np.quantile(usual[1000:], 0.95) == pytest.approx(1.96, abs=0.2)  # as of a normal distribution
    assert amount_surprise(node, pair, law, np.exp(3.0 + 20 * 0.3)) == pytest.approx(20.0, rel=0.1)


def test_an_unusual_hour() -> None:
    node, everyone = np.zeros(24, np.float32), np.full(24, 1.0 / 24)
    for _ in range(300):
        assert hour_surprise(node, everyone, 10) == pytest.approx(0.0, abs=1e-9)
    assert hour_surprise(node, everyone, 3) > 5.0
