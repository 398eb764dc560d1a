"""Views: a node's attributes and those of its neighborhood, X and ÂX, without the edges that a fold hides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from hopsight.graph import AttributedGraph
from hopsight.hcm.splits import HALF_PRECISION_NODES, Fold, FoldIndex, Sight, Splits
from hopsight.hops.pool import PairPool
from hopsight.nn.gcn import smoothed_by
from hopsight.preprocess import AttributeTransform
from hopsight.preprocess.scale import unit_of
from hopsight.system.arrays import csr_tensor, find_edges
from hopsight.system.compiled import compiled
from hopsight.system.files import drain, release, release_all, zeros
from hopsight.system.threads import in_order

ROWS_AT_ONCE = 1 << 16

Matrix = NDArray[Any]  # float64, or float32 in a large graph


def fit_inputs(
    graph: AttributedGraph, scratch: Path | None, **options: Any
) -> tuple[AttributeTransform, Matrix, float]:
    """Learn how to transform the attributes; return that, the transformed attributes, and what they were divided by.

    ``options`` are those of :meth:`AttributeTransform.fit_apply`.
    """
    large = in_single_precision(graph)
    transform, attributes = AttributeTransform.fit_apply(
        graph.attributes,
        graph.attribute_names,
        types=graph.node_types,
        out=(lambda shape: zeros(shape, np.float32, scratch)) if large else None,
        **options,
    )
    dense: Matrix = attributes.toarray() if sp.issparse(attributes) else attributes
    magnitude = unit_of(dense)
    return transform, _divided(dense, magnitude, in_place=large), magnitude


def inputs_of(
    graph: AttributedGraph,
    transform: AttributeTransform,
    magnitude: float,
    rows: NDArray[np.int64] | None = None,
) -> Matrix:
    """Return the attributes of a graph, or of some of its rows, as a fit transformed them."""
    chosen = graph.attributes if rows is None else graph.attributes[rows]
    types = None if graph.node_types is None else graph.node_types if rows is None else graph.node_types[rows]
    large = in_single_precision(graph)
    out = (lambda shape: np.empty(shape, dtype=np.float32)) if large else None
    attributes = transform.apply(chosen, graph.attribute_names, types, out)
    return _divided(attributes.toarray() if sp.issparse(attributes) else attributes, magnitude, in_place=large)


def in_unit(attributes: Matrix, unit: float, scratch: Path | None) -> NDArray[np.float32]:
    """Return the attributes in another unit and in single precision."""
    scaled = zeros(attributes.shape, np.float32, scratch)

    def fill(start: int) -> None:
        scaled[start : start + ROWS_AT_ONCE] = attributes[start : start + ROWS_AT_ONCE] / unit

    for _ in in_order(fill, range(0, len(scaled), ROWS_AT_ONCE)):
        pass
    release(attributes)
    return scaled


def spread_of(attributes: Matrix) -> float:
    """Return the standard deviation of all numbers, added up in double precision."""
    if attributes.dtype == np.float64:
        return float(attributes.std())
    blocks = [attributes[start : start + ROWS_AT_ONCE] for start in range(0, len(attributes), ROWS_AT_ONCE)]
    n_values = max(1, attributes.size)
    mean = np.float64(sum(in_order(lambda block: float(block.sum(dtype=np.float64)), blocks)) / n_values)
    return float(np.sqrt(sum(in_order(lambda block: float(((block - mean) ** 2).sum()), blocks)) / n_values))


def in_single_precision(graph: AttributedGraph) -> bool:
    """Return whether a graph is so large that its transformed attributes are kept in single precision."""
    return graph.n_nodes > HALF_PRECISION_NODES


def _divided(attributes: Matrix, magnitude: float, *, in_place: bool) -> Matrix:
    if magnitude == 1.0:
        return attributes
    return np.divide(attributes, magnitude, out=attributes if in_place else None)


MOST_AT_ONCE = 32  # views, one bit of each edge per view
BLOCK_VALUES = 1 << 19  # numbers of all views that a thread has in its cache


class Neighborhoods:
    """The neighbors of every node, sorted once, and which edge leads to each; arcs count as edges in both directions.

    Two arcs between the same nodes are one neighbor. They have the same hash, so that a fold hides both or neither.
    """

    def __init__(self, graph: AttributedGraph, device: torch.device, scratch: Path | None = None) -> None:
        self.device, self.scratch = device, scratch  # a folder for views that do not fit into memory
        second: Any = -1
        if graph.directed:
            self.indptr, self.indices, self.edge, second = _both_ways(graph)
        else:  # the lists that the graph has already
            self.indptr, self.indices = graph.adjacency.indptr, graph.adjacency.indices
            self.edge = arc_numbers(graph)
        self.weight = np.empty(0, dtype=np.float32)  # all are 1
        if graph.edge_weight is not None:
            weight = np.append(graph.relative_weight, 0.0).astype(np.float32)
            self.weight = weight[self.edge] + weight[second]

    def smooth(
        self,
        values: Tensor,
        hidden: Sequence[NDArray[np.bool_]],
        dtype: torch.dtype = torch.float32,
        rows: Sequence[NDArray[np.int64]] | None = None,
    ) -> list[Tensor]:
        """Return Â @ values in the graph without the hidden edges, for each of some sets of hidden edges.

        ``rows`` are the nodes to compute it for, those of each set; without them it is computed for all.
        """
        if self.device.type != "cpu":
            views = [self._smooth_on_device(values, each).to(dtype) for each in hidden]
            return (
                views
                if rows is None
                else [view[torch.from_numpy(nodes).to(self.device)] for view, nodes in zip(views, rows, strict=True)]
            )
        found = []
        for start in range(0, len(hidden), MOST_AT_ONCE):
            part = slice(start, start + MOST_AT_ONCE)
            found += self._smooth_at_once(values, hidden[part], dtype, None if rows is None else rows[part])
        return found

    def _smooth_at_once(
        self,
        values: Tensor,
        hidden: Sequence[NDArray[np.bool_]],
        dtype: torch.dtype,
        rows: Sequence[NDArray[np.int64]] | None,
    ) -> list[Tensor]:
        """Read every neighbor once for all views of all nodes: memory is slower than arithmetic."""
        bits = np.zeros(hidden[0].size, dtype=np.uint32)
        for number, mask in enumerate(hidden):
            bits |= mask.astype(np.uint32) << np.uint32(number)
        scale = self._scale(bits, len(hidden))
        if rows is None:
            return self._smooth_rows(values, bits, scale, np.arange(values.shape[0]), dtype)
        return [
            self._smooth_rows(values, bits >> np.uint32(view), scale[:, view : view + 1].copy(), nodes, dtype)[0]
            for view, nodes in enumerate(rows)
        ]

    def _scale(self, bits: NDArray[np.uint32], n_views: int) -> NDArray[np.float32]:
        """Return D̃^{-1/2} of every node (n_nodes, n_views), from the absolute weights of its shown edges."""
        strengths = np.empty((self.indptr.size - 1, n_views), dtype=np.float32)
        graph, step = (self.indptr, self.indices, self.edge, self.weight, bits), max(1, BLOCK_VALUES // n_views)
        for _ in in_order(
            lambda start: _strengths(*graph, strengths, start, start + step), range(0, len(strengths), step)
        ):
            pass
        return np.asarray(torch.rsqrt(torch.from_numpy(strengths).add_(1.0)).numpy())

    def _smooth_rows(
        self,
        values: Tensor,
        bits: NDArray[np.uint32],
        scale: NDArray[np.float32],
        rows: NDArray[np.int64],
        dtype: torch.dtype,
    ) -> list[Tensor]:
        """Return Â @ values of some nodes in every view."""
        shape, n_views = (rows.size, values.shape[1]), scale.shape[1]
        found = [torch.from_numpy(zeros(shape, NUMPY[dtype], self.scratch)) for _ in range(n_views)]
        graph = self.indptr, self.indices, self.edge, self.weight, bits
        step = max(1, BLOCK_VALUES // (n_views * shape[1]))

        def fill(start: int) -> None:
            some = rows[start : start + step]
            blocks = np.zeros((n_views, some.size, shape[1]), dtype=np.float32)
            _smooth(*graph, scale, values.numpy(), some, blocks)
            for view, part in zip(found, torch.from_numpy(blocks), strict=True):
                view[start : start + step] = part

        drain(in_order(fill, range(0, rows.size, step)), found)
        release_all([values])
        return found

    def _smooth_on_device(self, values: Tensor, hidden: NDArray[np.bool_]) -> Tensor:
        """Give hidden edges the weight 0: that is less work for a GPU than to leave them out."""
        indptr, indices, edge, weight = self._on_device
        weight = weight.masked_fill(torch.from_numpy(hidden).to(self.device)[edge], 0.0)
        before = torch.nn.functional.pad(weight.abs().cumsum(0, dtype=torch.float64), (1, 0))
        strengths = (before[indptr[1:]] - before[indptr[:-1]]).float()
        matrix = csr_tensor(indptr, indices, weight, (indptr.numel() - 1,) * 2)
        return smoothed_by(matrix, strengths, values)

    @cached_property
    def _on_device(self) -> list[Tensor]:
        weight = self.weight if self.weight.size else np.ones(self.edge.size, dtype=np.float32)
        arrays = self.indptr.astype(np.int64), self.indices.astype(np.int64), self.edge.astype(np.int64), weight
        return [torch.from_numpy(array).to(self.device) for array in arrays]


def _both_ways(graph: AttributedGraph) -> tuple[Any, Any, Any, Any]:
    """Return the neighbors of a directed graph: row starts, columns, and the one or two arcs behind each (else −1)."""
    number = np.arange(1, graph.n_edges + 1, dtype=_number_type(graph.n_edges))
    one_way = sp.coo_array((number, tuple(graph.edges)), shape=(graph.n_nodes, graph.n_nodes)).tocsr()
    other_way = one_way.T.tocsr()
    both = one_way.maximum(other_way)
    both.sort_indices()
    return both.indptr, both.indices, both.data - 1, (one_way + other_way).data - 1 - both.data


def arc_numbers(graph: AttributedGraph) -> NDArray[Any]:
    """Return which edge of an undirected graph leads to each neighbor in the lists of its adjacency."""
    lists = graph.adjacency
    edge = np.empty(lists.indices.size, dtype=_number_type(graph.n_edges))
    _number_edges(lists.indptr, lists.indices, edge, lists.indptr[:-1].copy())
    return edge


def _number_type(n_edges: int) -> Any:
    return np.int32 if n_edges < 2**31 - 1 else np.int64


NUMPY = {torch.float32: np.float32, torch.float16: np.float16}


@compiled(nogil=True)
def _number_edges(indptr: Any, indices: Any, edge: Any, free: Any) -> None:
    """Set which edge leads to each neighbor; edges are numbered in the order of their first and second end.

    The neighbors with smaller numbers stand first in each list, in the order in which their own lists are read here.
    ``free`` is where each list begins, and is changed.
    """
    number = 0
    for node in range(free.size):
        for k in range(indptr[node], indptr[node + 1]):
            other = indices[k]
            if other > node:
                edge[k] = number
                edge[free[other]] = number
                free[other] += 1
                number += 1


@compiled(nogil=True)
def _strengths(
    indptr: Any, indices: Any, edge: Any, weight: Any, bits: Any, strengths: Any, first: int, last: int
) -> None:
    """Set the sum of the absolute weights of each node's shown edges, for each view."""
    for node in range(first, min(last, indptr.size - 1)):
        for view in range(strengths.shape[1]):
            strengths[node, view] = np.float32(0.0)
        for k in range(indptr[node], indptr[node + 1]):
            shown = ~bits[edge[k]]
            size = np.abs(weight[k]) if weight.size else np.float32(1.0)
            for view in range(strengths.shape[1]):
                if (shown >> np.uint32(view)) & np.uint32(1):
                    strengths[node, view] += size


