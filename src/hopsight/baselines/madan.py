"""MADAN (Gutiérrez-Gómez et al. 2020): nodes that keep their heat when it flows along attribute-weighted edges."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.stats import rankdata

from hopsight.baselines.prepare import column_extreme, squared_distances, symmetric_adjacency, transformed
from hopsight.checks import Refusal, check_choice, check_not_negative, check_positive
from hopsight.detectors.base import Callback, Detector
from hopsight.graph import AttributedGraph
from hopsight.nn.device import resolve_device
from hopsight.system.machine import available_memory
from hopsight.system.threads import blas_on_one_thread, one_torch_thread

FloatArray = NDArray[np.float64]

SMALL_ATTRIBUTES = 1 << 22  # values of a sparse matrix that is made dense
GRID = np.concatenate([[0.0], 10.0 ** np.linspace(0.0, 4.0, 200)])  # the times of the authors' script
ROUNDING = 1e-14  # rounding error of an eigenvalue, relative to the largest

EIGH_CUBE = 1.2e-10  # seconds per n³ on two CPU cores, to refuse fits that would take too long
GPU_SPEEDUP = 20.0


@dataclass(kw_only=True)
class MADAN(Detector):
    r"""Score nodes by the heat they keep at many time scales.

    Attributes are scaled to [0, 1]; an edge has the weight w_ij = exp(−‖x_i − x_j‖² / (2σ²)). With the Laplacian L of
    these weights, its largest eigenvalue λ_max and the mean strength d̄ of the nodes, heat that starts at node i has
    the concentration

        c_i(t) = ‖exp(−(t/d̄) L/λ_max) δ_i‖₂,    c_i(t)² = exp(−2(t/d̄) L/λ_max)_ii

    at time t. A node that does not resemble its neighbors keeps its heat.

    Parameters
    ----------
    t
        The time of the score c_i(t), or ``"multi"``: the mid-rank of c_i(t) among all nodes, divided by their number
        and averaged over the authors' 200 times; times at which all nodes are alike do not count.
    sigma
        Width σ of the weights; None: the standard deviation of all scaled attribute values; 0: all weights are 1.
    n_components
        Reduce the attributes to this many principal components first.
    isolated
        Nodes without edges keep all their heat (``"heat"``, the highest score) or get the ``"median"`` of the others.
    time_limit
        Refuse, before starting, a graph that is estimated to take more seconds than this.

    Attributes
    ----------
    sigma_ : float
        The σ used.
    n_times_ : int
        Number of times that entered the score.

    Notes
    -----
    The authors report the best of their 200 times, chosen with the labels, on hand-chosen columns and σ; this
    detector never sees labels. In many dimensions the default σ makes every weight vanish; the median distance of
    connected nodes then replaces it, with a warning.

    References
    ----------
    Gutiérrez-Gómez, Bovet, Delvenne, Multi-scale anomaly detection on attributed networks, AAAI 2020.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.0], [1.0]]
    >>> A = [[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]]
    >>> int(MADAN().fit((A, X)).decision_score_.argmax())
    3
    """

    meaning: ClassVar[str] = "how much heat stays at the node when edges between unlike nodes conduct badly"
    deterministic: ClassVar[bool] = True
    dense_copies: ClassVar[int] = 6

    t: float | str = "multi"
    sigma: float | None = None
    n_components: int | None = None
    isolated: str = "heat"
    time_limit: float = 3600.0

    def _fit(self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callback | None) -> FloatArray:
        device = resolve_device(self.device)
        if self.n_components is not None:
            attributes, _ = transformed(graph, scaling="auto", n_components=self.n_components, rng=rng.spawn(1)[0])
            graph = AttributedGraph(graph.adjacency, attributes, node_ids=graph.node_ids, directed=graph.directed)
        times = GRID if self.t == "multi" else np.array([float(self.t)])
        weights, self.sigma_ = edge_weights(graph, self.sigma)
        kept, errors = concentrations(weights, times, self.time_limit, device)
        if self.isolated == "median" and (graph.degrees == 0).any() and (graph.degrees > 0).any():
            kept[:, graph.degrees == 0] = np.median(kept[:, graph.degrees > 0], axis=1, keepdims=True)
        if self.t != "multi":
            self.n_times_ = 1
            return np.asarray(kept[0])
        scores, self.n_times_ = mean_rank(kept, errors)
        return scores

    def check(self) -> None:
        """Refuse a parameter outside its range."""
        if isinstance(self.t, str):
            check_choice("t", self.t, ("multi",))
        else:
            check_not_negative("t", self.t)
        if self.sigma is not None:
            check_not_negative("sigma", self.sigma)
        check_choice("isolated", self.isolated, ("heat", "median"))
        if self.time_limit != np.inf:
            check_positive("time_limit", self.time_limit)


def edge_weights(graph: AttributedGraph, sigma: float | None = None) -> tuple[Any, float]:
    """Return the symmetric CSR matrix of w_ij = exp(−‖x_i − x_j‖² / (2σ²)) over the edges, and the σ used."""
    adjacency = symmetric_adjacency(graph)
    edges = sp.triu(adjacency, k=1, format="coo")
    rows, spread = _min_max(graph.attributes)
    width = spread if sigma is None else float(sigma)
    distances = squared_distances(rows, edges.row, edges.col)
    weights = _weights(distances, width)
    if width > 0 and weights.size and _mostly_severed(weights, edges, graph.n_nodes):
        median = float(np.sqrt(np.median(distances)))
        if sigma is not None:
            raise Refusal(
                "sigma",
                f"must be larger: with {width:g} the edges of most nodes have weight 0, "
                f"since the median distance of connected nodes is {median:.3g}",
            )
        warnings.warn(
            f"MADAN's default sigma, {width:.3g}, gives the edges of most nodes weight 0; using the median distance "
            f"of connected nodes, {median:.3g}, instead: set sigma or n_components to choose another",
            stacklevel=2,
        )
        width, weights = median, _weights(distances, median)
    upper = sp.coo_array((weights, (edges.row, edges.col)), shape=adjacency.shape)
    return sp.csr_array(upper + upper.T), width


def mean_rank(kept: FloatArray, errors: FloatArray | float = 0.0) -> tuple[FloatArray, int]:
    """Return the mean over times of each node's mid-rank, divided by the number of nodes, and how many times count.

    ``errors`` is the error of the heats at each time: smaller differences are ties, and a time at which the heats
    hardly differ more than that does not count.

    >>> mean_rank(np.array([[1.0, 1.0, 1.0], [0.2, 0.2, 0.9]]))
    (array([0.5, 0.5, 1. ]), 1)
    """
    steps = np.maximum(np.broadcast_to(errors, kept.shape[:1]), 1e-10)
    counts = np.ptp(kept, axis=1) >= 10 * steps
    if not counts.any():
        return np.full(kept.shape[1], (kept.shape[1] + 1) / (2 * kept.shape[1])), 0
    ranks = rankdata((kept[counts] / steps[counts, None]).round(), axis=1)
    return ranks.mean(axis=0) / kept.shape[1], int(counts.sum())


def concentrations(
    weights: Any, times: FloatArray, time_limit: float = np.inf, device: torch.device | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return c_i(t) for every time and node, ``(n_times, n_nodes)``, and their errors at every time.

    The rounding of an eigenvalue is multiplied by the time.

    >>> concentrations(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]), np.array([0.0, 0.5]))[0].round(6).tolist()
    [[1.0, 1.0], [0.827006, 0.827006]]
    """
    strength = np.asarray(weights.sum(axis=1)).ravel()
    mean = strength.mean()
    if not mean > 0.0:
        return np.ones((len(times), strength.size)), np.zeros(len(times))
    rates = np.asarray(times) / mean
    return heat_kept(sp.diags_array(strength) - weights, rates, time_limit, device), ROUNDING * rates


