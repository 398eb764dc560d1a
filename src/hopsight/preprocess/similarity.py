"""Similarity of connected nodes, eqs. (1) and (2) of the paper, for all edges."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import get_num_threads
from numpy.typing import NDArray

from hopsight.checks import check_choice

SIMILARITIES = ("auto", "jaccard", "cosine", "euclidean")
BLOCK_VALUES = 1 << 22  # numbers held by a thread at a time

FloatArray = NDArray[np.float64]


def edge_similarity(attributes: Any, edges: NDArray[np.int64], similarity: str = "auto") -> FloatArray:
    """Return one similarity per edge.

    With rows x, y: Jaccard |x ∩ y| / |x ∪ y| over their nonzero columns; cosine x·y / (‖x‖‖y‖); Euclidean
    1 / (1 + ‖x − y‖). ``"auto"`` is Jaccard for 0/1 attributes and cosine otherwise. The Jaccard similarity of two
    rows of zeros is 1, their cosine 0; the similarity of a row of zeros and another row is 0 for both.

    Examples
    --------
    >>> X = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> edges = np.array([[0], [1]])
    >>> [round(float(edge_similarity(X, edges, name)[0]), 3) for name in ("jaccard", "cosine", "euclidean")]
    [0.333, 0.5, 0.414]
    """
    check_choice("similarity", similarity, SIMILARITIES)
    if similarity == "auto":
        similarity = "jaccard" if _is_binary(attributes) else "cosine"
    if similarity == "jaccard":
        rows = (attributes != 0).astype(np.float64)
        size = np.asarray(rows.sum(axis=1)).ravel()
    else:
        rows = attributes.astype(np.float64, copy=False)
        squares = rows.multiply(rows) if sp.issparse(rows) else rows * rows
        size = np.asarray(squares.sum(axis=1)).ravel()  # squared norms
    shared = _row_products(rows, edges)
    a, b = size[edges[0]], size[edges[1]]
    if similarity == "jaccard":
        union = a + b - shared
        return np.divide(shared, union, out=np.ones_like(shared), where=union > 0)
    if similarity == "cosine":
        norms = np.sqrt(a) * np.sqrt(b)
        return np.divide(shared, norms, out=np.zeros_like(shared), where=norms > 0)
    return 1.0 / (1.0 + np.sqrt(np.maximum(a + b - 2 * shared, 0.0)))


def _row_products(rows: Any, edges: NDArray[np.int64]) -> FloatArray:
    """Return x_i · x_j for every edge (i, j), with one thread per block of edges."""
    out = np.empty(edges.shape[1])
    width = max(1, rows.nnz // max(1, rows.shape[0])) if sp.issparse(rows) else rows.shape[1]
    step = max(1, BLOCK_VALUES // width)

    def multiply(start: int) -> None:
        part = slice(start, start + step)
        left, right = rows[edges[0, part]], rows[edges[1, part]]
        if sp.issparse(rows):
            out[part] = np.asarray(left.multiply(right).sum(axis=1)).ravel()
        else:
            out[part] = np.einsum("ij,ij->i", left, right)

    with ThreadPoolExecutor(get_num_threads()) as pool:
        list(pool.map(multiply, range(0, edges.shape[1], step)))
    return out


def _is_binary(attributes: Any) -> bool:
    values = attributes.data if sp.issparse(attributes) else attributes
    return bool(((values == 0) | (values == 1)).all())
