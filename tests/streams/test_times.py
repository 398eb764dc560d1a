"""Times of events as UNIX seconds: dates of every kind, numbers of every unit, and what is said about them."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from hopsight.streams.events import Columns
from hopsight.streams.times import as_seconds
from stream_toys import read_events

COLUMNS = Columns(time="when")


def frame_of(times: list[object]) -> pl.DataFrame:
    return pl.DataFrame({"source": list("abc")[: len(times)], "target": ["x"] * len(times), "when": times})


@pytest.mark.parametrize(
    "times",
    [
        [86400, 90000],
        [86400.0, 90000.0],
        ["86400", "90000"],
        ["1970-01-02 00:00:00", "1970-01-02 01:00:00"],
        ["1970-01-02T00:00:00", "1970-01-02T01:00:00"],
        [dt.datetime(1970, 1, 2), dt.datetime(1970, 1, 2, 1)],
        [dt.datetime(1970, 1, 2, tzinfo=dt.UTC), dt.datetime(1970, 1, 2, 1, tzinfo=dt.UTC)],
    ],
    ids=["integer", "float", "text numbers", "text dates", "iso", "datetime", "zoned"],
)
def test_times_become_unix_seconds(times: list[object]) -> None:
    assert as_seconds(pl.Series("when", times)).tolist() == [86400.0, 90000.0]


def test_a_date_is_its_midnight() -> None:
    assert as_seconds(pl.Series("when", [dt.date(1970, 1, 3)])).tolist() == [172800.0]


@pytest.mark.parametrize(
    ("times", "seconds", "said"),
    [
        (["03/20/2024", "03/21/2024 12:00 PM"], [0, 129600], "such as 03/20/2024, as month/day/year."),
        (["20/03/2024 00:00", "21/03/2024"], [0, 86400], "such as 20/03/2024 00:00, as day/month/year."),
        ([1_710_892_800_000, 1_710_892_800_500], [0, 0.5], "such as 1710892800000, as milliseconds."),
        ([1_710_892_800_000_000, 1_710_892_801_000_000], [0, 1], "such as 1710892800000000, as microseconds."),
        ([20240320, 20240401], [0, 12 * 86400], "such as 20240320, as dates."),
    ],
)
def test_other_times_are_read_and_it_is_said(
    times: list[object], seconds: list[float], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    events = read_events(frame_of(times), COLUMNS)
    assert (events["seconds"] - 1_710_892_800).to_list() == seconds
    assert caplog.messages == [f"Read the times in column 'when', {said}"]
