"""Planted anomalies: how many, where, what stays unchanged, and what must not give them away."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from hopsight.datasets import inject, make_graph
from hopsight.graph import AttributedGraph
from toys import refuses

PROTOCOLS = pytest.mark.parametrize("protocol", ["dominant", "hcm", "leak-free"])


@pytest.fixture
def small() -> AttributedGraph:
    """400 nodes, dense attributes, no anomalies."""
    graph = make_graph(400, n_edges=3000, n_structural=0, n_attribute_anomalies=0)
    return AttributedGraph(graph.adjacency, graph.attributes, name="small", node_ids=[f"n{i}" for i in range(400)])


@pytest.fixture(params=[("BlogCatalog", 10), ("Flickr", 15)], ids=["BlogCatalog", "Flickr"])
def real(request: pytest.FixtureRequest, data_dir: Path) -> tuple[AttributedGraph, int]:
    """One of the paper's graphs, and its number of cliques."""
    name, n_cliques = request.param
    content = scipy.io.loadmat(data_dir / f"{name}.mat")
    return AttributedGraph(content["Network"], content["Attributes"]), n_cliques


def _rows_that_differ(left: Any, right: Any) -> list[int]:
    difference = sp.csr_array(left) != sp.csr_array(right)
    return np.flatnonzero(np.diff(difference.tocsr().indptr)).tolist()


def _cliques(graph: AttributedGraph, before: AttributedGraph) -> list[set[int]]:
    """Return the connected groups of the edges that were added."""
    added = graph.adjacency - before.adjacency
    added.eliminate_zeros()
    members = np.flatnonzero(graph.kinds == 1)
    _, group = sp.csgraph.connected_components(added[members][:, members])
    return [set(members[group == number].tolist()) for number in np.unique(group)]


def _leaks(graph: AttributedGraph, kind: int | None = None) -> tuple[float, float]:
    """Return the AUC of the degree and of the attribute norm, for all anomalies or one kind."""
    keep = np.ones(graph.n_nodes, bool) if kind is None else np.isin(graph.kinds, [0, kind])
    norms = sp.linalg.norm(sp.csr_matrix(graph.attributes), axis=1)
    return tuple(float(roc_auc_score(graph.labels[keep], score[keep])) for score in (graph.degrees, norms))  # type: ignore[return-value]


@PROTOCOLS
def test_the_papers_counts_on_the_papers_graphs(real: tuple[AttributedGraph, int], protocol: str) -> None:
    graph, n_cliques = real
    start = time.process_time()
    injected = inject(graph, n_cliques=n_cliques, clique_size=15, protocol=protocol, seed=1)
    assert time.process_time() - start < 5.0 and injected.labels.sum() == {10: 300, 15: 450}[n_cliques]
    assert np.bincount(injected.kinds).tolist() == [graph.n_nodes - 30 * n_cliques, 15 * n_cliques, 15 * n_cliques]
    changed = _rows_that_differ(injected.attributes, graph.attributes)
    assert changed == np.flatnonzero(injected.kinds == 2).tolist() and sp.issparse(injected.attributes)
    assert sorted(len(clique) for clique in _cliques(injected, graph)) == [15] * n_cliques


@PROTOCOLS
def test_cliques_are_complete_disjoint_and_the_only_new_edges(small: AttributedGraph, protocol: str) -> None:
    injected = inject(small, n_cliques=4, clique_size=6, n_attribute=10, protocol=protocol)
    cliques = _cliques(injected, small)
    assert sorted(len(clique) for clique in cliques) == [6] * 4
    expected = small.adjacency.toarray()
    for clique in cliques:
        for member in clique:
            expected[member, sorted(clique - {member})] = 1.0
    np.testing.assert_array_equal(injected.adjacency.toarray(), expected)


LINE = AttributedGraph.from_edges([0, 1, 2], [1, 2, 3], np.array([[0.0], [1.0], [2.0], [10.0]]))


def test_an_anomaly_receives_the_farthest_row_when_everybody_is_a_candidate() -> None:
    injected = inject(LINE, n_cliques=0, n_attribute=4, n_candidates=3)
    assert injected.attributes.ravel().tolist() == [10.0, 10.0, 10.0, 0.0]
    assert injected.kinds.tolist() == [2, 2, 2, 2]


def test_the_protocol_of_the_paper_changes_the_candidate_instead() -> None:
    for seed in range(8):
        injected = inject(LINE, n_cliques=0, n_attribute=1, n_candidates=3, protocol="hcm", seed=seed)
        changed = int(np.flatnonzero(injected.labels)[0])
        donor = float(injected.attributes[changed, 0])
        assert changed == (0 if donor == 10.0 else 3)


def test_the_input_is_untouched_and_everything_else_is_kept(small: AttributedGraph) -> None:
    adjacency, attributes = small.adjacency.copy(), small.attributes.copy()
    injected = inject(small, n_cliques=2, clique_size=5)
    np.testing.assert_array_equal(small.attributes, attributes)
    assert (small.adjacency != adjacency).nnz == 0 and small.labels is None
    assert small.kinds is None and injected.node_ids.tolist() == small.node_ids.tolist()
    assert (injected.name, injected.attribute_names) == (small.name, small.attribute_names)


