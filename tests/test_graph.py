"""Graphs and what is known of their edges: read-only, checked, and in notebooks."""

import pickle
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from hopsight.canonical import Events
from hopsight.datasets import inject
from hopsight.graph import AttributedGraph
from hopsight.io.npz import read_npz, write_npz
from hopsight.markup import card, graph_card, paragraph, table
from toys import refuses

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
    assert graph.adjacency.dtype == np.float32 and graph.adjacency.has_canonical_format
    assert graph.n_self_loops == 1 and graph.edges.tolist() == [[0, 1], [1, 2]]


def test_a_directed_graph_keeps_its_directions() -> None:
    graph = AttributedGraph.from_edges([0, 2, 2], [1, 1, 0], X3, directed=True)
    assert graph.adjacency.toarray().tolist() == [[0, 1, 0], [0, 0, 0], [1, 1, 0]]
    assert graph.n_edges == 3 and graph.edges.tolist() == [[0, 2, 2], [1, 0, 1]]
    assert graph.degrees.tolist() == [2, 2, 2] and "3 directed edges" in repr(graph)


def test_entries_that_would_cancel_are_still_an_edge() -> None:
    matrix = sp.coo_array(([1.0, -1.0], ([0, 0], [1, 1])), shape=(3, 3))
    assert AttributedGraph(matrix, X3).n_edges == 1


def test_a_graph_may_have_no_edges_or_no_nodes() -> None:
    lonely = AttributedGraph(np.zeros((3, 3)), X3)
    assert (lonely.n_edges, lonely.degrees.tolist(), lonely.edges.shape) == (0, [0, 0, 0], (2, 0))
    empty = AttributedGraph(np.zeros((0, 0)), np.zeros((0, 2)))
    assert (empty.n_nodes, empty.n_edges, empty.n_attributes) == (0, 0, 2)
    assert AttributedGraph.from_edges([], [], X3).n_edges == 0
    assert AttributedGraph.from_edges([0], [0], np.eye(2), edge_time=[5.0]).edge_time.tolist() == []  # a self-loop


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil", "dok"])
def test_sparse_attributes_stay_sparse(layout: str) -> None:
    graph = AttributedGraph(np.zeros((3, 3)), sp.csr_array(X3 * [[1], [0], [1]]).asformat(layout))
    assert graph.attributes.format == "csr" and graph.attributes.toarray().tolist() == [[1.0], [0.0], [3.0]]


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


def test_integer_ids_stay_integers_and_all_others_become_text() -> None:
    ids = [
        ([3, 1, 2], [3, 1, 2], np.int64), (np.array([3, 1, 2], dtype=np.uint8), [3, 1, 2], np.int64),
        (["3", "1", "2"], ["3", "1", "2"], object), (["a", 2, "2.0"], ["a", "2", "2.0"], object),
        ([2**64, 1, 2], [str(2**64), "1", "2"], object),
        (np.array([2**64 - 1, 1, 2], dtype=np.uint64), [str(2**64 - 1), "1", "2"], object),
        (np.array(["x", "y", "z"]), ["x", "y", "z"], object),
    ]  # fmt: skip
    for node_ids, expected, kind in ids:
        graph = AttributedGraph(np.zeros((3, 3)), X3, node_ids=node_ids)
        assert graph.node_ids.tolist() == expected and graph.node_ids.dtype == kind


def test_a_node_is_found_by_its_id_as_number_or_text() -> None:
    numbers = AttributedGraph(np.zeros((3, 3)), X3, node_ids=[10, -7, 30])
    assert [numbers.index_of(node) for node in (10, "-7", np.int64(30))] == [0, 1, 2]
    words = AttributedGraph(np.zeros((3, 3)), X3, node_ids=["10", "b", "²"])
    assert [words.index_of(node) for node in (10, "b", "²")] == [0, 1, 2]
    for stranger in ("²", "--7", "9" * 5000, 0, "", None):
        refuses("there is no node", numbers.index_of, stranger)


