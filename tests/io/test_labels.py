"""Verdicts from mappings, tables and files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hopsight.graph import AttributedGraph
from hopsight.io.verdicts import read_nodes, read_verdicts


@pytest.fixture
def graph() -> AttributedGraph:
    return AttributedGraph.from_edges([0, 1], [1, 2], np.zeros((3, 1)), node_ids=["ann", "=bob", "7"])


def test_a_mapping_a_table_and_a_file_say_the_same(graph: AttributedGraph, tmp_path: Path) -> None:
    columns = {"node": ["ann", "=bob", "7"], "verdict": ["Normal ", "anomalous", "unsure"]}
    expected = {0: "normal", 1: "anomalous", 2: "unsure"}
    file = tmp_path / "verdicts.csv"
    file.write_text('node,verdict,note\nann,normal,\n\'=bob,anomalous,"a, b"\n7,unsure,x\n')
    for source in (dict(zip(*columns.values(), strict=True)), columns, pl.DataFrame(columns), file, str(file)):
        assert read_verdicts(source, graph) == expected


def test_the_last_verdict_on_a_node_counts(graph: AttributedGraph) -> None:
    table = {"node": ["ann", "7", "ann"], "verdict": ["normal", "normal", "anomalous"]}
    assert read_verdicts(table, graph) == {2: "normal", 0: "anomalous"}


def test_bad_verdicts_are_refused_in_one_sentence(graph: AttributedGraph, tmp_path: Path) -> None:
    for source, message in (
        ({"ann": "guilty"}, "the verdict on 'ann' must be one of anomalous, normal, unsure, got 'guilty'"),
        ({"zoe": "normal"}, "there is no node 'zoe'"),
        (7, "got int"),
        (tmp_path / "none.csv", "there is no file"),
    ):
        with pytest.raises(ValueError, match=message):
            read_verdicts(source, graph)
    file = tmp_path / "verdicts.csv"
    file.write_text("name,verdict\nann,normal\n")
    with pytest.raises(ValueError, match="has no column node"):
        read_verdicts(file, graph)


def test_a_list_of_nodes_has_a_column_or_one_node_per_line(graph: AttributedGraph, tmp_path: Path) -> None:
    file = tmp_path / "nodes.csv"
    for text in ("node,team\n7,a\nann,b\n", "7\nann\n", "node\nann\n7\n7\n"):
        file.write_text(text)
        assert read_nodes(file, graph).tolist() == [0, 2]
    file.write_text("id,team\n7,a\n")
    with pytest.raises(ValueError, match="no column node"):
        read_nodes(file, graph)
    file.write_text("node\n")
    with pytest.raises(ValueError, match="lists no nodes"):
        read_nodes(file, graph)
