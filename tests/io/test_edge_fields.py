"""Data of edges: weights, times and numbers come along, names of edges do not; and back to columns."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hopsight.graph import AttributedGraph
from hopsight.io.edges import columns_of, derived, read_edges


def test_weights_default_to_one_and_ids_are_left_out() -> None:
    columns = {"id": pl.Series("id", ["e1", "e2"]), "weight": pl.Series("weight", [None, 3.0])}
    fields = read_edges(columns, []).edge_fields([])
    assert fields["edge_weight"].tolist() == [1, 3]
    assert fields["edge_attributes"] is None
    assert not read_edges({"key": pl.Series([0, 1])}, [])


def test_times_keep_their_order() -> None:
    fields = read_edges({"time": pl.Series("time", ["2024-05-02", "2024-05-01"])}, []).edge_fields([])
    assert np.diff(fields["edge_time"])[0] < 0


def test_columns_have_names_that_do_not_clash() -> None:
    graph = AttributedGraph.from_edges(
        [0], [1], np.eye(2), edge_weight=[2.0], edge_attributes=[[7.0, 8.0]], edge_attribute_names=["weight", "calls"]
    )
    assert {name: values.tolist() for name, values in columns_of(graph).items()} == {
        "weight": [2.0],
        "weight_2": [7.0],
        "calls": [8.0],
    }


def test_structure_in_place_of_node_data() -> None:
    notices: list[str] = []
    fields = derived(np.array([0, 0]), np.array([1, 2]), 3, False, notices)
    assert fields["attributes"].shape[0] == 3
    assert "reciprocity" not in fields["attribute_names"]
    assert notices[0].endswith("from the edges: structure.")
    with pytest.raises(ValueError, match="nothing to learn from"):
        derived(np.array([0]), np.array([1]), 2, False, [])
