"""AMEN (Perozzi & Akoglu 2016): nodes whose ego network no attribute holds together and sets apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.baselines.prepare import column_extreme, symmetric_adjacency, transformed
from hopsight.checks import check_choice
from hopsight.detectors.base import Callback, Detector
from hopsight.graph import AttributedGraph
from hopsight.system.compiled import compiled, inner
from hopsight.system.threads import in_order, n_threads

FloatArray = NDArray[np.float64]

NORMS = ("l1", "l2")
AGGREGATES = ("ego", "members")
BOUNDARY_SIMILARITIES = ("auto", "presence", "dot")
SCALINGS = ("minmax", "none")
BLOCK_VALUES = 15_000_000  # sums of attributes over neighbors held at a time


@dataclass(kw_only=True)
class AMEN(Detector):
    """Score nodes by minus the normality of their ego networks.

    The ego network C of a node consists of the node and its neighbors. With degrees k, m edges, p(i, j) = k(i) k(j) /
    2m and s(i, j) = 1 − min(1, p(i, j)), attribute f speaks for C by how much connected members share it beyond
    chance, I(f) = Σ (A(i, j) − p(i, j)) x(i, f) x(j, f) over i and j in C, and against C by how much members share it
    with the outside over surprising edges, E(f) = Σ s(i, b) sim(x(i, f), x(b, f)) over the edges from i in C to b
    outside. Both are scaled to [0, 1]; y is their difference, and the normality is the largest wᵀy over weights w ≥ 0
    with ‖w‖ = 1.

    Parameters
    ----------
    norm
        Norm of the weights: ``"l2"`` (the normality is the length of the positive part of y) or ``"l1"`` (the largest
        entry of y).
    aggregate
        ``"ego"``: a node is as anomalous as its own ego network; ``"members"``: as the worst ego network it is in.
    boundary_sim
        ``"presence"``: both ends have the attribute or both lack it. ``"dot"``: the product of their values, for
        real-valued attributes. ``"auto"``: presence if no value is negative and at least half of them are 0, else dot.
    scaling
        ``"minmax"`` maps every column to [0, 1]; ``"none"`` is for attributes that are in [0, 1] already.
    n_components
        Reduce the attributes to this many principal components first.

    Attributes
    ----------
    boundary_sim_ : str
        The similarity used, also with ``"auto"``.
    normality_ : ndarray
        Normality of the ego network of every node.

    Notes
    -----
    The authors' code takes boundary terms from the wrong member unless the ego comes first; this implementation
    follows the formulas. Boundary edges are never listed: they are all edges of the members minus the inner ones, so
    that time is that of counting triangles and memory is linear. Constant columns are left out.

    References
    ----------
    B. Perozzi, L. Akoglu: Scalable anomaly ranking of attributed neighborhoods. SDM 2016.

    Examples
    --------
    Two triangles joined by an edge; the attribute holds the first one together:

    >>> edges = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)]
    >>> graph = AttributedGraph.from_edges(*zip(*edges), np.array([[1.0]] * 3 + [[0.0]] * 3))
    >>> AMEN(norm="l1").fit(graph).normality_.round(4).tolist()
    [0.48, 0.48, 0.2115, 0.0757, 0.0, 0.0]
    """

    meaning: ClassVar[str] = (
        "how badly its circle of neighbors holds together and stands apart in any set of attributes"
    )
    deterministic: ClassVar[bool] = True
    dense_copies: ClassVar[int] = 3
    uses_torch: ClassVar[bool] = False

    norm: str = "l2"
    aggregate: str = "ego"
    boundary_sim: str = "auto"
    scaling: str = "minmax"
    n_components: int | None = None

    def _fit(self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callback | None) -> FloatArray:
        check_choice("norm", self.norm, NORMS)
        check_choice("aggregate", self.aggregate, AGGREGATES)
        check_choice("boundary_sim", self.boundary_sim, BOUNDARY_SIMILARITIES)
        check_choice("scaling", self.scaling, SCALINGS)
        attributes, _ = transformed(graph, n_components=self.n_components, rng=rng)
        self.boundary_sim_ = self.boundary_sim
        if self.boundary_sim == "auto":
            self.boundary_sim_ = "presence" if _is_mostly_absent(attributes) else "dot"
        if self.scaling == "minmax":
            attributes = unit_interval(attributes)
        adjacency = symmetric_adjacency(graph)
        self.normality_ = normality(adjacency, attributes, norm=self.norm, boundary_sim=self.boundary_sim_)
        scores = 0.0 - self.normality_  # 0, not −0, where the normality is 0
        return scores if self.aggregate == "ego" else _worst_around(adjacency, scores)


def _is_mostly_absent(attributes: Any) -> bool:
    values = attributes.data if sp.issparse(attributes) else attributes
    return bool(values.min(initial=0.0) >= 0 and 2 * np.count_nonzero(values) <= np.prod(attributes.shape))


def unit_interval(attributes: Any) -> Any:
    """Map every column to [0, 1] and leave constant columns out; a sparse matrix without negative values stays sparse.

    >>> unit_interval(np.array([[1.0, 7.0, 0.0], [3.0, 7.0, 2.0], [2.0, 7.0, 1.0]])).toarray().tolist()
    [[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]]
    """
    if sp.issparse(attributes) and attributes.data.min(initial=0.0) < 0:
        attributes = attributes.toarray()
    low, high = (column_extreme(attributes, pick) for pick in ("min", "max"))
    width = high / 2 - low / 2  # halves, since the difference of the largest floats overflows
    # Numbers below the smallest normal one lose digits, and NumPy 1.26 warns when dividing by them.
    varies = width > np.maximum(1e-12 * np.maximum(abs(low), abs(high)), np.finfo(np.float64).tiny)
    low, width = low[varies], width[varies]
    if not sp.issparse(attributes):
        return sp.csr_array((attributes[:, varies] / 2 - low / 2) / width)
    scaled = sp.csr_array(attributes[:, np.flatnonzero(varies)], dtype=np.float64)
    scaled.data = (scaled.data / 2 - low[scaled.indices] / 2) / width[scaled.indices]  # low > 0: no zero in the column
    scaled.eliminate_zeros()
    return scaled


def _worst_around(adjacency: Any, scores: FloatArray) -> FloatArray:
    """Return the highest score among every node and its neighbors."""
    worst = scores.copy()
    connected = np.diff(adjacency.indptr) > 0
    if connected.any():
        best = np.maximum.reduceat(scores[adjacency.indices], adjacency.indptr[:-1][connected])
        worst[connected] = np.maximum(worst[connected], best)
    return worst


def normality(adjacency: Any, attributes: Any, *, norm: str = "l2", boundary_sim: str = "presence") -> FloatArray:
    """Return the normality of the ego network of every node, for a symmetric 0/1 adjacency and attributes in [0, 1].

    It is 0 for a node without edges, or if no member has an attribute.
    """
    X = sp.csr_array(attributes, dtype=np.float64)
    degrees = np.diff(adjacency.indptr).astype(np.float64)
    n_nodes, twice_m = len(degrees), max(1.0, degrees.sum())
    rows = np.repeat(np.arange(n_nodes), np.diff(adjacency.indptr))
    surprise = 1.0 - np.minimum(1.0, degrees[rows] * degrees[adjacency.indices] / twice_m)
    S = sp.csr_array((surprise, adjacency.indices, adjacency.indptr), shape=adjacency.shape)
    largest, squares = np.full(n_nodes, -np.inf), np.zeros(n_nodes)
    for columns in _column_blocks(X, adjacency):
        part = X[:, columns]
        part.sort_indices()
        _add_block(S, part, degrees, boundary_sim, largest, squares)
    largest[np.isneginf(largest)] = 0.0  # no member has an attribute
    return largest if norm == "l1" else np.where(squares > 0, np.sqrt(squares), largest)


def _column_blocks(X: Any, adjacency: Any) -> list[slice]:
    """Split the columns so that the sums over neighbors, at most one per edge and attribute, fit in memory."""
    n_values = float(np.diff(X.indptr) @ np.diff(adjacency.indptr)) + X.nnz
    n_blocks = int(np.ceil(min(n_values, float(X.shape[0]) * X.shape[1]) / BLOCK_VALUES))
    step = max(1, -(-X.shape[1] // max(1, n_blocks)))
    return [slice(first, first + step) for first in range(0, X.shape[1], step)]


def _add_block(
    S: Any, X: Any, degrees: FloatArray, boundary_sim: str, largest: FloatArray, squares: FloatArray
) -> None:
    """Update the largest y_f and the sum of squares of the positive ones with a block of attributes."""
    presence = boundary_sim == "presence"
    strength = np.asarray(S.sum(axis=1)).ravel()
    if presence:  # sums of s_ij(−b_i − b_j + 2b_i b_j) over the edges of a node; the constant s_ij is added later
        B = sp.csr_array((np.ones_like(X.data), X.indices, X.indptr), shape=X.shape)
        around = S @ B
        G = sp.csr_array(2.0 * B.multiply(around) - around - sp.diags_array(strength) @ B)
    else:
        strength = np.zeros_like(strength)
        G = sp.csr_array(X.multiply(S @ X))
    parts = tuple(_csr_parts(matrix) for matrix in (S, X, G))

    def update(first: int) -> None:
        last = min(first + step, len(degrees))
        _update_egos(first, last, *parts, degrees, strength, X.shape[1], presence, largest, squares)

    step = max(1, -(-len(degrees) // (16 * n_threads())))
    list(in_order(update, range(0, len(degrees), step)))


def _csr_parts(matrix: Any) -> tuple[Any, Any, Any]:
    """Return data, indices and indptr, always with the same types, since numba compiles anew for each combination."""
    return matrix.data.astype(np.float64), matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)


@compiled(nogil=True)
def _update_egos(
    first: int,
    last: int,
    S: Any,
    X: Any,
    G: Any,
    degrees: Any,
    strength: Any,
    n_columns: int,
    presence: bool,
    largest: Any,
    squares: Any,
) -> None:
    """Update the results of the ego networks of nodes first, …, last − 1; S, X and G are CSR parts."""
    twice_m = max(1.0, degrees.sum())
    inside = np.full(len(degrees), -1)  # the last ego whose network a node belonged to
    active = np.full(n_columns, -1)  # the last ego a member of which had an attribute
    touched = np.empty(n_columns, dtype=np.int64)
    chance, inner, outer = np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns)
    for ego in range(first, last):
        members = np.append(S[1][S[2][ego] : S[2][ego + 1]], ego)
        inside[members] = ego
        n_active = _sum_over_members(ego, members, X, G, degrees, active, touched, chance, inner, outer)
        inner_sum = _add_inner_edges(ego, members, S, X, presence, inside, inner, outer)
        lowest = -(degrees[members].sum() ** 2) / twice_m  # I_min
        leaving = strength[members].sum() - 2.0 * inner_sum if presence else 0.0
        for f in touched[:n_active]:
            internal = inner[f] - chance[f] ** 2 / twice_m
            boundary = max(0.0, outer[f] + leaving)  # all edges minus the inner ones; rounding can leave it below 0
            scaled = (internal - lowest) / (len(members) ** 2 - lowest)
            y = scaled - boundary / (2.0 * inner_sum + max(boundary, 1e-5))
            largest[ego] = max(largest[ego], y)
            squares[ego] += max(0.0, y) ** 2


@inner
def _sum_over_members(
    ego: int,
    members: Any,
    X: Any,
    G: Any,
    degrees: Any,
    active: Any,
    touched: Any,
    chance: Any,
    inner: Any,
    outer: Any,
) -> int:
    """Set chance to Σ k_i x_if, outer to Σ G_if and inner to 0 for the members' attributes; return their number."""
    n_active = 0
    for i in members:
        for t in range(X[2][i], X[2][i + 1]):
            f = X[1][t]
            if active[f] != ego:
                active[f] = ego
                touched[n_active] = f
                n_active += 1
                chance[f] = inner[f] = outer[f] = 0.0
            chance[f] += degrees[i] * X[0][t]
    for i in members:
        for t in range(G[2][i], G[2][i + 1]):
            if active[G[1][t]] == ego:
                outer[G[1][t]] += G[0][t]
    return n_active


