"""Scores that look at next to nothing: what a detector must beat, because planted anomalies leak."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph

FloatArray = NDArray[np.float64]


def random_score(graph: AttributedGraph, seed: int) -> FloatArray:
    """Return a number drawn for each node."""
    return np.random.default_rng(seed).random(graph.n_nodes)


def degree(graph: AttributedGraph, seed: int) -> FloatArray:
    """Return the number of edges of each node: members of a planted clique gain some.

    >>> degree(AttributedGraph.from_edges([0, 1], [1, 2], np.eye(3)), seed=0).tolist()
    [1.0, 2.0, 1.0]
    """
    return graph.degrees.astype(np.float64)


def attribute_norm(graph: AttributedGraph, seed: int) -> FloatArray:
    """Return the Euclidean norm of each node's attributes: the farthest of 50 candidates is one with many words.

    >>> attribute_norm(AttributedGraph.from_edges([0], [1], np.array([[3.0, 4.0], [0.0, 1.0]])), seed=0).tolist()
    [5.0, 1.0]
    """
    X = graph.attributes
    scale = float(abs(X).max()) or 1.0  # squares of 1e200 would overflow
    scaled = X.astype(np.float64) / scale
    squares = scaled.multiply(scaled) if sp.issparse(scaled) else scaled * scaled
    return np.asarray(np.sqrt(np.asarray(squares.sum(axis=1)).ravel()) * scale)


TRIVIAL: Mapping[str, Callable[[AttributedGraph, int], FloatArray]] = MappingProxyType(
    {"random": random_score, "degree": degree, "attribute_norm": attribute_norm}
)
