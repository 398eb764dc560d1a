"""Similarity of connected nodes, eqs. (1) and (2) of the paper, for all edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.checks import check_choice
from hopsight.system.threads import in_order

SIMILARITIES = ("auto", "jaccard", "cosine", "euclidean")
BLOCK_VALUES = 1 << 17  # numbers held by a thread at a time: few enough for a cache

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
    rows = (attributes != 0).astype(np.float64) if similarity == "jaccard" else attributes
    width = max(1, rows.nnz // max(1, rows.shape[0])) if sp.issparse(rows) else rows.shape[1]
    step = max(1, BLOCK_VALUES // max(1, width))
    size, out = np.empty(rows.shape[0]), np.empty(edges.shape[1])

    def measure(start: int) -> None:
        part = _numbers(rows[start : start + step])
        squares = part.multiply(part) if sp.issparse(part) else part * part
        size[start : start + step] = np.asarray(squares.sum(axis=1)).ravel()  # of zeros and ones, their number

    def compare(start: int) -> None:
        part = slice(start, start + step)
        first, second = edges[:, part]
        shared = _row_products(_numbers(rows[first]), _numbers(rows[second]))
        out[part] = _similarity(shared, size[first], size[second], similarity)

    for work, n_rows in ((measure, size.size), (compare, out.size)):
        for _ in in_order(work, range(0, n_rows, step)):
            pass
    return out


def _numbers(rows: Any) -> Any:
    return rows.astype(np.float64, copy=False)


def _row_products(left: Any, right: Any) -> FloatArray:
    """Return x · y for every pair of rows."""
    if sp.issparse(left):
        return np.asarray(left.multiply(right).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", left, right))


def _similarity(shared: FloatArray, a: FloatArray, b: FloatArray, similarity: str) -> FloatArray:
    """Return the similarity from x·y and the squared norms of x and y."""
    if similarity == "jaccard":
        union = a + b - shared
        return np.divide(shared, union, out=np.ones_like(shared), where=union > 0)
    if similarity == "cosine":
        norms = np.sqrt(a) * np.sqrt(b)
        return np.divide(shared, norms, out=np.zeros_like(shared), where=norms > 0)
    return np.asarray(1.0 / (1.0 + np.sqrt(np.maximum(a + b - 2 * shared, 0.0))))


def _is_binary(attributes: Any) -> bool:
    values = attributes.data if sp.issparse(attributes) else attributes
    return bool(((values == 0) | (values == 1)).all())
