"""Explanations in a notebook: the values of the text, escaped."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from hopsight.explanations import Explainer
from hopsight.graph import AttributedGraph


@pytest.fixture
def explainer() -> Explainer:
    names = ["hub", "<b>", "c", "d"]
    star = AttributedGraph.from_edges(
        [0, 0, 0, 1], [1, 2, 3, 2], np.array([[9.0], [1.0], [2.0], [3.0]]), node_ids=names, attribute_names=["age"]
    )
    hops = np.array([1.5, 1.0, 1.0, 2.0])
    model = SimpleNamespace(
        decision_score_=np.array([2.0, 1.0, 1.0, 1.0]), threshold_=1.5, edge_index_=star.edges, edge_hop_=hops,
        edge_variance_=hops, edge_probability_=1 / hops,
        groups_=[SimpleNamespace(kind="ring", members=np.array([0, 1, 2]), density=1.0, score=2.5)],
        evidence_={"ring": np.array([3.0, 2.5, 2.0, 0.0])},
        evidence=("ring",),
    )  # fmt: skip
    return Explainer(model, star)


def test_an_edge_shows_hops_probability_and_what_differs(explainer: Explainer) -> None:
    edge = explainer.edge("hub", "<b>")
    shown = edge._repr_html_()
    assert "Edge hub – &lt;b&gt;" in shown and "<b>" not in shown
    for part in (">1.5<", ">0.6667<", ">2 of 4<", ">age<", ">9<", ">1<"):
        assert part in shown
    assert repr(edge) == "<Explanation of the edge hub – <b>>"


def test_a_group_shows_its_members(explainer: Explainer) -> None:
    group = explainer.group(1)
    shown = group._repr_html_()
    assert "Group 1: ring" in shown and "100% of their pairs" in shown and ">3.0<" in shown and "&lt;b&gt;" in shown
    assert repr(group) == "<Explanation of group 1: a ring of 3 nodes>"


def test_a_node_shows_its_reason_its_neighbors_and_attributes() -> None:
    star = AttributedGraph.from_edges(
        [0, 0, 0], [1, 2, 3], np.array([[9.0], [1.0], [2.0], [3.0]]), node_ids=["hub", "<b>", "c", "d"],
        attribute_names=["age"],
    )  # fmt: skip
    model = SimpleNamespace(decision_score_=np.array([2.0, 1.0, 1.0, 1.0]), threshold_=1.5)
    node = Explainer(model, star).node("hub")
    shown = node._repr_html_()
    assert "Ranks 1 of 4 (flagged)." in shown and "&lt;b&gt;" in shown and "<b>" not in shown and ">age<" in shown
    assert repr(node) == "<Explanation of hub: rank 1 of 4>"
