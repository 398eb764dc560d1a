"""Edges stored in both directions count once; weights in adjacency matrices keep their edges."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from hopsight.graph import AttributedGraph
from hopsight.io.edges import each_once, edge_weights, weight_matrix


def test_only_edges_that_are_stored_twice_with_the_same_values_are_halved() -> None:
    source, target = np.array([0, 1, 1, 2, 0, 1]), np.array([1, 0, 2, 1, 1, 0])  # 0-1 is there twice
    weight = np.array([5.0, 5.0, 3.0, 3.0, 5.0, 5.0])
    kept = each_once(source, target, {"edge_weight": weight})
    assert kept[0].tolist() == [0, 1, 0]
    assert kept[2]["edge_weight"].tolist() == [5, 3, 5]
    weight[1] = 4.0  # what is sent back differs
    assert each_once(source, target, {"edge_weight": weight})[0].tolist() == source.tolist()
    assert each_once(source[:-1], target[:-1], {})[0].tolist() == source[:-1].tolist()


def test_weights_of_matrices() -> None:
    one_way = np.array([[0, 2.0, 0], [0, 0, 0], [0, 3.0, 0]])
    graph = AttributedGraph(one_way, np.eye(3))
    assert edge_weights(one_way, graph).tolist() == [2, 3]
    both = one_way + np.array([[0, 0, 0], [1.0, 0, 0], [0, 0, 0]])
    assert edge_weights(both, AttributedGraph(both, np.eye(3))).tolist() == [3, 3]  # 2 there and 1 back
    assert edge_weights(both, AttributedGraph(both, np.eye(3), directed=True)).tolist() == [2, 1, 3]
    assert edge_weights(both > 0, graph) is None


def test_a_matrix_of_weights_is_read_back() -> None:
    for directed in (False, True):
        graph = AttributedGraph.from_edges([0, 2], [1, 1], np.eye(3), directed=directed, edge_weight=[0.5, -2.0])
        assert edge_weights(sp.csc_array(weight_matrix(graph)), graph).tolist() == graph.edge_weight.tolist()
    lost = AttributedGraph.from_edges([0], [1], np.eye(2), edge_weight=[0.0])
    assert weight_matrix(lost).toarray().tolist() == [[0, 1], [1, 0]]
