"""Edge data: aligned with the edges, merged by a stated rule, read-only, and kept by copies."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopsight.datasets import inject
from hopsight.graph import AttributedGraph
from hopsight.io.npz import read_npz, write_npz

X3 = np.array([[1.0], [2.0], [3.0]])
# 0→1 twice, 1→0 once, a self-loop, and 2→1 once, not sorted by time
ROWS: dict[str, Any] = {
    "sources": [2, 0, 1, 0, 2],
    "targets": [1, 1, 0, 1, 2],
    "edge_weight": [4.0, 5.0, -2.0, 1.0, 99.0],
    "edge_time": [7.0, 30.0, 10.0, 20.0, 99.0],
    "edge_attributes": [[0.0], [1.0], [2.0], [6.0], [99.0]],
    "edge_attribute_names": ["speed"],
}


def built(**options: Any) -> AttributedGraph:
    return AttributedGraph.from_edges(attributes=X3, **(ROWS | options))


@pytest.mark.parametrize(
    ("duplicates", "weight", "speed"),
    [("sum", [4.0, 4.0], [3.0, 0.0]), ("count", [3.0, 1.0], [3.0, 0.0]), ("last", [5.0, 4.0], [1.0, 0.0])],
)
def test_rows_of_one_undirected_edge_are_merged_by_the_rule(
    duplicates: str, weight: list[float], speed: list[float]
) -> None:
    graph = built(duplicates=duplicates)
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_weight.tolist() == weight
    assert graph.edge_time.tolist() == [30.0, 7.0]
    assert graph.edge_attributes.ravel().tolist() == speed
    assert (graph.n_duplicates, graph.n_reciprocal, graph.n_self_loops) == (2, 1, 1)


def test_directed_rows_keep_their_direction() -> None:
    graph = built(directed=True)
    assert graph.edges.tolist() == [[0, 1, 2], [1, 0, 1]]
    assert graph.edge_weight.tolist() == [6.0, -2.0, 4.0]
    assert (graph.n_duplicates, graph.n_reciprocal) == (1, 0)


def test_without_times_the_last_row_is_the_last_one_given() -> None:
    assert built(duplicates="last", edge_time=None).edge_weight.tolist() == [1.0, 4.0]


def test_the_number_of_rows_is_a_weight_only_if_asked_for() -> None:
    bare = {"edge_weight": None, "edge_time": None, "edge_attributes": None, "edge_attribute_names": None}
    assert built(**bare).edge_weight is None
    assert built(**bare, duplicates="count").edge_weight.tolist() == [3.0, 1.0]


def test_edge_data_are_read_only_and_survive_copies_pickles_and_files(tmp_path: Path) -> None:
    graph = replace(built(), node_types=["user", "item", "user"], node_names=["Ann", "Bo", "Cy"])
    write_npz(graph, tmp_path / "g.npz")
    for again in (
        graph,
        replace(graph, labels=[0, 1, 0]),
        pickle.loads(pickle.dumps(graph)),
        read_npz(tmp_path / "g.npz"),
    ):
        assert again.edge_weight.tolist() == [4.0, 4.0]
        assert again.edge_time.tolist() == [30.0, 7.0]
        assert again.edge_attributes.tolist() == [[3.0], [0.0]]
        assert again.edge_attribute_names == ("speed",)
        assert again.node_types.tolist() == ["user", "item", "user"]
        assert again.node_names.tolist() == ["Ann", "Bo", "Cy"]
    for values in (graph.edge_weight, graph.edge_time, graph.edge_attributes, graph.node_types, graph.node_names):
        with pytest.raises(ValueError, match="read-only"):
            values[...] = 0


def test_planted_edges_get_the_median_and_the_others_keep_their_data() -> None:
    ring = np.arange(8)
    graph = AttributedGraph.from_edges(
        ring, (ring + 1) % 8, np.random.default_rng(0).normal(size=(8, 2)), edge_weight=ring + 1.0
    )
    planted = inject(graph, n_cliques=1, clique_size=4, n_attribute=1, n_candidates=2, seed=0)
    weights = dict(zip(map(tuple, planted.edges.T.tolist()), planted.edge_weight.tolist(), strict=True))
    before = dict(zip(map(tuple, graph.edges.T.tolist()), graph.edge_weight.tolist(), strict=True))
    assert planted.n_edges > graph.n_edges
    assert {edge: weights[edge] for edge in before} == before
    assert {weight for edge, weight in weights.items() if edge not in before} == {4.5}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"edge_weight": [1.0]}, "edge_weight must have one row for each of the 5 edges"),
        ({"edge_weight": [1.0, 1.0, np.nan, 1.0, 1.0]}, "edge 2 is NaN or infinite"),
        ({"edge_time": ["a"] * 5}, "edge_time must be numbers"),
        ({"edge_attribute_names": ["a", "b"]}, "edge_attribute_names must have 1 name"),
        ({"duplicates": "mean"}, "duplicates must be one of sum, count, last, got 'mean'"),
        ({"node_types": ["user"]}, "node_types must have one text for each of the 3 nodes"),
    ],
)
def test_edge_data_that_do_not_match_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        built(**options)


def test_sums_of_duplicate_edges_are_the_same_to_the_bit_in_any_order_of_rows() -> None:
    rng = np.random.default_rng(0)
    source, target = rng.integers(5, size=300), rng.integers(5, 10, size=300)
    weight, columns, time = rng.normal(size=300) * 1e6, rng.normal(size=(300, 2)), rng.integers(4, size=300)
    found = []
    for order in (np.arange(300), rng.permutation(300)):
        for rule in ("sum", "last"):
            graph = AttributedGraph.from_edges(
                source[order], target[order], np.eye(10), edge_weight=weight[order], edge_time=time[order],
                edge_attributes=columns[order], duplicates=rule,
            )  # fmt: skip
            found.append((graph.edge_weight.tolist(), graph.edge_time.tolist(), graph.edge_attributes.tolist()))
    assert found[:2] == found[2:]


def test_edges_that_are_all_self_loops_leave_none() -> None:
    assert AttributedGraph.from_edges([0], [0], np.eye(2), edge_time=[5.0]).edge_time.tolist() == []
