"""Reading events: times of every kind, order, and refusals that name the row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hopsight.streams.events import Columns, read_events

COLUMNS = Columns(time="when")


def frame_of(times: list[object]) -> pl.DataFrame:
    return pl.DataFrame({"source": list("abc")[: len(times)], "target": ["x"] * len(times), "when": times})


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
        (["1700001120", "1700001121", "soon"], "row 3: 'soon' is not a time"),
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


def test_a_header_without_events_is_refused(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("source,target,when,paid\n")
    with pytest.raises(ValueError, match=r"e\.csv: it has a header but no events"):
        read_events(tmp_path / "e.csv", Columns(time="when", amount="paid"))


def test_an_empty_amount_is_not_judged_and_text_is_refused() -> None:
    columns = Columns(time="when", amount="paid")
    frame = frame_of([1, 2])
    assert np.isnan(read_events(frame.with_columns(paid=pl.Series([None, 2.0])), columns).amounts[0])
    with pytest.raises(ValueError, match="row 1: 'much' is not a number"):
        read_events(frame.with_columns(paid=pl.Series(["much", "2"])), columns)


def test_amounts_are_read_as_people_write_them() -> None:
    frame = frame_of([1, 2]).with_columns(paid=pl.Series(["1.234,50 €", "7,25 €"]))
    assert read_events(frame, Columns(time="when", amount="paid")).amounts.tolist() == [1234.5, 7.25]
