"""Rows of Â for a few nodes of a large graph, without building the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph

IntArray = NDArray[np.int64]


def edges_at(graph: AttributedGraph, nodes: IntArray) -> IntArray:
    """Return the positions of all edges that have an end among the nodes."""
    chosen = np.zeros(graph.n_nodes, dtype=np.bool_)
    chosen[nodes] = True
    return np.flatnonzero(chosen[graph.edges[0]] | chosen[graph.edges[1]])


def local_operator(edges: IntArray, rows: IntArray, around: IntArray, *, directed: bool) -> Any:
    """Return rows × around of Â = D̃^{-1/2} (A + I) D̃^{-1/2}.

    Parameters
    ----------
    edges
        (2, n) the visible edges at the nodes of ``around``; further edges do no harm.
    rows, around
        Sorted nodes: the requested ones, and these with all their neighbors.
    directed
        Whether edges are arcs; two opposite arcs count as one edge.

    Examples
    --------
    >>> path = np.array([[0, 1], [1, 2]])
    >>> local_operator(path, np.array([0]), np.array([0, 1]), directed=False).toarray().round(3).tolist()
    [[0.5, 0.408]]
    """
    if directed:
        edges = np.unique(np.sort(edges, axis=0), axis=1)
    inverse = 1.0 / np.sqrt(1.0 + np.bincount(edges.ravel(), minlength=around[-1] + 1))
    is_row = np.zeros(inverse.size, dtype=np.bool_)
    is_row[rows] = True
    forth, back = edges[:, is_row[edges[0]]], edges[::-1, is_row[edges[1]]]
    source = np.concatenate([forth[0], back[0], rows])
    target = np.concatenate([forth[1], back[1], rows])
    entries = np.searchsorted(rows, source), np.searchsorted(around, target)
    return sp.csr_array((inverse[source] * inverse[target], entries), shape=(rows.size, around.size))
