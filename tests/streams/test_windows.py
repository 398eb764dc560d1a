"""Windows: what a text stands for, and which tick an event falls into."""

from __future__ import annotations

import numpy as np
import pytest

from hopsight.streams.windows import parse_window


@pytest.mark.parametrize(("text", "seconds"), [("30d", 2_592_000), ("12h", 43_200), ("15m", 900), ("1w", 604_800)])
def test_durations(text: str, seconds: int) -> None:
    assert parse_window(text).seconds == seconds


def test_a_number_is_a_number_of_events() -> None:
    window = parse_window("10")
    np.testing.assert_array_equal(window.number(np.zeros(25), 5), np.arange(5, 30) // 10)


def test_windows_of_a_duration_begin_at_midnight_utc() -> None:
    window, moments = parse_window("1d"), np.array([0.0, 59.0, 60.0, 86399.0, 86400.0, -1.0])
    assert window.number(moments, 0).tolist() == [0, 0, 0, 0, 1, -1]
    assert window.number(moments, 0, window.n_ticks).tolist() == [0, 0, 1, 1439, 1440, -1]


@pytest.mark.parametrize("text", ["", "0", "0d", "1 fortnight", "-3h", "1.5d"])
def test_refuses_what_is_no_window(text: str) -> None:
    with pytest.raises(ValueError, match="window must be a duration such as 30d"):
        parse_window(text)


def test_ticks_in_words() -> None:
    assert parse_window("4d").span_words(dated=True) == ("1 minute", "1 day")
    assert parse_window("1d").span_words(dated=True) == ("1 minute", "6 hours")
    assert parse_window("1000").span_words(dated=False) == ("10 events", "250 events")
    assert parse_window("1000").span_words(dated=True) == ("1 minute", "250 events")


def test_where_times_are_dates_a_tick_is_a_minute_also_in_windows_of_events() -> None:
    window, moments = parse_window("96"), np.array([0.0, 1.0, 59.0, 60.0, 200.0])
    assert window.ticks(moments, 0, dated=True).tolist() == [0, 0, 0, 1, 3]
    assert window.ticks(moments, 0, dated=False).tolist() == [0, 1, 2, 3, 4]
    hour = parse_window("1h")
    np.testing.assert_array_equal(hour.ticks(moments, 0, dated=True), hour.number(moments, 0, hour.n_ticks))


@pytest.mark.parametrize(("text", "words"), [("1d", "1 day"), ("12h", "12 hours"), ("500", "500 events")])
def test_the_length_is_told_in_words(text: str, words: str) -> None:
    assert parse_window(text).words == words
