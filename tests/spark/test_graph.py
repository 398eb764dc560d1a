"""Blocks of nodes and cells of edges: the network itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.hcm.folds import hidden_edges, node_hashes
from hopsight.spark import graph as stages
from hopsight.spark.session import settings
from spark_stages import Made, dense, number_of


def test_edges_are_cleaned_as_on_one_machine(made: Made, network: AttributedGraph) -> None:
    assert (made.net.n_edges, made.net.n_duplicates, made.net.n_self_loops) == (network.n_edges, 1, 1)
    first = np.concatenate([[0], np.cumsum(made.layout.sizes)])
    found = set()
    for row in made.net.cells.collect():
        i, j = made.layout.pairs[row["cell"]]
        u, v = (np.frombuffer(row[name], dtype=np.int32) for name in ("u", "v"))
        found |= {frozenset(pair) for pair in zip((first[i] + u).tolist(), (first[j] + v).tolist(), strict=True)}
    number = number_of(made, network)
    assert found == {frozenset(pair) for pair in number[network.edges].T.tolist()}


def test_blocks_hold_hashes_and_degrees(made: Made, network: AttributedGraph) -> None:
    number = number_of(made, network)
    hashes = dense(made.x, made, "hash", np.uint64, -1)[number, 0]
    np.testing.assert_array_equal(hashes, node_hashes(network.node_ids))
    degrees = dense(made.degrees, made, "degree", np.int32, -1)[number]
    np.testing.assert_array_equal(degrees[:, 0], network.degrees)
    for fold, hidden in enumerate(hidden_edges(network, made.splits.seed, 2, 2)):
        seen = np.bincount(network.edges[:, ~hidden].ravel(), minlength=network.n_nodes)
        np.testing.assert_array_equal(degrees[:, fold + 1], seen)


def test_edges_of_a_hub_are_spread_over_tasks(spark: Any) -> None:
    rows = spark.range(400).selectExpr("if(id < 300, 7, id) as node", "id as row")
    table = spark.range(350).selectExpr("id as node", "10 * id as value")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        with settings(spark):
            joined = stages.looked_up(rows, table, "node", "row", [7], 5)
            found = joined.selectExpr("*", "spark_partition_id() as task").collect()
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    assert len(found) == 400
    for row in found:
        assert row["value"] == (10 * row["node"] if row["node"] < 350 else None)
    assert len({row["task"] for row in found if row["node"] == 7}) > 1


def test_hubs_are_looked_up_apart(spark: Any, made: Made, monkeypatch: Any) -> None:
    monkeypatch.setattr(stages, "FEW_EDGES", 0)
    ids = [row["id"] for row in made.placed.orderBy("row").limit(60).collect()]
    edges = spark.createDataFrame(
        [(ids[0], other, row) for row, other in enumerate(ids)], "source string, target string, row long"
    )
    assert stages._hubs(edges, 2) == [ids[0]]
    places = {row["id"]: row["position"] for row in made.placed.collect()}
    for row in stages.edge_ends(edges, made.placed, 2).collect():
        assert row["source_place"]["position"] == places[row["source"]]
        assert row["target_place"]["position"] == places[row["target"]]
