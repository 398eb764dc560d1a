"""Views: the attributes of a node's neighborhood, ÂX, without the edges that a fold hides."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from hopsight.graph import AttributedGraph
from hopsight.nn.gcn import smoothed_by
from hopsight.system.compiled import compiled
from hopsight.system.scratch import drain, release_all, zeros
from hopsight.system.sparse import csr_tensor
from hopsight.system.threads import in_order

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
