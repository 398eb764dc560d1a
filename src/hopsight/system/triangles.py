"""Sum over the triangles of a graph: the compiled search that scores and Spark share.

Edges are lists of arcs from the end of smaller degree to that of larger degree, so that no list is longer than √(2m),
not even that of a hub. A triangle u → v, u → w, v → w is found once, where the lists of u and v meet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hopsight.system.compiled import compiled


@compiled(nogil=True)
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


@compiled(nogil=True)
def triangles_from(start: Any, target: Any, sides: Any, first: int, last: int) -> Any:
    """Return (n_nodes, n_kinds) sums over the triangles whose first node, of the smallest degree, is in a range.

    >>> start, target = np.array([0, 2, 3, 3]), np.array([1, 2, 2])
    >>> triangles_from(start, target, np.array([[1.0], [0.5], [0.5]]), 0, 3).ravel().tolist()
    [0.25, 0.25, 0.25]
    """
    total = np.zeros((start.size - 1, sides.shape[1]))
    for u in range(first, last):
        for edge in range(start[u], start[u + 1]):
            v = target[edge]
            meet(u, edge, start[u], start[u + 1], target, sides, start[v], start[v + 1], target, sides, total)
    return total
