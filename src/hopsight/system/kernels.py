"""Compiled loops that several rooms share: rows in order by node, summaries per node, and triangles.

Edges are lists of arcs from the end of smaller degree to that of larger degree, so that no list is longer than √(2m),
not even that of a hub. A triangle u → v, u → w, v → w is found once, where the lists of u and v meet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hopsight.system.arrays import frozen
from hopsight.system.compiled import compiled, inner

SMALL = 32  # rows that are sorted by insertion


@compiled(nogil=True)
def sorted_segments(node: Any, values: Any, n_nodes: int) -> Any:
    """Return where the values of each node begin, one more entry than nodes, and the values, each node's in order.

    >>> start, values = sorted_segments(np.array([1, 0, 1]), np.array([5.0, 3.0, 4.0]), 3)
    >>> start.tolist(), values.tolist()
    ([0, 1, 3, 3], [3.0, 4.0, 5.0])
    """
    start = np.zeros(n_nodes + 1, dtype=np.int64)
    for each in node:
        start[each + 1] += 1
    for each in range(n_nodes):
        start[each + 1] += start[each]
    free, found = start[:-1].copy(), np.empty(values.size)
    for row in range(node.size):
        found[free[node[row]]] = values[row]
        free[node[row]] += 1
    for each in range(n_nodes):
        sort_few(found[start[each] : start[each + 1]])
    return start, found


@inner
def sort_few(values: Any) -> None:
    """Sort numbers in place; few of them by insertion."""
    if values.size > SMALL:
        values.sort()
        return
    for place in range(1, values.size):
        value, at = values[place], place
        while at > 0 and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value


@inner
def _median(values: Any) -> float:
    middle = values.size // 2
    return values[middle] if values.size % 2 else (values[middle - 1] + values[middle]) / 2.0


@inner
def _nearest(values: Any, share: float) -> float:
    """Return the value at a share of the way, the nearest one, and of two the later."""
    return values[int(np.floor((values.size - 1) * share + 0.5))]


@compiled(nogil=True)
def number_summaries(start: Any, values: Any) -> Any:
    """Return for each node median, mean, sum, spread between the quartiles, minimum, maximum and share negative.

    ``values`` are those of each node in order. A node without any has NaN.

    >>> number_summaries(np.array([0, 3, 3]), np.array([-1.0, 2.0, 5.0]))[0].tolist()
    [2.0, 2.0, 6.0, 3.0, -1.0, 5.0, 0.3333333333333333]
    """
    n_nodes = start.size - 1
    found = np.full((n_nodes, 7), np.nan)
    for node in range(n_nodes):
        mine = values[start[node] : start[node + 1]]
        if mine.size:
            total, negative = 0.0, 0
            for value in mine:
                total += value
                negative += value < 0
            found[node, 0] = _median(mine)
            found[node, 1] = mine[0] if mine[0] == mine[-1] else total / mine.size
            found[node, 2] = total
            found[node, 3] = _nearest(mine, 0.75) - _nearest(mine, 0.25)
            found[node, 4], found[node, 5] = mine[0], mine[-1]
            found[node, 6] = negative / mine.size
    return found


@compiled(nogil=True)
def time_summaries(start: Any, times: Any) -> Any:
    """Return for each node the first and the last time, and median, mean and deviation of the gaps between.

    ``times`` are those of each node in order. A node without any has NaN, and one with a single time has no gaps.

    >>> time_summaries(np.array([0, 3, 4]), np.array([1.0, 2.0, 5.0, 7.0])).tolist()
    [[1.0, 5.0, 2.0, 2.0, 1.0], [7.0, 7.0, nan, nan, nan]]
    """
    n_nodes = start.size - 1
    found = np.full((n_nodes, 5), np.nan)
    for node in range(n_nodes):
        mine = times[start[node] : start[node + 1]]
        if not mine.size:
            continue
        found[node, 0], found[node, 1] = mine[0], mine[-1]
        if mine.size > 1:
            gaps = mine[1:] - mine[:-1]
            sort_few(gaps)
            mean = gaps[0] if gaps[0] == gaps[-1] else gaps.mean()
            found[node, 2], found[node, 3] = _median(gaps), mean
            found[node, 4] = np.sqrt(((gaps - mean) ** 2).mean())
    return found


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


@compiled(nogil=True)
def core_numbers(start: Any, neighbor: Any) -> Any:
    """Return for each node the largest k for which it is in a subgraph where every node has k edges.

    For one k after another, nodes with k edges are removed, and those that have k left by that. The nodes that remain
    are looked through once for each k, which is as many steps as all core numbers together.
    """
    n_nodes = start.size - 1
    degree, left = start[1:] - start[:-1], np.arange(n_nodes).astype(start.dtype)
    gone, level = np.empty(n_nodes, dtype=start.dtype), 0
    while left.size:
        kept, n_gone, least = 0, 0, start[-1]
        for node in left:
            if degree[node] > level:
                left[kept] = node
                kept += 1
                least = min(least, degree[node])
            elif degree[node] == level:
                gone[n_gone] = node
                n_gone += 1
        left, done = left[:kept], 0
        if not n_gone:
            level = least
            continue
        while done < n_gone:
            node = gone[done]
            done += 1
            for at in range(start[node], start[node + 1]):
                other = neighbor[at]
                if degree[other] > level:
                    degree[other] -= 1
                    if degree[other] == level:
                        gone[n_gone] = other
                        n_gone += 1
        level += 1
    return degree
