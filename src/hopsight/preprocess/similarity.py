"""Similarity of connected nodes, eqs. (1) and (2) of the paper, for all edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.checks import check_choice
from hopsight.system.arrays import frozen
from hopsight.system.compiled import compiled
from hopsight.system.threads import in_order

SIMILARITIES = ("auto", "jaccard", "cosine", "euclidean")
BLOCK_VALUES, EDGES_AT_ONCE = 1 << 20, 1 << 13  # by one thread at a time, of sparse and of dense attributes

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
    products = _sparse_products if sp.issparse(rows) else _dense_products
    step = max(1, BLOCK_VALUES * rows.shape[0] // max(1, rows.nnz)) if sp.issparse(rows) else EDGES_AT_ONCE
    nodes, size, out = np.arange(rows.shape[0]), np.empty(rows.shape[0]), np.empty(edges.shape[1])

    def measure(start: int) -> None:
        part = nodes[start : start + step]
        size[part] = products(rows, part, part)  # of zeros and ones, their number

    def compare(start: int) -> None:
        part = slice(start, start + step)
        first, second = edges[:, part]
        out[part] = _similarity(products(rows, first, second), size[first], size[second], similarity)

    for work, n_rows in ((measure, size.size), (compare, out.size)):
        for _ in in_order(work, range(0, n_rows, step)):
            pass
    return out


def _sparse_products(rows: Any, first: NDArray[np.int64], second: NDArray[np.int64]) -> FloatArray:
    """Return x · y for every pair of rows."""
    left, right = (rows[each].astype(np.float64, copy=False) for each in (first, second))
    return np.asarray(left.multiply(right).sum(axis=1)).ravel()


def _dense_products(rows: Any, first: NDArray[np.int64], second: NDArray[np.int64]) -> FloatArray:
    found = np.empty(first.size)
    _multiply(frozen(np.asarray(rows)), frozen(first), frozen(second), found)
    return found


@compiled(nogil=True)
def _multiply(rows: Any, first: Any, second: Any, out: Any) -> None:
    """Fill in x · y for every pair of rows, where they are: copies of them would take longer than the products."""
    for i in range(first.size):
        one, other, total = rows[first[i]], rows[second[i]], 0.0
        for column in range(one.size):
            total += np.float64(one[column]) * other[column]
        out[i] = total


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
