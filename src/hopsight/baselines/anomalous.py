"""ANOMALOUS (Peng et al. 2018): nodes that representative nodes and attributes leave unexplained."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.baselines.prepare import (
    EPSILON,
    SCALINGS,
    Smoother,
    alternate,
    conjugate_gradient,
    prepared,
    row_norms,
)
from hopsight.checks import check_choice, check_count, check_not_negative, check_positive
from hopsight.detectors.base import Callback, Detector
from hopsight.graph import AttributedGraph
from hopsight.system.machine import check_memory
from hopsight.system.threads import few_threads

FloatArray = NDArray[np.float64]
logger = logging.getLogger(__name__)

SPEED = 2e10  # operations per second, roughly
FEW_COLUMNS = 64  # up to here a search over n_columns² numbers costs less than one over n_nodes · n_columns


@dataclass(kw_only=True)
class ANOMALOUS(Detector):
    """Score nodes by the norm of their residual from a CUR decomposition of the attributes.

    ANOMALOUS minimizes ‖X − XWᵀX − R‖² + α‖W‖₂,₁ + β‖Wᵀ‖₂,₁ + γ‖R‖₂,₁ + φ tr(RᵀLR) over W and R, both n × d like X,
    whose columns have norm 1; ‖·‖ is Frobenius' norm and ‖·‖₂,₁ the sum of the norms of the rows. Rows of W that differ
    from zero choose nodes, columns choose attributes. The score of node i is the norm of row i of R.

    Parameters
    ----------
    alpha
        Weight that keeps the number of chosen nodes small; above 0.
    beta
        Weight that keeps the number of chosen attributes small.
    gamma
        Weight that keeps the number of nodes with a residual small.
    phi
        Weight that makes the residuals of connected nodes alike.
    n_rounds
        Maximum number of rounds of alternating updates.
    tolerance
        Stop when the objective changes by less than this in a round.
    n_components
        Reduce the attributes to this many principal components first.
    scaling
        ``"column"`` divides each column by its norm, as the authors do; ``"none"`` does not.

    Attributes
    ----------
    objective_ : list of float
        The objective after every round; it never increases.
    node_weights_, attribute_weights_ : ndarray
        Norms of the rows and of the columns of W: how strongly each node and attribute is chosen.

    Notes
    -----
    Attributes become dense, in O(n·d) memory. A round takes O(n·d³) time for up to 64 columns, and O(n·d²) per inner
    iteration for more: reduce a bag of words with ``n_components``. ``objective_`` has the ε of the updates inside the
    norms of W.

    References
    ----------
    Z. Peng, M. Luo, J. Li, H. Liu, Q. Zheng: ANOMALOUS: a joint modeling approach for anomaly detection on
    attributed networks. IJCAI 2018.

    Examples
    --------
    Two unconnected nodes, each with its own attribute: W explains all but (α + β) / 2 of both.

    >>> detector = ANOMALOUS(alpha=0.1, beta=0.1, gamma=0.5, n_rounds=200, tolerance=0.0)
    >>> detector.fit((np.zeros((2, 2)), np.eye(2))).node_weights_.round(6).tolist()
    [0.9, 0.9]
    """

    meaning: ClassVar[str] = "how much of its attributes representative nodes and attributes leave unexplained"
    deterministic: ClassVar[bool] = True
    dense_copies: ClassVar[int] = 14
    uses_torch: ClassVar[bool] = False

    alpha: float = 0.015
    beta: float = 0.01
    gamma: float = 0.009
    phi: float = 0.6
    n_rounds: int = 100
    tolerance: float = 1e-3
    n_components: int | None = None
    scaling: str = "column"

    def _fit(self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callback | None) -> FloatArray:
        check_memory("ANOMALOUS", self._bytes_needed(graph))
        X = self._prepare(graph, rng)
        _warn_if_slow(*X.shape)
        smoother = Smoother(graph, sparsity=self.gamma, smoothness=self.phi)
        W = np.zeros_like(X)
        rows, columns = np.full(len(X), self.alpha), np.full(X.shape[1], self.beta)  # αD₁, βD₂

        def explain(R: FloatArray) -> tuple[FloatArray, float]:
            nonlocal W, rows, columns
            W = _solve(X, R, rows, columns, W)
            row_sizes, column_sizes = _sizes(W), _sizes(W.T)
            rows, columns = 0.5 * self.alpha / row_sizes, 0.5 * self.beta / column_sizes
            return X - X @ (W.T @ X), float(self.alpha * row_sizes.sum() + self.beta * column_sizes.sum())

        with few_threads(X.shape[1]):
            R, self.objective_ = alternate(
                X, smoother, explain, n_rounds=self.n_rounds, tolerance=self.tolerance, callback=callback
            )
        self.node_weights_, self.attribute_weights_ = row_norms(W), row_norms(W.T)
        return row_norms(R)

    def _prepare(self, graph: AttributedGraph, rng: np.random.Generator) -> FloatArray:
        X = prepared(graph, scaling=self.scaling, n_components=self.n_components, rng=rng)
        return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X)

    def check(self) -> None:
        """Refuse a parameter outside its range."""
        check_positive("alpha", self.alpha)
        for name in ("beta", "gamma", "phi", "tolerance"):
            check_not_negative(name, getattr(self, name))
        check_count("n_rounds", self.n_rounds)
        check_choice("scaling", self.scaling, SCALINGS)

    def _bytes_needed(self, graph: AttributedGraph) -> int:
        """Return the memory of a fit: its n × d matrices, those of the solver, and the edges."""
        n, d = graph.n_nodes, min(graph.n_attributes, self.n_components or graph.n_attributes)
        solver = 3 * d**3 if d <= FEW_COLUMNS else 4 * d**2
        return 8 * (self.dense_copies * n * d + solver) + 3 * 12 * int(graph.adjacency.nnz)


def _warn_if_slow(n: int, d: int) -> None:
    """Warn of a long fit: many columns take about 20 rounds of 50 iterations of 4nd² + 2d³ operations."""
    hours = 1000 * (4 * n * d**2 + 2 * d**3) / SPEED / 3600
    if d > FEW_COLUMNS and hours > 0.5:
        logger.warning("ANOMALOUS may take %.0f hours on %d attributes: reduce them with n_components", hours + 0.5, d)


def _sizes(W: FloatArray) -> FloatArray:
    """Return √(‖W_i‖² + ε) for every row; with ε, a row that has reached zero stays at zero."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", W, W) + EPSILON))


