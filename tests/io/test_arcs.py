"""Neighbors of each node and the counts of its rows equal those of sparse matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.graph import AttributedGraph
from hopsight.io import arcs as module
from hopsight.io.arcs import Arcs
from hopsight.system.arrays import is_simple


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    """Return rows with duplicates, opposite pairs, self-loops and nodes without rows; one has more than all others."""
    rng = np.random.default_rng(1)
    source, target = rng.integers(0, 60, 700), (rng.random(700) ** 2 * 60).astype(np.int64)
    hub = np.concatenate([np.zeros(100, dtype=np.int64), np.full(9, 3)])
    return np.concatenate([source, hub]), np.concatenate([target, np.arange(109) % 60])


@pytest.mark.parametrize("n_threads", [1, 3])
def test_arcs_equal_sparse_matrices(
    rows: tuple[np.ndarray, np.ndarray], n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGE", 10)
    monkeypatch.setattr(module, "n_threads", lambda: n_threads)
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


def test_no_rows_are_no_arcs() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    arcs = Arcs.of(nothing, nothing, 3)
    assert (arcs.start.tolist(), arcs.neighbor.size, arcs.n_opposite) == ([0, 0, 0, 0], 0, 0)
