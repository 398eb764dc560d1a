"""Views: a node's attributes and those of its neighborhood, X and ÂX, without the edges that a fold hides.

The attributes are transformed, dense, and in a unit that single precision can hold. In a large graph they are kept in
single precision, and views in half precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import embedding_bag

from hopsight.graph import AttributedGraph
from hopsight.hcm.splits import HALF_PRECISION_NODES, FoldIndex
from hopsight.preprocess import AttributeTransform
from hopsight.preprocess.transform import unit_of
from hopsight.system.arrays import zeros
from hopsight.system.kernels import compiled
from hopsight.system.threads import for_each, in_order

ROWS_AT_ONCE = 1 << 16
MOST_AT_ONCE = 32  # views, one bit of each edge per view
BLOCK_VALUES = 1 << 19  # numbers of all views that a thread has in its cache
NUMPY = {torch.float32: np.float32, torch.float16: np.float16}

IntArray = NDArray[np.int64]
Matrix = NDArray[Any]  # float64, or float32 in a large graph


def fit_inputs(graph: AttributedGraph, **options: Any) -> tuple[AttributeTransform, Matrix, float]:
    """Learn how to transform the attributes; return that, the transformed attributes, and what they were divided by.

    ``options`` are those of :meth:`AttributeTransform.fit_apply`.
    """
    large = in_single_precision(graph)
    transform, attributes = AttributeTransform.fit_apply(
        graph.attributes,
        graph.attribute_names,
        types=graph.node_types,
        out=(lambda shape: zeros(shape, np.float32)) if large else None,
        **options,
    )
    dense: Matrix = attributes.toarray() if sp.issparse(attributes) else attributes
    magnitude = unit_of(dense)
    return transform, _divided(dense, magnitude, in_place=large), magnitude


def inputs_of(
    graph: AttributedGraph,
    transform: AttributeTransform,
    magnitude: float,
    rows: IntArray | None = None,
    given: Any = None,
) -> Matrix:
    """Return the attributes of a graph, or of some of its rows, as a fit transformed them.

    ``given`` are attributes of these rows in place of those of the graph.
    """
    chosen = given if given is not None else graph.attributes if rows is None else graph.attributes[rows]
    types = None if graph.node_types is None else graph.node_types if rows is None else graph.node_types[rows]
    large = in_single_precision(graph)
    out = (lambda shape: np.empty(shape, dtype=np.float32)) if large else None
    attributes = transform.apply(chosen, graph.attribute_names, types, out, graph.left_out)
    return _divided(attributes.toarray() if sp.issparse(attributes) else attributes, magnitude, in_place=large)


def in_unit(attributes: Matrix, unit: float) -> NDArray[np.float32]:
    """Return the attributes in another unit and in single precision."""
    scaled = zeros(attributes.shape, np.float32)

    def fill(start: int) -> None:
        scaled[start : start + ROWS_AT_ONCE] = attributes[start : start + ROWS_AT_ONCE] / unit

    for_each(fill, range(0, len(scaled), ROWS_AT_ONCE))
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


def view_dtype(n_nodes: int) -> torch.dtype:
    """Return the type of the views: half precision in a large graph."""
    return torch.float16 if n_nodes > HALF_PRECISION_NODES else torch.float32


class Views:
    """X and ÂX of one graph, for each fold without the edges that it hides.

    Parameters
    ----------
    neighborhoods, attributes
        The neighbors of every node, and (n_nodes, n_columns) attributes in the unit of the fit, in single precision.
    index
        The part and the inner fold of every edge.
    """

    def __init__(self, neighborhoods: Neighborhoods, attributes: NDArray[np.float32], index: FoldIndex) -> None:
        self.neighborhoods, self.index = neighborhoods, index
        self.scaled = torch.from_numpy(attributes).to(neighborhoods.device)
        self.dtype = view_dtype(len(attributes))

    @cached_property
    def own(self) -> Tensor:
        """X in the precision of the views."""
        return self.scaled.to(self.dtype)

    def of(
        self, folds: Sequence[int], rows: Sequence[IntArray] | None = None, *, exact: bool = False
    ) -> list[list[Tensor]]:
        """Return X and ÂX in some folds, of all nodes or of the rows given for each fold.

        ``exact`` keeps single precision even in a large graph.
        """
        own = self.scaled if exact else self.own
        views = self.neighborhoods.smooth(self.scaled, [self.index.hidden(fold) for fold in folds], own.dtype, rows)
        if rows is None:
            return [[own, view] for view in views]
        return [[own[torch.from_numpy(some).to(own.device)], view] for some, view in zip(rows, views, strict=True)]


class Neighborhoods:
    """The neighbors of every node and which edge leads to each; arcs count as edges in both directions.

    Two arcs between the same nodes are one neighbor, whose weights add up. They have the same hash, so that a fold
    hides both or neither.

    Parameters
    ----------
    edges, n_nodes, directed
        (2, n_edges) ends of the edges, each edge once; number of nodes; whether the edges are arcs.
    weight
        Relative weight of each edge; None if all count alike.
    device
        Where to compute.
    """

    def __init__(
        self,
        edges: IntArray,
        n_nodes: int,
        weight: NDArray[np.float64] | None,
        *,
        directed: bool,
        device: torch.device,
    ) -> None:
        self.device = device
        number = np.arange(1, edges.shape[1] + 1, dtype=np.int32 if edges.shape[1] < 2**30 else np.int64)
        one_way = sp.coo_array((number, tuple(edges)), shape=(n_nodes, n_nodes)).tocsr()
        other_way = one_way.T.tocsr()
        both = one_way.maximum(other_way)
        both.sort_indices()
        self.indptr, self.indices, self.edge = both.indptr, both.indices, both.data - 1
        self.weight = np.empty(0, dtype=np.float32)  # all are 1
        if weight is not None:
            known = np.append(weight, 0.0).astype(np.float32)
            self.weight = known[self.edge]
            if directed:  # and of the arc in the other direction, or else 0
                self.weight = self.weight + known[(one_way + other_way).data - 1 - both.data]

    @classmethod
    def of(cls, graph: AttributedGraph, device: torch.device, weight: Any = None) -> Neighborhoods:
        """Return the neighborhoods of a whole graph; edges count by their own weight unless they are given another."""
        weight = graph.relative_weight if weight is None else weight
        return cls(graph.edges, graph.n_nodes, weight, directed=graph.directed, device=device)

    def smooth(
        self,
        values: Tensor,
        hidden: Sequence[NDArray[np.bool_]],
        dtype: torch.dtype = torch.float32,
        rows: Sequence[IntArray] | None = None,
    ) -> list[Tensor]:
        """Return Â @ values in the graph without the hidden edges, for each of some sets of hidden edges.

        ``rows`` are the nodes to compute it for, those of each set; without them it is computed for all.
        """
        if self.device.type != "cpu":
            views = [self._smooth_on_device(values, each).to(dtype) for each in hidden]
            if rows is None:
                return views
            return [view[torch.from_numpy(some).to(self.device)] for view, some in zip(views, rows, strict=True)]
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
        rows: Sequence[IntArray] | None,
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
        for_each(lambda start: _strengths(*graph, strengths, start, start + step), range(0, len(strengths), step))
        return np.asarray(torch.rsqrt(torch.from_numpy(strengths).add_(1.0)).numpy())

    def _smooth_rows(
        self,
        values: Tensor,
        bits: NDArray[np.uint32],
        scale: NDArray[np.float32],
        rows: IntArray,
        dtype: torch.dtype,
    ) -> list[Tensor]:
        """Return Â @ values of some nodes in every view."""
        shape, n_views = (rows.size, values.shape[1]), scale.shape[1]
        found = [torch.from_numpy(zeros(shape, NUMPY[dtype])) for _ in range(n_views)]
        graph = self.indptr, self.indices, self.edge, self.weight, bits
        step = max(1, BLOCK_VALUES // (n_views * shape[1]))

        def fill(start: int) -> None:
            some = rows[start : start + step]
            blocks = np.zeros((n_views, some.size, shape[1]), dtype=np.float32)
            _smooth(*graph, scale, values.numpy(), some, blocks)
            for view, part in zip(found, torch.from_numpy(blocks), strict=True):
                view[start : start + step] = part

        for_each(fill, range(0, rows.size, step))
        return found

    def _smooth_on_device(self, values: Tensor, hidden: NDArray[np.bool_]) -> Tensor:
        """Give hidden edges the weight 0: that is less work for a GPU than to leave them out.

        Sums over segments add up in a fixed order; sparse products and cumulative sums of a GPU do not.
        """
        indptr, indices, edge, weight = self._on_device
        weight = weight.masked_fill(torch.from_numpy(hidden).to(self.device)[edge], 0.0)
        scale = torch.rsqrt(torch.segment_reduce(weight.abs(), "sum", offsets=indptr) + 1.0)[:, None]
        scaled = values * scale
        around = embedding_bag(indices, scaled, indptr, mode="sum", per_sample_weights=weight, include_last_offset=True)
        return around.add_(scaled).mul_(scale)

    @cached_property
    def _on_device(self) -> list[Tensor]:
        weight = self.weight if self.weight.size else np.ones(self.edge.size, dtype=np.float32)
        arrays = self.indptr.astype(np.int64), self.indices.astype(np.int64), self.edge.astype(np.int64), weight
        return [torch.from_numpy(array).to(self.device) for array in arrays]


def adjacency_of(edges: IntArray, n_nodes: int, *, directed: bool) -> Any:
    """Return the 0/1 CSR matrix of some edges, each given once."""
    source, target = edges if directed else np.concatenate([edges, edges[::-1]], axis=1)
    ones = np.ones(source.size, dtype=np.float32)
    return sp.coo_array((ones, (source, target)), shape=(n_nodes, n_nodes)).tocsr()


def _divided(attributes: Matrix, magnitude: float, *, in_place: bool) -> Matrix:
    if magnitude == 1.0:
        return attributes
    return np.divide(attributes, magnitude, out=attributes if in_place else None)


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
