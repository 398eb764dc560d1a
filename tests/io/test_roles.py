"""What columns are for: names of ground truth and row ids, dates in many forms."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

import polars as pl
import pytest

from hopsight.io.rules import as_seconds, first_known, is_row_id, is_time, is_truth_name


@pytest.mark.parametrize(
    "name",
    ["label", "label_source", "Label-Target", "y", "gnd", "truth", "fraud", "isFraud", "anomaly", "attack", "class"],
)
def test_names_of_ground_truth_are_known(name: str) -> None:
    assert is_truth_name(name)


@pytest.mark.parametrize("name", ["labour", "year", "classroom", "truthful", "x", "attackers"])
def test_other_names_are_not_ground_truth(name: str) -> None:
    assert not is_truth_name(name)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("mid", [1, 1, 2, 3, 4, 5, 6, 7, 8, 9], True),  # a message to two people has two rows
        ("tx_id", [f"t{i}" for i in range(10)], True),
        ("txId", [3, 9, 4, 7, 11, 30, 2, 1, 50, 8], True),
        ("customer_id", [1, 2] * 5, False),
        ("paid", [3, 9, 4, 7, 11, 30, 2, 1, 50, 8], False),
        ("row", [1.5 * i for i in range(10)], False),
        ("tx_id", [4, 2, 3], True),
        ("tx_id", [4, 2, 4], False),
        ("tx_id", [4, 2], False),
    ],
)
def test_row_ids_are_called_so_and_differ(name: str, values: list[object], expected: bool) -> None:
    assert is_row_id(pl.Series(name, values)) is expected


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        ("1970-01-02", 86400.0),
        ("1970/1/2", 86400.0),
        ("1970-01-01 00:00:01.5", 1.5),
        ("1970-01-01T01:00:00Z", 3600.0),
        ("1970-01-01T00:00:00-01:30", 5400.0),
        ("2.1.1970 00:01", 86460.0),
        ("2024-02-29", 1709164800.0),
        (date(1970, 1, 3), 172800.0),
        (datetime(1970, 1, 1, 0, 1, tzinfo=UTC), 60.0),
        (time(0, 2), 120.0),
    ],
)
def test_dates_become_seconds(cell: object, seconds: float) -> None:
    column = pl.Series("when", [cell, None])
    assert is_time(column)
    assert as_seconds(column).to_list() == [pytest.approx(seconds), None]


def test_text_that_is_no_date_is_no_time() -> None:
    assert not is_time(pl.Series(["2024-05-31", "later"]))
    assert not is_time(pl.Series([20240531]))
    assert first_known(["Amount", "Time"], ("timestamp", "time")) == "Time"
