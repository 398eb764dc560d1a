"""How the attributes of a node compare with those of its neighbors and with those of all nodes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.explanations.reasons import AttributeGap, Category, OwnValue
from hopsight.graph import AttributedGraph

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MAX_SAMPLED_EDGES = 20_000
MAX_SAMPLED_VALUES = 4_000_000
MAX_COMPARED_VALUES = 8_000_000  # larger tables are compared with an even sample of their rows
USUAL = 0.1  # a value in a tail of at least this share of nodes is not listed
N_NONZERO = "number of nonzero attributes"


class Places:
    """Some values in order, to say how many of them lie below and above others.

    >>> places = Places(np.array([3, 1, 2, 2]))
    >>> places.percent_below(np.array([2.0])).tolist(), places.percent_above(np.array([2.0])).tolist()
    ([25.0], [25.0])
    """

    def __init__(self, values: NDArray[Any]) -> None:
        self._sorted = np.sort(values)
        self.size = max(1, values.size)

    @cached_property
    def median(self) -> float:
        """The median of all values, the lower of two: one that occurs, so that counts are whole."""
        return float(self._sorted[(self._sorted.size - 1) // 2])

    def below(self, values: FloatArray) -> IntArray:
        """Return how many values are lower than each of some; an unknown one is above nothing."""
        found = self._sorted.searchsorted(values.astype(self._sorted.dtype), "left")
        return np.where(np.isnan(values), 0, found)

    def above(self, values: FloatArray) -> IntArray:
        """Return how many values are higher than each of some."""
        return np.asarray(self._sorted.size - self._sorted.searchsorted(values.astype(self._sorted.dtype), "right"))

    def percent_below(self, values: FloatArray) -> FloatArray:
        """Return the percentages of lower values."""
        return np.asarray(100 * self.below(values) / self.size)

    def percent_above(self, values: FloatArray) -> FloatArray:
        """Return the percentages of higher values."""
        return np.asarray(100 * self.above(values) / self.size)


class AttributeComparison:
    """Compares nodes of one graph with their neighbors and with all nodes, computing what they share once.

    Nodes without a row in the node table, with an empty cell, or without edges that an attribute summarizes, have no
    value to compare with.
    """

    def __init__(self, graph: AttributedGraph) -> None:
        self.graph = graph
        self.sparse = sp.issparse(graph.attributes)
        self.spread = edge_spread(graph)
        self._categories = category_columns(graph)
        self._columns: dict[int, Places] = {}
        places = {name: column for column, name in enumerate(graph.attribute_names)}
        self._filled = {places[name]: rows for name, rows in graph.no_value.items() if name in places}

    def gaps(self, node: int, others: IntArray, top: int) -> tuple[AttributeGap, ...]:
        """Return the attributes in which a node differs most from others, largest difference first.

        The difference is (x − mean of the k others) / (s √(1 + 1/k)), where s is the :func:`edge_spread` of the
        attribute and the root accounts for the error of a mean over few neighbors. Attributes in which the node
        equals the mean of the others are left out. A categorical column is compared by the value that the node has.
        At most ``top`` attributes are returned; ``others`` are positions, each once.
        """
        X = self.graph.attributes
        if not others.size or not self.graph.n_attributes:
            return ()
        own = _dense(X[[node]]).ravel()
        difference = _differences(X, own, others, self.spread)
        categories = self._categories_of(own, others)
        for chosen, (columns, shares) in categories.items():
            difference[[column for column in columns if column != chosen or not shares.any()]] = 0
        for column, rows in self._filled.items():
            if node in rows or np.isin(others, rows).all():
                difference[column] = 0
        order = np.argsort(-np.abs(difference), kind="stable")[:top]
        order = order[difference[order] != 0]
        found = {column: self._category(column, *category) for column, category in categories.items()}
        return tuple(self._compared(own, others, order, difference, found))

    def unusual(self, positions: IntArray, top: int) -> Iterator[tuple[OwnValue, ...]]:
        """Yield for each of some nodes at most ``top`` values that are unusual among all nodes, most unusual first."""
        if self.sparse:
            yield from (self._words(position, top) for position in positions.tolist())
            return
        rows = np.asarray(self.graph.attributes[positions], dtype=np.float64)
        below, above = np.empty((2, *rows.shape))
        for column, values in enumerate(rows.T):  # all nodes at once, which is quicker
            below[:, column] = self._places(column).below(values)
            above[:, column] = self._places(column).above(values)
        for column, filled in self._filled.items():
            below[np.isin(positions, filled), column] = above[np.isin(positions, filled), column] = 0
        for own, lower, higher in zip(rows, below, above, strict=True):
            yield self._numbers(own, lower, higher, top)

    def _compared(
        self,
        own: FloatArray,
        others: IntArray,
        order: IntArray,
        difference: FloatArray,
        categories: Mapping[int, Category],
    ) -> Iterator[AttributeGap]:
        X = self.graph.attributes
        theirs = _dense(_block(X, others, order))  # (k, top)
        for values, column in zip(theirs.T, order.tolist(), strict=True):
            if column in self._filled:
                values = values[~np.isin(others, self._filled[column])]
            low, median, high = np.quantile(values, (0.1, 0.5, 0.9), method="nearest")  # so that counts are whole
            yield AttributeGap(
                name=self.graph.attribute_names[column],
                value=float(own[column]),
                low=float(low),
                median=float(median),
                high=float(high),
                difference=float(difference[column]),
                percentile=self._percentile(column, own[column]),
                share=float(values.mean()) if np.isin(np.append(values, own[column]), (0, 1)).all() else None,
                category=categories.get(column),
            )

    def _categories_of(self, own: FloatArray, others: IntArray) -> dict[int, tuple[list[int], FloatArray]]:
        """Return, by the column that holds the node's value, the columns of each category and the others' shares."""
        found = {}
        for columns in self._categories.values():
            known = others[~np.isin(others, self._filled.get(columns[0], ()))]
            theirs = _dense(_block(self.graph.attributes, known, np.array(columns)))
            if known.size and own[columns].sum() == 1 and _at_most_one(own[None, columns]) and _at_most_one(theirs):
                found[columns[int(np.argmax(own[columns]))]] = columns, theirs.mean(axis=0)
        return found

    def _category(self, chosen: int, columns: list[int], shares: FloatArray) -> Category:
        names = self.graph.attribute_names
        name, _, value = names[chosen].partition("=")
        common = int(np.argmax(shares))
        return Category(name, value, names[columns[common]].partition("=")[2], float(shares[common]))

    def _percentile(self, column: int, value: float) -> float:
        """Return the percentage of nodes with a lower value."""
        if not self.sparse:
            return float(self._places(column).percent_below(np.array([value]))[0])
        start, end = self._by_column.indptr[column : column + 2]
        n = self._by_column.shape[0]
        n_lower = (self._by_column.data[start:end] < value).sum() + (n - (end - start) if value > 0 else 0)
        return float(100 * n_lower / n)

    def _numbers(self, own: FloatArray, below: FloatArray, above: FloatArray, top: int) -> tuple[OwnValue, ...]:
        """Return the unusual values of a node, given how many nodes have lower and higher ones."""
        binary, mean, spread, categories = self._usual
        n = np.full(own.size, self._rows.shape[0])  # nodes with a value, per column
        n[[*self._filled]] = [self._places(column).size for column in self._filled]
        same = (n - below - above) / n
        tail = np.minimum(1.0, 2 * np.minimum(n - below, n - above) / n)
        tail[binary] = np.where(same < 0.5, same, 1.0)[binary]
        chosen = set()
        for columns in categories:
            tail[columns] = 1.0
            if own[columns].any():
                column = int(columns[np.argmax(own[columns])])
                shares = mean[columns]
                tail[column] = shares[shares <= mean[column]].sum()  # of all values at least as rare
                chosen.add(column)
        apart = np.divide(np.abs(own - mean), spread, out=np.zeros_like(own), where=spread > 0)
        found = []
        for column in np.lexsort((-apart, tail))[:top].tolist():
            if tail[column] >= USUAL:
                continue
            name, value, share = self.graph.attribute_names[column], float(own[column]), float(same[column])
            among = "nodes with a value" if column in self._filled else "nodes"
            if column not in chosen and not binary[column]:
                lower, higher = (float(100 * count[column] / n[column]) for count in (below, above))
                found.append(OwnValue(name, value, lower, higher, usual=self._places(column).median, among=among))
                continue
            category, equals, its_value = name.partition("=")
            unique = bool(n[column] - below[column] - above[column] <= 1)
            if equals and value == 1:
                found.append(OwnValue(category, its_value, share=share, unique=unique, among=among))
            else:
                found.append(OwnValue(name, value, share=share, unique=unique, among=among))
        return tuple(found)

    def _words(self, position: int, top: int) -> tuple[OwnValue, ...]:
        """Return the rarest words of a node, after the number of its words if that is unusual."""
        row = self._given[[position]].tocsr()
        size = np.array([row.nnz])
        lower, higher = (
            float(found[0]) for found in (self._sizes.percent_below(size), self._sizes.percent_above(size))
        )
        found = []
        if 2 * min(100 - lower, 100 - higher) < 100 * USUAL:
            found.append(OwnValue(N_NONZERO, float(row.nnz), lower, higher))
        counts = np.diff(self._by_column.indptr)[row.indices]
        for place in np.argsort(counts, kind="stable")[: top - len(found)].tolist():
            name, share = self.graph.attribute_names[row.indices[place]], counts[place] / self._by_column.shape[0]
            if share < USUAL:
                value = float(row.data[place])
                found.append(OwnValue(name, value, share=float(share), unique=bool(counts[place] == 1)))
        return tuple(found)

    def _places(self, column: int) -> Places:
        """Return the values of one column of a dense matrix, sorted when they are first asked for."""
        if column not in self._columns:
            filled = self._filled.get(column)
            rows = slice(None) if filled is None else ~np.isin(self._compared_nodes, filled)
            self._columns[column] = Places(self._rows[rows, column])
        return self._columns[column]

    @cached_property
    def _compared_nodes(self) -> IntArray:
        """The nodes that others are compared with: all that have values, or an even sample of a large dense matrix."""
        graph, known = self.graph, self.graph.known
        nodes = np.arange(graph.n_nodes) if known is None else np.flatnonzero(known)
        most = max(1, MAX_COMPARED_VALUES // max(1, graph.n_attributes))
        return nodes if self.sparse else nodes[:: max(1, math.ceil(nodes.size / most))]

    @cached_property
    def _rows(self) -> Any:
        """Their attributes."""
        is_all = self._compared_nodes.size == self.graph.n_nodes
        return self._given if is_all else self._given[self._compared_nodes]

    @cached_property
    def _given(self) -> Any:
        """The attributes; of a sparse matrix, without those that were filled in."""
        if not self.sparse:
            return self.graph.attributes
        given = self.graph.attributes.tocoo()
        filled = np.zeros(given.nnz, dtype=np.bool_)
        for column, rows in self._filled.items():
            mine = np.flatnonzero(given.col == column)
            filled[mine[np.isin(given.row[mine], rows)]] = True
        kept = ~filled & (given.data != 0)
        return sp.csr_array((given.data[kept], (given.row[kept], given.col[kept])), shape=given.shape)

    @cached_property
    def _usual(self) -> tuple[NDArray[np.bool_], FloatArray, FloatArray, list[IntArray]]:
        """Which columns have only 0 and 1, means and spreads, and the columns of each category with one 1 a row."""
        rows = self._rows
        marks = np.isin(rows, (0, 1))
        for column, filled in self._filled.items():
            marks[np.isin(self._compared_nodes, filled), column] = True
        binary = np.asarray(marks.all(axis=0))
        mean, spread = rows.mean(axis=0, dtype=np.float64), rows.std(axis=0, dtype=np.float64)
        named = map(np.array, self._categories.values())
        categories = [each for each in named if binary[each].all() and (rows[:, each].sum(axis=1) < 1.5).all()]
        return binary, mean, spread, categories

    @cached_property
    def _by_column(self) -> Any:
        columns = self._rows.tocsc(copy=True)
        columns.sum_duplicates()
        return columns

    @cached_property
    def _sizes(self) -> Places:
        """The number of words of every node."""
        return Places(np.diff(self._rows.tocsr().indptr))


def edge_spread(graph: AttributedGraph) -> FloatArray:
    """Return how much the two ends of an edge usually differ in each attribute: √(mean (x_u − x_v)² / 2).

    Large graphs are judged by an even sample of their edges. Sparse attributes (words, products) share one
    unit; theirs is shrunk toward the mean of all columns, else a word that nobody else uses would always come
    first. An attribute in which no connected nodes differ falls back to its spread over the graph.

    Examples
    --------
    >>> graph = AttributedGraph.from_edges([0, 1], [1, 2], np.array([[0.0, 5.0], [2.0, 5.0], [4.0, 5.0]]))
    >>> edge_spread(graph).round(3).tolist()
    [1.414, 0.0]
    """
    X, edges = graph.attributes, graph.edges
    per_row = X.nnz // graph.n_nodes if sp.issparse(X) else graph.n_attributes
    n_sampled = max(1, min(MAX_SAMPLED_EDGES, MAX_SAMPLED_VALUES // max(1, per_row)))
    source, target = edges[:, :: max(1, math.ceil(edges.shape[1] / n_sampled))]
    difference = X[source] - X[target]
    total = 2 * max(1, source.size)
    if sp.issparse(X):
        squares = np.asarray(difference.multiply(difference).sum(axis=0), dtype=np.float64).ravel() / total
        spread: FloatArray = np.sqrt(squares + squares.mean())
    else:
        spread = np.sqrt(np.square(difference, dtype=np.float64).sum(axis=0) / total)
        for column in np.flatnonzero(spread <= 0):
            spread[column] = np.std(X[:, column], dtype=np.float64)
    return spread


def category_columns(graph: AttributedGraph) -> Mapping[str, list[int]]:
    """Return the columns of each category, by the text before ``=`` in names such as ``city=Oslo``."""
    columns: dict[str, list[int]] = defaultdict(list)
    for column, name in enumerate(graph.attribute_names):
        category, equals, _ = name.partition("=")
        if equals:
            columns[category].append(column)
    return {name: found for name, found in columns.items() if len(found) > 1}


def _at_most_one(rows: FloatArray) -> bool:
    """Return whether every row has at most one 1 and otherwise zeros; a row of zeros is a missing value."""
    return bool(np.isin(rows, (0, 1)).all() and (rows.sum(axis=1) <= 1).all())


def _differences(X: Any, own: FloatArray, others: IntArray, spread: FloatArray) -> FloatArray:
    """Return (x − mean of the others) / (s √(1 + 1/k)) for every attribute, without making a sparse X dense."""
    mean = np.asarray(X[others].mean(axis=0), dtype=np.float64).ravel()
    gap: FloatArray = own - mean
    unit = spread * math.sqrt(1 + 1 / others.size)
    real = (unit > 0) & (np.abs(gap) > 1e-12 * np.abs(own))  # beyond rounding
    return np.divide(gap, unit, out=np.zeros_like(gap), where=real)


def _block(X: Any, rows: IntArray, columns: IntArray) -> Any:
    return X[rows][:, columns] if sp.issparse(X) else X[np.ix_(rows, columns)]


def _dense(matrix: Any) -> FloatArray:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=np.float64)
