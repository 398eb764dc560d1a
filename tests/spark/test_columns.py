"""Columns of a node table: the same attributes and the same messages as in the local engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.io.nodes import encode, node_fields
from hopsight.spark.columns import (
    encode_attributes,
    encode_column,
    merge_facts,
    plan_attributes,
    plan_column,
    summarize,
)
from hopsight.spark.inputs import with_row_numbers

pl = pytest.importorskip("polars")

COLUMNS: dict[str, list[Any]] = {
    "age": [31, 42, 5, 9],
    "share": [0.5, None, float("nan"), 1.5],
    "text": ["1", " 2 ", "n/a", "3.5"],
    "city": ["Oslo", "Bern", " Oslo", ""],
    "member": ["true", "False", "TRUE", "false"],
    "is_new": [True, False, True, True],
    "place": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, float("nan")]],
    "nothing": [None, None, None, None],
    "fraud": [1, 0, 0, 1],
    "tx_id": [4, 7, 1, 9],
    "born": ["1970-01-02", "", "3.1.1970", "1970-01-01 12:00"],
    "uneven": [[1.0], [1.0, 2.0], [1.0], [1.0]],
}


def encode_in_parts(column: Any, missing: str, notices: list[str]) -> Any:
    """Summarize a column in two batches, as two tasks would, and encode it in two."""
    halves = [column[:2], column[2:]]
    rows = [np.array([0, 1]), np.array([2, 3])]
    facts = merge_facts(*(summarize(half, where) for half, where in zip(halves, rows, strict=True)))
    plan = plan_column(column.name, column.dtype, facts, lambda name: column.n_unique(), missing, notices)
    return None if plan is None else (np.concatenate([encode_column(half, plan) for half in halves]), list(plan.names))


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("missing", ["refuse", "mean", "fill"])
def test_a_column_in_parts_is_encoded_like_the_whole(name: str, missing: str) -> None:
    column = pl.Series(name, COLUMNS[name], strict=False)
    whole_notices, notices = [], []
    try:
        matrix, names = encode([column], 4, missing=missing, notices=whole_notices)
    except ValueError as error:
        if "no attribute column" in str(error):
            assert encode_in_parts(column, missing, notices) is None
            assert notices == whole_notices
            return
        with pytest.raises(ValueError) as caught:
            encode_in_parts(column, missing, notices)
        assert str(caught.value) == str(error)
        return
    found, found_names = encode_in_parts(column, missing, notices)
    np.testing.assert_allclose(found, matrix)
    assert (found_names, notices) == (names, whole_notices)


@pytest.mark.parametrize(
    "values",
    [
        ["1", "2", "x", "4"],
        [1.0, float("inf"), 2.0, 3.0],
        ["7", "inf", "1", "2"],
        ["3", "1,500", "2,500", "7,250"],
    ],
)
def test_both_engines_refuse_a_column_in_the_same_words(values: list[Any]) -> None:
    column = pl.Series("c", values)
    with pytest.raises(ValueError) as one:
        encode([column], 4)
    with pytest.raises(ValueError) as two:
        encode_in_parts(column, "refuse", [])
    assert str(two.value) == str(one.value)


@pytest.mark.parametrize(
    "values", [["3", "1,5", "1.234,25", "-7"], ["$1,234.50", "($7)", "", "12"], ["5/31/24", "6/1/24", "1/2/24", ""]]
)
def test_both_engines_read_numbers_and_dates_as_people_write_them(values: list[str]) -> None:
    column, said, also_said = pl.Series("c", values), list[str](), list[str]()
    matrix, names = encode([column], 4, missing="mean", notices=said)
    found, found_names = encode_in_parts(column, "mean", also_said)
    np.testing.assert_allclose(found, matrix)
    assert (found_names, also_said) == (names, said)


def test_both_engines_refuse_a_wrong_label_in_the_same_words(spark: Any) -> None:
    frame = pl.DataFrame({"age": [1, 2, 3], "fraud": ["0", "maybe", "1"]})
    with pytest.raises(ValueError) as one:
        node_fields(frame.columns, frame.__getitem__, 3, label="fraud")
    nodes = with_row_numbers(
        spark.createDataFrame([(1, 1, "0"), (2, 2, "maybe"), (3, 3, "1")], "id long, _age int, _fraud string")
    )
    with pytest.raises(ValueError) as two:
        plan_attributes(nodes, ["age", "fraud"], label="fraud")
    assert str(two.value) == str(one.value)


def test_attributes_of_a_table(spark: Any) -> None:
    rows = [(f"n{i}", i * 1.5, "ab"[i % 2], "x") for i in range(6)]
    frame = spark.createDataFrame(rows, "id string, _size double, _kind string, _note string")
    nodes = with_row_numbers(frame.repartition(3))
    plans = plan_attributes(nodes, ["size", "kind", "note"], ignore=["note"])
    assert [name for plan in plans for name in plan.names] == ["size", "kind=a", "kind=b"]
    found = {row["id"]: row["features"] for row in encode_attributes(nodes, plans).collect()}
    assert found["n3"] == [4.5, 0.0, 1.0]


def test_many_values_are_counted_exactly(spark: Any) -> None:
    rows = [(i, f"v{i % 70}" + "\t" * (i % 3)) for i in range(210)]  # white space around a value does not count
    nodes = with_row_numbers(spark.createDataFrame(rows, "id long, _word string"))
    column = pl.Series("word", [word for _, word in rows])
    whole_notices: list[str] = []
    with pytest.raises(ValueError, match="no attribute column"):
        encode([column], 210, notices=whole_notices)
    notices: list[str] = []
    with pytest.raises(ValueError, match="no attribute column"):
        plan_attributes(nodes, ["word"], notices=notices)
    assert notices == whole_notices
    assert "has 70 different values (more than 50)" in notices[0]