@compiled(nogil=True)
def _smooth(
    indptr: Any, indices: Any, edge: Any, weight: Any, bits: Any, scale: Any, values: Any, rows: Any, found: Any
) -> None:
    """Fill (n_views, n_rows, n_columns) zeros with Â @ values; neighbors are added up in their order."""
    n_views, n_columns = scale.shape[1], values.shape[1]
    for place in range(rows.size):
        node = rows[place]
        for k in range(indptr[node], indptr[node + 1]):
            shown, size = ~bits[edge[k]], weight[k] if weight.size else np.float32(1.0)
            other = indices[k]
            row = values[other]
            for view in range(n_views):
                if (shown >> np.uint32(view)) & np.uint32(1):
                    factor, total = scale[other, view], found[view, place]
                    for column in range(n_columns):
                        total[column] += size * (factor * row[column])
        for view in range(n_views):
            factor, total = scale[node, view], found[view, place]
            for column in range(n_columns):
                total[column] = (total[column] + factor * values[node, column]) * factor


KEPT_BYTES = 1 << 29  # of the views of all networks; where they take more, those of one network exist at a time


class CrossViews(Sight):
    """X and ÂX of one graph, for each network without its part of the edges and without one of its inner folds.

    The views of a small graph are made once. In a large one the networks train on the nodes of the pool only, and the
    views of all nodes are made for one network at a time, when it judges its edges.

    Parameters
    ----------
    graph, attributes
        The graph, and (n_nodes, n_columns) attributes in the unit of the fit, in single precision.
    splits, placed
        Which edges each network judges and hides, and where every edge of the graph is placed.
    device, scratch
        Where to compute, and a folder for views that do not fit into memory.
    """

    def __init__(
        self,
        graph: AttributedGraph,
        attributes: NDArray[np.float32],
        splits: Splits,
        placed: FoldIndex,
        device: torch.device,
        scratch: Path | None = None,
    ) -> None:
        self.splits, self.placed = splits, placed
        self.scaled = torch.from_numpy(attributes).to(device)
        self.dtype = view_dtype(graph.n_nodes)
        self.own = self.scaled.to(self.dtype) if scratch is None else _on_disk(attributes, self.dtype, scratch)
        self.neighborhoods = Neighborhoods(graph, device, scratch)
        n_nodes, n_columns = attributes.shape
        self.one_at_a_time = device.type == "cpu" and not kept_at_once(n_nodes, n_columns, splits)
        super().__init__(OneAtATime(splits.n_folds, self._folds_of) if self.one_at_a_time else self._all_folds())

    def training(self, pool: PairPool) -> tuple[Sequence[Sequence[Fold]], PairPool]:
        """Return what each network trains on, and the pool by the numbers that nodes have there."""
        if not self.one_at_a_time:
            return self.kept, pool
        views, nothing = iter(self._seen(self._all_trained, pool, self.own)), torch.empty(0, dtype=torch.int64)
        folds = [[Fold(next(views), nothing) for _ in self._trained(k)] for k in range(self.splits.n_folds)]
        return folds, pool.renumbered()

    def aside(self, pool: PairPool) -> tuple[Sequence[Sequence[Tensor]], PairPool]:
        """Return what each network sees without the fold that it set aside, and the renumbered pool."""
        folds = [k * self.splits.n_inner for k in range(self.splits.n_folds)]
        return self._seen(folds, pool, self.scaled), pool.renumbered()

    def _seen(self, folds: Sequence[int], pool: PairPool, own: Tensor) -> list[list[Tensor]]:
        """Return X and ÂX of the pool's nodes in some folds, ÂX in the precision of X."""
        rows = [pool.nodes(fold) for fold in folds]
        views = self.neighborhoods.smooth(self.scaled, self._hidden(folds), own.dtype, rows)
        return [[own[torch.from_numpy(nodes).to(own.device)], view] for nodes, view in zip(rows, views, strict=True)]

    def _all_folds(self) -> list[list[Fold]]:
        """Return the folds of all networks; the views of all are made at once, which reads every neighbor once."""
        views = iter(self.neighborhoods.smooth(self.scaled, self._hidden(self._all_trained), self.dtype))
        networks = range(self.splits.n_folds)
        return [self._folds(k, [next(views) for _ in self._trained(k)]) for k in networks]

    def _folds_of(self, network: int) -> list[Fold]:
        return self._folds(
            network, self.neighborhoods.smooth(self.scaled, self._hidden(self._trained(network)), self.dtype)
        )

    def _folds(self, network: int, views: Sequence[Tensor]) -> list[Fold]:
        judged = torch.from_numpy(np.flatnonzero(self.placed.part == network)).to(self.own.device)
        return [Fold([self.own, view], judged) for view in views]

    def _trained(self, network: int) -> range:
        """Return the numbers of a network's folds but the one that it sets aside."""
        return self.splits.folds[network * self.splits.n_inner + 1 : (network + 1) * self.splits.n_inner]

    @property
    def _all_trained(self) -> list[int]:
        return [fold for k in range(self.splits.n_folds) for fold in self._trained(k)]

    def _hidden(self, folds: Sequence[int]) -> list[NDArray[np.bool_]]:
        return [self.placed.hidden(fold) for fold in folds]


