"""LOF (Breunig et al. 2000): nodes whose attributes lie in a sparser region than those of similar nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from hopsight.baselines.prepare import squared_distances, transformed
from hopsight.checks import check_choice, check_count
from hopsight.detectors.base import Callback, Detector
from hopsight.graph import AttributedGraph
from hopsight.preprocess.transform import SCALINGS
from hopsight.system.threads import blas_on_one_thread, n_threads

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

SPARE = 8  # candidates beyond k kept for sparse rows until their distances are recomputed
FEW_COLUMNS = 64


@dataclass(kw_only=True)
class LOF(Detector):
    """Score nodes by the local outlier factor of their attributes; edges are not used.

    Let N(p) be the k nearest nodes of p and kd(o) the distance from o to its k-th nearest node. With reach(p, o) =
    max(kd(o), dist(p, o)) and lrd(p) = 1 / (mean of reach(p, o) over N(p) + 1e-10), the score is
    the mean of lrd(o) / lrd(p) over o in N(p): about 1 inside a cluster, larger outside.

    Parameters
    ----------
    n_neighbors
        k; at most n − 1.
    scaling
        ``"none"`` takes the attributes as they are; ``"standard"``, ``"row"``, ``"rank"`` and ``"auto"`` scale them
        first (otherwise one column in large units dominates the distances).
    n_components
        Reduce the attributes to this many principal components first.

    Attributes
    ----------
    scaling_ : str
        The scaling used, also with ``"auto"``.

    Notes
    -----
    The definition is scikit-learn's: Euclidean distance, exactly k neighbors, which it finds. For sparse attributes it
    subtracts large norms, which loses small distances; here distances of the nearest nodes are computed again from
    differences. Which of equally near nodes count is up to scikit-learn. Memory is O(n·k).

    References
    ----------
    M. Breunig, H.-P. Kriegel, R. Ng, J. Sander: LOF: identifying density-based local outliers. SIGMOD 2000.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [2.0], [6.0]])
    >>> LOF(n_neighbors=2).fit((np.zeros((4, 4)), points)).decision_score_.round(4).tolist()
    [0.875, 1.3333, 0.875, 2.625]
    """

    meaning: ClassVar[str] = (
        "how thinly the space around its attributes is populated compared with similar nodes; edges play no part"
    )
    deterministic: ClassVar[bool] = True
    least_nodes: ClassVar[int] = 1
    dense_copies: ClassVar[int] = 3
    uses_torch: ClassVar[bool] = False

    n_neighbors: int = 20
    scaling: str = "none"
    n_components: int | None = None

    def expected_need(self, graph: AttributedGraph) -> tuple[float, float]:
        """Return the bytes and the operations of a fit; every pair of nodes is compared."""
        memory, _ = super().expected_need(graph)
        memory += 4 * 8.0 * graph.n_nodes * min(max(self.n_neighbors, 1), graph.n_nodes)
        return memory, 2.0 * graph.n_nodes * graph.n_nodes * graph.n_attributes

    def check(self) -> None:
        """Refuse a parameter outside its range."""
        check_count("n_neighbors", self.n_neighbors)
        check_choice("scaling", self.scaling, SCALINGS)

    def _fit(self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callback | None) -> FloatArray:
        attributes, transform = transformed(graph, scaling=self.scaling, n_components=self.n_components, rng=rng)
        self.scaling_ = transform.scaling
        if graph.n_nodes == 1:  # there is no other node to compare it with
            return np.ones(1)
        return local_outlier_factor(*nearest(attributes, min(self.n_neighbors, graph.n_nodes - 1)))


def local_outlier_factor(distances: FloatArray, neighbors: IntArray) -> FloatArray:
    """Return the factor of every row from its k nearest other rows, ``(n, k)`` both, nearest first."""
    reach = np.maximum(distances[:, -1][neighbors], distances)
    density = 1.0 / (reach.mean(axis=1) + 1e-10)  # finite even with more than k duplicates
    return np.asarray(density[neighbors].mean(axis=1) / density)


def nearest(rows: Any, k: int) -> tuple[FloatArray, IntArray]:
    """Return distances and positions of the k nearest other rows of each row, ``(n, k)`` both, nearest first."""
    rows = rows.astype(np.float64)
    few = rows.shape[1] <= FEW_COLUMNS  # a tree is fast then; the same way for sparse and dense attributes
    if few and sp.issparse(rows):
        rows = rows.toarray()
    n, sparse = rows.shape[0], sp.issparse(rows)
    peak = float(abs(rows.data if sparse else rows).max(initial=0.0))
    if peak > 1e150:  # squares would overflow, and LOF is a ratio
        rows = rows / peak
    n_found = k if few else min(k + SPARE, n - 1)
    model = NearestNeighbors(n_neighbors=n_found, algorithm="kd_tree" if few else "brute", n_jobs=n_threads())
    with blas_on_one_thread():
        distances, neighbors = model.fit(rows).kneighbors()
    if not few:  # products of matrices round differences away
        pairs = np.repeat(np.arange(n), n_found), neighbors.ravel()
        distances = np.sqrt(squared_distances(rows, *pairs)).reshape(n, n_found)
    order = np.lexsort((neighbors, distances))[:, :k]
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(neighbors, order, axis=1)