@pytest.mark.parametrize(("fields", "words"), [
    ({"adjacency": np.zeros((2, 3))}, "square"),
    ({"adjacency": [[0, np.nan, 0], [0, 0, 0], [0, 0, 0]]}, "NaN"),
    ({"adjacency": np.array([["a"] * 3] * 3)}, "numbers"),
    ({"attributes": np.zeros((2, 1))}, "one row for each of the 3 nodes"),
    ({"attributes": np.zeros(3)}, "one row"),
    ({"attributes": [[1.0], [np.inf], [2.0]]}, "row 1, column 0"),
    ({"attributes": sp.csr_array([[0.0, 1.0], [0.0, 0.0], [0.0, np.nan]])}, "row 2, column 1"),
    ({"attributes": [["a"], ["b"], ["c"]]}, "numbers"), ({"attributes": X3.astype(complex)}, "real numbers"),
    ({"node_ids": ["a", "b"]}, "3 nodes"), ({"node_ids": ["a", "b", "a"]}, "'a' occurs twice"),
    ({"node_ids": [1, "1", 2]}, "'1' occurs twice"), ({"attribute_names": ["a", "b"]}, "1 columns"),
    ({"labels": [0, 1]}, "labels"), ({"labels": [0, 1, 2]}, "from -1 to 1"),
    ({"labels": [0, 1, np.nan]}, "from -1 to 1"), ({"kinds": [0, 1, 4]}, "from 0 to 3"),
])  # fmt: skip
def test_input_that_does_not_match_is_refused(fields: dict[str, Any], words: str) -> None:
    refuses(words, AttributedGraph, **{"adjacency": np.zeros((3, 3)), "attributes": X3} | fields)


def test_an_unlabeled_node_keeps_its_label() -> None:
    graph = AttributedGraph(np.zeros((3, 3)), X3, labels=[0.0, 1.0, -1.0])
    assert graph.labels.tolist() == [0, 1, -1]
    refuses("kinds must be whole numbers from 0 to 3", AttributedGraph, np.zeros((3, 3)), X3, kinds=[0, 1, -1])


@pytest.mark.parametrize(
    ("sources", "targets", "words"),
    [([0], [3], r"0\.\.2"), ([-1], [0], r"0\.\.2"), ([0, 1], [1], "equally long"), ([0.5], [1], "whole numbers")],
)
def test_edges_that_do_not_fit_are_refused(sources: list[Any], targets: list[Any], words: str) -> None:
    refuses(words, AttributedGraph.from_edges, sources, targets, X3)


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
    assert set(zip(*graph.edges.tolist(), strict=True)) == edges and graph.n_edges == len(edges)
    assert graph.n_self_loops == n_loops and graph.n_duplicates == len(pairs) - n_loops - len(edges)
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


# 0→1 twice, 1→0 once, a self-loop, and 2→1 once, not sorted by time
ROWS: dict[str, Any] = {
    "sources": [2, 0, 1, 0, 2], "targets": [1, 1, 0, 1, 2], "edge_weight": [4.0, 5.0, -2.0, 1.0, 99.0],
    "edge_time": [7.0, 30.0, 10.0, 20.0, 99.0], "edge_attributes": [[0.0], [1.0], [2.0], [6.0], [99.0]],
    "edge_attribute_names": ["speed"],
}  # fmt: skip


def built(**options: Any) -> AttributedGraph:
    return AttributedGraph.from_edges(attributes=X3, **(ROWS | options))


@pytest.mark.parametrize(
    ("duplicates", "weight", "speed"),
    [("sum", [4.0, 4.0], [3.0, 0.0]), ("count", [3.0, 1.0], [3.0, 0.0]), ("last", [5.0, 4.0], [1.0, 0.0])],
)
def test_rows_of_one_undirected_edge_are_merged_by_the_rule(
    duplicates: str, weight: list[float], speed: list[float]
) -> None:
    graph = built(duplicates=duplicates)
    assert graph.edges.tolist() == [[0, 1], [1, 2]] and graph.edge_weight.tolist() == weight
    assert graph.edge_time.tolist() == [30.0, 7.0] and graph.edge_attributes.ravel().tolist() == speed
    assert (graph.n_duplicates, graph.n_reciprocal, graph.n_self_loops) == (2, 1, 1)


def test_directed_rows_keep_their_direction() -> None:
    graph = built(directed=True)
    assert graph.edges.tolist() == [[0, 1, 2], [1, 0, 1]] and graph.edge_weight.tolist() == [6.0, -2.0, 4.0]
    assert (graph.n_duplicates, graph.n_reciprocal) == (1, 0)


def test_without_times_the_last_row_counts_and_the_number_of_rows_is_a_weight_only_if_asked_for() -> None:
    assert built(duplicates="last", edge_time=None).edge_weight.tolist() == [1.0, 4.0]
    bare = {"edge_weight": None, "edge_time": None, "edge_attributes": None, "edge_attribute_names": None}
    assert built(**bare).edge_weight is None
    assert built(**bare, duplicates="count").edge_weight.tolist() == [3.0, 1.0]


