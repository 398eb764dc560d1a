"""Windows: what a text stands for, and which tick an event falls into."""

from __future__ import annotations

import numpy as np
import pytest

from hopsight.streams.windows import TICKS, parse_window


@pytest.mark.parametrize(("text", "seconds"), [("30d", 2_592_000), ("12h", 43_200), ("15m", 900), ("1w", 604_800)])
def test_durations(text: str, seconds: int) -> None:
    assert parse_window(text).seconds == seconds


def test_a_number_is_a_number_of_events() -> None:
    window = parse_window("10")
    ticks = window.ticks(np.zeros(25), 5)
    np.testing.assert_array_equal(ticks // TICKS, np.arange(5, 30) // 10)


def test_windows_of_a_duration_begin_at_midnight_utc() -> None:
    ticks = parse_window("1d").ticks(np.array([0.0, 899.0, 900.0, 86399.0, 86400.0, -1.0]), 0)
    assert ticks.tolist() == [0, 0, 1, 95, 96, -1]


@pytest.mark.parametrize("text", ["", "0", "0d", "1 fortnight", "-3h", "1.5d"])
def test_refuses_what_is_no_window(text: str) -> None:
    with pytest.raises(ValueError, match="window must be a duration such as 30d"):
        parse_window(text)


def test_ticks_in_words() -> None:
    assert parse_window("4d").span_words == ("1 hour", "1 day")
    assert parse_window("1d").span_words == ("15 minutes", "6 hours")
    assert parse_window("1000").span_words == ("10 events", "250 events")
