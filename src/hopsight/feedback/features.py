"""What a learner sees of each node: its attributes, its neighborhood, its evidence and its judged neighbors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import ndtri

from hopsight.detectors.table import UNLABELED
from hopsight.graph import AttributedGraph
from hopsight.system.kernels import compiled, inner
from hopsight.system.threads import for_each, in_order

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Matrix = NDArray[np.float32]

Columns = Callable[[AttributedGraph], tuple[NDArray[Any], Sequence[str]]]  # the attributes that a learner sees

N_LEVELS = 257  # quantiles that a feature's normal scores are read from
N_PARTS = 4096  # of the range of levels, to look values up in
ROWS_AT_ONCE = 1 << 14  # whose means over neighbors a thread computes
FARTHEST = 3.0  # standard deviations: no feature counts for more in a linear expert


@dataclass(frozen=True)
class Features:
    """One row per node and one column per feature.

    Attributes
    ----------
    values
        (n, n_features) numbers, none of them missing.
    names
        What each column is, in words: ``"amount"``, ``"neighbors' amount"``, ``"misfit"``.
    local
        Which columns describe attributes and degrees of a node and its neighborhood, without evidence.
    n_own
        How many columns, the first ones, are attributes of the node itself.
    """

    values: Matrix
    names: tuple[str, ...]
    local: NDArray[np.bool_]
    n_own: int = 0

    @property
    def own(self) -> NDArray[np.bool_]:
        """Which columns are attributes of the node itself; those of the neighborhood if it has none."""
        return np.arange(len(self.names)) < self.n_own if self.n_own else self.local

    def with_columns(self, values: NDArray[Any], names: Sequence[str]) -> Features:
        """Return the features with more columns, which count as evidence."""
        return Features(
            np.concatenate([self.values, values.astype(np.float32)], axis=1),
            (*self.names, *names),
            np.concatenate([self.local, np.zeros(len(names), dtype=np.bool_)]),
            self.n_own,
        )

    def rows(self, chosen: IntArray) -> Features:
        """Return the features of some rows."""
        return replace(self, values=self.values[chosen])


Rows = Callable[[IntArray], Features]  # returns the features of some rows


def node_features(
    graph: AttributedGraph,
    attributes: NDArray[Any],
    names: Sequence[str],
    evidence: Mapping[str, FloatArray],
    score: FloatArray,
    n_alone: int = 0,
    edge_weight: FloatArray | None = None,
) -> Features:
    """Return the features of every node.

    Own attributes, their means over the neighbors and over the neighbors' neighbors, log degree and its mean over the
    neighbors; the strength of each kind of evidence, the score without labels, and their means over the neighbors. With
    direction, sources and targets are averaged apart as well; with weights, a mean weighted by amount is added.

    Parameters
    ----------
    graph
        The graph.
    attributes, names
        (n_nodes, n_columns) attributes that trees can split, and what each column is called.
    evidence, score
        Strength per kind of evidence, and the score without labels.
    n_alone
        How many columns, the last ones, have no means over neighbors: what a node shares connects it to them.
    edge_weight
        How much each edge counts in the means of attributes, where relations say more or less about the ends.
    """
    own = np.ascontiguousarray(attributes, dtype=np.float32)
    arcs = sp.csr_matrix(graph.adjacency, dtype=np.float32)
    both = ((arcs + arcs.T) > 0).astype(np.float32).tocsr() if graph.directed else arcs
    among = both if edge_weight is None else _weights(graph, edge_weight)
    averaged, words = own[:, : own.shape[1] - n_alone], names[: len(names) - n_alone]
    near = neighbor_mean(among, averaged)
    degree = _log_count(both)
    blocks: list[tuple[list[str], Callable[[], Matrix]]] = [
        (list(names), lambda: own),
        ([f"neighbors' {name}" for name in words], lambda: near),
        ([f"neighbors of neighbors' {name}" for name in words], partial(neighbor_mean, among, near)),
        (["number of neighbors"], lambda: degree),
        (["neighbors' number of neighbors"], partial(neighbor_mean, both, degree)),
    ]
    if graph.directed:
        for word, matrix in (("targets'", arcs), ("sources'", arcs.T.tocsr())):
            blocks.append(([f"{word} {name}" for name in words], partial(neighbor_mean, matrix, averaged)))
            blocks.append(([f"number of {word.rstrip(chr(39))}"], partial(_log_count, matrix)))
    if graph.edge_weight is not None:
        weights = _weights(graph, np.abs(graph.edge_weight))
        total = np.log1p(np.asarray(weights.sum(axis=1)).ravel()).astype(np.float32)[:, None]
        blocks.append(([f"neighbors' {name}, by weight" for name in words], partial(neighbor_mean, weights, averaged)))
        blocks.append((["total weight"], lambda: total))
    for relation, matrix in _relations(graph):
        blocks.append(([f"number of neighbors by {relation!r}"], partial(_log_count, matrix)))
    n_local = sum(len(words) for words, _ in blocks)
    kinds = sorted(evidence)  # a saved model has them in another order
    strengths = np.stack([*(np.nan_to_num(evidence[kind]) for kind in kinds), score], axis=1).astype(np.float32)
    known = [*kinds, UNLABELED]
    blocks += [
        (known, lambda: strengths),
        ([f"neighbors' {name}" for name in known], partial(neighbor_mean, both, strengths)),
    ]
    found = tuple(name for words, _ in blocks for name in words)
    values, place = np.empty((len(own), len(found)), dtype=np.float32), 0
    for words, block in blocks:  # one after the other, so that they do not exist twice
        values[:, place : place + len(words)] = np.nan_to_num(block())
        place += len(words)
    return Features(values, found, np.arange(len(found)) < n_local, len(names))


def with_judged_neighbors(rows: Rows, graph: AttributedGraph, judged: IntArray, anomalous: NDArray[np.bool_]) -> Rows:
    """Return a function that returns the features of some nodes, and what is known about their neighbors."""
    columns = judged_neighbors(graph, judged, anomalous)
    return lambda chosen: rows(chosen).with_columns(columns[chosen], JUDGED_NAMES)


def judged_neighbors(graph: AttributedGraph, judged: IntArray, anomalous: NDArray[np.bool_]) -> Matrix:
    """Return how many neighbors of each node are known to be anomalous and normal, and the share of the former.

    A node is not its own neighbor, so that its own label never enters its features.
    """
    arcs = sp.csr_matrix(graph.adjacency, dtype=np.float32)
    both = arcs + arcs.T if graph.directed else arcs
    known = np.zeros((graph.n_nodes, 2), dtype=np.float32)
    known[judged[anomalous], 0] = 1.0
    known[judged[~anomalous], 1] = 1.0
    counts = np.asarray(both @ known)
    share = (counts[:, 0] + 0.1) / (counts.sum(axis=1) + 1.0)
    return np.column_stack([counts, share]).astype(np.float32)


JUDGED_NAMES = ("anomalous neighbors", "normal neighbors", "share of anomalous neighbors")


def neighbor_mean(matrix: Any, values: NDArray[Any]) -> Matrix:
    """Return the mean of the rows of each node's neighbors, weighted by the entries of a CSR matrix; 0 without any."""
    exact, means = values.astype(np.float64), np.empty((matrix.shape[0], values.shape[1]), dtype=np.float32)

    def fill(start: int) -> None:
        part = matrix[start : start + ROWS_AT_ONCE]
        total = np.asarray(part.sum(axis=1)).ravel()
        means[start : start + ROWS_AT_ONCE] = (part @ exact) / np.where(total > 0, total, 1.0)[:, None]

    for_each(fill, range(0, len(means), ROWS_AT_ONCE))
    return means


