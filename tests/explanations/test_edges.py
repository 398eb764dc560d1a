"""Edges of a node, in the order in which an analyst looks at them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.explanations.edges import JudgedEdges, edge_reasons, unlikeness_places
from hopsight.graph import AttributedGraph


def test_edges_come_farthest_first_with_their_values(fitted: Any) -> None:
    edges, others = JudgedEdges(fitted.graph_, fitted).at(0)
    assert (edges.tolist(), others.tolist()) == ([2, 0, 3, 1], [3, 1, 4, 2])
    assert JudgedEdges(fitted.graph_, fitted).values(np.array([2])) == [[4.0], [0.2], [0.05], [None]]
    assert JudgedEdges(fitted.graph_, fitted).order.tolist() == [2, 0, 3, 1, 4]


def test_edges_with_scores_come_in_their_order(fitted: Any) -> None:
    fitted.edge_score_ = np.array([1.0, 4.0, 0.5, 4.0, 9.0])
    edges = JudgedEdges(fitted.graph_, fitted)
    assert edges.at(0)[0].tolist() == [3, 1, 0, 2]  # equal scores: the farther one first
    assert edges.order.tolist() == [4, 3, 1, 0, 2]
    assert edges.ranks.tolist() == [4, 3, 5, 2, 1]
    assert edges.optional("score", 2) == 0.5
    assert edges.optional("surprise", 2) is None


def test_unlikeness_is_the_percentage_of_edges_whose_ends_are_more_alike(fitted: Any) -> None:
    assert JudgedEdges(fitted.graph_, fitted).values(np.arange(5))[3] == [None] * 5
    fitted.edge_dissimilarity_ = np.array([0.5, 0.9, 0.1, 0.5, 0.2])
    assert JudgedEdges(fitted.graph_, fitted).values(np.array([0, 1, 2, 3, 4, 1]))[3] == [40, 80, 0, 40, 20, 80]


def test_the_percentages_of_reasons_are_rounded_down(fitted: Any) -> None:
    fitted.edge_hop_, fitted.edge_dissimilarity_ = np.full(2000, 2.0), np.arange(2000.0)
    reasons = edge_reasons(fitted, np.arange(2000), unlikeness_places(fitted))
    assert reasons[1999] == "looks 2.0 hops apart; attributes farther apart than for 99.9% of edges"
    assert reasons[1997] == "looks 2.0 hops apart; attributes farther apart than for 99.8% of edges"
    assert reasons[1980] == "looks 2.0 hops apart; attributes farther apart than for 99% of edges"
    assert reasons[1] == "looks 2.0 hops apart; attributes closer than for 99.9% of edges"
    assert not any("00000" in reason for reason in reasons)


def test_edges_are_found_by_their_ends(fitted: Any) -> None:
    edges = JudgedEdges(fitted.graph_, fitted)
    assert [edges.between(*ends) for ends in ((0, 1), (2, 1), (1, 3), (5, 4))] == [0, 4, None, None]


@pytest.mark.parametrize("directed", [False, True])
def test_every_edge_is_found_at_both_ends(rng: np.random.Generator, directed: bool) -> None:
    ends = rng.integers(0, 30, size=(2, 200))
    graph = AttributedGraph.from_edges(*ends, np.ones((30, 1)), directed=directed)
    model = type("Scored", (), {"decision_score_": np.zeros(30)})()
    edges = JudgedEdges(graph, model)
    for position in range(30):
        expected = np.flatnonzero((graph.edges == position).any(axis=0))
        assert sorted(edges.at(position)[0].tolist()) == expected.tolist()
    assert all(edges.between(*pair) == edge for edge, pair in enumerate(graph.edges.T.tolist()))
