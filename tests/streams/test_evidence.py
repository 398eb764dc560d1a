"""Kinds of evidence, against values worked out by hand or by SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from hopsight.streams import evidence
from hopsight.streams.memory import ALL_SPREAD, COUNT, NUMBER, TICK, TOTAL
from toys import called

amount_surprise = called(evidence.amount_surprise)
burst_evidence = called(evidence.burst_evidence)
dispersion_of = called(evidence.dispersion_of)
fill_tail = called(evidence.fill_tail)
hour_surprise = called(evidence.hour_surprise)
streak_evidence = called(evidence.streak_evidence)
tail_evidence = called(evidence.tail_evidence)


@pytest.mark.parametrize("count", [3, 6, 9, 20])
def test_a_burst_is_as_unusual_as_the_tail_of_the_normal_distribution(count: int) -> None:
    counts, population, offs = np.zeros(7), np.zeros(5), np.zeros(32)
    counts[[COUNT, TICK]], population[ALL_SPREAD] = (count - 1, 1), 0.1  # nothing is usual, ± a tenth
    found, seen, usual = burst_evidence(counts, population, offs, 0, 0)
    off = np.log1p(count)
    assert (seen, usual) == (count, 0.0)
    assert found == pytest.approx(-norm.logsf(off / 0.1) - off - evidence.FREE_BURST, rel=2e-3)


def test_tail_evidence_is_interpolated_between_bins_and_counts() -> None:
    seen, tail = np.zeros(2), np.array([0.0, 1.0, 3.0])
    assert [tail_evidence(seen, tail, share) for share in (0.25, 0.75, 9.0)] == [0.5, 2.0, 3.0]
    assert seen.tolist() == [1.0, 2.0]


def test_tails_are_shares_of_earlier_events_and_a_straight_line_beyond_the_last_few() -> None:
    edges = np.arange(65) / 2.0
    seen = 3000.0 * -np.diff(np.exp(-edges))  # an exponential distribution: −log of the tail is the edge itself
    tail = np.zeros(65)
    fill_tail(seen, tail, False)
    np.testing.assert_allclose(tail[:6], edges[:6], atol=0.02)
    assert tail[64] == pytest.approx(np.log(2.0 * 3001.0))  # a histogram knows no rarer events
    few = tail.copy()
    fill_tail(seen / 2.0, few, True)
    assert few[64] == pytest.approx(np.log(2.0 * 1501.0))  # 1,500 events are too few to tell
    fill_tail(seen, tail, True)
    np.testing.assert_allclose(tail, edges, rtol=0.05, atol=0.05)


LAW = np.array([np.log(2.0), 1.0, 0.5, np.log(2.0), np.sqrt(0.5)])  # of the population, before anything is known


def counted(ticks: list[int], population: np.ndarray | None = None) -> list[float]:
    row = np.zeros(7)
    law = LAW.copy() if population is None else population
    return [burst_evidence(row, law, np.zeros(32), tick, 0)[0] for tick in ticks]


def test_one_event_per_tick_is_no_burst_and_a_thousand_are() -> None:
    assert max(counted(list(range(100)))) == 0.0
    found = counted([*range(100), *[100] * 1000])
    assert found[-1] > np.log(1000.0)
    assert (np.diff(found[100:]) >= -1e-9).all()  # it only grows while the burst goes on


def test_half_of_a_count_is_carried_over_to_the_next_tick() -> None:
    row, law = np.zeros(7), LAW.copy()
    for _ in range(8):
        burst_evidence(row, law, np.zeros(32), 0, 0)
    assert burst_evidence(row, law, np.zeros(32), 1, 0)[1] == 5.0  # 8 / 2 and this one
    assert burst_evidence(row, law, np.zeros(32), 3, 0)[1] == 5.0 / 4.0 + 1.0


def test_an_event_after_a_burst_is_no_burst() -> None:
    row, law = np.zeros(7), LAW.copy()
    for tick, number in enumerate((1, 1, 1, 120)):
        for _ in range(number):
            burst = burst_evidence(row, law, np.zeros(32), tick, 0)[0]
    assert burst > 5.0 and burst_evidence(row, law, np.zeros(32), 4, 0)[0] == 0.0


def busy(windows: list[int], quiet: int) -> tuple[float, float, float]:
    """Return the last reading of a node that has one event per tick for a while, and then 30, in the windows given."""
    row, law = np.zeros(7), LAW.copy()
    for tick in range(quiet):
        burst_evidence(row, law, np.zeros(32), tick, 0)
    for tick, window in enumerate(windows, quiet):
        for _ in range(30):
            last = burst_evidence(row, law, np.zeros(32), tick, window)
    return last


def test_a_burst_is_not_learned_as_usual_unless_it_comes_window_after_window() -> None:
    burst, steady = busy([1] * 100, quiet=50), busy(list(range(1, 101)), quiet=0)
    assert burst[2] < np.log1p(3.0)
    assert burst[0] > 1.0
    assert steady[2] > np.log1p(15.0)
    assert steady[0] == 0.0


def amounts_law() -> np.ndarray:
    law = np.zeros((4, 2))
    law[1:, 1] = 1.0
    return law


def test_an_unusual_amount() -> None:
    rng = np.random.default_rng(0)
    node, pair, law = np.zeros(2), np.zeros(2), amounts_law()
    usual = [amount_surprise(node, pair, law, value) for value in np.exp(rng.normal(3.0, 0.3, 3000))]
    assert np.quantile(usual[1000:], 0.95) == pytest.approx(1.96, abs=0.2)  # as of a normal distribution
    assert amount_surprise(node, pair, law, np.exp(3.0 + 20 * 0.3)) == pytest.approx(20.0, rel=0.1)


def test_amounts_of_a_known_pair_are_held_to_its_own_habit() -> None:
    """Pairs differ by a factor of e, each of them by a tenth: what is ordinary for a new pair is not for an old one."""
    rng = np.random.default_rng(0)
    node, law, last = np.zeros(2), amounts_law(), np.zeros(2)
    for _ in range(200):
        last, mean = np.zeros(2), rng.normal(5.0, 1.0)
        for value in np.exp(rng.normal(mean, 0.1, 20)):
            amount_surprise(node, last, law, value)
    new = amount_surprise(node.copy(), np.zeros(2), law.copy(), np.exp(5.0 + 1.5))
    old = amount_surprise(node.copy(), np.array([20.0, 5.0]), law.copy(), np.exp(5.0 + 1.5))
    assert new < 2.5
    assert old > 5.0


def test_an_unusual_hour() -> None:
    node, everyone = np.zeros(24, np.float32), np.full(24, 1.0 / 24)
    for _ in range(300):
        assert hour_surprise(node, everyone, 10) == pytest.approx(0.0, abs=1e-9)
    assert hour_surprise(node, everyone, 3) > 5.0


def test_an_empty_hour_among_active_ones_is_no_evidence() -> None:
    """Of a night worker only 1 o'clock is empty: it counts (2 + 2 + 1 + 1) / 9 of an event, and is the least of 24.

    Others work by day, 8 to 17; the prior of 20 events is theirs.
    """
    node, everyone = np.ones(24, np.float32), np.zeros(24)
    node[1], everyone[8:18] = 0.0, 1000.0
    assert hour_surprise(node, everyone, 1) == pytest.approx(-np.log(6 / 9 / 43.0))


def streak(values: list[float], spans: list[int] | None = None) -> tuple[list[float], np.ndarray]:
    row, seen = np.zeros(5), np.zeros(128)
    spans = spans or [0] * len(values)
    found = [streak_evidence(row, seen, *each)[0] for each in zip(spans, values, strict=True)]
    return found, row


def test_three_times_the_usual_ten_times_in_a_row() -> None:
    found, _ = streak([3.0] * 10)
    for number, value in enumerate(found, 1):
        assert value == pytest.approx(number * (3.0 - 1.0 - np.log(3.0)))  # Chernoff's bound for n exponentials


def test_an_ordinary_event_has_no_part_in_a_streak() -> None:
    found, _ = streak([5.0, 5.0, 0.5, 5.0])
    assert found[2] == 0.0
    assert found[3] > found[0]
    assert not any(streak([1.0, 0.9, 1.0])[0])


def test_half_is_carried_over_to_the_next_span() -> None:
    _, row = streak([4.0, 4.0, 1.0], [0, 0, 2])
    assert row[[TOTAL, NUMBER]].tolist() == [8.0 / 4.0 + 1.0, 2.0 / 4.0 + 1.0]


def test_a_node_that_is_always_so_is_usual_and_a_streak_does_not_hide_itself() -> None:
    always = streak([2.0] * 400, [*range(400)])[0]
    assert always[-1] < 0.2 * always[5]
    sudden = streak([1.0] * 100 + [4.0] * 20, [*range(100), *[100] * 20])[0]
    assert sudden[-1] == max(sudden) > 20.0


def test_streaks_that_are_common_count_less() -> None:
    edges = np.linspace(0.0, evidence.LARGEST_STREAK, 129)
    assert dispersion_of(edges) == pytest.approx(1.0, abs=0.1)  # as chance alone has it
    assert dispersion_of(edges / 3.0) == pytest.approx(3.0, abs=0.2)
