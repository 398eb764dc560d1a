"""graph_of: the objects that hold a graph, recognized by what they have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.graph import AttributedGraph
from hopsight.io import graph_of

A = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
X = np.array([[1.0], [2.0], [3.0]])


def test_a_graph_is_returned_unchanged(two_cliques: AttributedGraph) -> None:
    assert graph_of(two_cliques) is two_cliques


@pytest.mark.parametrize("kind", [np.array, np.ndarray.tolist, sp.csr_array, sp.coo_array])
@pytest.mark.parametrize("pair", [tuple, list])
def test_a_pair_of_matrices_is_a_graph(kind: Any, pair: Any) -> None:
    graph = graph_of(pair((kind(A), kind(X))))
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph_of((kind(A), kind(X)), directed=True).directed
    assert sp.issparse(graph.attributes) == (kind in (sp.csr_array, sp.coo_array))


def test_networkx_and_pyg_are_recognized_by_their_attributes() -> None:
    source = nx.path_graph(3)
    nx.set_node_attributes(source, 1.0, "x")
    assert graph_of(source, ignore=()).n_edges == 2

    class Data:
        x = X
        edge_index = np.array([[0, 1], [1, 2]])

    assert graph_of(Data()).n_edges == 2


@pytest.mark.parametrize("source", [None, 7, "edges.csv", Path("edges.csv"), A, (A,), (A, X, X), ("a", "b"), {}])
def test_anything_else_is_refused_with_what_is_accepted(source: Any) -> None:
    with pytest.raises(ValueError, match=r"AttributedGraph, a PyG Data, a NetworkX graph or a pair"):
        graph_of(source)


def test_label_and_ignore_need_columns(two_cliques: AttributedGraph) -> None:
    with pytest.raises(ValueError, match="label, ignore and the like name columns"):
        graph_of(two_cliques, label="fraud")
