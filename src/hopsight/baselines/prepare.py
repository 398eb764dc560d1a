"""Bring a graph into the form that the baselines compute with."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.preprocess import AttributeTransform


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
    transform = AttributeTransform.fit(
        graph.attributes, graph.attribute_names, scaling=scaling, n_components=n_components, types=graph.node_types,
        rng=rng,
    )  # fmt: skip
    return transform.apply(graph.attributes, graph.attribute_names, graph.node_types), transform
