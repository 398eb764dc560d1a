"""How unlike two nodes are, compared with how unlike each of them is to nodes chosen at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.system.arrays import frozen
from hopsight.system.compiled import compiled
from hopsight.system.threads import few_threads, in_order

FloatArray = NDArray[np.float64]

N_REFERENCES = 256
N_KNOTS = 33
ROWS_AT_ONCE, EDGES_AT_ONCE = 1024, 1 << 13  # by one thread at a time
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
        places = np.linspace(0, self.rows.shape[0] - 1, N_KNOTS).round().astype(np.int64)
        lengths = (self.rows**2).sum(axis=1)

        found = np.empty((attributes.shape[0], N_KNOTS), dtype=np.float32)

        def quantiles(start: int) -> None:
            rows = np.asarray(attributes[start : start + ROWS_AT_ONCE], dtype=np.float64)
            rows = _normalized(rows) if self.cosine else rows
            squares = (rows**2).sum(axis=1)[:, None] + lengths - 2.0 * rows @ self.rows.T
            squares.sort(axis=1)
            found[start : start + ROWS_AT_ONCE] = squares[:, places]

        with few_threads(1):
            for _ in in_order(quantiles, range(0, len(found), ROWS_AT_ONCE)):
                pass
        return found

    def relative_dissimilarity(
        self, attributes: NDArray[Any], edges: NDArray[np.int64], dtype: Any = np.float64
    ) -> NDArray[Any]:
        """Return, for each edge, the share of references that are nearer to one end than the other end is.

        With F_u the share of references closer to u than some distance: (F_u(‖x_u − x_v‖) + F_v(‖x_u − x_v‖)) / 2. A
        node far from everybody, or in a dense crowd, is judged by its own distances. References at the same distance
        up to rounding, such as the other end itself, count half.
        """
        knots, factors = self.knots(attributes), self._factors(attributes)
        found = np.empty(edges.shape[1], dtype=dtype)
        rows = frozen(np.asarray(attributes))

        def judge(start: int) -> None:
            part = slice(start, start + EDGES_AT_ONCE)
            share = np.empty(found[part].size)
            _share_nearer(rows, factors, knots, frozen(edges[0, part]), frozen(edges[1, part]), share)
            found[part] = share

        for _ in in_order(judge, range(0, found.size, EDGES_AT_ONCE)):
            pass
        return found

    def _factors(self, attributes: NDArray[Any]) -> FloatArray:
        """Return what the row of each node is multiplied by before distances are measured."""
        factors = np.ones(attributes.shape[0])
        for start in range(0, factors.size if self.cosine else 0, EDGES_AT_ONCE):
            part = slice(start, start + EDGES_AT_ONCE)
            factors[part] = 1.0 / _norms(np.asarray(attributes[part], dtype=np.float64))
        return factors


@compiled(nogil=True)
def _share_nearer(rows: Any, factors: Any, knots: Any, first: Any, second: Any, out: Any) -> None:
    """Fill in, for each edge, the mean share of knots of its two ends below their squared distance; ties count half."""
    n_knots = knots.shape[1]
    for i in range(first.size):
        one, other, apart, nearer = first[i], second[i], 0.0, 0
        for column in range(rows.shape[1]):
            difference = factors[one] * rows[one, column] - factors[other] * rows[other, column]
            apart += difference * difference
        for _ in range(2):
            tie = NEARLY * apart + ROUNDING * knots[one, n_knots - 1]
            for knot in range(n_knots):
                nearer += int(apart - knots[one, knot] > tie) + int(apart - knots[one, knot] >= -tie)
            one = other
        out[i] = nearer / (4.0 * n_knots)


def _norms(rows: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(np.sqrt((rows**2).sum(axis=1)), 1e-12))


def _normalized(rows: FloatArray) -> FloatArray:
    return np.asarray(rows / _norms(rows)[:, None])
