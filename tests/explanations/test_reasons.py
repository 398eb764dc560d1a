"""Explanations are plain, immutable values that read as sentences."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from hopsight.detectors import DETECTORS, get_detector
from hopsight.detectors.base import Detector
from hopsight.explanations import explain
from hopsight.graph import AttributedGraph


def test_an_explanation_cannot_be_changed(fitted: Any) -> None:
    reasons = explain(fitted, "hub")
    with pytest.raises(dataclasses.FrozenInstanceError):
        reasons.score = 0.0  # type: ignore[misc]


def test_to_dict_holds_every_neighbor_whatever_is_printed(fitted: Any) -> None:
    plain = explain(fitted, "hub", top=1).to_dict()
    assert [row["node"] for row in plain["neighbors"]] == ["c", "a", "d", "b"]
    assert len(plain["attributes"]) == 1
    assert plain["summary"].startswith("Ranks 1 of 6 (flagged).")


def test_summary_says_rank_distance_and_attribute(fitted: Any) -> None:
    assert explain(fitted, "hub").summary == (
        "Ranks 1 of 6 (flagged). Its 4 neighbors look 2.5 hops away on average, farther than for 66% of nodes. "
        "It differs most in age: 90, while its neighbors have 30.3 to 32.7."
    )


def test_text_lists_the_farthest_neighbors_and_counts_the_rest(fitted: Any) -> None:
    fitted.score_without = lambda graph, position, edges: 1.1
    text = str(explain(fitted, "hub", top=2, absent=1))
    lines = [line.split() for line in text.splitlines()]
    assert ["c", "4.00", "0.200", "0.050", "1.0000"] in lines
    assert ["a", "3.00", "0.500", "0.100", "0.7500"] in lines
    assert "… and 2 more" in text
    assert "Without the edge to c, the score would be 1.1, rank 2." in text


def test_a_binary_attribute_is_given_as_a_share_of_the_neighbors(fitted: Any) -> None:
    flags = np.array([[1.0], [0.0], [0.0], [0.0], [1.0], [0.0]])
    fitted.graph_ = AttributedGraph(fitted.graph_.adjacency, flags, attribute_names=["city=Oslo"])
    reasons = explain(fitted, 0)
    assert "It differs most in city=Oslo: 1, while 25% of its neighbors have 1." in reasons.summary
    assert "25% have 1" in str(reasons)
    assert "city=Oslo: 0, while its only neighbor has 1." in explain(fitted, 3).summary


def test_edge_text_says_how_far_and_how_sure(fitted: Any) -> None:
    text = str(explain(fitted, "hub", "c"))
    assert "Ranks 1 of 5 edges: its ends look 4.0 hops apart. They differ most in income: 10 and 12." in text
    assert "really 1 hop apart is 0.05 (variance of the hops 0.2)." in text
    assert "40% of the AHP of hub and 100% of c's" in text


def test_names_cannot_control_the_terminal(fitted: Any) -> None:
    graph = fitted.graph_
    fitted.graph_ = AttributedGraph(
        graph.adjacency,
        np.asarray(graph.attributes),
        node_ids=["\x1b[2Jhub", "a\nb", "b", "c\u202e", "d", "lone"],
        attribute_names=["age\x07", "income"],
    )
    text = str(explain(fitted, "\x1b[2Jhub")) + str(explain(fitted, "\x1b[2Jhub", "a\nb"))
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "\\x1b[2Jhub" in text
    assert "a\\nb" in text


def test_the_class_of_the_detector_says_what_its_score_measures(fitted: Any) -> None:
    model = get_detector("lof")()
    model.decision_score_, model.threshold_ = fitted.decision_score_, fitted.threshold_
    assert "edges play no part" in str(explain(model, "hub", graph=fitted.graph_))
    assert explain(fitted, "hub").method is None  # nothing is made up for a detector that does not say


@pytest.mark.parametrize("name", DETECTORS)
def test_every_detector_says_what_its_score_measures(name: str) -> None:
    assert DETECTORS[name].meaning != Detector.meaning


CITIES = ["city=Dublin", "city=Oslo", "city=Rome"]


@pytest.mark.parametrize(
    ("cities", "sentence"),
    [
        ([0, 1, 1, 1, 1, 0], "Its city is Dublin; all 4 neighbors have Oslo."),
        ([0, 1, 1, 1, 2, 0], "Its city is Dublin; 75% of its 4 neighbors have Oslo."),
        ([0, 0, 0, 1, 2, 0], "Its city is Dublin, shared by only 50% of its 4 neighbors."),
    ],
)
def test_a_category_is_spoken_of_as_a_category(fitted: Any, cities: list[int], sentence: str) -> None:
    fitted.graph_ = AttributedGraph(fitted.graph_.adjacency, np.eye(3)[cities], attribute_names=CITIES)
    reasons = explain(fitted, 0)
    assert reasons.summary.endswith(sentence)
    assert "=" not in str(reasons)


def test_the_category_of_an_only_neighbor_and_of_an_edge(fitted: Any) -> None:
    fitted.graph_ = AttributedGraph(fitted.graph_.adjacency, np.eye(3)[[0, 1, 1, 1, 1, 0]], attribute_names=CITIES)
    assert explain(fitted, 3).summary.endswith("Its city is Oslo; its only neighbor has Dublin.")
    lines = [line.split() for line in str(explain(fitted, 0, 3)).splitlines()]
    assert any(line[:3] == ["city", "Dublin", "Oslo"] for line in lines)
