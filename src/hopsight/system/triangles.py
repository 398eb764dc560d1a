"""Sum over the triangles of a graph: the compiled search that scores and Spark share.

Edges are lists of arcs from the end of smaller degree to that of larger degree, so that no list is longer than √(2m),
not even that of a hub. A triangle u → v, u → w, v → w is found once, where the lists of u and v meet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hopsight.system.compiled import compiled, frozen, inner


def each_once_in_order(source: Any, target: Any) -> bool:
    """Return whether every edge is given once, from the smaller number to the larger, and in ascending order."""
    later = (source[1:] > source[:-1]) | ((source[1:] == source[:-1]) & (target[1:] > target[:-1]))
    return bool((source < target).all() and later.all())


def arcs_by_degree(source: Any, target: Any, degree: Any) -> Any:
    """Return edges, given in order, as lists of arcs: where each node's list begins, the targets, each edge's place.

    Edges to smaller numbers come before those to larger ones when edges are read in order: the lists are sorted.
    """
    start = np.zeros(degree.size + 2, dtype=np.int64)
    heads, place = np.empty(source.size, dtype=np.int32), np.empty(source.size, dtype=np.int64)
    _arcs_by_degree(frozen(source), frozen(target), degree, start, heads, place)
    return start[:-1], heads, place


@compiled(nogil=True)
def _arcs_by_degree(source: Any, target: Any, degree: Any, start: Any, heads: Any, place: Any) -> None:
    for edge in range(source.size):
        tail, head = source[edge], target[edge]
        start[(tail if degree[tail] <= degree[head] else head) + 2] += 1
    for node in range(1, start.size):
        start[node] += start[node - 1]
    for edge in range(source.size):
        tail, head = source[edge], target[edge]
        if degree[tail] > degree[head]:
            tail, head = head, tail
        free = start[tail + 1]  # it begins there, and in the end, so does the next list
        place[edge], heads[free], start[tail + 1] = free, head, free + 1


@inner
def meet(
    u: int, edge: int, at: int, end: int, target: Any, sides: Any,
    other_at: int, other_end: int, other_target: Any, other_sides: Any, total: Any,
) -> None:  # fmt: skip
    """Add the product of the three sides of every triangle over one arc, u → v, to its nodes in ``total``.

    Parameters
    ----------
    u, edge
        The node where the arc begins, and the position of the arc in ``target`` and ``sides``.
    at, end, target, sides
        The list of u: where it begins and ends, the nodes that arcs lead to, in order, and (n_arcs, n_kinds) numbers.
    other_at, other_end, other_target, other_sides
        The list of v, which may be in other arrays.
    total
        (n_nodes, n_kinds) sums.
    """
    v = target[edge]
    while at < end and other_at < other_end:
        if target[at] < other_target[other_at]:
            at += 1
        elif target[at] > other_target[other_at]:
            other_at += 1
        else:
            for kind in range(total.shape[1]):
                product = sides[edge, kind] * sides[at, kind] * other_sides[other_at, kind]
                total[u, kind] += product
                total[v, kind] += product
                total[target[at], kind] += product
            at += 1
            other_at += 1


def triangles_from(start: Any, target: Any, sides: Any, first: int, last: int) -> Any:
    """Return (n_nodes, n_kinds) sums over the triangles whose first node, of the smallest degree, is in a range.

    >>> start, target = np.array([0, 2, 3, 3]), np.array([1, 2, 2])
    >>> triangles_from(start, target, np.array([[1.0], [0.5], [0.5]]), 0, 3).ravel().tolist()
    [0.25, 0.25, 0.25]
    """
    total = np.zeros((start.size - 1, sides.shape[1]))
    _triangles_from(start, target, sides, first, last, total)
    return total


@compiled(nogil=True)
def _triangles_from(start: Any, target: Any, sides: Any, first: int, last: int, total: Any) -> None:
    for u in range(first, last):
        for edge in range(start[u], start[u + 1]):
            v = target[edge]
            meet(u, edge, start[u], start[u + 1], target, sides, start[v], start[v + 1], target, sides, total)
