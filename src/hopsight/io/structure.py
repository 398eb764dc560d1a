"""Attributes that the edges alone give a node: degrees, reciprocity, clustering, core number and what lies around."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.io.derive import STRUCTURE
from hopsight.system.compiled import compiled
from hopsight.system.triangles import triangles_from

FloatArray = NDArray[np.float64]


def structure(source: NDArray[Any], target: NDArray[Any], n_nodes: int) -> dict[str, FloatArray]:
    """Return structural attributes of each node by name, from the two ends (positions) of every row.

    Duplicate rows count once and self-loops not at all. A node without edges gets zeros.

    >>> triangle_and_tail = np.array([0, 1, 2, 2]), np.array([1, 2, 0, 3])
    >>> found = structure(*triangle_and_tail, 4)
    >>> found["clustering"].tolist(), found["core number"].tolist()
    ([1.0, 1.0, 0.3333333333333333, 0.0], [2.0, 2.0, 2.0, 1.0])
    """
    arcs = _matrix(source, target, n_nodes)
    both = sp.csr_array(arcs.T)
    edges = arcs + both
    edges.sort_indices()
    edges.data[:] = 1.0
    degree = np.diff(edges.indptr).astype(np.float64)
    n_out, n_in = np.diff(arcs.indptr), np.diff(both.indptr)
    some = np.maximum(degree, 1.0)
    triangles = count_triangles(edges)
    log_degree = np.log1p(degree)
    near = (edges @ log_degree) / some
    spread = np.sqrt(np.maximum((edges @ log_degree**2) / some - near**2, 0.0))
    beyond = edges @ (degree - 1.0) - 2.0 * triangles  # paths of two edges that leave the neighborhood
    values = (
        np.log1p(n_out),
        np.log1p(n_in),
        (n_out + n_in - degree) / some,
        2.0 * triangles / np.maximum(degree * (degree - 1.0), 1.0),
        core_numbers(edges).astype(np.float64),
        near,
        spread,
        np.log1p(np.maximum(beyond, 0.0) / some),
    )
    return dict(zip(STRUCTURE, values, strict=True))


def count_triangles(edges: Any) -> FloatArray:
    """Return the number of triangles at each node of a symmetric CSR matrix with sorted rows.

    >>> count_triangles(sp.csr_array(np.ones((4, 4)) - np.eye(4))).tolist()
    [3.0, 3.0, 3.0, 3.0]
    """
    degree = np.diff(edges.indptr)
    rows = np.repeat(np.arange(degree.size), degree)
    columns = edges.indices
    rises = (degree[rows] < degree[columns]) | ((degree[rows] == degree[columns]) & (rows < columns))
    start = np.concatenate([[0], np.cumsum(np.bincount(rows[rises], minlength=degree.size))])
    ones = np.ones((int(start[-1]), 1))
    counts: FloatArray = triangles_from(start, columns[rises], ones, 0, degree.size)[:, 0]
    return counts


def core_numbers(edges: Any) -> NDArray[np.int64]:
    """Return for each node the largest k for which it is in a subgraph where every node has k edges.

    >>> core_numbers(sp.csr_array(np.ones((3, 3)) - np.eye(3))).tolist()
    [2, 2, 2]
    """
    cores: NDArray[np.int64] = _cores(edges.indptr.astype(np.int64), edges.indices.astype(np.int64))
    return cores


def _matrix(source: NDArray[Any], target: NDArray[Any], n_nodes: int) -> Any:
    """Return the 0/1 CSR matrix of the distinct arcs."""
    proper = source != target
    ones = np.ones(int(proper.sum()), dtype=np.float32)
    arcs = sp.coo_array((ones, (source[proper], target[proper])), shape=(n_nodes, n_nodes)).tocsr()
    arcs.data[:] = 1.0
    return arcs


@compiled(nogil=True)
def _cores(start: Any, neighbor: Any) -> Any:
    """Remove a node of the smallest degree again and again (Batagelj and Zaveršnik), in linear time."""
    n_nodes = start.size - 1
    degree = start[1:] - start[:-1]
    largest = degree.max() if n_nodes else 0
    first = np.zeros(largest + 2, dtype=np.int64)  # where nodes of each degree begin in the order
    for node in range(n_nodes):
        first[degree[node] + 1] += 1
    first = np.cumsum(first)
    place, order = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
    free = first[:-1].copy()
    for node in range(n_nodes):
        place[node] = free[degree[node]]
        order[place[node]] = node
        free[degree[node]] += 1
    for rank in range(n_nodes):
        node = order[rank]
        for at in range(start[node], start[node + 1]):
            other = neighbor[at]
            if degree[other] > degree[node]:
                head = first[degree[other]]  # the first node of that degree changes places with the other
                swapped = order[head]
                order[place[other]], order[head] = swapped, other
                place[swapped], place[other] = place[other], head
                first[degree[other]] += 1
                degree[other] -= 1
    return degree