def _min_max(attributes: Any) -> tuple[Any, float]:
    """Divide every column by its range; also return the standard deviation of all entries scaled to [0, 1].

    Columns are first divided by their largest magnitude, so that neither huge nor tiny values are lost. A small sparse
    matrix is made dense, because rounding decides ties in MADAN's ranks. A large one is not shifted to start at 0,
    since that does not change distances.
    """
    if sp.issparse(attributes) and np.prod(attributes.shape) <= SMALL_ATTRIBUTES:
        attributes = attributes.toarray()
    if not sp.issparse(attributes):
        scaled = attributes * _inverse(abs(attributes).max(axis=0), least=1e-300)
        scaled = (scaled - scaled.min(axis=0)) * _inverse(np.ptp(scaled, axis=0))
        return scaled, float(scaled.std())
    n_nodes, n_columns = attributes.shape
    unit = _inverse(column_extreme(abs(attributes), "max"), least=1e-300)
    scaled = attributes.astype(np.float64) @ sp.diags_array(unit)
    low, high = column_extreme(scaled, "min"), column_extreme(scaled, "max")
    inverse = _inverse(high - low)
    scaled = sp.csr_array(scaled @ sp.diags_array(inverse))
    offset = low * inverse
    sums = np.asarray(scaled.sum(axis=0)).ravel()
    mean = (sums.sum() - n_nodes * offset.sum()) / (n_nodes * n_columns)
    square = ((scaled.data**2).sum() - 2 * offset @ sums + n_nodes * offset @ offset) / (n_nodes * n_columns)
    return scaled, float(np.sqrt(max(0.0, square - mean**2)))