def _log_count(matrix: Any) -> Matrix:
    """Return log(1 + the number of entries) of each row of a CSR matrix, as a column."""
    return np.log1p(np.diff(matrix.indptr)).astype(np.float32)[:, None]


def _relations(graph: AttributedGraph) -> list[tuple[str, Any]]:
    """Return the neighbors by each relation as symmetric CSR matrices, if there are several relations."""
    relations = graph.edges_by_relation
    if len(relations) < 2:
        return []
    found = []
    for name, mine in relations.items():
        source, target = graph.edges[:, mine]
        ones = np.ones(source.size, dtype=np.float32)
        matrix = sp.coo_matrix((ones, (source, target)), shape=graph.adjacency.shape).tocsr()
        found.append((name, (matrix + matrix.T).tocsr()))
    return found


def _weights(graph: AttributedGraph, weight: FloatArray) -> Any:
    """Return weights of the edges as a symmetric CSR matrix."""
    source, target = graph.edges
    size = (graph.n_nodes, graph.n_nodes)
    matrix = sp.coo_matrix((weight, (source, target)), shape=size).tocsr()
    return matrix + matrix.T


def quantile_levels(values: NDArray[Any], n_levels: int = N_LEVELS) -> Matrix:
    """Return quantiles of each column, (n_columns, n_levels), that :func:`normal_scores` reads ranks from."""
    places = np.linspace(0.0, len(values) - 1.0, min(n_levels, len(values))).round().astype(np.int64)
    columns = np.atleast_2d(values.T)
    return np.stack(list(in_order(lambda column: np.sort(column)[places], columns))).astype(np.float32)


