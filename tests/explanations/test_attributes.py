"""Nodes compared with neighbors and with all nodes: values by hand, the same for sparse and dense attributes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from hopsight import CrossHCM, explain, load
from hopsight.explanations.attributes import N_NONZERO, AttributeComparison, edge_spread
from hopsight.explanations.groups import Shared
from hopsight.explanations.reasons import Category, OwnValue
from hopsight.graph import AttributedGraph


def test_gap_of_the_hub_is_in_age_with_the_range_of_its_neighbors(star: AttributedGraph) -> None:
    first = AttributeComparison(star).gaps(0, np.array([1, 2, 3, 4]), 10)[0]
    assert first.name == "age"
    assert first.value == 90.0
    assert (first.low, first.median, first.high) == (30.0, 32.0, 33.0)
    # edges differ by 60, 58, 59, 57 and 2: s = sqrt((3600 + 3364 + 3481 + 3249 + 4) / 10)
    assert first.difference == pytest.approx((90 - 31.5) / (np.sqrt(1369.8) * np.sqrt(1.25)))
    assert first.percentile == pytest.approx(100 * 5 / 6)


def test_an_attribute_that_equals_the_neighbors_mean_is_left_out(star: AttributedGraph) -> None:
    gaps = AttributeComparison(star).gaps(0, np.array([1, 2, 3, 4]), 10)
    assert [gap.name for gap in gaps] == ["age"]  # income is 10, the mean of 11, 9, 12 and 8


def test_a_cell_that_was_filled_is_nobodys_value(star: AttributedGraph) -> None:
    """Node 4 has no age: the others have 30, 32 and 31, and it has none to tell."""
    blank = replace(star, filled={"age": np.array([4])})
    compared = AttributeComparison(blank)
    first = compared.gaps(0, np.array([1, 2, 3, 4]), 10)[0]
    assert (first.low, first.median, first.high) == (30.0, 31.0, 32.0)
    assert first.percentile == pytest.approx(100 * 4 / 5)
    assert not [each for each in compared.gaps(4, np.array([0]), 10) if each.name == "age"]


def test_a_rare_word_does_not_outweigh_all_others() -> None:
    """Column 0 occurs once in the graph, column 1 is common; the node has both, its neighbors neither."""
    words = np.zeros((201, 50))
    words[100:, 1:] = 1.0
    words[0, :2] = 1.0
    ring = AttributedGraph.from_edges(range(200), range(1, 201), sp.csr_array(words))
    first, second = AttributeComparison(ring).gaps(0, np.array([1]), 2)
    assert {first.name, second.name} == {"x0", "x1"}
    assert abs(first.difference) < 2 * abs(second.difference)


def test_an_attribute_that_never_differs_along_edges_uses_its_spread_over_the_graph() -> None:
    graph = AttributedGraph.from_edges([0, 2], [1, 3], np.array([[0.0], [0.0], [4.0], [4.0]]))
    assert edge_spread(graph).tolist() == [2.0]


def test_a_binary_attribute_has_the_share_of_neighbors_with_1() -> None:
    flags = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.5]])
    graph = AttributedGraph.from_edges([0, 0, 0, 0], [1, 2, 3, 4], flags)
    shares = {gap.name: gap.share for gap in AttributeComparison(graph).gaps(0, np.array([1, 2, 3, 4]), 5)}
    assert shares == {"x0": 0.25, "x1": None}


def test_a_category_is_one_attribute_with_the_most_common_value_of_the_neighbors() -> None:
    """Of four people, three live in Oslo; the age column is no category, whatever its name."""
    cities = np.array([[1.0, 0, 0, 5], [0, 1, 0, 5], [0, 1, 0, 5], [0, 0, 1, 5], [0, 0, 0, 5]])
    names = ["city=Dublin", "city=Oslo", "city=Rome", "age=now"]
    graph = AttributedGraph.from_edges([0, 0, 0, 0, 3], [1, 2, 3, 4, 4], cities, attribute_names=names)
    comparison = AttributeComparison(graph)
    (gap,) = comparison.gaps(0, np.array([1, 2, 3, 4]), 5)
    assert (gap.name, gap.value, gap.share) == ("city=Dublin", 1.0, 0.0)
    assert gap.category == Category("city", "Dublin", "Oslo", 0.5)
    missing = comparison.gaps(4, np.array([3]), 5)  # nobody knows the city of node 4
    assert [(each.name, each.category) for each in missing] == [("city=Rome", None)]


def test_columns_that_are_not_one_hot_are_no_category() -> None:
    counts = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    graph = AttributedGraph.from_edges([0, 0], [1, 2], counts, attribute_names=["visits=Mon", "visits=Tue"])
    gaps = AttributeComparison(graph).gaps(0, np.array([1, 2]), 5)
    assert [each.category for each in gaps] == [None, None]


@pytest.fixture
def table() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.where(rng.random((200, 6)) < 0.6, 0.0, rng.integers(-3, 4, (200, 6))).astype(np.float64)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_the_share_of_lower_values_is_the_one_that_counting_gives(table: np.ndarray, make: type) -> None:
    graph = AttributedGraph.from_edges(range(199), range(1, 200), make(table))
    for node in range(20):
        for gap in AttributeComparison(graph).gaps(node, np.array([node + 1]), 6):
            assert gap.percentile == pytest.approx(100 * (table[:, int(gap.name[1:])] < gap.value).mean())


def unusual(graph: AttributedGraph, node: int, top: int) -> tuple[OwnValue, ...]:
    return next(AttributeComparison(graph).unusual(np.array([node]), top))


def test_a_number_is_placed_among_all_nodes(rng: np.random.Generator) -> None:
    values = rng.normal(50, 5, size=(500, 3))
    values[7] = [250.0, 50.0, -40.0]
    graph = AttributedGraph.from_edges([0], [1], values, attribute_names=["income", "age", "height"])
    income, height = unusual(graph, 7, 5)  # age is ordinary
    usual = [f"{np.quantile(values[:, column], 0.5, method='lower'):.4g}" for column in (0, 2)]
    assert {str(income), str(height)} == {
        f"income 250 ({usual[0]} is usual): higher than for 99.8% of nodes",
        f"height -40 ({usual[1]} is usual): lower than for 99.8% of nodes",
    }
    assert unusual(graph, 7, 1)[0] in (income, height)


def test_a_category_is_spoken_of_as_a_category() -> None:
    cities = np.eye(3)[[0] * 60 + [1] * 39 + [2]]
    graph = AttributedGraph.from_edges([0], [1], cities, attribute_names=["city=Oslo", "city=Rome", "city=Dublin"])
    assert [str(value) for value in unusual(graph, 99, 5)] == ["city Dublin: as for no other node"]
    assert unusual(graph, 0, 5) == ()
    twice = np.eye(3)[[0] * 60 + [1] * 38 + [2, 2]]
    graph = AttributedGraph.from_edges([0], [1], twice, attribute_names=["city=Oslo", "city=Rome", "city=Dublin"])
    assert [str(value) for value in unusual(graph, 99, 5)] == ["city Dublin: as for 2% of nodes"]


def test_equally_common_values_are_not_unusual() -> None:
    graph = AttributedGraph.from_edges(
        [0], [1], np.eye(20)[np.arange(200) % 20], attribute_names=[f"city={i}" for i in range(20)]
    )
    assert unusual(graph, 3, 5) == ()


def test_a_yes_or_no_attribute_is_unusual_if_few_share_its_value() -> None:
    member = np.zeros((50, 1))
    member[:2] = 1
    graph = AttributedGraph.from_edges([0], [1], member, attribute_names=["is_member"])
    assert [str(value) for value in unusual(graph, 0, 5)] == ["is_member 1: as for 4% of nodes"]
    assert unusual(graph, 9, 5) == ()


def test_rare_words_and_their_number_are_found_in_sparse_attributes() -> None:
    words = np.zeros((100, 12))
    words[:, 0] = 1
    words[3, 1:] = 1
    words[4, 1] = 1
    graph = AttributedGraph.from_edges([0], [1], sp.csr_array(words))
    number, *rare = unusual(graph, 3, 3)
    assert str(number) == f"{N_NONZERO} 12: higher than for 99% of nodes"
    assert [str(value) for value in rare] == ["x2 1: as for no other node", "x3 1: as for no other node"]
    assert "x1 1: as for 2% of nodes" in map(str, unusual(graph, 4, 5))
    assert unusual(graph, 50, 5) == ()


def test_what_summarizes_no_rows_is_not_told_of_a_node() -> None:
    """Buyers receive nothing and shops send nothing: what was filled in is no fact about them."""
    rows = [(f"b{i % 30}", f"s{i * 7 % 12}", 10.0 + i * 37 % 90) for i in range(300)]
    graph = load(pl.DataFrame(rows, schema=["buyer", "shop", "amount"], orient="row"), notices=[])
    buyers, shops = (np.flatnonzero([name.startswith(kind) for name in graph.node_ids]) for kind in "bs")
    assert graph.no_value["amount received, median"].tolist() == buyers.tolist()
    assert graph.no_value["amount sent, median"].tolist() == shops.tolist()
    shared, model = Shared(graph), CrossHCM.untrained().fit(graph)
    for members, name, missing in ((buyers[:5], "b3", "amount received"), (shops[:5], "s2", "amount sent")):
        assert missing not in shared.among(members) and missing not in str(explain(model, name))


def test_an_empty_cell_among_categories_is_no_reason_and_the_neighbors_with_one_do_not_count() -> None:
    """Node 0 has no city, and neither has one of the ten neighbors of node 1, who live in Oslo."""
    n = 80
    cities = ["Oslo" if 2 <= node < 12 else ("Bern", "Rome")[node % 2] for node in range(n)]
    cities[0] = cities[11] = None
    ends = [(1, node) for node in range(2, 12)] + [(0, node) for node in range(2, 12)]
    ends += [(node, (7 * node + 3) % n) for node in range(12, n) if node != (7 * node + 3) % n]
    edges = pl.DataFrame(ends, schema=["from", "to"], orient="row")
    nodes = pl.DataFrame({"id": range(n), "city": cities, "age": [30 + node % 9 for node in range(n)]})
    graph = load(edges, nodes=nodes, notices=[])
    found = AttributeComparison(graph)
    assert not [gap for gap in found.gaps(0, np.arange(2, 12), 5) if gap.name.startswith("city")]
    assert not [own for own in next(found.unusual(np.array([0]), 5)) if own.name.startswith("city")]
    gap = next(gap for gap in found.gaps(1, np.arange(2, 12), 5) if gap.name.startswith("city"))
    assert (gap.category.value, gap.category.common, gap.category.common_share) == ("Rome", "Oslo", 1.0)
