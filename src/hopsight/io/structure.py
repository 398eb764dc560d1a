"""Attributes that the edges alone give a node: degrees, reciprocity, clustering, core number and what lies around."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.io.derive import STRUCTURE
from hopsight.system.compiled import compiled
from hopsight.system.threads import in_order

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Arcs:
    """How many rows lead from one node to another, as CSR matrices of both directions."""

    forth: Any
    back: Any

    @classmethod
    def of(cls, source: NDArray[Any], target: NDArray[Any], n_nodes: int) -> Arcs:
        """Count the rows."""
        ones = np.ones(source.size, dtype=np.int32)
        forth = sp.coo_array((ones, (source, target)), shape=(n_nodes, n_nodes)).tocsr()
        return cls(forth, sp.csr_array(forth.T))

    def without_loops(self) -> Arcs:
        """Return the same without arcs from a node to itself."""
        return Arcs(_without_diagonal(self.forth), _without_diagonal(self.back))


def structure(
    source: NDArray[Any], target: NDArray[Any], n_nodes: int, arcs: Arcs | None = None
) -> dict[str, FloatArray]:
    """Return structural attributes of each node by name, from the two ends (positions) of every row.

    Duplicate rows count once and self-loops not at all. A node without edges gets zeros. ``arcs`` are those of the
    rows, if they are known.

    >>> triangle_and_tail = np.array([0, 1, 2, 2]), np.array([1, 2, 0, 3])
    >>> found = structure(*triangle_and_tail, 4)
    >>> found["clustering"].tolist(), found["core number"].tolist()
    ([1.0, 1.0, 0.3333333333333333, 0.0], [2.0, 2.0, 2.0, 1.0])
    """
    arcs = (arcs or Arcs.of(source, target, n_nodes)).without_loops()
    edges = arcs.forth + arcs.back
    edges.sort_indices()
    degree = np.diff(edges.indptr).astype(np.float64)
    n_out, n_in = np.diff(arcs.forth.indptr), np.diff(arcs.back.indptr)
    some = np.maximum(degree, 1.0)
    work = (
        partial(count_triangles, edges),
        partial(core_numbers, edges),
        partial(_sums, edges.indptr, edges.indices, np.log1p(degree), degree - 1.0),
    )
    triangles, cores, (near, squares, beyond) = in_order(lambda task: task(), work)
    near /= some
    spread = np.sqrt(np.maximum(squares / some - near**2, 0.0))
    beyond -= 2.0 * triangles  # paths of two edges that leave the neighborhood
    values = (
        np.log1p(n_out),
        np.log1p(n_in),
        (n_out + n_in - degree) / some,
        2.0 * triangles / np.maximum(degree * (degree - 1.0), 1.0),
        cores.astype(np.float64),
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
    first, later = _later(edges.indptr, edges.indices)
    middle = int(np.searchsorted(first, first[-1] // 2))
    bounds = (0, middle, first.size - 1)
    counts: FloatArray = sum(in_order(partial(_triangles, first, later), bounds[:-1], bounds[1:]))
    return counts


def core_numbers(edges: Any) -> NDArray[np.int64]:
    """Return for each node the largest k for which it is in a subgraph where every node has k edges.

    >>> core_numbers(sp.csr_array(np.ones((3, 3)) - np.eye(3))).tolist()
    [2, 2, 2]
    """
    cores: NDArray[np.int64] = _cores(edges.indptr, edges.indices)
    return cores


def _without_diagonal(arcs: Any) -> Any:
    parts = _proper(arcs.indptr, arcs.indices, arcs.data)
    return sp.csr_array(parts, shape=arcs.shape)


@compiled(nogil=True)
def _proper(start: Any, neighbor: Any, values: Any) -> Any:
    """Return values, columns and starts of the rows without the diagonal."""
    kept, columns, starts = np.empty_like(values), np.empty_like(neighbor), np.zeros_like(start)
    free = 0
    for node in range(start.size - 1):
        for at in range(start[node], start[node + 1]):
            if neighbor[at] != node:
                kept[free], columns[free] = values[at], neighbor[at]
                free += 1
        starts[node + 1] = free
    return kept[:free], columns[:free], starts


@compiled(nogil=True)
def _sums(start: Any, neighbor: Any, logs: Any, others: Any) -> Any:
    """Return three sums over the neighbors of each node: of logs, of their squares and of others."""
    n_nodes = start.size - 1
    near, squares, beyond = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes)
    for node in range(n_nodes):
        for at in range(start[node], start[node + 1]):
            other = neighbor[at]
            near[node] += logs[other]
            squares[node] += logs[other] ** 2
            beyond[node] += others[other]
    return near, squares, beyond


@compiled(nogil=True)
def _later(start: Any, neighbor: Any) -> Any:
    """Return the neighbors of each node that have a larger degree, or the same and a larger number, as lists."""
    n_nodes = start.size - 1
    first = np.zeros(n_nodes + 1, dtype=np.int64)
    later = np.empty(neighbor.size // 2, dtype=neighbor.dtype)
    free = 0
    for u in range(n_nodes):
        mine = start[u + 1] - start[u]
        for at in range(start[u], start[u + 1]):
            v = neighbor[at]
            its = start[v + 1] - start[v]
            if mine < its or (mine == its and u < v):
                later[free] = v
                free += 1
        first[u + 1] = free
    return first, later


@compiled(nogil=True)
def _triangles(first: Any, later: Any, low: int, high: int) -> Any:
    """Count the triangles whose first node is in a range: those after one of its nodes that are after it too.

    It is :func:`hopsight.system.triangles.triangles_from` without weights, in half the time.
    """
    total, after = np.zeros(first.size - 1), np.zeros(first.size - 1, dtype=np.bool_)
    for u in range(low, high):
        mine = later[first[u] : first[u + 1]]
        if mine.size < 2:
            continue
        for w in mine:
            after[w] = True
        for v in mine:
            count = 0
            for at in range(first[v], first[v + 1]):
                if after[later[at]]:
                    total[later[at]] += 1.0
                    count += 1
            total[u] += count
            total[v] += count
        for w in mine:
            after[w] = False
    return total


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