def _solve(X: FloatArray, R: FloatArray, rows: FloatArray, columns: FloatArray, start: FloatArray) -> FloatArray:
    """Solve XXᵀ W XᵀX + diag(rows) W + W diag(columns) = X(X − R)ᵀX in the faster way."""
    gram = X.T @ X  # (n_columns, n_columns)
    right = (X - R).T @ X
    if X.shape[1] <= FEW_COLUMNS:
        return _solve_few_columns(X, gram, right, rows, columns)
    return _solve_many_columns(X, gram, right, rows, columns, start)


def _solve_few_columns(
    X: FloatArray, gram: FloatArray, right: FloatArray, rows: FloatArray, columns: FloatArray
) -> FloatArray:
    """Solve for the d × d matrix M = right − XᵀW·gram, from which W = XM / (rows + columns) follows entry by entry.

    Column j of XᵀW is K_j M_j with K_j = Xᵀ diag(1 / (rows + columns_j)) X, hence M + [K_1 M_1, …]·gram = right.
    With gram = FᵀF and M = NF this is symmetric in N. If all K_j were equal to the largest one, with eigenvectors Q, it
    would be diagonal in QᵀN; so a search over these d² numbers takes few iterations.
    """
    inverse = 1.0 / (rows[:, None] + columns)
    K = np.stack([X.T @ (X * inverse[:, [j]]) for j in range(X.shape[1])])  # (j, row, column)
    k_values, Q = np.linalg.eigh(K[columns.argmin()])
    g_values, axes = np.linalg.eigh(gram)
    root = np.sqrt(np.maximum(g_values, 0.0))
    F = root[:, None] * axes.T
    scale = 1.0 / np.sqrt(1.0 + np.outer(np.maximum(k_values, 0.0), root**2))
    K = Q.T @ K @ Q

    def product(N: FloatArray) -> FloatArray:
        scaled = scale * N
        return np.asarray(scale * (scaled + (K @ (scaled @ F).T[:, :, None])[:, :, 0].T @ F.T))

    divisor = np.where(root > 1e-7 * root.max(), root, np.inf)
    start = scale * (Q.T @ right @ axes / divisor)
    N = scale * conjugate_gradient(product, start, start, tolerance=1e-13)
    return np.asarray(X @ (Q @ N @ F) * inverse)


def _solve_many_columns(
    X: FloatArray, gram: FloatArray, right: FloatArray, rows: FloatArray, columns: FloatArray, start: FloatArray
) -> FloatArray:
    """Solve by conjugate gradients, which take O(n·d) memory and O(n·d²) time per iteration."""
    weight = rows[:, None] + columns
    scale = 1.0 / np.sqrt(np.einsum("ij,ij->i", X, X)[:, None] * np.diagonal(gram) + weight)
    weight *= scale**2

    def product(W: FloatArray) -> FloatArray:
        out: FloatArray = X @ ((X.T @ (scale * W)) @ gram)
        out *= scale
        out += weight * W
        return out

    solution = conjugate_gradient(product, scale * (X @ right), start / scale)
    solution *= scale
    return solution
