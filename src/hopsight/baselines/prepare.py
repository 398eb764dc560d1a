"""Bring a graph into the form that the baselines compute with."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.preprocess import AttributeTransform


def symmetric_adjacency(graph: AttributedGraph) -> Any:
    """Return the 0/1 adjacency of the undirected graph, max(A, Aᵀ)."""
    return graph.adjacency.maximum(graph.adjacency.T) if graph.directed else graph.adjacency


def transformed(
    graph: AttributedGraph, *, scaling: str = "none", n_components: int | None, rng: np.random.Generator
) -> tuple[Any, AttributeTransform]:
    """Scale the attributes and project them on ``n_components`` principal axes; return them and the transformation."""
    transform = AttributeTransform.fit(
        graph.attributes, graph.attribute_names, scaling=scaling, n_components=n_components, types=graph.node_types,
        rng=rng,
    )  # fmt: skip
    return transform.apply(graph.attributes, graph.attribute_names, graph.node_types), transform
