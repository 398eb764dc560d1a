"""The edges of a table by node, and the attributes that they alone give it, such as degree and clustering."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.io.derive import STRUCTURE
from hopsight.system.arrays import simple_csr
from hopsight.system.compiled import compiled
from hopsight.system.kernels import arcs_by_degree, triangles_from
from hopsight.system.threads import in_order

FloatArray = NDArray[np.float64]
IntArray = NDArray[Any]
PARTS = 4  # ranges of nodes that threads share


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
    def of(cls, source: IntArray, target: IntArray, n_nodes: int) -> Arcs:
        """Count the rows of each node.

        >>> arcs = Arcs.of(np.array([0, 0, 1, 2]), np.array([1, 1, 0, 2]), 3)
        >>> arcs.start.tolist(), arcs.neighbor.tolist(), arcs.most_sent.tolist()
        ([0, 1, 2, 2], [1, 0], [2, 1, 1])
        """
        kind = np.int32 if max(n_nodes, source.size) < 2**30 else np.int64
        source, target = source.astype(kind, copy=False), target.astype(kind, copy=False)
        apart, shape = source != target, (n_nodes, n_nodes)
        ones = np.ones(int(apart.sum()), dtype=kind)
        counts = sp.coo_array((ones, (source[apart], target[apart])), shape=shape).tocsr()
        loops = np.bincount(source[~apart], minlength=n_nodes)
        both = sp.csr_array(counts + counts.T.tocsr())
        most_sent, most_received = (
            np.maximum(counts.max(axis=axis).toarray().ravel() if n_nodes else loops, loops) for axis in (1, 0)
        )
        return cls(
            both.indptr,
            both.indices,
            np.bincount(source, minlength=n_nodes),
            np.bincount(target, minlength=n_nodes),
            np.diff(counts.indptr),
            np.bincount(counts.indices, minlength=n_nodes),
            most_sent,
            most_received,
            int(loops.sum()),
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


def structure(arcs: Arcs) -> dict[str, FloatArray]:
    """Return structural attributes of each node by name.

    Duplicate rows count once and self-loops not at all. A node without edges gets zeros.

    >>> found = structure(Arcs.of(np.array([0, 1, 2, 2]), np.array([1, 2, 0, 3]), 4))  # a triangle with a tail
    >>> found["clustering"].tolist(), found["core number"].tolist()
    ([1.0, 1.0, 0.3333333333333333, 0.0], [2.0, 2.0, 2.0, 1.0])
    """
    degree, adjacency = arcs.degree, arcs.adjacency()
    logs = np.log1p(degree, dtype=np.float64)
    near, squares, beyond = (adjacency @ np.column_stack([logs, logs**2, degree - 1.0])).T
    triangles = _triangles(adjacency, degree)
    some = np.maximum(degree, 1.0)
    near = near / some
    spread = np.sqrt(np.maximum(squares / some - near**2, 0.0))
    beyond = beyond - 2.0 * triangles  # paths of two edges that leave the neighborhood
    values = (
        np.log1p(arcs.n_targets, dtype=np.float64),
        np.log1p(arcs.n_sources, dtype=np.float64),
        (arcs.n_targets + arcs.n_sources - degree) / some,
        2.0 * triangles / np.maximum(degree * (degree - 1.0), 1.0),
        _cores(arcs.start, arcs.neighbor).astype(np.float64),
        near,
        spread,
        np.log1p(np.maximum(beyond, 0.0) / some),
    )
    return dict(zip(STRUCTURE, values, strict=True))


def _triangles(adjacency: Any, degree: IntArray) -> FloatArray:
    """Return the number of triangles of each node."""
    upper = sp.coo_array(sp.triu(adjacency, k=1, format="csr"))
    start, heads, _ = arcs_by_degree(upper.row, upper.col, degree)
    bounds = np.searchsorted(start, np.linspace(0, start[-1], PARTS + 1)[1:-1])
    count = partial(triangles_from, start, heads, np.ones((heads.size, 1)))
    found: FloatArray = sum(in_order(lambda part: count(*part), pairwise([0, *bounds.tolist(), degree.size])))
    return found.ravel()


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
