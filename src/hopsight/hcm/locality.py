"""The matrices of some edges, and what a few nodes of a large graph see, without looking at the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.hcm.folds import Placed, Splits
from hopsight.hcm.views import arc_numbers
from hopsight.system.lookup import find_edges

IntArray = NDArray[np.int64]


def edges_at(graph: AttributedGraph, nodes: IntArray) -> IntArray:
    """Return the positions of all edges that have an end among the nodes, in ascending order."""
    chosen = _mask(graph, nodes)
    if graph.directed or 4 * int(graph.degrees[nodes].sum()) > graph.n_edges:  # reading all is less work
        return np.flatnonzero(chosen[graph.edges[0]] | chosen[graph.edges[1]])
    starts, counts = graph.adjacency.indptr[nodes].astype(np.int64), graph.degrees[nodes]
    places = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    ends, others = np.repeat(nodes, counts), graph.adjacency.indices[places].astype(np.int64)
    once = ~chosen[others] | (ends < others)  # an edge between two of the nodes is met at both
    ends, others = ends[once], others[once]
    first, second = np.minimum(ends, others), np.maximum(ends, others)
    return np.sort(find_edges(graph.edges, graph.edge_starts, first, second))


def edges_among(graph: AttributedGraph, nodes: IntArray) -> IntArray:
    """Return the positions of all edges that have both ends among the nodes, in ascending order."""
    chosen, near = _mask(graph, nodes), edges_at(graph, nodes)
    return near[chosen[graph.edges[0, near]] & chosen[graph.edges[1, near]]]


def _mask(graph: AttributedGraph, nodes: IntArray) -> NDArray[np.bool_]:
    chosen = np.zeros(graph.n_nodes, dtype=np.bool_)
    chosen[nodes] = True
    return chosen


class Neighbors(NamedTuple):
    """The neighbors of some nodes: those of node i are ``others[starts[i] : stops[i]]``.

    ``weight`` is that of each neighbor, empty if all are 1. Arcs count as edges in both directions; two between the
    same nodes are one neighbor, whose weights add up.
    """

    nodes: IntArray
    starts: NDArray[Any]
    stops: NDArray[Any]
    others: NDArray[Any]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, graph: AttributedGraph, nodes: IntArray, absent: IntArray) -> Neighbors:
        """Return the neighbors of sorted nodes without some edges, or the lists that a simple graph has already."""
        if is_simple(graph):
            indptr = graph.adjacency.indptr
            return cls(nodes, indptr[nodes], indptr[nodes + 1], graph.adjacency.indices, np.empty(0))
        near = np.setdiff1d(edges_at(graph, nodes), absent)
        source, target = np.concatenate([graph.edges[:, near], graph.edges[::-1, near]], axis=1)
        values = np.ones(source.size) if graph.edge_weight is None else np.tile(graph.relative_weight[near], 2)
        mine = np.isin(source, nodes)
        places = np.searchsorted(nodes, source[mine]), target[mine]
        lists = sp.coo_array((values[mine], places), shape=(nodes.size, graph.n_nodes)).tocsr()
        weight = np.empty(0) if graph.edge_weight is None else lists.data
        return cls(nodes, lists.indptr[:-1], lists.indptr[1:], lists.indices, weight)

    def alone(self) -> Neighbors:
        """Return the same neighbors in lists that hold nothing else."""
        parts = [self.others[start:stop] for start, stop in zip(self.starts, self.stops, strict=True)]
        stops = np.cumsum(self.stops - self.starts, dtype=np.int64)
        starts = stops - (self.stops - self.starts)
        return self._replace(starts=starts, stops=stops, others=np.concatenate(parts).astype(np.int64))


def is_simple(graph: AttributedGraph) -> bool:
    """Return whether edges have neither direction nor weight."""
    return not graph.directed and graph.edge_weight is None


def local_views(
    graph: AttributedGraph,
    splits: Splits,
    rows: IntArray,
    values: Callable[[IntArray], NDArray[np.float64]],
    absent: IntArray,
) -> NDArray[np.float32]:
    """Return (n_folds · n_inner, n_rows, n_columns) of Â @ values without the edges that each fold hides.

    Parameters
    ----------
    graph, splits
        The graph, and which edges each fold hides.
    rows
        The nodes to compute it for, sorted. Only their neighbors, and those of these, are looked at.
    values
        Returns the values of some nodes.
    absent
        Positions of edges that no fold sees.
    """
    mine = Neighbors.of(graph, rows, absent).alone()
    around = np.union1d(rows, mine.others)
    far = Neighbors.of(graph, around, absent).alone()
    skipped = graph.edges[:, absent if is_simple(graph) else []]  # the lists of a simple graph have them
    strengths = _strengths(far, *_placed(far, graph, splits, skipped), splits)
    scale = 1.0 / np.sqrt(1.0 + strengths.reshape(around.size, -1))
    (placed, weight), known = _placed(mine, graph, splits, skipped), values(around)
    own, near = np.searchsorted(around, rows), np.searchsorted(around, mine.others)
    found = np.empty((len(splits.folds), rows.size, known.shape[1]), dtype=np.float32)
    for view in splits.folds:
        sizes = np.where(placed.hidden(view), 0.0, weight * scale[near, view])
        shown = sp.csr_array((sizes, near, np.append(mine.starts, near.size)), shape=(rows.size, around.size))
        factor = scale[own, view, None]
        found[view] = factor * (factor * known[own] + shown @ known)
    return found


def _placed(
    lists: Neighbors, graph: AttributedGraph, splits: Splits, skipped: IntArray
) -> tuple[Placed, NDArray[np.float64]]:
    """Return where the edge to each neighbor in some lists belongs, and its weight, 0 if it is skipped."""
    nodes = np.repeat(lists.nodes, lists.stops - lists.starts)
    weight = lists.weight.astype(np.float64) if lists.weight.size else np.ones(nodes.size)
    if skipped.size:
        gone, met = (np.minimum(*ends) * graph.n_nodes + np.maximum(*ends) for ends in (skipped, (nodes, lists.others)))
        weight[np.isin(met, gone)] = 0.0
    return splits.of(graph.node_hashes[nodes] + graph.node_hashes[lists.others]), weight


def _strengths(lists: Neighbors, placed: Placed, weight: NDArray[np.float64], splits: Splits) -> NDArray[np.float64]:
    """Return (n_nodes, n_folds, n_inner) sums of the absolute weights that each fold shows."""
    shape = lists.nodes.size, splits.n_folds, splits.n_inner
    nodes = np.repeat(np.arange(shape[0]), lists.stops - lists.starts)
    cells = (nodes * shape[1] + placed.part) * shape[2] + placed.inner
    sums = np.bincount(cells, np.abs(weight), minlength=int(np.prod(shape))).reshape(shape)
    by_part = sums.sum(axis=1, keepdims=True) - sums  # of the other parts, by inner fold
    return np.asarray(by_part.sum(axis=2, keepdims=True) - by_part)


def _lists_of(graph: AttributedGraph, edges: NDArray[np.bool_]) -> Any:
    """Return the 0/1 CSR matrix of some edges of an undirected graph from the lists that it has already."""
    lists = graph.adjacency
    shown = edges[arc_numbers(graph)]
    before = np.concatenate([[0], np.cumsum(shown)]).astype(lists.indptr.dtype)
    indices = lists.indices[shown]
    return sp.csr_array((np.ones(indices.size, dtype=np.float32), indices, before[lists.indptr]), shape=lists.shape)


def adjacency_of(graph: AttributedGraph, edges: NDArray[np.bool_], *, directed: bool, weighted: bool = False) -> Any:
    """Return the 0/1 CSR matrix of some of a graph's edges, or of their relative weights if they have any."""
    weighted = weighted and graph.edge_weight is not None
    if not graph.directed and not directed and not weighted:
        return _lists_of(graph, edges)
    source, target = graph.edges[:, edges]
    values = graph.relative_weight[edges].astype(np.float32) if weighted else np.ones(source.size, dtype=np.float32)
    if not directed:
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
        values = np.concatenate([values, values])
    adjacency = sp.coo_array((values, (source, target)), shape=(graph.n_nodes, graph.n_nodes)).tocsr()
    if not weighted:
        adjacency.data[:] = 1.0  # two arcs between the same nodes are one edge
    return adjacency
