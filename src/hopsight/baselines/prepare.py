"""What baselines share: a graph in the form they compute with, and residuals smoothed over its edges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg

from hopsight.detectors.base import Callback, Epoch
from hopsight.graph import AttributedGraph
from hopsight.preprocess import AttributeTransform

FloatArray = NDArray[np.float64]

BLOCK_VALUES = 1 << 24  # numbers held at a time
EPSILON = float(np.finfo(np.float64).eps)  # the ε of both papers' update rules, 2.2e-16
SMALLEST_NORM = 1e-7
SCALINGS = ("column", "none")
TOLERANCE = 1e-10  # relative residual at which conjugate gradients stop
MAX_ITERATIONS = 1000


def symmetric_adjacency(graph: AttributedGraph) -> Any:
    """Return the 0/1 adjacency of the undirected graph, max(A, Aᵀ)."""
    return graph.adjacency.maximum(graph.adjacency.T) if graph.directed else graph.adjacency


def column_extreme(matrix: Any, which: str) -> NDArray[np.float64]:
    """Return the ``"min"`` or ``"max"`` of every column of a dense or sparse matrix."""
    found = getattr(matrix, which)(axis=0)
    return np.asarray(found.todense() if sp.issparse(found) else found, dtype=np.float64).ravel()


def transformed(
    graph: AttributedGraph, *, scaling: str = "none", n_components: int | None, rng: np.random.Generator
) -> tuple[Any, AttributeTransform]:
    """Scale the attributes and project them on ``n_components`` principal axes; return them and the transformation."""
    transform, attributes = AttributeTransform.fit_apply(
        graph.attributes, graph.attribute_names, scaling=scaling, n_components=n_components, types=graph.node_types,
        rng=rng,
    )  # fmt: skip
    return attributes, transform


def squared_distances(rows: Any, left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
    """Return ‖x_i − x_j‖² of every pair of rows from differences, a block of pairs at a time."""
    width = rows.nnz // max(1, rows.shape[0]) + 1 if sp.issparse(rows) else rows.shape[1]
    step = max(1, BLOCK_VALUES // (4 * width))
    out = np.empty(left.size)
    for start in range(0, left.size, step):
        part = slice(start, start + step)
        gap = rows[left[part]] - rows[right[part]]
        squares = gap.multiply(gap) if sp.issparse(gap) else gap * gap
        out[part] = np.asarray(squares.sum(axis=1)).ravel()
    return out


def enlarged(attributes: Any) -> Any:
    """Divide attributes that are all tiny by the largest of them, since 1e-7 is not a small norm on their scale.

    >>> enlarged(np.array([[2e-12, 1e-12]])).tolist(), enlarged(np.array([[2.0, 1e-12]])).tolist()
    ([[1.0, 0.5]], [[2.0, 1e-12]])
    """
    largest = float(abs(attributes).max())
    return attributes / largest if 1e-300 < largest < 10 * SMALLEST_NORM else attributes


def column_normalized(attributes: Any) -> Any:
    """Divide every column by its Euclidean norm, or by 1e-7 if that is larger; a sparse matrix stays sparse.

    >>> column_normalized(np.array([[3.0, 0.0], [4.0, 0.0]])).round(12).tolist()
    [[0.6, 0.0], [0.8, 0.0]]
    """
    peak = np.maximum(column_extreme(abs(attributes), "max"), SMALLEST_NORM)  # so that squares do not overflow
    if sp.issparse(attributes):
        scaled = attributes.astype(np.float64) @ sp.diags_array(1.0 / peak)
        norms = np.sqrt(np.asarray(scaled.multiply(scaled).sum(axis=0)).ravel())
        return sp.csr_array(scaled @ sp.diags_array(1.0 / np.maximum(norms, SMALLEST_NORM / peak)))
    scaled = attributes / peak
    norms = np.sqrt(np.einsum("ij,ij->j", scaled, scaled))
    return scaled / np.maximum(norms, SMALLEST_NORM / peak)


def row_norms(matrix: FloatArray) -> FloatArray:
    """Return the Euclidean norm of every row."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", matrix, matrix)))


