"""Radar (Li et al. 2017): nodes whose attributes neither other nodes nor their neighbors explain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.utils.extmath import randomized_svd

from hopsight.baselines.prepare import (
    EPSILON,
    SCALINGS,
    Smoother,
    alternate,
    prepared,
    row_norms,
)
from hopsight.checks import check_choice, check_count, check_not_negative, check_positive
from hopsight.detectors.base import Callback, Detector
from hopsight.graph import AttributedGraph
from hopsight.system.machine import check_memory
from hopsight.system.threads import few_threads

FloatArray = NDArray[np.float64]


@dataclass(kw_only=True)
class Radar(Detector):
    """Score nodes by the norm of the residual of their attributes.

    Radar minimizes ‖X − WᵀX − R‖² + α‖W‖₂,₁ + β‖R‖₂,₁ + γ tr(RᵀLR) over W (n × n, how nodes explain one another) and R
    (the residuals), where X has columns of norm 1, L is the Laplacian of the graph, ‖·‖ is Frobenius' norm and ‖·‖₂,₁
    the sum of the norms of the rows. The score of node i is the norm of row i of R.

    Parameters
    ----------
    alpha
        Weight that keeps the number of explaining nodes small; above 0.
    beta
        Weight that keeps the number of nodes with a residual small.
    gamma
        Weight that makes the residuals of connected nodes alike.
    n_rounds
        Maximum number of rounds of alternating updates.
    tolerance
        Stop when the objective falls by less than this in a round.
    max_rank
        Replace more columns than this by as many leading singular directions, which keep the share
        ``retained_energy_`` of the squared attributes; ``None`` never truncates.
    n_components
        Reduce the attributes to this many principal components first.
    scaling
        ``"column"`` divides each column by its norm, as the authors do; ``"none"`` does not. It comes after the
        principal components, where it gives the last component as much weight as the first: raise or lower
        ``n_components`` with care.

    Attributes
    ----------
    objective_ : list of float
        The objective after every round; it never increases.
    retained_energy_ : float
        1 unless ``max_rank`` truncated the attributes.

    Notes
    -----
    The published updates need n × n matrices and O(n³) time per round. Here the push-through identity keeps W = UVᵀ in
    two n × d factors, and conjugate gradients find R: O(nd² + d·n_edges) time, O(nd) memory, the same results.
    ``objective_`` has the ε of the updates inside the norms of W.

    References
    ----------
    J. Li, H. Dani, X. Hu, H. Liu: Radar: residual analysis for anomaly detection in attributed networks. IJCAI 2017.

    Examples
    --------
    With a prohibitive α and no edges the residual is the soft threshold of the attributes at β / 2:

    >>> radar = Radar(alpha=1e9, beta=1.0, scaling="none", n_rounds=100, tolerance=0.0)
    >>> scores = radar.fit((np.zeros((3, 3)), np.array([[3.0], [0.2], [-1.0]]))).decision_score_
    >>> scores.round(6).tolist()
    [2.5, 0.0, 0.5]
    """

    meaning: ClassVar[str] = "how much of its attributes neither other nodes nor its neighbors explain"
    deterministic: ClassVar[bool] = True
    dense_copies: ClassVar[int] = 14
    uses_torch: ClassVar[bool] = False

    alpha: float = 0.1
    beta: float = 0.01
    gamma: float = 0.1
    n_rounds: int = 20
    tolerance: float = 1e-3
    max_rank: int | None = 200
    n_components: int | None = None
    scaling: str = "column"

    def _fit(self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callback | None) -> FloatArray:
        X, self.retained_energy_ = self._prepare(graph, rng)
        smoother = Smoother(graph, sparsity=self.beta, smoothness=self.gamma)
        rarity = np.full(len(X), 1.0 / self.alpha)  # diagonal of (αD_W)⁻¹

        def explain(R: FloatArray) -> tuple[FloatArray, float]:
            nonlocal rarity
            explained, norms = _explain(X, R, rarity)
            rarity = 2.0 * norms / self.alpha
            return X - explained, self.alpha * float(norms.sum())

        with few_threads(X.shape[1]):
            R, self.objective_ = alternate(
                X, smoother, explain, n_rounds=self.n_rounds, tolerance=self.tolerance, callback=callback
            )
        return row_norms(R)

    def _prepare(self, graph: AttributedGraph, rng: np.random.Generator) -> tuple[FloatArray, float]:
        """Return the attributes in the form that the updates take, and the share of their squares that is kept."""
        X = prepared(graph, scaling=self.scaling, n_components=self.n_components, rng=rng)
        rank = min(X.shape)
        check_memory("Radar", 8 * self.dense_copies * graph.n_nodes * min(rank, self.max_rank or rank))
        if self.max_rank is not None and self.max_rank < rank:
            return _truncated(X, self.max_rank, rng)
        return _same_gram(X), 1.0

    def check(self) -> None:
        """Refuse a parameter outside its range."""
        check_positive("alpha", self.alpha)
        check_not_negative("beta", self.beta)
        check_not_negative("gamma", self.gamma)
        check_count("n_rounds", self.n_rounds)
        check_not_negative("tolerance", self.tolerance)
        check_choice("scaling", self.scaling, SCALINGS)
        if self.max_rank is not None:
            check_count("max_rank", self.max_rank)


def _explain(X: FloatArray, R: FloatArray, rarity: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return WᵀX and the row norms √(‖W_i‖² + ε) for W = (XXᵀ + Λ)⁻¹X(X − R)ᵀ, Λ⁻¹ = diag(rarity).

    By the push-through identity W = UVᵀ with U = Λ⁻¹X(I + XᵀΛ⁻¹X)⁻¹ and V = X − R; no n × n matrix appears.
    """
    scaled = rarity[:, None] * X  # (n_nodes, n_columns)
    system = X.T @ scaled
    system[np.diag_indices_from(system)] += 1.0
    U = cho_solve(cho_factor(system), scaled.T).T
    V = X - R
    squares = np.einsum("ij,ij->i", U @ (V.T @ V), U)
    return V @ (U.T @ X), np.sqrt(np.maximum(squares, 0.0) + EPSILON)


def _same_gram(X: Any) -> FloatArray:
    """Return a dense matrix with the same XXᵀ and no more columns than rows, which leaves the objective unchanged."""
    if X.shape[1] <= X.shape[0]:
        return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X)
    gram = X @ X.T
    values, vectors = np.linalg.eigh(gram.toarray() if sp.issparse(gram) else gram)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _truncated(X: Any, rank: int, rng: np.random.Generator) -> tuple[FloatArray, float]:
    """Return UΣ of the leading singular triplets, and their share of the squared entries."""
    seed = int(rng.integers(2**31))
    U, values, _ = randomized_svd(X, rank, n_iter=7, transpose=False, random_state=seed)
    squares = X.data if sp.issparse(X) else X
    return U * values, float(np.square(values).sum() / np.square(squares).sum())
