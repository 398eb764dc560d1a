"""Attributes that the edges alone give a node: degrees, reciprocity, clustering, core number and what lies around."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.io.arcs import Arcs
from hopsight.io.derive import STRUCTURE
from hopsight.system.compiled import compiled
from hopsight.system.threads import in_order

FloatArray = NDArray[np.float64]
PARTS = 4  # ranges of nodes that threads share
LAST_BITS = 0xFFFF  # what a list of 16-bit numbers keeps of node numbers


def structure(arcs: Arcs) -> dict[str, FloatArray]:
    """Return structural attributes of each node by name.

    Duplicate rows count once and self-loops not at all. A node without edges gets zeros.

    >>> found = structure(Arcs.of(np.array([0, 1, 2, 2]), np.array([1, 2, 0, 3]), 4))  # a triangle with a tail
    >>> found["clustering"].tolist(), found["core number"].tolist()
    ([1.0, 1.0, 0.3333333333333333, 0.0], [2.0, 2.0, 2.0, 1.0])
    """
    degree = arcs.degree
    (near, squares, beyond), first, later = _surroundings(arcs, degree)
    count = partial(_triangles, first, later, later.astype(np.uint16))
    work = [partial(_cores, arcs.start, arcs.neighbor), *(partial(count, *part) for part in _parts(first))]
    cores, *counts = in_order(lambda task: task(), work)
    triangles = sum(counted for counted, _ in counts)
    some = np.maximum(degree, 1.0)
    near /= some
    spread = np.sqrt(np.maximum(squares / some - near**2, 0.0))
    beyond -= 2.0 * triangles  # paths of two edges that leave the neighborhood
    values = (
        np.log1p(arcs.n_targets, dtype=np.float64),
        np.log1p(arcs.n_sources, dtype=np.float64),
        (arcs.n_targets + arcs.n_sources - degree) / some,
        2.0 * triangles / np.maximum(degree * (degree - 1.0), 1.0),
        cores.astype(np.float64),
        near,
        spread,
        np.log1p(np.maximum(beyond, 0.0) / some),
    )
    return dict(zip(STRUCTURE, values, strict=True))


def _parts(start: NDArray[Any]) -> list[tuple[int, int]]:
    """Return ranges of nodes with about as many entries each."""
    bounds = np.searchsorted(start, np.linspace(0, start[-1], PARTS + 1)[1:-1])
    places = [0, *bounds.tolist(), start.size - 1]
    return list(pairwise(places))


def _surroundings(arcs: Arcs, degree: NDArray[Any]) -> tuple[FloatArray, NDArray[Any], NDArray[Any]]:
    """Return three sums over the neighbors of each node, and its later neighbors as lists."""
    logs = np.log1p(np.arange(degree.max(initial=0) + 1, dtype=np.float64))
    look = partial(_around, arcs.start, arcs.neighbor, degree, logs)
    sums, counts, lists = zip(*in_order(lambda part: look(*part), _parts(arcs.start)), strict=True)
    first = np.zeros_like(arcs.start)
    np.cumsum(np.concatenate(counts), out=first[1:])
    return np.concatenate(sums, axis=1), first, np.concatenate(lists)


@compiled(nogil=True)
def _around(start: Any, neighbor: Any, degree: Any, logs: Any, low: int, high: int) -> Any:
    """Look at the degrees around a range of nodes.

    It returns three sums over the neighbors of each node (the logarithm of their degrees, its square, and their
    degrees without the edge to the node), the number of its later neighbors and a list of all of these. Later are
    those of a larger degree, or of the same and with a larger number.
    """
    sums = np.zeros((3, high - low))
    counts = np.zeros(high - low, dtype=start.dtype)
    later, free = np.empty(start[high] - start[low], dtype=neighbor.dtype), 0
    near = np.empty(logs.size, dtype=degree.dtype)
    for node in range(low, high):
        mine = neighbor[start[node] : start[node + 1]]
        for place in range(mine.size):  # a loop of its own, so that the processor waits for all at once
            near[place] = degree[mine[place]]
        total, squares, beyond, before = 0.0, 0.0, 0.0, free
        for place in range(mine.size):
            its, other = near[place], mine[place]
            total += logs[its]
            squares += logs[its] ** 2
            beyond += its - 1
            later[free] = other
            free += (its > mine.size) | ((its == mine.size) & (other > node))
        sums[0, node - low], sums[1, node - low], sums[2, node - low] = total, squares, beyond
        counts[node - low] = free - before
    return sums, counts, later[:free]


@compiled(nogil=True)
def _triangles(first: Any, later: Any, short: Any, low: int, high: int) -> Any:
    """Count the triangles whose first node is in a range: those after one of its nodes that are after it too.

    It is :func:`hopsight.system.kernels.triangles_from` without weights, in a fraction of the time. ``short`` are the
    last bits of ``later``, which take half the memory and rule out nearly all nodes that are not after the first one.
    """
    total, after = np.zeros(first.size - 1), np.zeros(first.size - 1, dtype=np.bool_)
    likely, touched = np.zeros(LAST_BITS + 1, dtype=np.bool_), 0
    for u in range(low, high):
        mine = later[first[u] : first[u + 1]]
        if mine.size < 2:
            continue
        for w in mine:
            likely[w & LAST_BITS] = after[w] = True
            touched += short[min(first[w], short.size - 1)]  # fetch all lists at once, before each is needed
        for v in mine:
            count = 0
            for at in range(first[v], first[v + 1]):
                if likely[short[at]] and after[later[at]]:
                    total[later[at]] += 1.0
                    count += 1
            total[u] += count
            total[v] += count
        for w in mine:
            likely[w & LAST_BITS] = after[w] = False
    return total, touched  # unused, the compiler would not fetch anything


@compiled(nogil=True)
def _cores(start: Any, neighbor: Any) -> Any:
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