def _inverse(values: Any, least: float = 1e-12) -> FloatArray:
    """Return 1 / values, or 0 where a value is too small, as for a constant column."""
    large: FloatArray = np.asarray(values, dtype=np.float64)
    return np.divide(1.0, large, out=np.zeros_like(large), where=large > least)


def _weights(distances: FloatArray, sigma: float) -> FloatArray:
    return np.exp(-distances / (2 * sigma**2)) if sigma > 0 else np.ones_like(distances)


def _mostly_severed(weights: FloatArray, edges: Any, n_nodes: int) -> bool:
    """Return whether more than half of the connected nodes have only edges of negligible weight."""
    connected, tied = np.zeros(n_nodes, dtype=bool), np.zeros(n_nodes, dtype=bool)
    strong = weights > 1e-12
    for ends in (edges.row, edges.col):
        connected[ends] = True
        tied[ends[strong]] = True
    return bool(2 * np.count_nonzero(tied) < np.count_nonzero(connected))


def heat_kept(
    laplacian: Any, times: FloatArray, time_limit: float = np.inf, device: torch.device | None = None
) -> FloatArray:
    """Return c_i(τ) = ‖exp(−τ L / λ_max) δ_i‖₂ for every time and node, ``(n_times, n_nodes)``.

    L is a symmetric Laplacian and λ_max its largest eigenvalue. As the exponential is symmetric,
    c_i(τ)² = exp(−2τ L / λ_max)_ii, so that only a diagonal is needed, which the eigenvectors give.

    Raises
    ------
    ValueError
        Before the computation, if the free memory or the time limit (in seconds) is too small.

    Examples
    --------
    >>> L = sp.csr_array([[1.0, -1.0], [-1.0, 1.0]])
    >>> heat_kept(L, np.array([0.0, 1e9])).round(6).tolist()
    [[1.0, 1.0], [0.707107, 0.707107]]
    """
    device = device or torch.device("cpu")
    laplacian = sp.csr_array(laplacian).astype(np.float64)
    times = np.asarray(times, dtype=np.float64)
    if laplacian.diagonal().max(initial=0.0) <= 0.0:  # no edges: no heat flows
        return np.ones((times.size, laplacian.shape[0]))
    _check_cost(laplacian.shape[0], times.size, time_limit, device)
    # MADAN ranks heats that differ by rounding only: their sums must not depend on the threads
    with one_torch_thread(), blas_on_one_thread():
        squares = _from_eigenvectors(laplacian, times, device)
    return np.sqrt(np.clip(squares, 0.0, 1.0))


def _check_cost(n_nodes: int, n_times: int, time_limit: float, device: torch.device) -> None:
    """Refuse a graph that would take too much time or memory, and say what it needs."""
    on_gpu = device.type == "cuda"
    seconds = EIGH_CUBE * n_nodes**3 / (GPU_SPEEDUP if on_gpu else 1.0)
    gigabytes = 8e-9 * n_nodes * (5 * n_nodes + n_times)
    memory = (torch.cuda.mem_get_info(device)[0] if on_gpu else available_memory()) / 1e9
    if gigabytes > memory or seconds > time_limit:
        raise ValueError(
            f"MADAN's heat kernels of {n_nodes:,} nodes would take about {_duration(seconds)} and "
            f"{gigabytes:.1f} GB (time_limit is {_duration(time_limit)}, {memory:.1f} GB are free): "
            f"{'use another detector' if gigabytes > memory else 'raise time_limit or use another detector'}"
        )


def _from_eigenvectors(laplacian: Any, times: FloatArray, device: torch.device) -> FloatArray:
    """Return Σ_k u_k(i)² exp(−2τ λ_k / λ_max); one eigendecomposition serves all times."""
    values, vectors = torch.linalg.eigh(torch.from_numpy(laplacian.toarray()).to(device))
    laplacian.eliminate_zeros()
    values[: connected_components(laplacian, directed=False, return_labels=False)] = 0.0  # exactly 0 but for rounding
    shares = values.clamp(min=0.0) / values[-1]
    decay = torch.exp(-2.0 * torch.from_numpy(times).to(device)[:, None] * shares)  # (n_times, n_nodes)
    return np.asarray((decay @ vectors.square_().T).cpu().numpy())


def _duration(seconds: float) -> str:
    if seconds == np.inf:
        return "none"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
