"""Structural attributes equal those of NetworkX."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.graph import AttributedGraph
from hopsight.io.derive import STRUCTURE
from hopsight.io.structure import Arcs, structure
from hopsight.system.arrays import is_simple


@pytest.fixture(scope="module")
def arcs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    source = rng.integers(0, 40, 300)
    target = np.minimum(39, (rng.random(300) ** 2 * 40).astype(np.int64))  # some nodes get many
    return source, target


def test_structure_equals_that_of_networkx(arcs: tuple[np.ndarray, np.ndarray]) -> None:
    found = structure(Arcs.of(*arcs, 41))
    assert tuple(found) == STRUCTURE
    graph = nx.DiGraph([(a, b) for a, b in zip(*map(np.ndarray.tolist, arcs), strict=True) if a != b])
    graph.add_nodes_from(range(41))
    plain = graph.to_undirected()
    degree = dict(plain.degree)
    for node in range(41):
        near = [np.log1p(degree[other]) for other in plain[node]] or [0.0]
        mutual = sum(graph.has_edge(other, node) for other in graph.successors(node))
        outside = sum(node != far and far not in plain[node] for other in plain[node] for far in plain[other])
        expected = [
            np.log1p(graph.out_degree(node)),
            np.log1p(graph.in_degree(node)),
            mutual / max(degree[node], 1),
            nx.clustering(plain, node),
            nx.core_number(plain)[node],
            np.mean(near),
            np.std(near),
            np.log1p(outside / max(degree[node], 1)),
        ]
        np.testing.assert_allclose([values[node] for values in found.values()], expected, atol=1e-6)


def test_duplicate_rows_change_nothing(arcs: tuple[np.ndarray, np.ndarray]) -> None:
    once = structure(Arcs.of(*arcs, 41))
    twice = structure(Arcs.of(*(np.tile(end, 2) for end in arcs), 41))
    for name in STRUCTURE:
        np.testing.assert_array_equal(once[name], twice[name])


def test_sums_are_added_in_the_order_of_the_neighbors(arcs: tuple[np.ndarray, np.ndarray]) -> None:
    """Equal to the bit, as the attributes decide hashes and rankings."""
    found = structure(Arcs.of(*arcs, 41))
    matrix = sp.coo_array((np.ones(300), arcs), shape=(41, 41)).toarray() > 0
    np.fill_diagonal(matrix, False)
    edges = matrix | matrix.T
    degree = edges.sum(axis=1)
    for node in range(41):
        logs = [float(np.log1p(float(degree[other]))) for other in np.flatnonzero(edges[node])]
        some = max(len(logs), 1)
        near, squares = 0.0, 0.0
        for log in logs:
            near += log
            squares += log**2
        assert found["neighbors' degree, mean log"][node] == near / some
        assert found["neighbors' degree, spread"][node] == np.sqrt(max(squares / some - (near / some) ** 2, 0.0))


def test_triangles_and_cores_of_more_nodes_than_sixteen_bits_count() -> None:
    """A clique whose nodes share their last sixteen bits, and a path through all nodes."""
    n_nodes = 70_000
    clique = np.array([5, 5 + 65536, 7, 7 + 65536, 69_999])
    one, other = (clique[each] for each in np.triu_indices(5, k=1))
    source = np.concatenate([np.arange(n_nodes - 1), one])
    target = np.concatenate([np.arange(1, n_nodes), other])
    found = structure(Arcs.of(source, target, n_nodes))
    plain = nx.Graph(list(zip(source.tolist(), target.tolist(), strict=True)))
    near = [*clique.tolist(), 4, 6, 8, 65541 - 1, 65542, 65544, 0, n_nodes - 1]
    for node in near:
        assert found["clustering"][node] == pytest.approx(nx.clustering(plain, node))
    assert dict(enumerate(found["core number"].tolist())) == nx.core_number(plain)


def test_core_numbers_skip_levels_and_reach_isolated_nodes() -> None:
    cliques = [np.stack(np.triu_indices(size, k=1)) + offset for size, offset in ((3, 0), (30, 3), (12, 33))]
    source, target = np.concatenate(cliques, axis=1)
    cores = structure(Arcs.of(source, target, 46))["core number"]
    assert cores.tolist() == [2.0] * 3 + [29.0] * 30 + [11.0] * 12 + [0.0]


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    """Return rows with duplicates, opposite pairs, self-loops and nodes without rows; one has more than all others."""
    rng = np.random.default_rng(1)
    source, target = rng.integers(0, 60, 700), (rng.random(700) ** 2 * 60).astype(np.int64)
    hub = np.concatenate([np.zeros(100, dtype=np.int64), np.full(9, 3)])
    return np.concatenate([source, hub]), np.concatenate([target, np.arange(109) % 60])


def test_neighbors_and_counts_of_rows_by_hand(rows: tuple[np.ndarray, np.ndarray]) -> None:
    arcs = Arcs.of(*rows, 62)
    counts = sp.coo_array((np.ones(809, dtype=np.int64), rows), shape=(62, 62)).toarray()
    other = counts - np.diag(np.diag(counts))
    edges = sp.csr_array((other + other.T) > 0)
    assert arcs.start.tolist() == edges.indptr.tolist()
    assert arcs.neighbor.tolist() == edges.indices.tolist()
    assert arcs.degree.tolist() == np.diff(edges.indptr).tolist()
    assert arcs.n_sent.tolist() == counts.sum(axis=1).tolist()
    assert arcs.n_received.tolist() == counts.sum(axis=0).tolist()
    assert arcs.n_targets.tolist() == (other > 0).sum(axis=1).tolist()
    assert arcs.n_sources.tolist() == (other > 0).sum(axis=0).tolist()
    assert arcs.most_sent.tolist() == counts.max(axis=1).tolist()
    assert arcs.most_received.tolist() == counts.max(axis=0).tolist()
    assert arcs.n_loops == np.diag(counts).sum()
    assert arcs.n_opposite == ((other > 0) & (other.T > 0)).sum() // 2


def test_a_graph_from_known_edges_is_the_same(rows: tuple[np.ndarray, np.ndarray]) -> None:
    arcs, attributes = Arcs.of(*rows, 62), np.arange(62.0)[:, None]
    weight = np.arange(809.0)
    plain = AttributedGraph.from_edges(*rows, attributes, edge_weight=weight)
    known = AttributedGraph.from_edges(*rows, attributes, edge_weight=weight, known=(arcs.adjacency(), arcs.n_opposite))
    assert is_simple(known.adjacency)
    for part in ("data", "indices", "indptr"):
        one, other = getattr(plain.adjacency, part), getattr(known.adjacency, part)
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()
    for name in ("n_edges", "n_duplicates", "n_self_loops", "n_reciprocal"):
        assert getattr(plain, name) == getattr(known, name)
    assert plain.edge_weight.tolist() == known.edge_weight.tolist()
