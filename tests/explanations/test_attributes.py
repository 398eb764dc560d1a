"""Attribute comparison: values worked out by hand, the same for sparse and dense attributes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.explanations.attributes import AttributeComparison, edge_spread
from hopsight.explanations.reasons import Category
from hopsight.graph import AttributedGraph


def test_gap_of_the_hub_is_in_age_with_the_range_of_its_neighbors(star: AttributedGraph) -> None:
    first = AttributeComparison(star).gaps(0, np.array([1, 2, 3, 4]), 10)[0]
    assert first.name == "age"
    assert first.value == 90.0
    assert (first.low, first.median, first.high) == pytest.approx((30.3, 31.5, 32.7))
    # edges differ by 60, 58, 59, 57 and 2: s = sqrt((3600 + 3364 + 3481 + 3249 + 4) / 10)
    assert first.difference == pytest.approx((90 - 31.5) / (np.sqrt(1369.8) * np.sqrt(1.25)))
    assert first.percentile == pytest.approx(100 * 5 / 6)


def test_an_attribute_that_equals_the_neighbors_mean_is_left_out(star: AttributedGraph) -> None:
    gaps = AttributeComparison(star).gaps(0, np.array([1, 2, 3, 4]), 10)
    assert [gap.name for gap in gaps] == ["age"]  # income is 10, the mean of 11, 9, 12 and 8


def test_a_node_without_others_has_no_gaps(star: AttributedGraph) -> None:
    assert AttributeComparison(star).gaps(5, np.array([], dtype=np.int64), 10) == ()


def test_sparse_attributes_give_the_same_values_as_dense_ones(rng: np.random.Generator) -> None:
    words = (rng.random((40, 30)) < 0.2) * rng.integers(1, 4, size=(40, 30)).astype(np.float64)
    ends = rng.integers(0, 40, size=(2, 120))
    sparse = AttributedGraph.from_edges(*ends, sp.csr_array(words))
    dense = AttributedGraph.from_edges(*ends, words)
    others = np.flatnonzero(dense.adjacency[[3]].toarray().ravel())
    first, second = AttributeComparison(sparse), AttributeComparison(dense)
    second.spread = first.spread
    assert first.gaps(3, others, 8) == second.gaps(3, others, 8)


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


def test_large_graphs_are_sampled_with_nearly_the_same_result(rng: np.random.Generator) -> None:
    graph = AttributedGraph.from_edges(
        *rng.integers(0, 5000, size=(2, 60_000)), rng.normal(size=(5000, 3)) * np.array([1.0, 10.0, 100.0])
    )
    assert edge_spread(graph) == pytest.approx([1.0, 10.0, 100.0], rel=0.05)


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