def _on_disk(values: NDArray[np.float32], dtype: torch.dtype, scratch: Path) -> Tensor:
    """Return values in another precision, in a temporary file."""
    found = torch.from_numpy(zeros(values.shape, NUMPY[dtype], scratch))
    for start in range(0, len(values), ROWS_AT_ONCE):
        found[start : start + ROWS_AT_ONCE] = torch.from_numpy(values[start : start + ROWS_AT_ONCE])
    release(found.numpy())
    return found


class OneAtATime(Sequence[Any]):
    """A sequence whose items are made when they are asked for; only the last one is kept.

    >>> squares = OneAtATime(3, lambda number: number**2)
    >>> len(squares), squares[2], list(squares)
    (3, 4, [0, 1, 4])
    """

    def __init__(self, length: int, make: Callable[[int], Any]) -> None:
        self._length, self._make, self._last = length, make, (-1, None)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, number: int) -> Any: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Any]: ...
    def __getitem__(self, number: int | slice) -> Any:
        """Return the item with this number, made anew unless it was the last one asked for."""
        if isinstance(number, slice):
            raise TypeError("the items exist one at a time: ask for them by their numbers")
        if not 0 <= number < self._length:
            raise IndexError(number)
        if self._last[0] != number:
            self._last = -1, None  # before the next one is made: both might not fit into memory
            self._last = number, self._make(number)
        return self._last[1]


