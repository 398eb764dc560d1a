"""Which of a node's own attributes are unusual among all nodes, and how unusual."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.explanations.attributes import category_columns
from hopsight.explanations.columns import Columns
from hopsight.explanations.evidence import OwnValue
from hopsight.graph import AttributedGraph

FloatArray = NDArray[np.float64]

USUAL = 0.1  # a value in a tail of at least this share of nodes is not listed
N_NONZERO = "number of nonzero attributes"


class OwnValues:
    """Compares the attributes of single nodes with those of all nodes."""

    def __init__(self, graph: AttributedGraph, columns: Columns | None = None) -> None:
        self.graph = graph
        self._columns = columns or Columns(graph.attributes)
        self.sparse = sp.issparse(graph.attributes)
        if self.sparse:
            by_column = graph.attributes.tocsc()
            self._counts = np.diff(by_column.indptr) if by_column.has_canonical_format else by_column.getnnz(axis=0)
            self._sizes = np.diff(graph.attributes.tocsr().indptr)
            return
        self._rows = self._columns.rows
        self._expected: dict[int, FloatArray] = {}
        self._binary = np.asarray(np.isin(self._rows, (0, 1)).all(axis=0))
        self._mean = self._rows.mean(axis=0, dtype=np.float64)
        self._spread = self._rows.std(axis=0, dtype=np.float64)
        found = category_columns(graph).values()
        self._categories = [
            columns
            for columns in map(np.array, found)
            if self._binary[columns].all() and (self._rows[:, columns].sum(axis=1) <= 1).all()
        ]

    def of(self, position: int, top: int) -> tuple[OwnValue, ...]:
        """Return at most ``top`` values of a node that are unusual, the most unusual first."""
        return self._words(position, top) if self.sparse else self._numbers(position, top)

    def _numbers(self, position: int, top: int) -> tuple[OwnValue, ...]:
        own = np.asarray(self.graph.attributes[position], dtype=np.float64)
        if position not in self._expected:
            self.expect(np.array([position]))
        lower, higher = self._expected[position]
        same = 1 - lower - higher
        tail = np.minimum(1.0, 2 * np.minimum(1 - lower, 1 - higher))
        tail[self._binary] = np.where(same < 0.5, same, 1.0)[self._binary]
        names = {}
        for columns in self._categories:
            tail[columns] = 1.0
            if own[columns].any():
                shares, chosen = self._mean[columns], int(columns[np.argmax(own[columns])])
                tail[chosen] = shares[shares <= self._mean[chosen]].sum()  # of all values at least as rare
                names[chosen] = self.graph.attribute_names[chosen].partition("=")
        apart = np.divide(np.abs(own - self._mean), self._spread, out=np.zeros_like(own), where=self._spread > 0)
        order = np.lexsort((-apart, tail))[:top]
        return tuple(
            self._value(column, own[column], lower[column], higher[column], names.get(column))
            for column in order.tolist()
            if tail[column] < USUAL
        )

    def expect(self, positions: NDArray[np.int64]) -> None:
        """Find the shares of nodes with lower and with higher values than some nodes, which is quicker for many."""
        if self.sparse:
            return
        rows = np.asarray(self.graph.attributes[positions], dtype=np.float64)
        shares = np.empty((positions.size, 2, rows.shape[1]))
        for column, values in enumerate(rows.T):
            shares[:, :, column] = self._columns.places(column).shares(values).T
        self._expected = dict(zip(positions.tolist(), shares, strict=True))

    def _value(
        self, column: int, value: float, lower: float, higher: float, category: tuple[str, str, str] | None
    ) -> OwnValue:
        name = self.graph.attribute_names[column]
        same = 1.0 - lower - higher
        if category is None and not self._binary[column]:
            return OwnValue(name, float(value), 100 * float(lower), 100 * float(higher))
        unique = round(same * self._rows.shape[0]) <= 1
        before, equals, after = category or name.partition("=")
        if equals and value == 1:
            return OwnValue(before, after, share=float(same), unique=unique)
        return OwnValue(name, float(value), share=float(same), unique=unique)

    def _words(self, position: int, top: int) -> tuple[OwnValue, ...]:
        """Return the rarest words of a node, after the number of its words if that is unusual."""
        row = self.graph.attributes[[position]].tocsr()
        row.eliminate_zeros()
        size = row.nnz
        lower, higher = float((self._sizes < size).mean()), float((self._sizes > size).mean())
        found = []
        if 2 * min(1 - lower, 1 - higher) < USUAL:
            found.append(OwnValue(N_NONZERO, float(size), 100 * lower, 100 * higher))
        counts = self._counts[row.indices]
        for place in np.argsort(counts, kind="stable")[: top - len(found)].tolist():
            name, share = self.graph.attribute_names[row.indices[place]], counts[place] / self.graph.n_nodes
            if share < USUAL:
                value = float(row.data[place])
                found.append(OwnValue(name, value, share=float(share), unique=bool(counts[place] == 1)))
        return tuple(found)
