"""Scores that use next to nothing of the graph: every detector must beat them, because planted anomalies leak."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph

FloatArray = NDArray[np.float64]


def random_score(graph: AttributedGraph, seed: int) -> FloatArray:
    """Return a random number per node."""
    return np.random.default_rng(seed).random(graph.n_nodes)


def degree(graph: AttributedGraph, seed: int) -> FloatArray:
    """Return the number of edges of each node: members of a planted clique gain edges.

    >>> degree(AttributedGraph.from_edges([0, 1], [1, 2], np.eye(3)), seed=0).tolist()
    [1.0, 2.0, 1.0]
    """
    return graph.degrees.astype(np.float64)


def attribute_norm(graph: AttributedGraph, seed: int) -> FloatArray:
    """Return the norm of each node's attributes: the farthest of 50 candidates tends to have many words.

    >>> attribute_norm(AttributedGraph.from_edges([0], [1], np.array([[3.0, 4.0], [0.0, 1.0]])), seed=0).tolist()
    [5.0, 1.0]
    """
    X = graph.attributes
    scale = float(abs(X).max()) or 1.0  # squares of 1e200 would overflow
    scaled = X.astype(np.float64) / scale
    squares = scaled.multiply(scaled) if sp.issparse(scaled) else scaled * scaled
    return np.asarray(np.sqrt(np.asarray(squares.sum(axis=1)).ravel()) * scale)


RANDOM = "random"

TRIVIAL: Mapping[str, Callable[[AttributedGraph, int], FloatArray]] = MappingProxyType(
    {RANDOM: random_score, "degree": degree, "attribute_norm": attribute_norm}
)
