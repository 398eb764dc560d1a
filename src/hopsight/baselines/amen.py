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

FloatArray = NDArray[np.float64]

NORMS = ("l1", "l2")
BOUNDARY_SIMILARITIES = ("auto", "presence", "dot")
SCALINGS = ("minmax", "none")
BLOCK_VALUES = 1 << 22  # numbers per node and attribute computed at a time


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
    boundary_sim: str = "auto"
    scaling: str = "minmax"
    n_components: int | None = None

    def check(self) -> None:
        """Refuse a parameter outside its range."""
        check_choice("norm", self.norm, NORMS)
        check_choice("boundary_sim", self.boundary_sim, BOUNDARY_SIMILARITIES)
        check_choice("scaling", self.scaling, SCALINGS)

    def _fit(self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callback | None) -> FloatArray:
        attributes, _ = transformed(graph, n_components=self.n_components, rng=rng)
        self.boundary_sim_ = self.boundary_sim
        if self.boundary_sim == "auto":
            self.boundary_sim_ = "presence" if _is_mostly_absent(attributes) else "dot"
        if self.scaling == "minmax":
            attributes = unit_interval(attributes)
        adjacency = symmetric_adjacency(graph)
        self.normality_ = normality(adjacency, attributes, norm=self.norm, boundary_sim=self.boundary_sim_)
        return 0.0 - self.normality_  # 0, not −0, where the normality is 0


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


def normality(adjacency: Any, attributes: Any, *, norm: str = "l2", boundary_sim: str = "presence") -> FloatArray:
    """Return the normality of the ego network of every node, for a symmetric 0/1 adjacency and attributes in [0, 1].

    It is 0 for a node without edges, or if no member has an attribute. All ego networks are computed at once: T marks
    the edges within each (:func:`inner_edges`). With z(e) = s(e) sim(x(i), x(j)) for the edge e between i and j, the
    boundary of an ego network is the sum of z over all edges of its members minus twice that over its inner edges.
    """
    X = sp.csr_array(attributes, dtype=np.float64)
    degrees = np.diff(adjacency.indptr).astype(np.float64)
    n_nodes, twice_m = len(degrees), max(1.0, degrees.sum())
    start, end = sp.triu(adjacency, k=1, format="coo").coords
    surprise = 1.0 - np.minimum(1.0, degrees[start] * degrees[end] / twice_m)
    T = inner_edges(adjacency, start, end)
    members = sp.csr_array(adjacency + sp.eye_array(n_nodes, format="csr"), dtype=np.float64)
    of_edges = sp.csr_array(
        (np.ones(2 * start.size), (np.concatenate([start, end]), np.tile(np.arange(start.size), 2))),
        shape=(n_nodes, start.size),
    )
    inner_sum = 2.0 * (T @ surprise)
    leaving = members @ (of_edges @ surprise) - inner_sum if boundary_sim == "presence" else np.zeros(n_nodes)
    lowest = -((members @ degrees) ** 2) / twice_m
    size = degrees + 1.0
    largest, squares = np.full(n_nodes, -np.inf), np.zeros(n_nodes)
    step = max(1, BLOCK_VALUES // max(n_nodes, 1))
    for first in range(0, X.shape[1], step):
        part = X[:, first : first + step]
        one, other = part[start], part[end]
        shared = one.multiply(other)
        if boundary_sim == "presence":  # [b = b'] = 1 − b − b' + 2bb'; the constant 1 is in ``leaving``
            one, other = (_presence(each) for each in (one, other))
            alike = 2.0 * one.multiply(other) - one - other
        else:
            alike = shared
        z = sp.csr_array(sp.diags_array(surprise) @ alike)
        boundary = (members @ (of_edges @ z) - 2.0 * (T @ z)).toarray() + leaving[:, None]
        boundary = np.maximum(boundary, 0.0)  # rounding can leave it below 0
        chance = (members @ (sp.diags_array(degrees) @ part)).toarray()
        internal = 2.0 * (T @ sp.csr_array(shared)).toarray() - chance**2 / twice_m
        y = (internal - lowest[:, None]) / (size**2 - lowest)[:, None]
        y -= boundary / (inner_sum[:, None] + np.maximum(boundary, 1e-5))
        y[(members @ _presence(part)).toarray() == 0.0] = -np.inf  # attributes that no member has
        largest = np.maximum(largest, y.max(axis=1, initial=-np.inf))
        squares += (np.maximum(y, 0.0) ** 2).sum(axis=1)
    largest[np.isneginf(largest)] = 0.0  # no member has an attribute
    return largest if norm == "l1" else np.where(squares > 0, np.sqrt(squares), largest)


def inner_edges(adjacency: Any, start: NDArray[Any], end: NDArray[Any]) -> Any:
    """Return the (n_nodes, n_edges) 0/1 matrix of the edges within each ego network.

    Those of an ego are its own edges and the ones that close a triangle with it.
    """
    neighbors = sp.csr_array(adjacency, dtype=np.float64)
    closing = sp.csr_array(neighbors[start].multiply(neighbors[end]))
    edges = np.arange(start.size)
    own = sp.csr_array(
        (np.ones(2 * start.size), (np.tile(edges, 2), np.concatenate([start, end]))), shape=closing.shape
    )
    return sp.csr_array((closing + own).T)


def _presence(matrix: Any) -> Any:
    return sp.csr_array((np.ones_like(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)
