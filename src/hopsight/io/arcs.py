"""The edges of a table by node: every neighbor once, and how many rows lead to and from it; compiled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.system.arrays import simple_csr
from hopsight.system.compiled import compiled
from hopsight.system.kernels import sort_few
from hopsight.system.threads import in_order, n_threads

IntArray = NDArray[Any]  # int32, or int64 in a graph with more than a billion nodes
LARGE = 100_000  # rows that are worth a second thread
MOST_PARTS = 4  # of the rows, each with counts of its own


@dataclass(frozen=True)
class Arcs:
    """What the rows of an edge table say about the neighbors of each node."""

    start: IntArray  # as in a CSR matrix, with ``neighbor``
    neighbor: IntArray  # the neighbors of each node in order, in either direction, without the node itself
    n_sent: IntArray  # rows of each node
    n_received: IntArray
    n_targets: IntArray  # different nodes that rows lead to, without the node itself
    n_sources: IntArray  # and that they come from
    most_sent: IntArray  # rows of each node with one and the same node, itself included, at most
    most_received: IntArray
    n_loops: int  # rows that lead from a node to itself

    @classmethod
    def of(cls, source: NDArray[Any], target: NDArray[Any], n_nodes: int) -> Arcs:
        """Sort the rows by node, in threads.

        >>> arcs = Arcs.of(np.array([0, 0, 1, 2]), np.array([1, 1, 0, 2]), 3)
        >>> arcs.start.tolist(), arcs.neighbor.tolist(), arcs.most_sent.tolist()
        ([0, 1, 2, 2], [1, 0], [2, 1, 1])
        """
        kind = np.int32 if max(n_nodes, source.size) < 2**30 else np.int64
        source, target = source.astype(kind, copy=False), target.astype(kind, copy=False)
        n_parts = min(n_threads(), MOST_PARTS) if source.size > LARGE else 1
        start, cells, (n_sent, n_received, loops) = _placed(source, target, n_nodes, n_parts)
        bounds = [0, *np.searchsorted(start, np.linspace(0, start[-1], n_parts + 1)[1:-1]), n_nodes]
        found = np.zeros((5, n_nodes), dtype=kind)
        list(in_order(partial(_merge, start, cells, *found), bounds[:-1], bounds[1:]))
        degree, n_targets, n_sources, *most = found
        indptr = np.zeros_like(start)
        np.cumsum(degree, out=indptr[1:])
        most_sent, most_received = (np.maximum(each, loops) for each in most)
        neighbor = _squeezed(start, cells, indptr)
        return cls(
            indptr, neighbor, n_sent, n_received, n_targets, n_sources, most_sent, most_received, int(loops.sum())
        )

    @property
    def degree(self) -> IntArray:
        """Number of neighbors of each node."""
        degree: IntArray = np.diff(self.start)
        return degree

    @property
    def n_opposite(self) -> int:
        """Number of pairs of nodes with rows in both directions."""
        return int(self.n_targets.sum() + self.n_sources.sum() - self.neighbor.size) // 2

    def adjacency(self) -> Any:
        """Return the undirected adjacency matrix, in the form that an AttributedGraph keeps."""
        shape = (self.start.size - 1,) * 2
        ones = np.ones(self.neighbor.size, dtype=np.float32)
        return simple_csr(sp.csr_array((ones, self.neighbor, self.start), shape=shape))


def _placed(source: IntArray, target: IntArray, n_nodes: int, n_parts: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the rows at both of their ends: where those of each node begin, the cells, and three counts."""
    places = np.linspace(0, source.size, n_parts + 1).astype(int)
    parts = [(source[low:high], target[low:high]) for low, high in pairwise(places)]
    counts = [np.stack(each) for each in in_order(lambda part: _counts(*part, n_nodes), parts)]
    sent, received, loops = total = np.sum(counts, axis=0, dtype=source.dtype)
    start = np.zeros(n_nodes + 1, dtype=source.dtype)
    np.cumsum(sent + received - 2 * loops, out=start[1:])
    cells, free, tasks = np.empty(start[-1], dtype=source.dtype), start[:-1].copy(), []
    for part, count in zip(parts, counts, strict=True):  # the rows of one part come before those of the next
        tasks.append(partial(_fill, *part, free, cells))
        free = free + count[0] + count[1] - 2 * count[2]
    list(in_order(lambda task: task(), tasks))
    return start, cells, total


@compiled(nogil=True)
def _counts(source: Any, target: Any, n_nodes: int) -> Any:
    """Return for each node the number of rows that it sent, that it received, and that lead to itself."""
    sent = np.zeros(n_nodes, dtype=source.dtype)
    received, loops = np.zeros_like(sent), np.zeros_like(sent)
    for row in range(source.size):
        sent[source[row]] += 1
        received[target[row]] += 1
        if source[row] == target[row]:
            loops[source[row]] += 1
    return sent, received, loops


@compiled(nogil=True)
def _fill(source: Any, target: Any, free: Any, cells: Any) -> None:
    """Put each row at both of its ends: twice the number of the other end, and one more where it was received."""
    for row in range(source.size):
        one, other = source[row], target[row]
        if one != other:
            cells[free[one]] = 2 * other
            free[one] += 1
            cells[free[other]] = 2 * one + 1
            free[other] += 1


@compiled(nogil=True)
def _merge(
    start: Any, cells: Any, degree: Any, n_targets: Any, n_sources: Any, most_sent: Any, most_received: Any,
    low: int, high: int,
) -> None:  # fmt: skip
    """Sort the cells of a range of nodes, and leave every neighbor once, at the beginning of each node's cells."""
    for node in range(low, high):
        mine = cells[start[node] : start[node + 1]]
        sort_few(mine)
        free, before, rows = 0, -1, 0
        for cell in mine:
            rows = rows + 1 if cell == before else 1
            if rows == 1 and cell & 1:
                n_sources[node] += 1
            elif rows == 1:
                n_targets[node] += 1
            if before < 0 or cell >> 1 != before >> 1:
                mine[free] = cell >> 1
                free += 1
            if cell & 1:
                most_received[node] = max(most_received[node], rows)
            else:
                most_sent[node] = max(most_sent[node], rows)
            before = cell
        degree[node] = free


@compiled(nogil=True)
def _squeezed(start: Any, cells: Any, indptr: Any) -> Any:
    """Return the first cells of each node, without the gaps between."""
    found = np.empty(indptr[-1], dtype=cells.dtype)
    for node in range(start.size - 1):
        at = start[node]
        for place in range(indptr[node], indptr[node + 1]):
            found[place] = cells[at]
            at += 1
    return found
