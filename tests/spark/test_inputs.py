"""Ids and edges are found, numbered and refused as by the local engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hopsight.io.tables import read_tables
from hopsight.spark.inputs import check_unique, read_inputs, with_row_numbers


def refusal(tmp_path: Path, edges: dict[str, list[Any]], nodes: dict[str, list[Any]]) -> str:
    """Return the message of the local engine about the same tables in two Parquet files."""
    pl.DataFrame(edges).write_parquet(tmp_path / "e.parquet")
    pl.DataFrame(nodes).write_parquet(tmp_path / "n.parquet")
    with pytest.raises(ValueError) as caught:
        read_tables(tmp_path / "e.parquet", tmp_path / "n.parquet")
    return str(caught.value).partition(": ")[2]


def frame(spark: Any, columns: dict[str, list[Any]]) -> Any:
    import pyarrow as pa

    return spark.createDataFrame(pa.table(columns)).repartitionByRange(2, next(iter(columns)))


def test_rows_are_numbered_across_partitions(spark: Any) -> None:
    found = with_row_numbers(spark.range(10).repartitionByRange(3, "id")).collect()
    assert [(row["id"], row["row"]) for row in sorted(found)] == [(i, i) for i in range(10)]


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
    assert tables.integer_ids == integers
    assert sorted(str(row["id"]) for row in tables.nodes.collect()) == sorted(ids)


def test_floats_without_a_fraction_are_integers(spark: Any) -> None:
    tables = read_inputs(frame(spark, {"u": [1.0, 2.0], "v": [2, 3]}), frame(spark, {"id": [1, 2, 3], "x": [1, 2, 3]}))
    assert tables.integer_ids
    assert sorted(row["source"] for row in tables.edges.collect()) == [1, 2]


@pytest.mark.parametrize("nodes", [["a", "b", "c", "b"], [4, 5, 6, 5]])
def test_a_node_with_two_rows_is_refused_in_the_same_words(spark: Any, tmp_path: Path, nodes: list[Any]) -> None:
    edges = {"source": [nodes[0]], "target": [nodes[1]]}
    table = {"id": nodes, "x": [1.0, 2.0, 3.0, 4.0]}
    import pyarrow as pa

    frames = [spark.createDataFrame(pa.table(columns)) for columns in (edges, table)]
    with pytest.raises(ValueError) as caught:
        check_unique(read_inputs(*frames).nodes)
    assert str(caught.value) == refusal(tmp_path, edges, table)


def test_an_empty_id_and_an_empty_table_are_refused_in_the_same_words(spark: Any, tmp_path: Path) -> None:
    edges, table = {"source": ["a", None], "target": ["b", "a"]}, {"id": ["a", "b"], "x": [1.0, 2.0]}
    import pyarrow as pa

    frames = [spark.createDataFrame(pa.table(columns)) for columns in (edges, table)]
    with pytest.raises(ValueError) as caught:
        read_inputs(*frames)
    assert str(caught.value) == refusal(tmp_path, edges, table)
    with pytest.raises(ValueError, match="it has a header but no edges"):
        read_inputs(frames[0].limit(0), frames[1])
