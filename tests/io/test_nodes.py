"""Columns with one value per node: labels, columns left out, and names that must differ."""

from __future__ import annotations

import time

import polars as pl
import pytest

from hopsight.io.nodes import distinct, node_fields

FRAME = pl.DataFrame(
    {"age": [31, 42], "fraud": ["true", "false"], "hopsight_label": [0, 1], "hopsight_kind": [0, 3], "note": ["a", "b"]}
)


def test_our_own_columns_become_labels_and_kinds() -> None:
    fields = node_fields(FRAME.columns, FRAME.__getitem__, 2, ignore=["note", "fraud"])
    assert fields["attribute_names"] == ["age"]
    assert fields["labels"].tolist() == [0, 1]
    assert fields["kinds"].tolist() == [0, 3]


def test_a_label_that_is_named_takes_precedence_over_our_own() -> None:
    fields = node_fields(FRAME.columns, FRAME.__getitem__, 2, label="fraud", ignore=["note"])
    assert fields["attribute_names"] == ["age"]
    assert fields["labels"].tolist() == [1, 0]


def test_labels_may_be_partial() -> None:
    column = pl.Series("fraud", ["1", "", "unknown", "-1", "0", None, "?"])
    fields = node_fields(["fraud"], {"fraud": column}.__getitem__, 7, label="fraud", may_lack=True)
    assert fields["labels"].tolist() == [1, -1, -1, -1, 0, -1, -1]
    assert "attributes" not in fields


def test_a_text_that_differs_for_every_node_is_its_name() -> None:
    frame = pl.DataFrame({"who": [f"Person {i}" for i in range(12)], "x": range(12), "team": ["a", "b", "c"] * 4})
    notices: list[str] = []
    fields = node_fields(frame.columns, frame.__getitem__, 12, notices=notices, category=["x"])
    assert fields["node_names"][3] == "Person 3"
    assert notices == ["Show column 'who' as the name of each node."]
    assert not any(name.startswith("who") for name in fields["attribute_names"])
    typed = node_fields(frame.columns, frame.__getitem__, 12, name_column="team", type_column="team", ignore=["who"])
    assert typed["node_types"] == typed["node_names"] == ["a", "b", "c"] * 4


def test_a_missing_column_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ValueError, match=r"label: there is no column 'frod'; did you mean fraud\?"):
        node_fields(FRAME.columns, FRAME.__getitem__, 2, label="frod")
    with pytest.raises(ValueError, match=r"ignore: there is no column 'zzz'$"):
        node_fields(FRAME.columns, FRAME.__getitem__, 2, ignore=["note", "zzz"])


def test_names_become_distinct_without_clashes() -> None:
    assert distinct(["x", "x", "x_2", "x"]) == ["x", "x_2", "x_2_2", "x_3"]
    assert distinct(["id"], taken=["id"]) == ["id_2"]


def test_many_columns_with_one_name_are_renamed_fast() -> None:
    start = time.process_time()
    names = distinct(["x"] * 100_000 + ["x_7"])
    assert time.process_time() - start < 5  # counting from two for each would take an hour
    assert names[:3] == ["x", "x_2", "x_3"] and len(set(names)) == 100_001
