"""Functions compiled by numba, and the loops that several rooms share: rows in order by node, triangles, cores.

Edges are lists of arcs from the end of smaller degree to that of larger degree, so that no list is longer than √(2m),
not even that of a hub. A triangle u → v, u → w, v → w is found once, where the lists of u and v meet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit

SMALL = 32  # rows that are sorted by insertion


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function on its first call, and cache the machine code for the next process where possible.

    It is not possible where neither the package's folder nor the user's cache is writable, as in many containers.
    """

    def compile_(function: Callable[..., Any]) -> Any:
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:  # numba found no folder to cache in
            return njit(**options)(function)

    return compile_


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that only compiled code calls.

    It has no entry for Python, where a call would end the process, and is not cached by itself: with many arguments
    both would take longer to make than the function.
    """
    return njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


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
        mine = found[start[each] : start[each + 1]]
        if mine.size > SMALL:
            mine.sort()
            continue
        for place in range(1, mine.size):
            value, at = mine[place], place
            while at > 0 and mine[at - 1] > value:
                mine[at] = mine[at - 1]
                at -= 1
            mine[at] = value
    return start, found


def number_summaries(start: Any, values: Any) -> Any:
    """Return for each node median, mean, sum, spread between the quartiles, minimum, maximum and share negative.

    ``values`` are those of each node in order. A node without any has NaN.

    >>> number_summaries(np.array([0, 3, 3]), np.array([-1.0, 2.0, 5.0]))[0].tolist()
    [2.0, 2.0, 6.0, 3.0, -1.0, 5.0, 0.3333333333333333]
    """
    found = np.full((start.size - 1, 7), np.nan)
    some = np.flatnonzero(np.diff(start))
    first, size = start[some], np.diff(start)[some]
    node = np.repeat(np.arange(some.size), size)
    total, negative = (np.bincount(node, weights, some.size) for weights in (values, values < 0))  # added up in order
    low, high = values[first], values[first + size - 1]
    upper, lower = (values[first + np.floor((size - 1) * share + 0.5).astype(np.int64)] for share in (0.75, 0.25))
    middle = values[first + size // 2]
    median = np.where(size % 2, middle, (values[first + (size - 1) // 2] + middle) / 2.0)
    mean = np.where(low == high, low, total / size)
    found[some] = np.column_stack([median, mean, total, upper - lower, low, high, negative / size])
    return found


def time_summaries(start: Any, times: Any) -> Any:
    """Return for each node the first and the last time, and median, mean and deviation of the gaps between.

    ``times`` are those of each node in order. A node without any has NaN, and one with a single time has no gaps.

    >>> time_summaries(np.array([0, 3, 4]), np.array([1.0, 2.0, 5.0, 7.0])).tolist()
    [[1.0, 5.0, 2.0, 2.0, 1.0], [7.0, 7.0, nan, nan, nan]]
    """
    n_nodes = start.size - 1
    found = np.full((n_nodes, 5), np.nan)
    some = np.flatnonzero(np.diff(start))
    found[some, 0], found[some, 1] = times[start[some]], times[start[some + 1] - 1]
    node = np.repeat(np.arange(n_nodes), np.diff(start))
    follows = node[1:] == node[:-1]
    node = node[1:][follows]
    start, gaps = sorted_segments(node, np.diff(times)[follows], n_nodes)
    found[:, 2:4] = number_summaries(start, gaps)[:, :2]
    squares = np.bincount(node, (gaps - found[node, 3]) ** 2, n_nodes)
    found[:, 4] = np.sqrt(np.divide(squares, np.diff(start), out=np.full(n_nodes, np.nan), where=np.diff(start) > 0))
    return found


def each_once_in_order(source: Any, target: Any) -> bool:
    """Return whether every edge is given once, from the smaller number to the larger, and in ascending order."""
    later = (source[1:] > source[:-1]) | ((source[1:] == source[:-1]) & (target[1:] > target[:-1]))
    return bool((source < target).all() and later.all())


def arcs_by_degree(source: Any, target: Any, degree: Any) -> Any:
    """Return edges, given in order, as lists of arcs: where each node's list begins, the targets, each edge's place.

    Edges to smaller numbers come before those to larger ones when edges are read in order: the lists are sorted.
    """
    smaller = degree[source] <= degree[target]
    tail, head = np.where(smaller, source, target), np.where(smaller, target, source)
    arcs = sp.coo_array((np.arange(source.size), (tail, head)), shape=(degree.size, degree.size)).tocsr()
    place = np.empty(source.size, dtype=np.int64)
    place[arcs.data] = np.arange(source.size)
    return arcs.indptr.astype(np.int64), arcs.indices.astype(np.int32, copy=False), place


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
