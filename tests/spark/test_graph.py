"""The graph as blocks of nodes and cells of edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.hcm.splits import edge_hashes
from hopsight.spark import graph as stages
from spark_stages import FirstStages, cluster_numbers, dense


def test_edges_are_cleaned_as_by_the_local_engine(first_stages: FirstStages, graph: AttributedGraph) -> None:
    assert (first_stages.graph.n_edges, first_stages.graph.n_duplicates, first_stages.graph.n_self_loops) == (
        graph.n_edges,
        1,
        1,
    )
    first = first_stages.layout.offsets
    found = set()
    for row in first_stages.graph.cells.collect():
        i, j = first_stages.layout.pairs[row["cell"]]
        u, v = (np.frombuffer(row[name], dtype=np.int32) for name in ("u", "v"))
        found |= {frozenset(pair) for pair in zip((first[i] + u).tolist(), (first[j] + v).tolist(), strict=True)}
    number = cluster_numbers(first_stages)
    assert found == {frozenset(pair) for pair in number[graph.edges].T.tolist()}


def test_blocks_hold_hashes_and_degrees(first_stages: FirstStages, graph: AttributedGraph) -> None:
    number = cluster_numbers(first_stages)
    hashes = dense(first_stages.x, first_stages, "hash", np.uint64, -1)[number, 0]
    np.testing.assert_array_equal(hashes, graph.node_hashes)
    degrees = dense(first_stages.degrees, first_stages, "degree", np.int32, -1)[number]
    np.testing.assert_array_equal(degrees[:, 0], graph.degrees)
    for fold in first_stages.splits.folds:
        hidden = first_stages.splits.of(edge_hashes(graph)).hidden(fold)
        seen = np.bincount(graph.edges[:, ~hidden].ravel(), minlength=graph.n_nodes)
        np.testing.assert_array_equal(degrees[:, fold + 1], seen)


def test_edges_of_a_hub_are_spread_over_tasks(spark: Any) -> None:
    rows = spark.range(400).selectExpr("if(id < 300, 7, id) as node", "id as row")
    table = spark.range(350).selectExpr("id as node", "10 * id as value")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        joined = stages.salted_join(rows, table, "node", "row", [7], 5)
        found = joined.selectExpr("*", "spark_partition_id() as task").collect()
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    assert len(found) == 400
    for row in found:
        assert row["value"] == (10 * row["node"] if row["node"] < 350 else None)
    assert len({row["task"] for row in found if row["node"] == 7}) > 1


def test_hubs_are_joined_in_several_tasks(spark: Any, first_stages: FirstStages, monkeypatch: Any) -> None:
    monkeypatch.setattr(stages, "FEW_EDGES", 0)
    ids = [row["id"] for row in first_stages.graph.nodes.orderBy("row").limit(60).collect()]
    edges = spark.createDataFrame(
        [(ids[0], other, row) for row, other in enumerate(ids)], "source string, target string, row long"
    )
    assert stages._hubs(edges, 2) == [ids[0]]
    places = {row["id"]: row["position"] for row in first_stages.graph.nodes.collect()}
    for row in stages.edge_ends(edges, first_stages.graph.nodes, 2).collect():
        assert row["source_place"]["position"] == places[row["source"]]
        assert row["target_place"]["position"] == places[row["target"]]
