"""Unusual values of a node among those of all nodes."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from hopsight.explanations.own_values import N_NONZERO, OwnValues
from hopsight.graph import AttributedGraph


def test_a_number_is_placed_among_all_nodes(rng: np.random.Generator) -> None:
    values = rng.normal(50, 5, size=(500, 3))
    values[7] = [250.0, 50.0, -40.0]
    graph = AttributedGraph.from_edges([0], [1], values, attribute_names=["income", "age", "height"])
    income, height = OwnValues(graph).of(7, 5)  # age is ordinary
    assert {str(income), str(height)} == {
        "income 250: higher than for 99.8% of nodes", "height -40: lower than for 99.8% of nodes",
    }  # fmt: skip
    assert OwnValues(graph).of(7, 1)[0] in (income, height)


def test_a_category_is_spoken_of_as_a_category() -> None:
    cities = np.eye(3)[[0] * 60 + [1] * 39 + [2]]
    graph = AttributedGraph.from_edges([0], [1], cities, attribute_names=["city=Oslo", "city=Rome", "city=Dublin"])
    assert [str(value) for value in OwnValues(graph).of(99, 5)] == ["city Dublin: as for no other node"]
    assert OwnValues(graph).of(0, 5) == ()
    twice = np.eye(3)[[0] * 60 + [1] * 38 + [2, 2]]
    graph = AttributedGraph.from_edges([0], [1], twice, attribute_names=["city=Oslo", "city=Rome", "city=Dublin"])
    assert [str(value) for value in OwnValues(graph).of(99, 5)] == ["city Dublin: as for 2% of nodes"]


def test_equally_common_values_are_not_unusual() -> None:
    graph = AttributedGraph.from_edges(
        [0], [1], np.eye(20)[np.arange(200) % 20], attribute_names=[f"city={i}" for i in range(20)]
    )
    assert OwnValues(graph).of(3, 5) == ()


def test_a_yes_or_no_attribute_is_unusual_if_few_share_its_value() -> None:
    member = np.zeros((50, 1))
    member[:2] = 1
    graph = AttributedGraph.from_edges([0], [1], member, attribute_names=["is_member"])
    assert [str(value) for value in OwnValues(graph).of(0, 5)] == ["is_member 1: as for 4% of nodes"]
    assert OwnValues(graph).of(9, 5) == ()


def test_rare_words_and_their_number_are_found_in_sparse_attributes() -> None:
    words = np.zeros((100, 12))
    words[:, 0] = 1
    words[3, 1:] = 1
    words[4, 1] = 1
    graph = AttributedGraph.from_edges([0], [1], sp.csr_array(words))
    number, *rare = OwnValues(graph).of(3, 3)
    assert str(number) == f"{N_NONZERO} 12: higher than for 99% of nodes"
    assert [str(value) for value in rare] == ["x2 1: as for no other node", "x3 1: as for no other node"]
    assert "x1 1: as for 2% of nodes" in map(str, OwnValues(graph).of(4, 5))
    assert OwnValues(graph).of(50, 5) == ()
