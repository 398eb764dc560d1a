"""What Radar and ANOMALOUS share: normalised columns, and residuals smoothed over the links of a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.preprocess import AttributeTransform

FloatArray = NDArray[np.float64]

EPSILON = float(np.finfo(np.float64).eps)  # the ε of both papers' update rules, 2.2e-16
SMALLEST_NORM = 1e-7
SCALINGS = ("column", "none")


def column_normalised(attributes: Any) -> Any:
    """Divide every column by its Euclidean norm, or by 1e-7 where that is larger; sparse stays sparse.

    >>> column_normalised(np.array([[3.0, 0.0], [4.0, 0.0]])).round(12).tolist()
    [[0.6, 0.0], [0.8, 0.0]]
    """
    peak = abs(attributes).max(axis=0)
    peak = np.asarray(peak.todense() if sp.issparse(peak) else peak, dtype=np.float64).ravel()
    peak = np.maximum(peak, SMALLEST_NORM)  # first to at most 1, so that squares do not overflow
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


def reduced(graph: AttributedGraph, n_components: int | None, *, rng: np.random.Generator) -> Any:
    """Return the attributes, projected on their leading principal axes where ``n_components`` says so."""
    transform = AttributeTransform.fit(
        graph.attributes, graph.attribute_names, scaling="none", n_components=n_components, rng=rng
    )
    return transform.apply(graph.attributes, graph.attribute_names)


def has_settled(objective: Sequence[float], tolerance: float) -> bool:
    """Tell whether the last round changed the objective by less than ``tolerance``.

    >>> has_settled([5.0, 4.0], 1e-3), has_settled([5.0, 4.0, 4.0], 1e-3), has_settled([5.0], 1e-3)
    (False, True, False)
    """
    return len(objective) > 1 and abs(objective[-2] - objective[-1]) < tolerance


class Smoother:
    """Solves (I + w·D_R + s·L) R = B for R, D_R diagonal and L = D − A the Laplacian of the network.

    Conjugate gradients with the diagonal as preconditioner: nothing but products of A with R is needed.

    Parameters
    ----------
    graph
        The network; a directed one is read as max(A, Aᵀ).
    sparsity
        w, the weight of ‖R‖₂,₁.
    smoothness
        s, the weight of tr(RᵀLR).
    """

    def __init__(self, graph: AttributedGraph, sparsity: float, smoothness: float) -> None:
        self._adjacency = graph.adjacency.maximum(graph.adjacency.T).astype(np.float64)
        self._degrees = np.asarray(self._adjacency.sum(axis=1)).ravel()
        self._sparsity = sparsity
        self._smoothness = smoothness

    def solve(self, right_side: FloatArray, weights: FloatArray, start: FloatArray) -> FloatArray:
        """Return R for the right-hand side B and the diagonal of D_R, beginning the search at ``start``."""
        diagonal = (1.0 + self._sparsity * weights + self._smoothness * self._degrees)[:, None]

        def product(R: FloatArray) -> FloatArray:
            out: FloatArray = self._adjacency @ R
            out *= -self._smoothness
            out += diagonal * R
            return out

        return conjugate_gradient(product, right_side, start, diagonal)

    def penalty(self, R: FloatArray) -> float:
        """Return w·‖R‖₂,₁ + s·tr(RᵀLR), the part of the objective that only R enters."""
        bent = self._degrees[:, None] * R - self._adjacency @ R
        return float(self._sparsity * row_norms(R).sum() + self._smoothness * np.vdot(R, bent))


def residual_weights(R: FloatArray) -> FloatArray:
    """Return the diagonal of D_R, 1 / (2(‖R_i‖ + ε))."""
    return 0.5 / (row_norms(R) + EPSILON)


def conjugate_gradient(
    product: Callable[[FloatArray], FloatArray],
    right_side: FloatArray,
    start: FloatArray,
    diagonal: FloatArray,
    *,
    tolerance: float = 1e-10,
    max_iterations: int = 1000,
) -> FloatArray:
    """Solve product(Z) = right_side for a symmetric positive definite linear map of matrices.

    ``diagonal`` approximates the map entry by entry (it may broadcast). The search ends when the residual, each
    entry divided by the root of its diagonal, is ``tolerance`` of the right-hand side measured alike.
    """
    solution = start.copy()
    residual = right_side - product(solution)
    scaled = residual / diagonal
    direction = scaled.copy()
    length = float(np.vdot(residual, scaled))
    target = tolerance**2 * float(np.vdot(right_side, right_side / diagonal))
    for _ in range(max_iterations):
        if length <= target:
            break
        image = product(direction)
        step = length / float(np.vdot(direction, image))
        solution += step * direction
        image *= step
        residual -= image
        np.divide(residual, diagonal, out=scaled)
        previous, length = length, float(np.vdot(residual, scaled))
        direction *= length / previous
        direction += scaled
    return solution
