"""LOF (Breunig et al. 2000): nodes whose attributes lie in a sparser region than those of similar nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.baselines.prepare import transformed
from hopsight.checks import check_count
from hopsight.detectors.base import Callback, Detector
from hopsight.graph import AttributedGraph
from hopsight.system.compiled import compiled, inner
from hopsight.system.threads import in_order

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

SPARE = 8  # candidates beyond k kept for sparse rows until their distances are recomputed
GROUP = 64  # dense rows that share a pass over the others
WIDTH = 512  # other rows compared at a time, few enough to stay in the cache
BLOCK_VALUES = 1 << 22  # inner products of sparse rows held at a time


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
    The definition is scikit-learn's: Euclidean distance, exactly k neighbors. The search for neighbors is not, because
    flags and word counts have many ties. Among equally near nodes this one takes the first in the order of the nodes,
    for dense and sparse attributes alike; scikit-learn's choice depends on its tree, and for sparse attributes it
    subtracts large norms, which loses small distances. Here distances are sums of squared differences, equal for any
    number of threads. Memory is O(n·k).

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

    def _fit(self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callback | None) -> FloatArray:
        check_count("n_neighbors", self.n_neighbors)
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
    values = rows.data if sp.issparse(rows) else rows
    peak = float(abs(values).max(initial=0.0))
    if peak > 1e150:  # squares would overflow, and LOF is a ratio
        rows = rows / peak
    squares, neighbors = _nearest_sparse(rows, k) if sp.issparse(rows) else _nearest_dense(rows, k)
    order = np.lexsort((neighbors, squares))[:, :k]
    return np.sqrt(np.take_along_axis(squares, order, axis=1)), np.take_along_axis(neighbors, order, axis=1)


def _nearest_dense(rows: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
    n = len(rows)
    squares, neighbors = np.full((n, k), np.inf), np.full((n, k), n, dtype=np.int64)
    columns = np.ascontiguousarray(rows.T)

    def fill(start: int) -> None:
        part = slice(start, start + GROUP)
        _fill_dense(columns, start, squares[part], neighbors[part])

    list(in_order(fill, range(0, n, GROUP)))
    return squares, neighbors


def _nearest_sparse(rows: Any, k: int) -> tuple[FloatArray, IntArray]:
    n = rows.shape[0]
    n_kept = min(k + SPARE, n - 1)
    squares, neighbors = np.full((n, n_kept), np.inf), np.full((n, n_kept), n, dtype=np.int64)
    norms = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    transposed = rows.T.tocsr()
    step = max(1, BLOCK_VALUES // n)
    for start in range(0, n, step):
        part = slice(start, start + step)
        products = (rows[part] @ transposed).toarray()
        _fill_sparse(products, norms, start, squares[part], neighbors[part])
    indices, indptr = (part.astype(np.int64) for part in (rows.indices, rows.indptr))  # numba compiles once per type
    _recompute(rows.data, indices, indptr, neighbors, squares)
    return squares, neighbors


@compiled(nogil=True)
def _fill_dense(columns: Any, start: int, squares: Any, neighbors: Any) -> None:
    """Find the nearest rows of rows start, start + 1, …, with one heap per row that has its farthest entry in front."""
    d, n = columns.shape
    total = np.empty(WIDTH)
    for first in range(0, n, WIDTH):
        width = min(WIDTH, n - first)
        for r in range(squares.shape[0]):
            row = start + r
            total[:width] = 0.0
            for f in range(d):
                x = columns[f, row]
                other = columns[f, first : first + width]
                for j in range(width):
                    difference = other[j] - x
                    total[j] += difference * difference
            for j in range(width):
                if total[j] < squares[r, 0] and first + j != row:
                    _replace_farthest(squares[r], neighbors[r], total[j], first + j)


@compiled(nogil=True)
def _fill_sparse(products: Any, norms: Any, start: int, squares: Any, neighbors: Any) -> None:
    """Do the same with ‖y‖² − 2x·y, which orders the other rows y as their distances from x do."""
    for r in range(products.shape[0]):
        for j in range(products.shape[1]):
            value = norms[j] - 2.0 * products[r, j]
            if value < squares[r, 0] and j != start + r:
                _replace_farthest(squares[r], neighbors[r], value, j)


@inner
def _replace_farthest(values: Any, positions: Any, value: float, position: int) -> None:
    """Replace the farthest entry of the heap; among equal distances the higher position counts as farther."""
    size = len(values)
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            values[right] > values[child] or (values[right] == values[child] and positions[right] > positions[child])
        ):
            child = right
        if values[child] < value or (values[child] == value and positions[child] < position):
            break
        values[at], positions[at] = values[child], positions[child]
        at = child
    values[at], positions[at] = value, position


@compiled(nogil=True)
def _recompute(data: Any, indices: Any, indptr: Any, neighbors: Any, squares: Any) -> None:
    """Replace the values of the search by squared distances, computed from differences."""
    for row in range(neighbors.shape[0]):
        for c in range(neighbors.shape[1]):
            a, b = indptr[row], indptr[neighbors[row, c]]
            a_end, b_end = indptr[row + 1], indptr[neighbors[row, c] + 1]
            total = 0.0
            while a < a_end or b < b_end:
                if b == b_end or (a < a_end and indices[a] < indices[b]):
                    difference = data[a]
                    a += 1
                elif a == a_end or indices[b] < indices[a]:
                    difference = data[b]
                    b += 1
                else:
                    difference = data[a] - data[b]
                    a += 1
                    b += 1
                total += difference * difference
            squares[row, c] = total
