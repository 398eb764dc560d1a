"""AttributedGraph: one canonical form for every input, read-only, and clear refusals."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from hopsight.canonical import Events
from hopsight.graph import AttributedGraph

X3 = np.array([[1.0], [2.0], [3.0]])


def dense(matrix: Any) -> np.ndarray[Any, Any]:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)


@pytest.mark.parametrize("layout", ["dense", "csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("stored", ["once", "twice"])
def test_every_layout_gives_the_same_adjacency(layout: str, stored: str) -> None:
    matrix = np.array([[5.0, -2.0, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]])
    if stored == "twice":
        matrix = matrix + np.triu(matrix, 1).T
    given_matrix = matrix if layout == "dense" else sp.csr_array(matrix).asformat(layout)
    graph = AttributedGraph(given_matrix, X3)
    assert graph.adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert graph.adjacency.dtype == np.float32
    assert graph.adjacency.has_canonical_format
    assert graph.n_self_loops == 1
    assert graph.edges.tolist() == [[0, 1], [1, 2]]


def test_a_directed_graph_keeps_its_directions() -> None:
    graph = AttributedGraph.from_edges([0, 2, 2], [1, 1, 0], X3, directed=True)
    assert graph.adjacency.toarray().tolist() == [[0, 1, 0], [0, 0, 0], [1, 1, 0]]
    assert graph.n_edges == 3
    assert graph.edges.tolist() == [[0, 2, 2], [1, 0, 1]]
    assert graph.degrees.tolist() == [2, 2, 2]
    assert "3 directed edges" in repr(graph)


def test_duplicates_are_merged_and_loops_removed_and_both_counted() -> None:
    edges = ([0, 1, 0, 2, 2], [1, 0, 1, 2, 1])
    undirected = AttributedGraph.from_edges(*edges, X3)
    assert (undirected.n_edges, undirected.n_duplicates, undirected.n_self_loops) == (2, 2, 1)
    directed = AttributedGraph.from_edges(*edges, X3, directed=True)
    assert (directed.n_edges, directed.n_duplicates, directed.n_self_loops) == (3, 1, 1)


def test_entries_that_would_cancel_are_still_an_edge() -> None:
    matrix = sp.coo_array(([1.0, -1.0], ([0, 0], [1, 1])), shape=(3, 3))
    assert AttributedGraph(matrix, X3).n_edges == 1


def test_a_graph_may_have_no_edges_or_no_nodes() -> None:
    lonely = AttributedGraph(np.zeros((3, 3)), X3)
    assert (lonely.n_edges, lonely.degrees.tolist(), lonely.edges.shape) == (0, [0, 0, 0], (2, 0))
    empty = AttributedGraph(np.zeros((0, 0)), np.zeros((0, 2)))
    assert (empty.n_nodes, empty.n_edges, empty.n_attributes) == (0, 0, 2)
    assert AttributedGraph.from_edges([], [], X3).n_edges == 0


@pytest.mark.parametrize("kind", [np.float16, np.int8, np.uint64, bool, np.float64, object])
def test_attributes_become_float64_and_float32_stays(kind: Any) -> None:
    assert AttributedGraph(np.zeros((3, 3)), X3.astype(kind)).attributes.dtype == np.float64
    assert AttributedGraph(np.zeros((3, 3)), X3.astype(np.float32)).attributes.dtype == np.float32


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil", "dok"])
def test_sparse_attributes_stay_sparse(layout: str) -> None:
    graph = AttributedGraph(np.zeros((3, 3)), sp.csr_array(X3 * [[1], [0], [1]]).asformat(layout))
    assert graph.attributes.format == "csr"
    assert graph.attributes.toarray().tolist() == [[1.0], [0.0], [3.0]]


@pytest.mark.parametrize("attributes", [X3.copy(), sp.csr_array(X3), sp.csc_array(X3)], ids=["dense", "csr", "csc"])
def test_a_graph_is_read_only(attributes: Any) -> None:
    graph = AttributedGraph([[0, 1, 0], [1, 0, 0], [0, 0, 0]], attributes, labels=[0, 1, 0])
    (attributes.data if sp.issparse(attributes) else attributes[:, 0])[:] = 99.0
    assert dense(graph.attributes)[:, 0].tolist() == [1.0, 2.0, 3.0]
    values = graph.attributes.data if sp.issparse(graph.attributes) else graph.attributes
    for array in (values, graph.adjacency.data, graph.adjacency.indices, graph.edges, graph.degrees, graph.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(FrozenInstanceError):
        graph.name = "other"  # type: ignore[misc]


def test_a_changed_copy_shares_the_rest() -> None:
    graph = AttributedGraph.from_edges([0, 0], [1, 1], X3, node_ids=["a", "b", "c"])
    copy = replace(graph, labels=[1, 0, 0], name="copy")
    assert copy.labels.tolist() == [1, 0, 0]
    assert graph.labels is None
    assert np.shares_memory(copy.attributes, graph.attributes)
    assert (copy.n_duplicates, copy.node_ids.tolist()) == (1, ["a", "b", "c"])


def test_integer_ids_stay_integers_and_all_others_become_text() -> None:
    ids = [
        ([3, 1, 2], [3, 1, 2], np.int64),
        (np.array([3, 1, 2], dtype=np.uint8), [3, 1, 2], np.int64),
        (["3", "1", "2"], ["3", "1", "2"], object),
        (["a", 2, "2.0"], ["a", "2", "2.0"], object),
        ([2**64, 1, 2], [str(2**64), "1", "2"], object),
        (np.array([2**64 - 1, 1, 2], dtype=np.uint64), [str(2**64 - 1), "1", "2"], object),
        (np.array(["x", "y", "z"]), ["x", "y", "z"], object),
    ]
    for node_ids, expected, kind in ids:
        graph = AttributedGraph(np.zeros((3, 3)), X3, node_ids=node_ids)
        assert graph.node_ids.tolist() == expected
        assert graph.node_ids.dtype == kind


def test_one_long_id_does_not_make_all_of_them_long() -> None:
    n_nodes = 20_000
    ids = [f"n{i}" for i in range(n_nodes - 1)] + ["x" * 100_000]  # 8 GB as a numpy string array
    graph = AttributedGraph(sp.csr_array((n_nodes, n_nodes)), np.ones((n_nodes, 1)), node_ids=ids)
    assert graph.index_of("x" * 100_000) == n_nodes - 1


def test_a_node_is_found_by_its_id_as_number_or_text() -> None:
    numbers = AttributedGraph(np.zeros((3, 3)), X3, node_ids=[10, -7, 30])
    assert [numbers.index_of(node) for node in (10, "-7", np.int64(30))] == [0, 1, 2]
    words = AttributedGraph(np.zeros((3, 3)), X3, node_ids=["10", "b", "²"])
    assert [words.index_of(node) for node in (10, "b", "²")] == [0, 1, 2]
    for stranger in ("²", "--7", "9" * 5000, 0, "", None):
        with pytest.raises(ValueError, match="there is no node"):
            numbers.index_of(stranger)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"adjacency": np.zeros((2, 3))}, "square"),
        ({"adjacency": [[0, np.nan, 0], [0, 0, 0], [0, 0, 0]]}, "NaN"),
        ({"adjacency": np.array([["a"] * 3] * 3)}, "numbers"),
        ({"attributes": np.zeros((2, 1))}, "one row for each of the 3 nodes"),
        ({"attributes": np.zeros(3)}, "one row"),
        ({"attributes": [[1.0], [np.inf], [2.0]]}, "row 1, column 0"),
        ({"attributes": sp.csr_array([[0.0, 1.0], [0.0, 0.0], [0.0, np.nan]])}, "row 2, column 1"),
        ({"attributes": [["a"], ["b"], ["c"]]}, "numbers"),
        ({"attributes": X3.astype(complex)}, "real numbers"),
        ({"node_ids": ["a", "b"]}, "3 nodes"),
        ({"node_ids": ["a", "b", "a"]}, "'a' occurs twice"),
        ({"node_ids": [1, "1", 2]}, "'1' occurs twice"),
        ({"attribute_names": ["a", "b"]}, "1 columns"),
        ({"labels": [0, 1]}, "labels"),
        ({"labels": [0, 1, 2]}, "from -1 to 1"),
        ({"labels": [0, 1, np.nan]}, "from -1 to 1"),
        ({"kinds": [0, 1, 4]}, "from 0 to 3"),
    ],
)
def test_input_that_does_not_match_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        AttributedGraph(**({"adjacency": np.zeros((3, 3)), "attributes": X3} | fields))


def test_an_unlabeled_node_keeps_its_label() -> None:
    graph = AttributedGraph(np.zeros((3, 3)), X3, labels=[0.0, 1.0, -1.0])
    assert graph.labels.tolist() == [0, 1, -1]
    with pytest.raises(ValueError, match="kinds must be whole numbers from 0 to 3"):
        AttributedGraph(np.zeros((3, 3)), X3, kinds=[0, 1, -1])


def test_singular_and_plural_agree_in_the_repr() -> None:
    assert repr(AttributedGraph([[0, 1], [0, 0]], [[1.0], [2.0]])) == (
        "AttributedGraph(2 nodes, 1 undirected edge, 1 attribute)"
    )
    assert repr(AttributedGraph([[0]], [[1.0, 2.0]], directed=True, name="one")) == (
        "AttributedGraph('one', 1 node, 0 directed edges, 2 attributes)"
    )


@pytest.mark.parametrize(
    ("sources", "targets", "words"),
    [([0], [3], r"0\.\.2"), ([-1], [0], r"0\.\.2"), ([0, 1], [1], "equally long"), ([0.5], [1], "whole numbers")],
)
def test_edges_that_do_not_fit_are_refused(sources: list[Any], targets: list[Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        AttributedGraph.from_edges(sources, targets, X3)


@settings(max_examples=60, deadline=None)
@given(
    n_nodes=st.integers(1, 12),
    pairs=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40),
    directed=st.booleans(),
)
def test_edges_equal_a_set_of_pairs(n_nodes: int, pairs: list[tuple[int, int]], directed: bool) -> None:
    """The independent count: a Python set of pairs."""
    pairs = [(a % n_nodes, b % n_nodes) for a, b in pairs]
    graph = AttributedGraph.from_edges(
        [a for a, _ in pairs], [b for _, b in pairs], np.ones((n_nodes, 1)), directed=directed
    )
    edges = {(a, b) if directed else (min(a, b), max(a, b)) for a, b in pairs if a != b}
    n_loops = sum(a == b for a, b in pairs)
    assert set(zip(*graph.edges.tolist(), strict=True)) == edges
    assert graph.n_edges == len(edges)
    assert graph.n_self_loops == n_loops
    assert graph.n_duplicates == len(pairs) - n_loops - len(edges)
    degrees = [sum(node in edge for edge in edges) for node in range(n_nodes)]
    assert graph.degrees.tolist() == degrees


def test_a_changed_matrix_of_another_graph_is_checked_again() -> None:
    first = AttributedGraph.from_edges([0, 1], [1, 2], X3)
    assert replace(first, name="again").adjacency is first.adjacency  # nothing to do
    matrix = first.adjacency.copy()
    matrix.data[0] = 0.0
    assert AttributedGraph(matrix, X3).n_edges == 2  # 1, 0 is still there
    matrix.data[1] = 0.0
    assert AttributedGraph(matrix, X3).n_edges == 1
    assert AttributedGraph(first.adjacency, X3, directed=True).n_edges == 4


def test_an_undirected_edge_is_named_as_most_of_its_events_go_whatever_the_order_of_nodes() -> None:
    rows = [("a", "b"), ("c", "b"), ("c", "b"), ("b", "c"), ("d", "a"), ("a", "d"), ("d", "c")]
    for ids in (["a", "b", "c", "d"], ["d", "b", "a", "c"]):
        source, target = (np.array([ids.index(row[end]) for row in rows]) for end in (0, 1))
        graph = AttributedGraph.from_edges(
            source, target, np.zeros((4, 1)), node_ids=ids, events=Events(source, target, amount=np.ones(7))
        )
        named = {tuple(graph.node_ids[edge]) for edge in graph.directions.T}
        assert named == {("a", "b"), ("c", "b"), ("a", "d"), ("d", "c")}
