"""In which attributes a node differs from others, measured by how much connected nodes usually differ."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.explanations.columns import Columns
from hopsight.explanations.reasons import AttributeGap, Category
from hopsight.graph import AttributedGraph

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MAX_SAMPLED_EDGES = 20_000
MAX_SAMPLED_VALUES = 4_000_000


class AttributeComparison:
    """Compares nodes of one graph with others, computing what they share once."""

    def __init__(self, graph: AttributedGraph) -> None:
        self.graph = graph
        self.columns = Columns(graph.attributes)
        self.spread = edge_spread(graph)
        self._categories = category_columns(graph)

    def gaps(self, node: int, others: IntArray, top: int) -> tuple[AttributeGap, ...]:
        """Return the attributes in which a node differs most from others, largest difference first.

        The difference is (x − mean of the k others) / (s √(1 + 1/k)), where s is the :func:`edge_spread` of the
        attribute and the root accounts for the error of a mean over few neighbors. Attributes in which the node
        equals the mean of the others are left out. A categorical column is compared by the value that the node has.

        Parameters
        ----------
        node
            Position of the node.
        others
            Positions of the nodes to compare it with, each once.
        top
            The maximum number of attributes to return.
        """
        X = self.graph.attributes
        if not others.size or not self.graph.n_attributes:
            return ()
        own = _dense(X[[node]]).ravel()
        difference = _differences(X, own, others, self.spread)
        categories = self._categories_of(own, others)
        for chosen, (columns, _) in categories.items():
            difference[[column for column in columns if column != chosen]] = 0
        order = np.argsort(-np.abs(difference), kind="stable")[:top]
        order = order[difference[order] != 0]
        found = {column: self._category(column, *category) for column, category in categories.items()}
        return tuple(self._compared(own, others, order, difference, found))

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
        low, median, high = np.quantile(theirs, (0.1, 0.5, 0.9), axis=0)
        lower = 100 * self.columns.lower(order, own[order])
        binary = np.isin(theirs, (0, 1)).all(axis=0) & np.isin(own[order], (0, 1))
        for i, column in enumerate(order.tolist()):
            yield AttributeGap(
                name=self.graph.attribute_names[column],
                value=float(own[column]),
                low=float(low[i]),
                median=float(median[i]),
                high=float(high[i]),
                difference=float(difference[column]),
                percentile=float(lower[i]),
                share=float(theirs[:, i].mean()) if binary[i] else None,
                category=categories.get(column),
            )

    def _categories_of(self, own: FloatArray, others: IntArray) -> dict[int, tuple[list[int], FloatArray]]:
        """Return, by the column that holds the node's value, the columns of each category and the others' shares."""
        found = {}
        for columns in self._categories.values():
            theirs = _dense(_block(self.graph.attributes, others, np.array(columns)))
            if own[columns].sum() == 1 and _at_most_one(own[None, columns]) and _at_most_one(theirs):
                found[columns[int(np.argmax(own[columns]))]] = columns, theirs.mean(axis=0)
        return found

    def _category(self, chosen: int, columns: list[int], shares: FloatArray) -> Category:
        names = self.graph.attribute_names
        name, _, value = names[chosen].partition("=")
        common = int(np.argmax(shares))
        return Category(name, value, names[columns[common]].partition("=")[2], float(shares[common]))


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
