"""Â for a few rows of a large graph, without building the rest of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph

IntArray = NDArray[np.int64]


def neighbours_of(graph: AttributedGraph, rows: IntArray) -> IntArray:
    """Return the rows and all that share a link with one of them, in order."""
    return np.union1d(rows, graph.edges[:, np.isin(graph.edges, rows).any(axis=0)])


def local_operator(graph: AttributedGraph, visible: NDArray[np.bool_], rows: IntArray, around: IntArray) -> Any:
    """Return rows × around of Â = D̃^{-1/2} (A + I) D̃^{-1/2}, A the visible links whatever their direction.

    >>> path = AttributedGraph.from_edges([0, 1], [1, 2], np.zeros((3, 1)))
    >>> local_operator(path, np.array([True, True]), np.array([0]), np.array([0, 1])).toarray().round(3).tolist()
    [[0.5, 0.408]]
    """
    links = graph.edges[:, visible]
    if graph.directed:  # arcs both ways are one link
        links = np.unique(np.sort(links, axis=0), axis=1)
    inverse = 1.0 / np.sqrt(1.0 + np.bincount(links.ravel(), minlength=graph.n_nodes))
    is_row = np.zeros(graph.n_nodes, dtype=np.bool_)
    is_row[rows] = True
    forth, back = links[:, is_row[links[0]]], links[::-1, is_row[links[1]]]
    source = np.concatenate([forth[0], back[0], rows])
    target = np.concatenate([forth[1], back[1], rows])
    entries = np.searchsorted(rows, source), np.searchsorted(around, target)
    return sp.csr_array((inverse[source] * inverse[target], entries), shape=(rows.size, around.size))
