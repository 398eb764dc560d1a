"""Streaks, against values worked out by hand: what adds to one, what is usual for a node, and what is carried over."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hopsight.streams import streaks
from hopsight.streams.memory import NUMBER, TOTAL
from hopsight.streams.streaks import LARGEST
from toys import called

dispersion_of, streak_evidence = called(streaks.dispersion_of), called(streaks.streak_evidence)


def streak(evidence: list[float], spans: list[int] | None = None) -> tuple[list[float], np.ndarray]:
    row, seen = np.zeros(5), np.zeros(128)
    spans = spans or [0] * len(evidence)
    found = [streak_evidence(row, seen, *each) for each in zip(spans, evidence, strict=True)]
    return found, row


def test_three_times_the_usual_ten_times_in_a_row() -> None:
    found, _ = streak([3.0] * 10)
    for number, value in enumerate(found, 1):
        assert value == pytest.approx(number * (3.0 - 1.0 - math.log(3.0)))  # Chernoff's bound for n exponentials


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
    edges = np.linspace(0.0, LARGEST, 129)
    assert dispersion_of(edges) == pytest.approx(1.0, abs=0.1)  # as chance alone has it
    assert dispersion_of(edges / 3.0) == pytest.approx(3.0, abs=0.2)
