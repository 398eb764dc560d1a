"""Which nodes and edges a page shows, with small numbers instead of positions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.report.neighborhood import MAX_DRAWN, MAX_EDGES, Neighborhoods


def on_star(two_connected: bool = True) -> tuple[AttributedGraph, Any]:
    source, target = ([0, 0, 0, 1], [1, 2, 3, 2]) if two_connected else ([0, 0, 0], [1, 2, 3])
    graph = AttributedGraph.from_edges(source, target, np.zeros((4, 1)), node_ids=["hub", "a", "b", "c"])
    model = SimpleNamespace(
        decision_score_=np.array([0.9, 0.1, 0.2, 0.3]),
        threshold_=0.5,
        edge_hop_=np.array([1.0, 3.0, 2.0, 1.5]),
        edge_variance_=np.array([0.1, 0.3, 0.2, 0.4]),
        edge_probability_=np.array([0.9, 0.3, 0.5, 0.8]),
    )
    return graph, model


def test_around_gives_the_farthest_first_and_the_edges_among_neighbors() -> None:
    shown = Neighborhoods(*on_star())
    around = shown.around(0)
    names = [node[0] for node in shown.nodes]
    assert names == ["hub", "b", "c", "a"]
    assert around["edges"] == [[1, 3.0, 0.3, 0.3], [2, 2.0, 0.2, 0.5], [3, 1.0, 0.1, 0.9]]
    assert around["between"] == [[3, 1, 1.5]]  # a – b
    assert around["total"] == 3
    assert shown.nodes[0] == ["hub", 0.9, 1, 3, 1]
    assert shown.nodes[3] == ["a", 0.1, 4, 2, 0]


def test_a_limit_keeps_the_farthest_and_gives_the_total() -> None:
    around = Neighborhoods(*on_star()).around(0, limit=1)
    assert [edge[1] for edge in around["edges"]] == [3.0]
    assert around["total"] == 3
    assert around["between"] == []


def test_directed_graphs_show_edges_in_both_directions() -> None:
    graph = AttributedGraph.from_edges([0, 1, 2], [1, 0, 0], np.zeros((3, 1)), directed=True)
    model = SimpleNamespace(
        decision_score_=np.zeros(3),
        threshold_=0.5,
        edge_hop_=np.array([1.0, 2.0, 3.0]),
        edge_variance_=np.zeros(3),
        edge_probability_=np.ones(3),
    )
    shown = Neighborhoods(graph, model)
    assert [[shown.nodes[node][0], hop] for node, hop, *_ in shown.around(0)["edges"]] == [
        ["2", 3.0],
        ["1", 2.0],
        ["1", 1.0],
    ]


def test_neighbors_and_the_ends_of_edges_can_be_visited_too() -> None:
    shown = Neighborhoods(*on_star(two_connected=False))
    shown.around(1)
    assert {shown.nodes[node][0] for node in shown.around_others([1], [3])} == {"hub", "c"}


def test_the_page_stays_small_however_dense_the_graph(rng: np.random.Generator) -> None:
    graph = AttributedGraph.from_edges(*rng.integers(0, 600, size=(2, 90_000)), np.zeros((600, 1)))
    shown = Neighborhoods(graph, SimpleNamespace(decision_score_=rng.random(600), threshold_=0.9))
    for position in range(10):
        assert len(shown.around(position)["edges"]) == MAX_DRAWN
    shown.around_others(range(10), ())
    assert shown.n_edges < MAX_EDGES + 2000


def test_very_long_names_are_cut() -> None:
    graph = AttributedGraph.from_edges([0], [1], np.zeros((2, 1)), node_ids=["x" * 5000, "y"])
    shown = Neighborhoods(graph, SimpleNamespace(decision_score_=np.zeros(2), threshold_=0.5))
    shown.number(0)
    assert len(shown.nodes[0][0]) == 200