def view_dtype(n_nodes: int) -> torch.dtype:
    """Return the type of the views: half precision in a large graph."""
    return torch.float16 if n_nodes > HALF_PRECISION_NODES else torch.float32


def kept_at_once(n_nodes: int, n_columns: int, splits: Splits) -> bool:
    """Return whether the views of all networks are small enough to be kept."""
    return view_bytes(n_nodes, n_columns) * splits.n_folds * (splits.n_inner - 1) <= KEPT_BYTES


def view_bytes(n_nodes: int, n_columns: int) -> int:
    """Return the size of one view."""
    return n_nodes * n_columns * view_dtype(n_nodes).itemsize


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
    strengths = _shown_strengths(far, *_placed(far, graph, splits, skipped), splits)
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
) -> tuple[FoldIndex, NDArray[np.float64]]:
    """Return where the edge to each neighbor in some lists belongs, and its weight, 0 if it is skipped."""
    nodes = np.repeat(lists.nodes, lists.stops - lists.starts)
    weight = lists.weight.astype(np.float64) if lists.weight.size else np.ones(nodes.size)
    if skipped.size:
        gone, met = (np.minimum(*ends) * graph.n_nodes + np.maximum(*ends) for ends in (skipped, (nodes, lists.others)))
        weight[np.isin(met, gone)] = 0.0
    return splits.of(graph.node_hashes[nodes] + graph.node_hashes[lists.others]), weight


def _shown_strengths(
    lists: Neighbors, placed: FoldIndex, weight: NDArray[np.float64], splits: Splits
) -> NDArray[np.float64]:
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