def normal_scores(values: NDArray[Any], levels: Matrix, *, farthest: float = FARTHEST) -> Matrix:
    """Return each column as normal scores: Φ⁻¹ of its rank among the levels, ties in the middle, at most ±farthest.

    >>> levels = quantile_levels(np.arange(101.0)[:, None])
    >>> [f"{score:.2f}" for score in normal_scores(np.array([[50.0], [0.0], [1000.0]]), levels).ravel()]
    ['0.00', '-2.58', '2.58']
    """
    n_levels = levels.shape[1]
    ranks = np.clip(np.arange(2 * n_levels + 1) / 2.0, 0.5, n_levels - 0.5)  # all that there are
    scores = np.clip(ndtri(ranks / n_levels), -farthest, farthest).astype(np.float32)
    after = np.stack([np.searchsorted(known, known, "right") for known in levels])
    out = np.empty((len(values), len(levels)), dtype=np.float32)
    _look_up(values.astype(np.float32, copy=False), levels, after, scores, out)
    return out


@inner
def _part(value: float, least: float, scale: float) -> int:
    """Return the part of the range that a value is in, the first or the last one for those outside."""
    return int(min(max((value - least) * scale, 0.0), N_PARTS - 1.0))


@compiled(nogil=True)
def _look_up(values: Any, levels: Any, after: Any, scores: Any, out: Any) -> None:
    """Put scores[a + b] for each value, with a levels of its column below it and b not above it.

    ``after`` has b for the levels themselves; any other value has b = a. Equal parts of the range of the levels say
    where to look for a value.
    """
    first = np.empty(N_PARTS + 1, dtype=np.int64)
    for column in range(values.shape[1]):
        known, ties = levels[column], after[column]
        least, width = known[0], known[-1] - known[0]
        scale = np.float32(N_PARTS) / width if width > 0 else np.float32(0.0)
        first[:] = 0
        for level in known:
            first[_part(level, least, scale) + 1] += 1
        for part in range(N_PARTS):
            first[part + 1] += first[part]
        for row in range(values.shape[0]):
            value = values[row, column]
            part = _part(value, least, scale)
            low, high = first[part], first[part + 1]
            while low < high:
                middle = (low + high) >> 1
                if known[middle] < value:
                    low = middle + 1
                else:
                    high = middle
            tied = low < known.size and known[low] == value
            out[row, column] = scores[low + (ties[low] if tied else low)]
