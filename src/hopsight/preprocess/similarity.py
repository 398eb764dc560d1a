"""How alike connected nodes are.

Similarities of eqs. (1) and (2) of the paper, the edges to drop by them, and how unlike two nodes are compared with how
unlike each of them is to nodes chosen at random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.checks import check_choice, check_ratio
from hopsight.system.threads import few_threads, for_each

SIMILARITIES = ("auto", "jaccard", "cosine", "euclidean")
BLOCK_VALUES = 1 << 20  # of rows, by one thread at a time
N_REFERENCES = 256
N_KNOTS = 33
ROWS_AT_ONCE, EDGES_AT_ONCE = 1024, 1 << 13  # by one thread at a time
NEARLY, ROUNDING = 1e-6, 1e-12  # relative to a squared distance, and to the largest one

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
    width = rows.nnz / max(1, rows.shape[0]) if sp.issparse(rows) else rows.shape[1]
    step = int(max(1.0, BLOCK_VALUES / max(1.0, width)))
    nodes, size, out = np.arange(rows.shape[0]), np.empty(rows.shape[0]), np.empty(edges.shape[1])

    def measure(start: int) -> None:
        part = nodes[start : start + step]
        size[part] = _products(rows, part, part)  # of zeros and ones, their number

    def compare(start: int) -> None:
        part = slice(start, start + step)
        first, second = edges[:, part]
        out[part] = _similarity(_products(rows, first, second), size[first], size[second], similarity)

    for work, n_rows in ((measure, size.size), (compare, out.size)):
        for_each(work, range(0, n_rows, step))
    return out


def _products(rows: Any, first: NDArray[np.int64], second: NDArray[np.int64]) -> FloatArray:
    """Return x · y for every pair of rows."""
    left, right = (rows[each].astype(np.float64, copy=False) for each in (first, second))
    if sp.issparse(left):
        return np.asarray(left.multiply(right).sum(axis=1)).ravel()
    return _row_sums(left * right)


def _row_sums(values: FloatArray) -> FloatArray:
    """Return the sum of each row, added up from left to right, however many rows there are."""
    return np.asarray(np.ascontiguousarray(values.T).sum(axis=0))


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


def drop_edges(
    similarity: NDArray[np.float64],
    drop_ratio: float,
    *,
    rng: np.random.Generator,
    chances: Callable[[NDArray[np.int64]], NDArray[Any]] | None = None,
) -> NDArray[np.bool_]:
    """Return which edges to keep; exactly ⌊R·m⌋ are dropped, with ties broken at random.

    ``chances`` returns a number for each of some edges: of tied ones, those with the smallest are dropped.

    >>> drop_edges(np.array([0.9, 0.1, 0.5, 0.4]), 0.5, rng=np.random.default_rng(0)).tolist()
    [True, False, True, False]
    """
    check_ratio("drop_ratio", drop_ratio)
    n_drop = int(np.floor(drop_ratio * similarity.size + 1e-9))  # 0.29 · 100 is 28.999999999999996
    keep = np.ones(similarity.size, dtype=np.bool_)
    if n_drop:
        limit = np.partition(similarity, n_drop - 1)[n_drop - 1]
        keep = similarity >= limit
        ties = np.flatnonzero(similarity == limit)
        n_more = n_drop - np.count_nonzero(~keep)
        tied = rng.random(similarity.size)[ties] if chances is None else chances(ties)
        keep[ties[np.argsort(tied)[:n_more]]] = False
    return keep


@dataclass(frozen=True)
class References:
    """Nodes chosen at random that every distance is compared with.

    Attributes
    ----------
    rows
        (n_references, n_columns) their attributes.
    cosine
        Whether rows are divided by their norms first, as for a bag of words.
    """

    rows: FloatArray
    cosine: bool

    @classmethod
    def choose(cls, attributes: FloatArray, order: NDArray[np.int64], *, cosine: bool) -> References:
        """Return the first nodes of an order that does not depend on their positions."""
        chosen = np.asarray(attributes[order[:N_REFERENCES]], dtype=np.float64)
        return cls(_normalized(chosen) if cosine else chosen, cosine)

    def knots(self, attributes: FloatArray) -> NDArray[np.float32]:
        """Return (n_nodes, n_knots) quantiles of the squared distances from each node to the references."""
        places = np.linspace(0, self.rows.shape[0] - 1, N_KNOTS).round().astype(np.int64)
        lengths = (self.rows**2).sum(axis=1)

        found = np.empty((attributes.shape[0], N_KNOTS), dtype=np.float32)

        def quantiles(start: int) -> None:
            rows = self._rows(attributes[start : start + ROWS_AT_ONCE])
            squares = (rows**2).sum(axis=1)[:, None] + lengths - 2.0 * rows @ self.rows.T
            squares.sort(axis=1)
            found[start : start + ROWS_AT_ONCE] = squares[:, places]

        with few_threads(1):
            for_each(quantiles, range(0, len(found), ROWS_AT_ONCE))
        return found

    def relative_dissimilarity(
        self, attributes: NDArray[Any], edges: NDArray[np.int64], dtype: Any = np.float64
    ) -> NDArray[Any]:
        """Return, for each edge, the share of references that are nearer to one end than the other end is.

        With F_u the share of references closer to u than some distance: (F_u(‖x_u − x_v‖) + F_v(‖x_u − x_v‖)) / 2. A
        node far from everybody, or in a dense crowd, is judged by its own distances. References at the same distance
        up to rounding, such as the other end itself, count half.
        """
        knots = self.knots(attributes)
        found = np.empty(edges.shape[1], dtype=dtype)

        def judge(start: int) -> None:
            part = slice(start, start + EDGES_AT_ONCE)
            first, second = edges[:, part]
            apart = _row_sums((self._rows(attributes[first]) - self._rows(attributes[second])) ** 2)
            nearer = _n_nearer(apart, knots[first]) + _n_nearer(apart, knots[second])
            found[part] = nearer / (4.0 * N_KNOTS)

        for_each(judge, range(0, found.size, EDGES_AT_ONCE))
        return found

    def _rows(self, attributes: NDArray[Any]) -> FloatArray:
        """Return rows as distances are measured between them."""
        rows = np.asarray(attributes, dtype=np.float64)
        return _normalized(rows) if self.cosine else rows


def _n_nearer(apart: FloatArray, knots: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return twice the number of knots below the squared distance of each edge; ties count half."""
    tie = NEARLY * apart + ROUNDING * knots[:, -1]
    gap = apart[:, None] - knots
    return np.asarray((gap > tie[:, None]).sum(axis=1) + (gap >= -tie[:, None]).sum(axis=1))


def _normalized(rows: FloatArray) -> FloatArray:
    return np.asarray(rows / np.maximum(np.sqrt((rows**2).sum(axis=1)), 1e-12)[:, None])
