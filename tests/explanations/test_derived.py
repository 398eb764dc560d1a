"""Derived attributes are read in counts, differences and factors, in every place where a user meets them."""

from __future__ import annotations

import numpy as np

from hopsight.explanations.derived import named, phrase, said
from hopsight.explanations.edge_explanation import compared
from hopsight.explanations.evidence import OwnValue
from hopsight.explanations.groups import shared
from hopsight.explanations.reasons import AttributeGap
from hopsight.graph import AttributedGraph


def gap(name: str, value: float, low: float, high: float) -> AttributeGap:
    return AttributeGap(name, value, low, (low + high) / 2, high, difference=2.0, percentile=99.0)


def test_logarithms_become_counts() -> None:
    count = gap("in-degree, log", np.log1p(20), np.log1p(2), np.log1p(9))
    assert count.cells()[:3] == ("in-degree", "20", "2 to 9")
    assert count.sentence(5) == "It differs most in in-degree: 20, while its neighbors have 2 to 9."
    assert str(OwnValue("edges sent, log count", np.log1p(3), 99.8, 0.0)) == (
        "edges sent 3: higher than for 99.8% of nodes"
    )


def test_what_is_compared_with_as_many_edges_has_a_sign_or_is_a_factor() -> None:
    most = gap("amount sent, maximum for its count", 1220.4, -8.0, 859.0)
    assert most.cells()[:3] == ("amount sent, maximum for its count", "+1,220", "-8 to +859")
    total = gap("amount sent, log sum for its count", np.log(18.5), np.log(0.65), np.log(15))
    assert compared(total)[:2] == ("amount sent, sum for its count", "×18")
    assert str(OwnValue("amount sent, maximum for its count", -40.0, 0.0, 99.0)) == (
        "amount sent, maximum: 40 less than usual for as many edges, lower than for 99% of nodes"
    )
    assert phrase("time sent, first for its count", 0.0) == "time sent, first: as usual for as many edges"
    assert said("amount sent, log sum for its count", 1e6).startswith("×")  # no overflow


def test_the_mean_degree_of_neighbors_is_a_count_too() -> None:
    mean = gap("neighbors' degree, mean log", np.log1p(12), np.log1p(34), np.log1p(50))
    assert mean.cells()[:3] == ("neighbors' degree", "12", "34 to 50")


def test_differences_in_time_have_a_unit() -> None:
    first = gap("Date sent, first in days for its count", -3.26, -0.02, 0.5)
    assert first.cells()[:3] == ("Date sent, first for its count", "-3.3 days", "-29 minutes to +12 hours")
    assert phrase("ts sent, last in seconds for its count", 90.0) == (
        "ts sent, last: 1.5 minutes later than usual for as many edges"
    )
    assert said("step sent, last for its count", 90.0) == "+90"  # in a unit that nobody knows
    assert said("Date sent, first in days for its count", 0.0) == "0"


def test_dates_of_nodes_are_dates() -> None:
    opened = gap("opened, days since 1970", 19_783.0, 16_000.0, 18_000.0)
    assert opened.cells()[:3] == ("opened", "2024-03-01", "2013-10-22 to 2019-04-14")
    assert str(OwnValue("opened, days since 1970", 19_783.0, 99.0, 0.0)) == (
        "opened 2024-03-01: later than for 99% of nodes"
    )


def test_other_attributes_keep_their_names_and_values() -> None:
    assert (named("log income"), said("log income", 3.0445), phrase("age", 31.0)) == ("log income", "3.045", "age 31")


def test_groups_say_it_too() -> None:
    values = np.log1p(np.array([[20.0], [20], [20], [1], [90], [4], [60], [2]]))
    graph = AttributedGraph.from_edges([0], [1], values, attribute_names=["in-degree, log"])
    assert shared(graph, np.array([0, 1, 2])) == "alike in in-degree 20"
