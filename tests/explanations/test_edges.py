"""Edges of a node, in the order in which an analyst looks at them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.explanations.edges import JudgedEdges
from hopsight.graph import AttributedGraph


def test_edges_come_farthest_first_with_their_values(fitted: Any) -> None:
    edges, others = JudgedEdges(fitted.graph_, fitted).at(0)
    assert (edges.tolist(), others.tolist()) == ([2, 0, 3, 1], [3, 1, 4, 2])
    assert JudgedEdges(fitted.graph_, fitted).values(2) == (4.0, 0.2, 0.05)
    assert JudgedEdges(fitted.graph_, fitted).ranking.tolist() == [2, 0, 3, 1, 4]


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