def prepared(graph: AttributedGraph, *, scaling: str, n_components: int | None, rng: np.random.Generator) -> Any:
    """Return the attributes, reduced to principal components and with columns of norm 1 where asked for."""
    attributes, _ = transformed(graph, n_components=n_components, rng=rng)
    return column_normalized(enlarged(attributes)) if scaling == "column" else attributes


class Smoother:
    """Solver of (I + w·D_R + s·L) R = B for R, where D_R is diagonal and L = D − A is the Laplacian of the graph.

    It runs conjugate gradients on the system scaled to a diagonal of ones, which needs only products of A with R. The
    sparsity w is the weight of ‖R‖₂,₁, the smoothness s that of tr(RᵀLR).
    """

    def __init__(self, graph: AttributedGraph, sparsity: float, smoothness: float) -> None:
        self._adjacency = symmetric_adjacency(graph).astype(np.float64)
        self._degrees = np.asarray(self._adjacency.sum(axis=1)).ravel()
        self._sparsity = sparsity
        self._smoothness = smoothness

    def solve(self, right_side: FloatArray, weights: FloatArray, start: FloatArray) -> FloatArray:
        """Return R for the right-hand side B and the diagonal of D_R, starting the search at ``start``."""
        root = np.sqrt(1.0 + self._sparsity * weights + self._smoothness * self._degrees)
        scale = sp.diags_array(1.0 / root)
        edges = sp.csr_array(scale @ (-self._smoothness * self._adjacency) @ scale)
        column = root[:, None]
        return conjugate_gradient(lambda Z: edges @ Z + Z, right_side / column, start * column) / column

    def penalty(self, R: FloatArray) -> float:
        """Return w·‖R‖₂,₁ + s·tr(RᵀLR), the part of the objective that depends on R alone."""
        LR = self._degrees[:, None] * R - self._adjacency @ R
        return float(self._sparsity * row_norms(R).sum() + self._smoothness * np.vdot(R, LR))


def alternate(
    X: FloatArray,
    smoother: Smoother,
    explain: Callable[[FloatArray], tuple[FloatArray, float]],
    *,
    n_rounds: int,
    tolerance: float,
    callback: Callback | None,
) -> tuple[FloatArray, list[float]]:
    """Update W and the residuals R in turn; return R and the objective after every round.

    ``explain`` updates W given R, and returns what W leaves unexplained of X and the penalty of W. It ends when a round
    changes the objective by less than ``tolerance``.
    """
    weights = np.ones(len(X))  # diagonal of D_R
    R, objective = smoother.solve(X, weights, X), list[float]()
    for number in range(1, n_rounds + 1):
        unexplained, penalty = explain(R)
        R = smoother.solve(unexplained, weights, R)
        weights = 0.5 / (row_norms(R) + EPSILON)
        objective.append(float(np.square(unexplained - R).sum() + penalty) + smoother.penalty(R))
        if callback is not None:
            callback(Epoch(number, n_rounds, objective[-1], partial(row_norms, R)))
        if len(objective) > 1 and abs(objective[-2] - objective[-1]) < tolerance:
            break
    return R, objective


def conjugate_gradient(
    product: Callable[[FloatArray], FloatArray],
    right_side: FloatArray,
    start: FloatArray,
    *,
    tolerance: float = TOLERANCE,
) -> FloatArray:
    """Solve product(Z) = right_side for a symmetric positive definite linear map of matrices.

    The map should be scaled so that its diagonal is about 1. The search starts at ``start`` and ends when the norm of
    the residual is ``tolerance`` times that of the right-hand side.
    """
    size, shape = right_side.size, right_side.shape
    operator = LinearOperator((size, size), matvec=lambda Z: product(Z.reshape(shape)).reshape(-1), dtype=np.float64)
    found, _ = cg(operator, right_side.reshape(-1), start.reshape(-1), rtol=tolerance, maxiter=MAX_ITERATIONS)
    return np.asarray(found.reshape(shape))
