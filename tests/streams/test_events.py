"""Reading events: times of every kind, order, and refusals that name the row."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hopsight.streams.events import Columns, read_events
from hopsight.streams.times import as_seconds

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


def test_events_are_sorted_by_time_and_ties_keep_their_order() -> None:
    events = read_events(frame_of([5, 1, 5]), COLUMNS)
    assert events.sources.to_list() == ["b", "a", "c"]
    assert events.rows.tolist() == [2, 1, 3]


def test_csv_and_parquet_give_the_same_keys(tmp_path: Path) -> None:
    frame = pl.DataFrame({"source": [7, 8], "target": [8, 9], "when": [1, 2]})
    frame.write_csv(tmp_path / "e.csv")
    frame.write_parquet(tmp_path / "e.parquet")
    one, two = (read_events(tmp_path / name, COLUMNS).keys() for name in ("e.csv", "e.parquet"))
    np.testing.assert_array_equal(one, two)
    assert one[0][1] == one[1][0]  # node 8 has one key, as a source and as a target


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (["2020-01-01", "soon"], "row 2: 'soon' is not a time"),
        ([1.0, None], "row 2 has no time"),
        ([1.0, float("inf")], "row 2: inf is not a time"),
        ([True, False], "not times"),
        (["01/02/2024", "03/04/2024"], "'01/02/2024' may have its day or its month first, and no row decides"),
    ],
)
def test_refuses_a_bad_time(times: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_events(frame_of(times), COLUMNS)


def test_refuses_a_missing_column() -> None:
    with pytest.raises(ValueError, match="time_column"):
        read_events(frame_of([1]).rename({"when": "then"}), COLUMNS)


def test_an_empty_amount_is_not_judged_and_text_is_refused() -> None:
    columns = Columns(time="when", amount="paid")
    frame = frame_of([1, 2])
    assert np.isnan(read_events(frame.with_columns(paid=pl.Series([None, 2.0])), columns).amounts[0])
    with pytest.raises(ValueError, match="row 1: 'much' is not a number"):
        read_events(frame.with_columns(paid=pl.Series(["much", "2"])), columns)


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
    assert (events.seconds - 1_710_892_800).tolist() == seconds
    assert caplog.messages == [f"Read the times in column 'when', {said}"]


def test_amounts_are_read_as_people_write_them() -> None:
    frame = frame_of([1, 2]).with_columns(paid=pl.Series(["1.234,50 €", "7,25 €"]))
    assert read_events(frame, Columns(time="when", amount="paid")).amounts.tolist() == [1234.5, 7.25]