def test_edge_data_are_read_only_and_survive_copies_pickles_and_files(tmp_path: Path) -> None:
    graph = replace(built(), node_types=["user", "item", "user"], node_names=["Ann", "Bo", "Cy"])
    write_npz(graph, tmp_path / "g.npz")
    for again in (
        graph,
        replace(graph, labels=[0, 1, 0]),
        pickle.loads(pickle.dumps(graph)),
        read_npz(tmp_path / "g.npz"),
    ):
        assert again.edge_weight.tolist() == [4.0, 4.0] and again.edge_time.tolist() == [30.0, 7.0]
        assert again.edge_attributes.tolist() == [[3.0], [0.0]] and again.edge_attribute_names == ("speed",)
        assert again.node_types.tolist() == ["user", "item", "user"]
        assert again.node_names.tolist() == ["Ann", "Bo", "Cy"]
    for values in (graph.edge_weight, graph.edge_time, graph.edge_attributes, graph.node_types, graph.node_names):
        with pytest.raises(ValueError, match="read-only"):
            values[...] = 0


def test_planted_edges_get_the_median_and_the_others_keep_their_data() -> None:
    ring = np.arange(8)
    graph = AttributedGraph.from_edges(
        ring, (ring + 1) % 8, np.random.default_rng(0).normal(size=(8, 2)), edge_weight=ring + 1.0
    )
    planted = inject(graph, n_cliques=1, clique_size=4, n_attribute=1, n_candidates=2, seed=0)
    weights = dict(zip(map(tuple, planted.edges.T.tolist()), planted.edge_weight.tolist(), strict=True))
    before = dict(zip(map(tuple, graph.edges.T.tolist()), graph.edge_weight.tolist(), strict=True))
    assert planted.n_edges > graph.n_edges and {edge: weights[edge] for edge in before} == before
    assert {weight for edge, weight in weights.items() if edge not in before} == {4.5}


@pytest.mark.parametrize(("options", "words"), [
    ({"edge_weight": [1.0]}, "edge_weight must have one row for each of the 5 edges"),
    ({"edge_weight": [1.0, 1.0, np.nan, 1.0, 1.0]}, "edge 2 is NaN or infinite"),
    ({"edge_time": ["a"] * 5}, "edge_time must be numbers"),
    ({"edge_attribute_names": ["a", "b"]}, "edge_attribute_names must have 1 name"),
    ({"duplicates": "mean"}, "duplicates must be one of sum, count, last, got 'mean'"),
    ({"node_types": ["user"]}, "node_types must have one text for each of the 3 nodes"),
])  # fmt: skip
def test_edge_data_that_do_not_match_are_refused(options: dict[str, Any], words: str) -> None:
    refuses(words, built, **options)


def test_sums_of_duplicate_edges_are_the_same_to_the_bit_in_any_order_of_rows() -> None:
    rng = np.random.default_rng(0)
    source, target = rng.integers(5, size=300), rng.integers(5, 10, size=300)
    weight, columns, time = rng.normal(size=300) * 1e6, rng.normal(size=(300, 2)), rng.integers(4, size=300)
    found = []
    for order in (np.arange(300), rng.permutation(300)):
        for rule in ("sum", "last"):
            graph = AttributedGraph.from_edges(
                source[order], target[order], np.eye(10), edge_weight=weight[order], edge_time=time[order],
                edge_attributes=columns[order], duplicates=rule,
            )  # fmt: skip
            found.append((graph.edge_weight.tolist(), graph.edge_time.tolist(), graph.edge_attributes.tolist()))
    assert found[:2] == found[2:]


def test_nothing_in_a_value_becomes_markup() -> None:
    shown = card("<b>", paragraph("<script>"), table(["<i>"], [["a&b<u>"]]))
    for dangerous in ("<b>", "<script>", "<i>", "<u>"):
        assert dangerous not in shown
    assert "a&amp;b&lt;u&gt;" in shown


def test_a_graph_shows_counts_names_labels_and_what_edges_have() -> None:
    graph = AttributedGraph.from_edges(
        [0, 1], [1, 2], np.ones((3, 15)), labels=[1, 0, -1], name="tiny", edge_weight=[1.0, 2.0]
    )
    shown = graph_card(graph)
    assert shown == graph._repr_html_()
    for part in ("Graph tiny", ">3<", ">2<", "x11 and 3 more", "1 anomalous, 1 normal", ">weight<"):
        assert part in shown
