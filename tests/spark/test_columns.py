"""Columns of a node table: the same attributes, and the same sentences, as from a file on one machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.io.columns import encode
from hopsight.io.nodes import node_fields
from hopsight.spark.columns import _encode, _facts, _look, _look_at_truth, _merge, _plan, attribute_plan, encoded
from hopsight.spark.tables import numbered

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
    "uneven": [[1.0], [1.0, 2.0], [1.0], [1.0]],
}


def decided(column: Any, missing: str, notices: list[str]) -> Any:
    """Look at a column in two batches, as two tasks would, and encode it in two."""
    halves = [column[:2], column[2:]]
    rows = [np.array([0, 1]), np.array([2, 3])]
    facts = [_look(half, where) for half, where in zip(halves, rows, strict=True)]
    plan = _plan(None, column.name, _merge(*facts), missing, notices)  # type: ignore[arg-type]
    return None if plan is None else (np.concatenate([_encode(half, plan) for half in halves]), list(plan.names))


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("missing", ["refuse", "mean"])
def test_a_column_in_parts_is_the_column(name: str, missing: str) -> None:
    column = pl.Series(name, COLUMNS[name], strict=False)
    alone, together = [], []
    try:
        matrix, names = encode([column], 4, missing=missing, notices=alone)
    except ValueError as error:
        if "no attribute column" in str(error):
            assert decided(column, missing, together) is None
            assert together == alone
            return
        with pytest.raises(ValueError) as caught:
            decided(column, missing, together)
        assert str(caught.value) == str(error)
        return
    found, found_names = decided(column, missing, together)
    np.testing.assert_allclose(found, matrix)
    assert (found_names, together) == (names, alone)


@pytest.mark.parametrize("values", [["1", "2", "x", "4"], [1.0, float("inf"), 2.0, 3.0], ["7", "inf", "1", "2"]])
def test_the_same_refusal(values: list[Any]) -> None:
    column = pl.Series("c", values)
    with pytest.raises(ValueError) as one:
        encode([column], 4)
    with pytest.raises(ValueError) as two:
        decided(column, "refuse", [])
    assert str(two.value) == str(one.value)


def test_a_wrong_label_is_refused_in_the_same_words(spark: Any) -> None:
    frame = pl.DataFrame({"age": [1, 2, 3], "fraud": ["0", "maybe", "1"]})
    with pytest.raises(ValueError) as one:
        node_fields(frame.columns, frame.__getitem__, 3, label="fraud")
    nodes = numbered(
        spark.createDataFrame([(1, 1, "0"), (2, 2, "maybe"), (3, 3, "1")], "id long, _age int, _fraud string")
    )
    with pytest.raises(ValueError) as two:
        attribute_plan(nodes, ["age", "fraud"], label="fraud")
    assert str(two.value) == str(one.value)


def test_attributes_of_a_table(spark: Any) -> None:
    rows = [(f"n{i}", i * 1.5, "ab"[i % 2], "x") for i in range(6)]
    nodes = numbered(spark.createDataFrame(rows, "id string, _size double, _kind string, _note string").repartition(3))
    plans = attribute_plan(nodes, ["size", "kind", "note"], ignore=["note"])
    assert [name for plan in plans for name in plan.names] == ["size", "kind=a", "kind=b"]
    found = {row["id"]: row["features"] for row in encoded(nodes, plans).collect()}
    assert found["n3"] == [4.5, 0.0, 1.0]


def test_many_values_are_counted_exactly(spark: Any) -> None:
    nodes = numbered(spark.createDataFrame([(i, f"v{i % 70}") for i in range(200)], "id long, _word string"))
    notices: list[str] = []
    with pytest.raises(ValueError, match="no attribute column"):
        attribute_plan(nodes, ["word"], notices=notices)
    assert notices == ["column 'word' has 70 different values (more than 50) and is left out"]
    assert _facts(nodes, ["word"], {})["word"]["n_rows"] == 200
    assert _look_at_truth(pl.Series(["2"]), np.array([5]), 1)["first_wrong"] == [5, "'2'"]
