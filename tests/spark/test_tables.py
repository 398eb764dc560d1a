"""Tables: ids and columns are found, read, encoded and refused as by the local engine, in the same words."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from hopsight.io.nodes import encode, node_fields, plan_column
from hopsight.io.tables import read_tables
from hopsight.spark.blocks import with_row_numbers
from hopsight.spark.tables import check_unique, encode_attributes, encode_block, plan_attributes, read_inputs
from toys import refuses

COLUMNS: dict[str, list[Any]] = {
    "age": [31, 42, 5, 9], "share": [0.5, None, float("nan"), 1.5], "text": ["1", " 2 ", "n/a", "3.5"],
    "city": ["Oslo", "Bern", " Oslo", ""], "member": ["true", "False", "TRUE", "false"],
    "is_new": [True, False, True, True], "place": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, float("nan")]],
    "nothing": [None, None, None, None], "fraud": [1, 0, 0, 1], "tx_id": [4, 7, 1, 9],
    "born": ["1970-01-02", "", "3.1.1970", "1970-01-01 12:00"], "uneven": [[1.0], [1.0, 2.0], [1.0], [1.0]],
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("missing", ["refuse", "mean", "fill"])
def test_a_column_in_parts_is_encoded_like_the_whole(name: str, missing: str) -> None:
    column = pl.Series(name, COLUMNS[name], strict=False)
    try:
        matrix, names = encode([column], 4, missing=missing)
    except ValueError:
        refuses(f"column '{name}", plan_column, column, missing=missing)
        return
    plan = plan_column(column, missing=missing)
    assert names == ([] if plan is None else list(plan.names))
    if plan is not None:
        np.testing.assert_allclose(np.vstack([encode_block(half, plan) for half in (column[:2], column[2:])]), matrix)


def test_cells_after_the_planned_rows_are_read_by_the_plan() -> None:
    """Text among numbers is marked for a refusal, an unknown value is no category, and codes stay codes."""
    plan = plan_column(pl.Series("age", ["31", "n/a"] * 3))
    assert plan is not None
    assert encode_block(pl.Series(["7", "old", ""]), plan).tolist() == [[7, 0], [np.inf, 1], [31, 1]]
    plan = plan_column(pl.Series("city", ["Oslo", "Bern"]))
    assert plan is not None
    assert encode_block(pl.Series(["Rome", "Oslo"]), plan).tolist() == [[0, 0], [0, 1]]
    plan = plan_column(pl.Series("zip", ["007", "012"]), category=["zip"])
    assert plan is not None and plan.names == ["zip=007", "zip=012"]


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


def refusal(tmp_path: Path, edges: dict[str, list[Any]], nodes: dict[str, list[Any]]) -> str:
    """Return the message of the local engine about the same tables in two Parquet files."""
    pl.DataFrame(edges).write_parquet(tmp_path / "e.parquet")
    pl.DataFrame(nodes).write_parquet(tmp_path / "n.parquet")
    with pytest.raises(ValueError) as caught:
        read_tables(tmp_path / "e.parquet", tmp_path / "n.parquet")
    return str(caught.value).partition(": ")[2]


def frame(spark: Any, columns: dict[str, list[Any]]) -> Any:
    return spark.createDataFrame(pa.table(columns)).repartitionByRange(2, next(iter(columns)))


def test_columns_are_found_by_their_names(spark: Any) -> None:
    edges = frame(spark, {"weight": [1.0, 2.0], "dst": ["b", "c"], "src": ["a", "b"]})
    nodes = frame(spark, {"Node ID": ["a", "b", "c"], "size": [1, 2, 3]})
    notices: list[str] = []
    tables = read_inputs(edges, nodes, notices=notices)
    assert {(row["source"], row["target"]) for row in tables.edges.collect()} == {("a", "b"), ("b", "c")}
    assert tables.columns == ("size",)
    assert notices == ["Left out the column 'weight' of the edge list: edges have no attributes."]


@pytest.mark.parametrize(
    ("ids", "typed", "integers"),
    [(["7", "12"], False, True), (["007", "12"], False, False), (["7", "12"], True, False)],
)
def test_text_in_a_csv_is_a_number_in_its_usual_form_only(
    spark: Any, ids: list[str], typed: bool, integers: bool
) -> None:
    tables = read_inputs(frame(spark, {"u": ids, "v": ids}), frame(spark, {"id": ids, "x": [1, 2]}), typed=typed)
    assert (dict(tables.nodes.dtypes)["id"] == "bigint") == integers
    assert sorted(str(row["id"]) for row in tables.nodes.collect()) == sorted(ids)


def test_floats_without_a_fraction_are_integers(spark: Any) -> None:
    tables = read_inputs(frame(spark, {"u": [1.0, 2.0], "v": [2, 3]}), frame(spark, {"id": [1, 2, 3], "x": [1, 2, 3]}))
    assert dict(tables.nodes.dtypes)["id"] == "bigint"
    assert sorted(row["source"] for row in tables.edges.collect()) == [1, 2]


@pytest.mark.parametrize("nodes", [["a", "b", "c", "b"], [4, 5, 6, 5]])
def test_a_node_with_two_rows_is_refused_in_the_same_words(spark: Any, tmp_path: Path, nodes: list[Any]) -> None:
    edges = {"source": [nodes[0]], "target": [nodes[1]]}
    table = {"id": nodes, "x": [1.0, 2.0, 3.0, 4.0]}
    frames = [spark.createDataFrame(pa.table(columns)) for columns in (edges, table)]
    with pytest.raises(ValueError) as caught:
        check_unique(read_inputs(*frames).nodes)
    assert str(caught.value) == refusal(tmp_path, edges, table)


def test_rows_without_an_id_are_left_out_and_an_empty_table_is_refused(spark: Any) -> None:
    edges, table = {"source": ["a", None], "target": ["b", "a"]}, {"id": ["a", "b", None], "x": [1.0, 2.0, 3.0]}
    frames = [spark.createDataFrame(pa.table(columns)) for columns in (edges, table)]
    notices: list[str] = []
    tables = read_inputs(*frames, notices=notices)
    assert (tables.edges.count(), tables.nodes.count()) == (1, 2)
    assert notices == [f"Left out 1 row without a node id, first row {row} of the data." for row in (2, 3)]
    refuses("it has a header but no edges", read_inputs, frames[0].limit(0), frames[1])


def test_spaces_and_decimals_make_no_other_node(spark: Any) -> None:
    edges = frame(spark, {"u": [" a ", "b", "5.0"], "v": ["b", "a\u00a0", "a"]})
    tables = read_inputs(edges, frame(spark, {"id": ["a", "b ", "5"], "x": [1, 2, 3]}), typed=False)
    assert {row["source"] for row in tables.edges.collect()} == {"a", "b", "5"}
    assert {row["id"] for row in tables.nodes.collect()} == {"a", "b", "5"}
