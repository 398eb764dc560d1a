"""Bring a graph into the form that the baselines compute with."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.preprocess import AttributeTransform

BLOCK_VALUES = 1 << 24  # numbers held at a time


def symmetric_adjacency(graph: AttributedGraph) -> Any:
    """Return the 0/1 adjacency of the undirected graph, max(A, Aᵀ)."""
    return graph.adjacency.maximum(graph.adjacency.T) if graph.directed else graph.adjacency


def column_extreme(matrix: Any, which: str) -> NDArray[np.float64]:
    """Return the ``"min"`` or ``"max"`` of every column of a dense or sparse matrix."""
    found = getattr(matrix, which)(axis=0)
    return np.asarray(found.todense() if sp.issparse(found) else found, dtype=np.float64).ravel()


def transformed(
    graph: AttributedGraph, *, scaling: str = "none", n_components: int | None, rng: np.random.Generator
) -> tuple[Any, AttributeTransform]:
    """Scale the attributes and project them on ``n_components`` principal axes; return them and the transformation."""
    transform, attributes = AttributeTransform.fit_apply(
        graph.attributes, graph.attribute_names, scaling=scaling, n_components=n_components, types=graph.node_types,
        rng=rng,
    )  # fmt: skip
    return attributes, transform


def squared_distances(rows: Any, left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
    """Return ‖x_i − x_j‖² of every pair of rows from differences, a block of pairs at a time."""
    width = rows.nnz // max(1, rows.shape[0]) + 1 if sp.issparse(rows) else rows.shape[1]
    step = max(1, BLOCK_VALUES // (4 * width))
    out = np.empty(left.size)
    for start in range(0, left.size, step):
        part = slice(start, start + step)
        gap = rows[left[part]] - rows[right[part]]
        squares = gap.multiply(gap) if sp.issparse(gap) else gap * gap
        out[part] = np.asarray(squares.sum(axis=1)).ravel()
    return out
