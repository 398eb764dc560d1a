"""What a person reads in the terminal."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopsight.detectors import DETECTORS
from hopsight.explain import explain, explain_edge
from hopsight.explain.explainer import METHODS
from hopsight.graph import AttributedGraph


def test_summary_says_rank_distance_and_attribute(fitted: Any) -> None:
    assert explain(fitted, "hub").summary == (
        "Ranks 1 of 6 (flagged). Its 4 neighbors look 2.5 hops away on average, more than for 66 % of all nodes. "
        "It differs most in age: 90, where its neighbors have 30.3 to 32.7."
    )


def test_text_lists_the_farthest_neighbors_and_counts_the_rest(fitted: Any) -> None:
    fitted.score_without = lambda graph, position, edges: 1.1
    text = str(explain(fitted, "hub", top=2, absent=1))
    lines = [line.split() for line in text.splitlines()]
    assert ["c", "4.00", "0.200", "0.050", "1.0000"] in lines
    assert ["a", "3.00", "0.500", "0.100", "0.7500"] in lines
    assert "… and 2 more" in text
    assert "Without the edges to c the score would be 1.1, rank 2." in text


def test_a_yes_or_no_is_told_as_a_share_of_the_neighbors(fitted: Any) -> None:
    flags = np.array([[1.0], [0.0], [0.0], [0.0], [1.0], [0.0]])
    fitted.graph_ = AttributedGraph(fitted.graph_.adjacency, flags, attribute_names=["city=Oslo"])
    reasons = explain(fitted, 0)
    assert "It differs most in city=Oslo: 1, where 25 % of its neighbors have 1." in reasons.summary
    assert "25 % have 1" in str(reasons)
    assert "city=Oslo: 0, where its neighbor has 1." in explain(fitted, 3).summary


def test_edge_text_says_how_far_and_how_sure(fitted: Any) -> None:
    text = str(explain_edge(fitted, "hub", "c"))
    assert "look 4 hops apart (variance 0.2)" in text
    assert "really 1 hop apart is 0.05." in text
    assert "Ranks 1 of 5 edges" in text
    assert "40 % of the AHP of hub, 100 % of that of c" in text


def test_names_chosen_by_strangers_cannot_drive_the_terminal(fitted: Any) -> None:
    graph = fitted.graph_
    fitted.graph_ = AttributedGraph(
        graph.adjacency,
        np.asarray(graph.attributes),
        node_ids=["\x1b[2Jhub", "a\nb", "b", "c\u202e", "d", "lone"],
        attribute_names=["age\x07", "income"],
    )
    text = str(explain(fitted, "\x1b[2Jhub")) + str(explain_edge(fitted, "\x1b[2Jhub", "a\nb"))
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "\\x1b[2Jhub" in text
    assert "a\\nb" in text


def test_every_detector_says_what_its_score_measures(fitted: Any) -> None:
    model = type("LOF", (), {})()
    model.decision_score_, model.threshold_ = fitted.decision_score_, fitted.threshold_
    assert "edges play no part" in str(explain(model, "hub", graph=fitted.graph_))
    assert explain(fitted, "hub").method is None  # nothing is made up for a stranger's detector
    assert {name.lower() for name in METHODS} == {name.replace("_", "") for name in DETECTORS}
