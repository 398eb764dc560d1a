"""Ids of edges that are not in the node table: how many, examples, the likely cause and what to do."""

from __future__ import annotations

import polars as pl
import pytest

from hopsight.loading import load


def refusal(edge_ids: list[object], node_ids: list[object], **columns: list[object]) -> str:
    edges = pl.DataFrame({"source": edge_ids[:-1], "target": edge_ids[1:]})
    nodes = pl.DataFrame({"id": node_ids, "age": range(len(node_ids)), **columns})
    with pytest.raises(ValueError, match="no row in the node table") as caught:
        load(edges, nodes=nodes, notices=[])
    return str(caught.value)


@pytest.mark.parametrize(
    ("edge_ids", "node_ids", "cause", "example"),
    [
        (["007", "008", "009"], ["7", "8", "9"], "leading zeros", "it has '7', '8', '9' instead"),
        (["7.0", "8.0", "9.0"], ["7", "8", "9"], "a decimal point", "'7.0', '8.0', '9.0'"),
        ([" ann", "bo ", "cy"], ["ann", "bo", "cy"], "spaces around them", "it has 'ann', 'bo' instead"),
        (["Ann", "BO", "cy"], ["ann", "bo", "cy"], "upper and lower case", "2 of 3 node ids"),
    ],
)
def test_the_likely_cause_is_named(edge_ids: list[object], node_ids: list[object], cause: str, example: str) -> None:
    message = refusal(edge_ids, node_ids)
    assert f"they differ in {cause}: write them alike in both tables" in message
    assert example in message


def test_numbers_and_zero_padded_text() -> None:
    edges = pl.DataFrame({"source": ["0007", "0008"], "target": ["0008", "0009"]})
    nodes = pl.DataFrame({"id": [7, 8, 9], "age": [1, 2, 3]})
    with pytest.raises(ValueError, match=r"^3 of 3 node ids .*: '0007', '0008', '0009'; it has '7', '8', '9' instead"):
        load(edges, nodes=nodes)


def test_the_right_column_of_the_node_table_is_named() -> None:
    message = refusal(["a@x", "b@x", "c@x"], [1, 2, 3], email=["a@x", "b@x", "c@x"])
    assert message.endswith("they are in its column 'email': pass id_column='email'")


def test_tables_that_have_nothing_in_common() -> None:
    message = refusal(["a", "b", "c", "d", "e"], ["x", "y", "z", "w"])
    assert message == (
        "5 of 5 node ids in the edges have no row in the node table: 'a', 'b', 'c', …; it has 'x', 'y', 'z', … "
        "instead; name the right columns with id_column, source_column and target_column"
    )


def test_a_few_missing_rows() -> None:
    message = refusal(["a", "b", "c", "d", "e", "f"], ["a", "b", "c", "d"])
    assert message == (
        "2 of 6 node ids in the edges have no row in the node table: 'e', 'f'; add rows for them, or remove their edges"
    )
    assert refusal(["a", "b", "c"], ["a", "b"]).endswith("; add one, or remove its edges")
