"""Reasons as sentences, tables and JSON: what a user reads."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from hopsight import CrossHCM, load
from hopsight.canonical import Events
from hopsight.detectors import DETECTORS, get_detector
from hopsight.detectors.base import Detector
from hopsight.explanations import Explainer, explain
from hopsight.explanations.edges import edge_reasons, unlikeness_places
from hopsight.explanations.events import Calendar
from hopsight.explanations.reasons import (
    AttributeGap,
    Companions,
    Others,
    OwnValue,
    activity_sentence,
    companions_sentence,
    compared,
    edge_values,
    outlier_sentence,
)
from hopsight.explanations.text import flagged_sentence, phrase, shown_value
from hopsight.graph import AttributedGraph
from hopsight.hcm.groups import Group


@pytest.mark.parametrize(
    ("contamination", "n_flagged", "sentence"),
    [
        ("auto", 24, "24 nodes stand out (score above 3.5)."),
        ("auto", 1, "1 node stands out (score above 3.5)."),
        ("auto", 0, "No node stands out enough to be flagged (score above 3.5); the ranking says where to look first, "
         "and contamination=0.01 flags the first 24."),
        (0.05, 120, "120 nodes flagged (score above 3.5): 5% of all, as asked."),
        (0.05, 121, "121 nodes flagged (score above 3.5): 5.04% of all, where 5% were asked for."),
        (0.05, 90, "90 nodes flagged (score above 3.5): 3.75% of all, where 5% were asked for; of nodes with equal "
         "scores all are flagged or none."),
    ],
)  # fmt: skip
def test_the_rule_for_flagging_is_named(contamination: float | str, n_flagged: int, sentence: str) -> None:
    scores = np.array([3.5, 3.5]) if n_flagged == 90 else np.array([3.5])
    model = SimpleNamespace(contamination=contamination, false_alarms=0.1, threshold_=3.5, decision_score_=scores)
    assert flagged_sentence(model, n_flagged, 2400) == sentence
    scored = flagged_sentence(model, 7, 2400, scored=True)
    assert scored == "7 nodes flagged (score above 3.5), by the threshold of the fit."
    assert "flags the first 24." in flagged_sentence(model, 0, 2400, scored=True)


@pytest.mark.parametrize(
    ("probability", "n_anomalous", "sentence"),
    [
        ([0.9, 0.8, 0.1], 4, "2 nodes flagged (probability of 50.0% or more), 3 without the labels, "
         "of which 1 is no longer flagged; if the labels are "
         "a random sample, 15% of them are expected to be false alarms."),
        ([0.95, 0.2, 0.1], 4, "1 node flagged (probability of 50.0% or more), 3 without the labels, "
         "of which 2 are no longer flagged; if the labels are "
         "a random sample, the chance of a false alarm is 5%."),
        ([0.9, 0.02, 0.02], 9, "1 node flagged (probability of 50.0% or more), 3 without the labels, "
         "of which 2 are no longer flagged. How many are "
         "false alarms is unknown, and the probabilities may be too high: the labels are not a random sample (90% of "
         "them are anomalous)."),
        ([0.9, 0.02, 0.02], 5, "1 node flagged (probability of 50.0% or more), 3 without the labels, "
         "of which 2 are no longer flagged. How many are "
         "false alarms is unknown, and the probabilities may be too high: the labels may not be a random sample (50% "
         "of them are anomalous)."),
        ([0.4, 0.2, 0.1], 4, "No node is probable enough to be flagged (the largest probability is 40%); 3 "
         "were flagged without the labels; the ranking says where to look first, and contamination=0.01 flags the "
         "first one."),
    ],
)  # fmt: skip
def test_only_labels_say_how_many_false_alarms_to_expect(
    probability: list[float], n_anomalous: int, sentence: str
) -> None:
    """A share of anomalous labels that is above that of nodes is no random sample, though few labels cannot show it."""
    chances = np.array(probability)
    flags = (chances > 0.5).astype(np.int64)
    anomalous = np.arange(10) < n_anomalous
    learned = SimpleNamespace(kept=[0], anomalous=anomalous)  # the score is −log₁₀ of the probability of being normal
    model = SimpleNamespace(
        contamination="auto", threshold_=-np.log10(0.5), probability_=chances, label_=flags, learned_=learned,
        before_={"label_": np.ones(3)},
    )  # fmt: skip
    assert flagged_sentence(model, int(flags.sum()), 3) == sentence
    if flags.any():
        assert "flagged (probability of 50.0% or more), by" in flagged_sentence(model, 2, 3, scored=True)
        learned.kept = [1]
        assert "flagged (score above 0.301)" in flagged_sentence(model, int(flags.sum()), 3)


def test_the_percentages_of_reasons_are_rounded_down(fitted: Any) -> None:
    fitted.edge_hop_, fitted.edge_dissimilarity_ = np.full(2000, 2.0), np.arange(2000.0)
    reasons = edge_reasons(fitted, np.arange(2000), unlikeness_places(fitted))
    assert reasons[1999] == "looks 2.0 hops apart; attributes farther apart than for 99.9% of edges"
    assert reasons[1997] == "looks 2.0 hops apart; attributes farther apart than for 99.8% of edges"
    assert reasons[1980] == "looks 2.0 hops apart; attributes farther apart than for 99% of edges"
    assert reasons[1] == "looks 2.0 hops apart; attributes closer than for 99.9% of edges"
    assert not any("00000" in reason for reason in reasons)


def test_to_dict_holds_every_neighbor_whatever_is_printed(fitted: Any) -> None:
    plain = explain(fitted, "hub", top=1).to_dict()
    assert [row["node"] for row in plain["neighbors"]] == ["c", "a", "d", "b"]
    assert len(plain["attributes"]) == 1
    assert plain["summary"].endswith("Ranks 1 of 6 (flagged).")


def test_summary_says_attribute_and_rank_and_the_details_how_far_neighbors_look(fitted: Any) -> None:
    reasons = explain(fitted, "hub")
    assert reasons.summary == ("It differs most in age: 90, while its neighbors have 30 to 33. Ranks 1 of 6 (flagged).")
    assert reasons.in_short == "age 90 (neighbors 30 to 33)"
    assert "Its 4 neighbors look 2.5 hops away on average, farther than for 66% of nodes." in str(reasons).splitlines()


def test_text_lists_the_farthest_neighbors_and_counts_the_rest(fitted: Any) -> None:
    fitted.score_without = lambda graph, position, edges: 1.1
    text = str(explain(fitted, "hub", top=2, absent=1))
    lines = [line.split() for line in text.splitlines()]
    assert ["c", "4.00", "0.200", "0.050"] in lines
    assert ["a", "3.00", "0.500", "0.100"] in lines
    assert "… and 2 more" in text
    assert "Without the edge to c, the score would be about 1.1 and the rank about 2." in text


def test_a_binary_attribute_is_given_as_a_share_of_the_neighbors(fitted: Any) -> None:
    flags = np.array([[1.0], [0.0], [0.0], [0.0], [1.0], [0.0]])
    fitted.graph_ = AttributedGraph(fitted.graph_.adjacency, flags, attribute_names=["city=Oslo"])
    reasons = explain(fitted, 0)
    assert "It differs most in city=Oslo: 1, while 25% of its neighbors have 1." in reasons.summary
    assert "25% have 1" in str(reasons)
    assert "city=Oslo: 0, while its only neighbor has 1." in explain(fitted, 3).summary


def test_edge_text_says_how_far_and_how_sure(fitted: Any) -> None:
    text = " ".join(str(explain(fitted, "hub", "c")).split())
    assert "Ranks 1 of 5 edges: looks 4.0 hops apart. They differ most in income: 10 and 12." in text
    assert "really 1 hop apart is 0.05 (variance of the hops 0.2)." in text


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
    assert reasons.summary.startswith(sentence)
    assert "=" not in str(reasons)


def test_the_category_of_an_only_neighbor_and_of_an_edge(fitted: Any) -> None:
    fitted.graph_ = AttributedGraph(fitted.graph_.adjacency, np.eye(3)[[0, 1, 1, 1, 1, 0]], attribute_names=CITIES)
    assert explain(fitted, 3).summary.startswith("Its city is Oslo; its only neighbor has Dublin.")
    assert explain(fitted, 3).in_short == "city Oslo (neighbor Dublin)"
    assert explain(fitted, 0).in_short == "city Dublin (neighbors 100% Oslo)"
    lines = [line.split() for line in str(explain(fitted, 0, 3)).splitlines()]
    assert any(line[:3] == ["city", "Dublin", "Oslo"] for line in lines)


def test_an_outlier_is_explained_by_its_three_most_unusual_values() -> None:
    values = [OwnValue("income", 250_000.0, 99.85, 0.0, usual=31_000.0), OwnValue("city", "Rome", share=0.004)]
    values += [OwnValue("age", 3.0, 0.0, 98.0, among="nodes with a value"), OwnValue("left out", 1.0, 95.0, 0.0)]
    assert outlier_sentence(values) == (
        "Its own attributes are unusual: income 250,000 (31,000 is usual): higher than for 99.8% of nodes; city Rome: "
        "as for 0.4% of nodes; age 3: lower than for 98% of nodes with a value."
    )
    assert [each.in_short for each in values[:2]] == [
        "income 250,000 (31,000 is usual)",
        "city Rome: as for 0.4% of nodes",
    ]
    assert "none of them is unusual by itself" in outlier_sentence([])


def test_one_payment_is_told_once_and_by_its_amount() -> None:
    values = [OwnValue(f"Amount sent, {what} for its count", 46_712.8, 99.6, 0.0) for what in ("minimum", "maximum")]
    values += [OwnValue(f"Amount sent, {what}", 48_900.0, 99.6, 0.0) for what in ("mean", "median")]
    values += [OwnValue("Date sent, first in days for its count", 12.25, 98.0, 1.0)]
    assert outlier_sentence(values) == (
        "Its own attributes are unusual: Amount sent, mean 48,900: higher than for 99.6% of nodes; Date of outgoing "
        "edges, first: 12 days later than usual for as many edges, later than for 98% of nodes."
    )


@pytest.mark.parametrize(
    ("degree", "expected", "sentence"),
    [
        (41, 6.2, "Has 41 connections; its attributes suggest about 6."),
        (1, 1.26, "Has 1 connection; its attributes suggest about 1.3."),
        (0, 5000.0, "Has no connections; its attributes suggest about 5,000."),
        (41, None, "Has 41 connections, more than 97% of nodes."),
    ],
)
def test_activity_is_compared_with_what_is_expected(degree: int, expected: float | None, sentence: str) -> None:
    assert activity_sentence(degree, expected, 97.0, 10_000) == sentence


def test_the_members_of_a_ring_and_of_a_lockstep_group_are_named() -> None:
    ring = Companions("ring", ("b", "c\n"), 3, 0.93)
    assert companions_sentence("ring", ring) == (
        "It belongs to a ring of 3 nodes that look far apart, 93% of whose pairs are connected (group 3): with b and "
        "c\\n."
    )
    many = Companions("lockstep", tuple("abcdefgh"), 1, 1.0)
    assert companions_sentence("lockstep", many).startswith("It belongs to a group of 9 near-copies")
    assert companions_sentence("lockstep", many).endswith("with a, b, c, d, e, f and 2 more.")
    loose = Companions("lockstep", ("b", "c"))
    assert companions_sentence("lockstep", loose) == "Its edges close triangles of near-copies with b and c."
    assert companions_sentence("ring", None) == "Its edges close triangles of nodes that look far apart."


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


def test_several_payments_are_not_said_as_one_that_does_not_exist(fitted: Any) -> None:
    """Of hub – c (2.5 to c, 1 back and 4.5 to c) the edge has a mean and the latest time; hub – a has one payment."""
    march = 1_709_251_200.0
    hub, c, amounts, days = [0, 3, 0, 0], [3, 0, 3, 1], [2.5, 1.0, 4.5, 7.0], np.array([0, 1, 2, 2])
    events = Events(np.array(hub), np.array(c), np.array(amounts), march + 86_400 * days)
    fitted.graph_ = dataclasses.replace(with_data(fitted, [march] * 5), events=events)
    reasons = explain(fitted, "hub", "c")
    assert "In the edge list: 8 in 3 events (2024-03-01 to 2024-03-03).\n" in f"{reasons}\n"
    assert reasons.data[1].value == 48_900.4
    assert "In the edge list: weight 1; Amount\\x07 10; time 2024-03-01." in str(explain(fitted, "hub", "a"))


def test_a_number_that_most_nodes_do_not_have_is_not_compared_with_zero() -> None:
    edges = OwnValue("edges received, log count", float(np.log1p(37)), 97.2, 0.0, usual=0.0)
    assert str(edges) == "incoming edges 37 (most nodes have none): higher than for 97% of nodes"
    assert edges.in_short == "incoming edges 37 (most nodes have none)"
    assert OwnValue("balance", 5.0, 97.2, 0.0, usual=0.0).in_short == "balance 5 (0 is usual)"


def test_times_in_a_unit_of_their_own_stay_numbers(fitted: Any) -> None:
    graph = with_data(fitted, [1.0, 2.0, 3.0, 4.0, 5.0])
    assert [str(each) for each in edge_values(graph, 2, Calendar.of(graph))][-1] == "time 3"


def test_a_detector_without_hops_says_that_it_judges_nodes(fitted: Any) -> None:
    plain = type("Lof", (), {"decision_score_": fitted.decision_score_, "threshold_": 1.0})()
    text = str(explain(plain, "hub", "c", graph=fitted.graph_))
    assert "Lof judges nodes, not edges." in text and "probability" not in text
    assert "Scores of its ends: hub " in text


def gap(name: str, value: float, low: float, high: float) -> AttributeGap:
    return AttributeGap(name, value, low, (low + high) / 2, high, difference=2.0, percentile=99.0)


def test_logarithms_become_counts() -> None:
    count = gap("in-degree, log", np.log1p(20), np.log1p(2), np.log1p(9))
    assert count.cells()[:3] == ("in-degree", "20", "2 to 9")
    assert count.sentence(Others(5)) == "It differs most in in-degree: 20, while its neighbors have 2 to 9."
    assert str(OwnValue("edges sent, log count", np.log1p(3), 99.8, 0.0)) == (
        "outgoing edges 3: higher than for 99.8% of nodes"
    )


def test_what_is_compared_with_as_many_edges_has_a_sign_or_is_a_factor() -> None:
    most = gap("amount sent, maximum for its count", 1220.4, -8.0, 859.0)
    assert most.cells()[:3] == ("amount sent, maximum for its count", "+1,220", "-8 to +859")
    total = gap("amount sent, log sum for its count", np.log(18.5), np.log(0.65), np.log(15))
    assert compared(total)[:2] == ("amount sent, sum for its count", "×18")
    assert str(OwnValue("amount sent, maximum for its count", -40.0, 0.0, 99.0)) == (
        "amount sent, maximum: 40 less than usual for as many edges, lower than for 99% of nodes"
    )
    assert phrase("time sent, first for its count", 0.0) == "time of outgoing edges, first: as usual for as many edges"
    assert shown_value("amount sent, log sum for its count", 1e6).startswith("×")  # no overflow


def test_differences_in_time_have_a_unit() -> None:
    first = gap("Date sent, first in days for its count", -3.26, -0.02, 0.5)
    assert first.cells()[:3] == ("Date of outgoing edges, first for its count", "-3.3 days", "-29 minutes to +12 hours")
    assert phrase("ts sent, last in seconds for its count", 90.0) == (
        "ts of outgoing edges, last: 1.5 minutes later than usual for as many edges"
    )
    assert shown_value("step sent, last for its count", 90.0) == "+90"  # in a unit that nobody knows
    assert shown_value("Date sent, first in days for its count", 0.0) == "0"


def test_dates_of_nodes_are_dates() -> None:
    opened = gap("opened, days since 1970", 19_783.0, 16_000.0, 18_000.0)
    assert opened.cells()[:3] == ("opened", "2024-03-01", "2013-10-22 to 2019-04-14")
    assert str(OwnValue("opened, days since 1970", 19_783.0, 99.0, 0.0)) == (
        "opened 2024-03-01: later than for 99% of nodes"
    )


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
        groups_=[Group("ring", np.array([0, 1, 2]), 1.0, 2.5)],
        evidence_={"ring": np.array([3.0, 2.5, 2.0, 0.0])},
        evidence=("ring",),
    )  # fmt: skip
    return Explainer(model, star)


def test_an_edge_shows_hops_probability_and_what_differs(explainer: Explainer) -> None:
    edge = explainer.edge("hub", "<b>")
    shown = edge._repr_html_()
    assert "Edge hub – &lt;b&gt;" in shown and "<b>" not in shown
    for part in ("looks 1.5 hops apart", "is 0.6667", "Ranks 2 of 4", ">age<", ">9<", ">1<"):
        assert part in shown
    assert repr(edge) == "<Explanation of the edge hub – <b>>"


def test_a_group_shows_its_members(explainer: Explainer) -> None:
    group = explainer.group(1)
    shown = group._repr_html_()
    for part in ("Group 1: a ring of 3 nodes", "100% of their pairs", ">3.0<", "&lt;b&gt;"):
        assert part in shown
    assert repr(group) == "<Explanation of group 1: a ring of 3 nodes>"


def test_a_few_words_on_a_member_of_a_group_end_with_its_number(explainer: Explainer) -> None:
    said = [each.in_short for each in explainer.many([0, 1, 2, 3])]
    assert [each.endswith(", group 1") for each in said] == [True, True, True, False] and "group" not in said[3]


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


def test_a_node_without_edges_says_so_first() -> None:
    """An account that did nothing may stand out by its attributes alone."""
    edges = pl.DataFrame({"from": [f"a{k}" for k in range(60)], "to": [f"a{(7 * k + 1) % 60}" for k in range(60)]})
    ages = {f"a{k}": 30 + k % 9 for k in range(60)} | {"quiet": 400}
    graph = load(edges, nodes=pl.DataFrame({"id": list(ages), "age": list(ages.values())}), notices=[])
    found = explain(CrossHCM.untrained(seed=0).fit(graph), "quiet")
    assert found.in_short.startswith("no edges; age")