def test_the_seed_determines_everything_and_the_global_state_is_untouched(small: AttributedGraph) -> None:
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, other = (inject(small, n_cliques=2, clique_size=5, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    np.testing.assert_array_equal(first.kinds, again.kinds)
    np.testing.assert_array_equal(first.attributes, again.attributes)
    assert (first.adjacency != again.adjacency).nnz == 0 and (first.kinds != other.kinds).any()


def test_known_anomalies_are_kept_and_not_chosen_again(small: AttributedGraph) -> None:
    labels = np.zeros(400, dtype=int)
    labels[:200] = 1
    known = AttributedGraph(small.adjacency, small.attributes, labels=labels)
    injected = inject(known, n_cliques=10, clique_size=10, n_attribute=100)
    assert injected.labels.sum() == 400 and (injected.kinds[:200] == 0).all()


def test_nodes_without_a_row_are_not_chosen_and_filled_cells_move_with_rows(small: AttributedGraph) -> None:
    """Edges of which one has no time: planted ones have the median of the others."""
    known, filled = np.arange(400) < 200, {small.attribute_names[0]: np.arange(0, 200, 2)}
    weight = np.where(np.arange(small.n_edges) == 3, np.nan, 2.0)
    graph = replace(small, known=known, filled=filled, edge_time=weight)
    injected = inject(graph, n_cliques=5, clique_size=10, n_attribute=100)
    assert (injected.kinds[200:] == 0).all() and np.isnan(injected.edge_time).sum() == 1
    for node in np.flatnonzero(injected.kinds == 2)[:20]:
        donors = np.flatnonzero((small.attributes == injected.attributes[node]).all(axis=1))
        assert np.isin(node, injected.filled[small.attribute_names[0]]) in np.isin(
            donors, filled[small.attribute_names[0]]
        )


def test_a_directed_clique_has_edges_in_both_directions() -> None:
    graph = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(5), directed=True)
    injected = inject(graph, n_cliques=1, clique_size=5, n_attribute=0)
    np.testing.assert_array_equal(injected.adjacency.toarray(), 1 - np.eye(5))


@pytest.mark.parametrize("seed", range(3))
def test_leak_free_on_the_papers_graphs(real: tuple[AttributedGraph, int], seed: int) -> None:
    graph, n_cliques = real
    injected = inject(graph, n_cliques=n_cliques, protocol="leak-free", seed=seed)
    for kind in (None, 1, 2):
        assert _leaks(injected, kind) == pytest.approx((0.5, 0.5), abs=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_leak_free_on_a_generated_graph(seed: int) -> None:
    graph = make_graph(4000, n_edges=60_000, n_structural=0, n_attribute_anomalies=0, seed=seed)
    graph = AttributedGraph(graph.adjacency, graph.attributes)
    injected = inject(graph, n_cliques=8, clique_size=12, protocol="leak-free", seed=seed)
    for kind in (None, 1, 2):
        assert _leaks(injected, kind) == pytest.approx((0.5, 0.5), abs=0.05)


def test_the_usual_protocol_leaks_what_the_leak_free_one_hides(data_dir: Path) -> None:
    content = scipy.io.loadmat(data_dir / "BlogCatalog.mat")
    injected = inject(AttributedGraph(content["Network"], content["Attributes"]))
    assert _leaks(injected, 1)[0] > 0.58 and _leaks(injected, 2)[1] > 0.95


@pytest.mark.parametrize(("request_", "message"), [
    (
        {"n_cliques": 30, "clique_size": 14},
        "30 cliques of 14 and 420 others are 840 nodes, but only 400 are normal",
    ),
    ({"clique_size": 1}, "clique_size must be at least 2, got 1"),
    ({"n_cliques": -1}, "n_cliques must be at least 0, got -1"),
    ({"n_attribute": 1.5}, "n_attribute must be a whole number, got 1.5"),
    ({"n_candidates": 0}, "n_candidates must be at least 1, got 0"),
    ({"protocol": "dominat"}, "protocol must be one of .*; did you mean dominant"),
    (
        {"protocol": "leak-free", "n_cliques": 2, "clique_size": 60},
        r"clique_size must be at most \d+ for leak-free .* median degree is \d+, got 60",
    ),
])  # fmt: skip
def test_impossible_requests_are_refused(small: AttributedGraph, request_: dict[str, Any], message: str) -> None:
    refuses(message, inject, small, **request_)


def test_the_clique_size_that_a_refusal_names_is_possible(small: AttributedGraph) -> None:
    with pytest.raises(ValueError, match="at most") as refusal:
        inject(small, n_cliques=2, clique_size=60, n_attribute=0, protocol="leak-free")
    largest = int(str(refusal.value).split("at most ")[1].split()[0])
    injected = inject(small, n_cliques=2, clique_size=largest, n_attribute=0, protocol="leak-free")
    assert injected.labels.sum() == 2 * largest


def test_attributes_that_are_all_the_same_cannot_hold_anomalies(small: AttributedGraph) -> None:
    same = AttributedGraph(small.adjacency, np.ones((400, 3)))
    for protocol in ("dominant", "hcm", "leak-free"):
        refuses("all available nodes have the same", inject, same, n_cliques=0, n_attribute=1, protocol=protocol)


@PROTOCOLS
def test_only_nodes_known_to_be_normal_become_anomalies(small: AttributedGraph, protocol: str) -> None:
    labels = np.repeat([1, 0, -1], [10, 190, 200])
    partly = AttributedGraph(small.adjacency, small.attributes, labels=labels)
    planted = inject(partly, n_cliques=2, clique_size=5, n_attribute=10, protocol=protocol).labels
    assert (planted[labels == 1] == 1).all() and (planted[labels == -1] == -1).all()
    assert (planted[labels == 0] == 1).sum() == 20
    refuses("only 190 are normal", inject, partly, n_cliques=0, n_attribute=191, protocol=protocol)