@inner
def _add_inner_edges(
    ego: int, members: Any, S: Any, X: Any, presence: bool, inside: Any, inner: Any, outer: Any
) -> float:
    """Add the edges among the members to inner, subtract them from outer, and return their Σ s_ij."""
    total = 0.0
    for i in members:
        start, stop = S[2][i], S[2][i + 1]
        if stop - start <= 16 * len(members):
            for t in range(start, stop):
                if S[1][t] > i and inside[S[1][t]] == ego:
                    total += S[0][t]
                    _add_edge(i, S[1][t], S[0][t], X, presence, inner, outer)
        else:  # a hub in a small ego network: look the members up among its neighbors
            for j in members:
                t = start + np.searchsorted(S[1][start:stop], j)
                if j > i and t < stop and S[1][t] == j:
                    total += S[0][t]
                    _add_edge(i, j, S[0][t], X, presence, inner, outer)
    return total


@inner
def _add_edge(i: int, j: int, s: float, X: Any, presence: bool, inner: Any, outer: Any) -> None:
    """Add an inner edge to I_f, and subtract it in both directions from the sums over all edges of the members."""
    a, b = X[2][i], X[2][j]
    a_end, b_end = X[2][i + 1], X[2][j + 1]
    while a < a_end or b < b_end:
        if b == b_end or (a < a_end and X[1][a] < X[1][b]):
            if presence:  # one end has it: s(−1 − 0 + 0), subtracted twice
                outer[X[1][a]] += 2.0 * s
            a += 1
        elif a == a_end or X[1][b] < X[1][a]:
            if presence:
                outer[X[1][b]] += 2.0 * s
            b += 1
        else:  # both have it: s(−1 − 1 + 2) = 0 for presence
            product = X[0][a] * X[0][b]
            inner[X[1][a]] += 2.0 * product
            if not presence:
                outer[X[1][a]] -= 2.0 * s * product
            a += 1
            b += 1
