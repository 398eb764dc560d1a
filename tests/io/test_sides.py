"""Bipartite edge lists: two kinds of nodes whose ids may overlap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hopsight.graph import AttributedGraph
from hopsight.io.tables import read_tables

RATINGS = pl.DataFrame({"user": [1, 1, 2, 3], "item": [1, 2, 2, 3], "stars": [5, 1, 4, 3]})


def read(edges: pl.DataFrame = RATINGS, nodes: Any = None, **options: Any) -> AttributedGraph:
    return read_tables(edges, nodes, notices=options.pop("notices", []), **options)


def test_ids_of_both_kinds_are_kept_apart() -> None:
    notices: list[str] = []
    graph = read(notices=notices)
    assert graph.node_ids.tolist() == ["item:1", "item:2", "item:3", "user:1", "user:2", "user:3"]
    assert graph.node_types.tolist() == ["item"] * 3 + ["user"] * 3
    assert graph.n_edges == 4
    assert any("for two kinds of nodes" in notice for notice in notices)


def test_ids_that_do_not_overlap_stay_as_they_are() -> None:
    graph = read(RATINGS.with_columns(item=pl.col("item") + 100))
    assert graph.node_ids.tolist() == [1, 2, 3, 101, 102, 103]
    assert graph.node_types.tolist() == ["user"] * 3 + ["item"] * 3


def test_the_names_can_be_overruled() -> None:
    assert read(bipartite=False).n_nodes == 3
    plain = RATINGS.rename({"user": "a", "item": "b"})
    assert read(plain).n_nodes == 3
    assert read(plain, bipartite=True).node_types.tolist() == ["a"] * 3 + ["b"] * 3


def test_a_node_table_says_which_kind_a_node_is() -> None:
    nodes = pl.DataFrame({"id": [1, 1, 2, 2, 3, 3], "kind": ["user", "item"] * 3, "age": [30, 2, 40, 3, 50, 4]})
    graph = read(nodes=nodes, type_column="kind", derive="none")
    assert graph.node_ids.tolist() == ["user:1", "item:1", "user:2", "item:2", "user:3", "item:3"]
    assert graph.attribute_names == ("age",)
    with pytest.raises(ValueError, match=r"user and item share ids.*pass type_column"):
        read(nodes=nodes.head(1).drop("kind"))
    with pytest.raises(ValueError, match="type 'shop' of a node is neither 'user' nor 'item'"):
        read(nodes=nodes.with_columns(kind=pl.lit("shop")), type_column="kind")


def test_a_file_of_ratings_is_enough(tmp_path: Path) -> None:
    RATINGS.write_csv(tmp_path / "ratings.csv")
    assert read_tables(tmp_path / "ratings.csv", notices=[]).n_nodes == 6
