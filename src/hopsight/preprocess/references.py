"""How unlike two nodes are, compared with how unlike each of them is to nodes chosen at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopsight.system.threads import few_threads

FloatArray = NDArray[np.float64]

N_REFERENCES = 256
N_KNOTS = 33
ROWS_AT_ONCE = 1 << 14
NEARLY, ROUNDING = 1e-6, 1e-12  # relative to a squared distance, and to the largest one


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
        found = np.empty((attributes.shape[0], N_KNOTS), dtype=np.float32)
        places = np.linspace(0, self.rows.shape[0] - 1, N_KNOTS).round().astype(np.int64)
        with few_threads(1):
            for start in range(0, found.shape[0], ROWS_AT_ONCE):
                rows = self._prepared(attributes[start : start + ROWS_AT_ONCE])
                squares = (rows**2).sum(axis=1)[:, None] + (self.rows**2).sum(axis=1) - 2.0 * rows @ self.rows.T
                found[start : start + ROWS_AT_ONCE] = np.sort(squares, axis=1)[:, places]
        return found

    def relative_dissimilarity(self, attributes: FloatArray, edges: NDArray[np.int64]) -> FloatArray:
        """Return, for each edge, the share of references that are nearer to one end than the other end is.

        With F_u the share of references closer to u than some distance: (F_u(‖x_u − x_v‖) + F_v(‖x_u − x_v‖)) / 2. A
        node far from everybody, or in a dense crowd, is judged by its own distances. References at the same distance
        up to rounding, such as the other end itself, count half.
        """
        knots = self.knots(attributes)
        found = np.zeros(edges.shape[1])
        for start in range(0, found.size, ROWS_AT_ONCE):
            first, second = edges[:, start : start + ROWS_AT_ONCE]
            apart = ((self._prepared(attributes[first]) - self._prepared(attributes[second])) ** 2).sum(axis=1)
            for end in (first, second):
                gap = apart[:, None] - knots[end]
                tie = NEARLY * apart[:, None] + ROUNDING * knots[end, -1:]
                nearer = ((gap > tie).mean(axis=1) + (gap >= -tie).mean(axis=1)) / 2.0
                found[start : start + ROWS_AT_ONCE] += nearer / 2.0
        return found

    def _prepared(self, rows: FloatArray) -> FloatArray:
        values = np.asarray(rows, dtype=np.float64)
        return _normalized(values) if self.cosine else values


def _normalized(rows: FloatArray) -> FloatArray:
    norms = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.maximum(norms, 1e-12))
