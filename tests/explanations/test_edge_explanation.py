"""An edge is explained with what the edge list says about it, in words before figures."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from hopsight.explanations import explain
from hopsight.explanations.edge_explanation import edge_values, plainest
from hopsight.explanations.reasons import AttributeGap
from hopsight.graph import AttributedGraph


def with_data(fitted: Any, times: list[float]) -> AttributedGraph:
    graph = fitted.graph_
    return dataclasses.replace(
        graph,
        edge_weight=np.array([1.0, 2, 3, 4, 5]),
        edge_time=np.array(times),
        edge_attributes=np.array([[10.0], [20], [48_900.4], [40], [50]]),
        edge_attribute_names=["Amount\x07"],
    )


def test_the_amount_and_the_time_of_an_edge_are_said(fitted: Any) -> None:
    march = 1_709_251_200.0  # 2024-03-01
    fitted.graph_ = with_data(fitted, [march, march, march + 86_400 + 754 * 60, march, march])
    reasons = explain(fitted, "hub", "c")
    assert "In the edge list: weight 3; Amount\\x07 48,900; time 2024-03-02 12:34." in str(reasons)
    assert "time 2024-03-01." in str(explain(fitted, "hub", "a"))  # midnight is a date without a time of day
    plain = reasons.to_dict()
    assert plain["summary"] == reasons.summary and next(iter(plain)) == "summary"
    assert plain["data"][1] == {"name": "Amount\x07", "value": 48_900.4, "text": "48,900"}


def test_the_summary_prefers_an_amount_to_a_comparison() -> None:
    names = ("Amount sent, maximum for its count", "Amount sent, mean", "age")
    sizes = (8.0, 5.0, 1.0)
    gaps = [AttributeGap(name, 9.0, 1.0, 1.0, 1.0, size, 99.0) for name, size in zip(names, sizes, strict=True)]
    assert [gap.name for gap in plainest(gaps, 3)] == ["Amount sent, mean", "age"]
    assert plainest([gaps[0], gaps[2]], 1) == [gaps[0]]


def test_times_in_a_unit_of_their_own_stay_numbers(fitted: Any) -> None:
    graph = with_data(fitted, [1.0, 2.0, 3.0, 4.0, 5.0])
    assert [str(each) for each in edge_values(graph, 2)][-1] == "time 3"


def test_a_detector_without_hops_says_that_it_judges_nodes(fitted: Any) -> None:
    plain = type("Lof", (), {"decision_score_": fitted.decision_score_, "threshold_": 1.0})()
    text = str(explain(plain, "hub", "c", graph=fitted.graph_))
    assert "Lof judges nodes, not edges." in text and "probability" not in text
    assert "Scores of its ends: hub " in text
