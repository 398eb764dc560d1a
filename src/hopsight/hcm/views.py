"""Views: the attributes of a node's neighborhood, ÂX, without the edges that a fold hides."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from hopsight.graph import AttributedGraph
from hopsight.nn.gcn import smoothed, smoothed_by


class Neighborhoods:
    """The neighbors of every node, sorted once, and which edge leads to each; arcs count as edges in both directions.

    Two arcs between the same nodes are one neighbor. They have the same hash, so that a fold hides both or neither.
    """

    def __init__(self, graph: AttributedGraph, device: torch.device) -> None:
        shape, dtype = (graph.n_nodes, graph.n_nodes), np.int32 if graph.n_edges < 2**31 - 1 else np.int64
        one_way = sp.coo_array((np.arange(1, graph.n_edges + 1, dtype=dtype), tuple(graph.edges)), shape=shape).tocsr()
        other_way = one_way.T.tocsr()
        both = one_way.maximum(other_way) if graph.directed else one_way + other_way
        both.sort_indices()
        self.device = device
        self.indptr, self.indices, self.edge = both.indptr, both.indices, both.data - 1
        self.weight = np.ones(self.edge.size, dtype=np.float32)
        if graph.edge_weight is not None:
            weight = np.append(graph.relative_weight, 0.0).astype(np.float32)
            second = (one_way + other_way).data - 1 - both.data if graph.directed else np.full(self.edge.size, -1)
            self.weight = weight[self.edge] + weight[second]

    def smooth(self, values: Tensor, hidden: NDArray[np.bool_]) -> Tensor:
        """Return Â @ values in the graph without the hidden edges."""
        if self.device.type != "cpu":
            return self._smooth_on_device(values, hidden)
        shown = ~hidden[self.edge]
        before = np.concatenate([[0], np.cumsum(shown)])
        parts = self.weight[shown], self.indices[shown], before[self.indptr]
        return smoothed(sp.csr_array(parts, shape=(self.indptr.size - 1,) * 2), values)

    def _smooth_on_device(self, values: Tensor, hidden: NDArray[np.bool_]) -> Tensor:
        """Give hidden edges the weight 0: that is less work for a GPU than to leave them out."""
        indptr, indices, edge, weight = self._on_device
        weight = weight.masked_fill(torch.from_numpy(hidden).to(self.device)[edge], 0.0)
        before = torch.nn.functional.pad(weight.abs().cumsum(0, dtype=torch.float64), (1, 0))
        strengths = (before[indptr[1:]] - before[indptr[:-1]]).float()
        size = (indptr.numel() - 1,) * 2
        matrix = torch.sparse_csr_tensor(indptr, indices, weight, size=size, check_invariants=False)
        return smoothed_by(matrix, strengths, values)

    @cached_property
    def _on_device(self) -> list[Tensor]:
        arrays = self.indptr.astype(np.int64), self.indices.astype(np.int64), self.edge.astype(np.int64), self.weight
        return [torch.from_numpy(array).to(self.device) for array in arrays]
