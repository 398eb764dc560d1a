"""Dates and times of every usual form as seconds, and what is no date."""

import polars as pl
import pytest

from hopsight.io.rules import are_clocks, as_seconds, clock_seconds, is_time, number_seconds, number_unit, slashed_order

LAST_OF_MAY = 1717113600.0  # 2024-05-31


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2024-05-31", 0),
        ("2024/5/31 17:30", 63000),
        ("2024-05-31T17:30:15.5+02:00", 55815.5),
        ("31.5.2024", 0),
        ("31 May 2024 05:30 pm", 63000),
        ("Friday, May 31st, 2024", 0),
        ("31-MAY-2024", 0),
        ("2024-05-31 12:15 AM", 900),
    ],
)
def test_dates_become_seconds(text: str, seconds: float) -> None:
    assert is_time(pl.Series([text]))
    assert as_seconds(pl.Series([text])).to_list() == [LAST_OF_MAY + seconds]


@pytest.mark.parametrize("text", ["31 Mai 2024", "May", "2024", "31.5", "Maynard 3, 2024", "12:30"])
def test_other_texts_are_no_dates(text: str) -> None:
    assert not is_time(pl.Series([text]))


def test_slashed_dates_may_have_short_years() -> None:
    words = pl.Series(["5/31/24", "1/2/99 1:00 PM"])
    assert slashed_order(words) == "mdy"
    assert as_seconds(words, "mdy").to_list() == [LAST_OF_MAY, 915282000.0]


@pytest.mark.parametrize(
    ("numbers", "unit"),
    [
        ([20240531, 20240601], "dates"),
        ([20240531, 20240632], None),  # there is no 32 June
        ([1717113600, 1717113601], None),
        ([1717113600000, 1717113601000], "milliseconds"),
        ([1717113600000000], "microseconds"),
        ([1717113600000000000], "nanoseconds"),
        ([0, 1717113600000], None),  # numbers from 0 on have no date
    ],
)
def test_units_of_numbers(numbers: list[int], unit: str | None) -> None:
    assert number_unit(pl.Series(numbers)) == unit
    assert number_seconds(pl.Series(numbers))[0][0] == (LAST_OF_MAY if unit or numbers[0] == 1717113600 else numbers[0])


def test_times_of_day() -> None:
    assert are_clocks(pl.Series(["17:30", " 5:30 pm", None, "00:00:01.5"]))
    assert not are_clocks(pl.Series(["17:30", "noon"]))
    assert clock_seconds(pl.Series(["17:30", "5:30 pm"])).to_list() == [63000.0, 63000.0]
