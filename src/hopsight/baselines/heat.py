"""Heat diffusion for MADAN: ‖exp(−τ L / λ_max) δ_i‖ for every node i and several times τ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from scipy.special import ive
from torch import Tensor

from hopsight.nn.gcn import torch_csr
from hopsight.system.machine import available_memory
from hopsight.system.threads import one_thread

FloatArray = NDArray[np.float64]

SOLVERS = ("auto", "eigh", "chebyshev")
TOLERANCE = 1e-12  # error of the squared heat from truncating the Chebyshev series
COLUMNS = 64  # unit vectors propagated together
BATCH_VALUES = 1 << 25  # numbers of a Chebyshev series held at a time
LONG = 1e9  # ρ above which the length of a series is estimated instead of counted

# Rough costs in seconds on two CPU cores, used to choose a solver and to refuse fits that would take too long.
EIGH_CUBE = 1.2e-10  # per n³
STEP_EDGE = 3e-10  # per stored edge, vector and Chebyshev step
STEP_NODE = 3e-9  # per node, vector and Chebyshev step
GPU_SPEEDUP = 20.0


@dataclass(frozen=True)
class Cost:
    """Time and memory that a solver needs for one graph."""

    solver: str
    seconds: float
    gigabytes: float


def heat_kept(
    laplacian: Any,
    times: FloatArray,
    *,
    rng: np.random.Generator,
    solver: str = "auto",
    n_probes: int | None = None,
    time_limit: float = np.inf,
    device: torch.device | None = None,
) -> FloatArray:
    """Return c_i(τ) = ‖exp(−τ L / λ_max) δ_i‖₂ for every time and node, ``(n_times, n_nodes)``.

    L is a symmetric Laplacian and λ_max its largest eigenvalue. As the exponential is symmetric,
    c_i(τ)² = exp(−2τ L / λ_max)_ii, so that only a diagonal is needed: from the eigenvectors (``"eigh"``), or
    from the Chebyshev moments [T_k]_ii (``"chebyshev"``), both exact. With ``n_probes`` random sign vectors z it
    is estimated by the mean of (exp(−τ L / λ_max) z)_i², with a relative error of about √(2 / n_probes).

    Raises
    ------
    ValueError
        Before the computation, if the free memory or the time limit (in seconds) is too small.

    Examples
    --------
    >>> L = sp.csr_array([[1.0, -1.0], [-1.0, 1.0]])
    >>> heat_kept(L, np.array([0.0, 1e9]), rng=np.random.default_rng(0)).round(6).tolist()
    [[1.0, 1.0], [0.707107, 0.707107]]
    """
    device = device or torch.device("cpu")
    laplacian = sp.csr_array(laplacian).astype(np.float64)
    times = np.asarray(times, dtype=np.float64)
    n_nodes = laplacian.shape[0]
    if laplacian.diagonal().max(initial=0.0) <= 0.0:  # no edges: no heat flows
        return np.ones((times.size, n_nodes))
    cost = plan(n_nodes, laplacian.nnz, times, solver=solver, n_probes=n_probes, time_limit=time_limit, device=device)
    with one_thread():  # MADAN ranks heats that differ by rounding only: their sums must not depend on the threads
        squares = _squares(laplacian, times, cost.solver, n_probes, rng, device)
    return np.sqrt(np.clip(squares, 0.0, 1.0))


def _squares(
    laplacian: Any, times: FloatArray, solver: str, n_probes: int | None, rng: np.random.Generator, device: torch.device
) -> FloatArray:
    """Return c_i(τ)² by the solver that was planned."""
    n_nodes = laplacian.shape[0]
    if solver == "eigh":
        return _from_eigenvectors(laplacian, times, device)
    largest = largest_eigenvalue(laplacian, rng)
    bound = largest * (1 + 1e-6)
    shifted = sp.csr_array(laplacian * (2.0 / bound) - sp.eye_array(n_nodes, format="csr"))
    matrix = torch_csr(shifted, device, torch.float64)
    rates = times * (bound / largest)
    if solver == "probes":
        assert n_probes is not None
        return _from_probes(matrix, rates, n_probes, rng)
    return _from_moments(matrix, torch.from_numpy(shifted.diagonal()).to(device), rates)


def plan(
    n_nodes: int,
    n_edges: int,
    times: FloatArray,
    *,
    solver: str,
    n_probes: int | None,
    time_limit: float,
    device: torch.device,
) -> Cost:
    """Return the fastest solver within memory and time limit, or refuse the graph and say what it needs."""
    order = chebyshev_order(float(times.max(initial=0.0)))
    step = n_edges * STEP_EDGE + n_nodes * STEP_NODE
    rows, series = 8e-9 * n_nodes * times.size, 3 * 8e-9 * order * (times.size + COLUMNS)
    costs = {
        "eigh": Cost("eigh", EIGH_CUBE * n_nodes**3, 5 * 8e-9 * n_nodes**2 + rows),
        "chebyshev": Cost("chebyshev", n_nodes * order / 2 * step, 5 * 8e-9 * n_nodes * COLUMNS + rows + series),
    }
    if n_probes is not None:
        seconds = n_probes * order * (step + n_nodes * times.size * 2e-11)
        costs = {"probes": Cost("probes", seconds, 3 * rows + series)}
    elif solver != "auto":
        costs = {solver: costs[solver]}
    if device.type == "cuda":
        costs = {name: Cost(name, cost.seconds / GPU_SPEEDUP, cost.gigabytes) for name, cost in costs.items()}
    free = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else available_memory()
    memory = np.inf if free is None else free / 1e9
    fitting = [cost for cost in costs.values() if cost.gigabytes <= memory and cost.seconds <= time_limit]
    if not fitting:
        least = min(costs.values(), key=lambda cost: (cost.gigabytes > memory, cost.seconds))
        ways = ["raise time_limit"] * (least.seconds > time_limit) + ["set n_probes=256 to estimate"] * (not n_probes)
        raise ValueError(
            f"MADAN's heat kernels of {n_nodes:,} nodes would take about {_duration(least.seconds)} and "
            f"{least.gigabytes:.1f} GB (time_limit is {_duration(time_limit)}, {memory:.1f} GB are free): "
            f"{' or '.join(ways) or 'use another detector'}"
        )
    return min(fitting, key=lambda cost: cost.seconds)


def chebyshev_order(rho: float, tolerance: float = TOLERANCE) -> int:
    """Return how many terms of exp(−ρ(1 + x)) = Σ_k (2 − [k=0]) (−1)^k e^{−ρ} I_k(ρ) T_k(x) are needed.

    For a very large ρ it is an upper bound.

    >>> [chebyshev_order(rho, 1e-8) for rho in (1e2, 1e3, 1e4)]
    [59, 182, 574]
    """
    depth = np.log(2 / tolerance)
    if rho > LONG:
        return int(np.sqrt(2 * min(rho, 1e30) * depth))
    terms = 2.0 * ive(np.arange(int(np.sqrt(2 * rho * depth) * 1.5 + depth) + 10), rho)
    tail = np.cumsum(terms[::-1])[::-1]  # tail[k] is the sum from term k on
    return max(1, int(np.count_nonzero(tail > tolerance)))


def largest_eigenvalue(laplacian: Any, rng: np.random.Generator) -> float:
    """Return λ_max of a symmetric sparse matrix, or Gershgorin's bound in the rare case that Lanczos fails."""
    if laplacian.shape[0] < 50:
        return float(np.linalg.eigvalsh(laplacian.toarray())[-1])
    start = rng.normal(size=laplacian.shape[0])
    try:
        return float(eigsh(laplacian, k=1, which="LA", v0=start, tol=1e-10, return_eigenvectors=False)[0])
    except ArpackNoConvergence:
        return float(2 * laplacian.diagonal().max())


def _from_eigenvectors(laplacian: Any, times: FloatArray, device: torch.device) -> FloatArray:
    """Return Σ_k u_k(i)² exp(−2τ λ_k / λ_max); one eigendecomposition serves all times."""
    values, vectors = torch.linalg.eigh(torch.from_numpy(laplacian.toarray()).to(device))
    laplacian.eliminate_zeros()
    values[: connected_components(laplacian, directed=False, return_labels=False)] = 0.0  # exactly 0 but for rounding
    shares = values.clamp(min=0.0) / values[-1]
    decay = torch.exp(-2.0 * torch.from_numpy(times).to(device)[:, None] * shares)  # (n_times, n_nodes)
    return np.asarray((decay @ vectors.square_().T).cpu().numpy())


def _from_moments(matrix: Tensor, diagonal: Tensor, rates: FloatArray) -> FloatArray:
    """Return Σ_k c_k(τ) [T_k]_ii, with T_{2k} and T_{2k+1} from products of T_k, which halves the sparse products."""
    series = torch.from_numpy(_series(rates)).to(matrix.device)  # (n_times, n_terms)
    n_nodes, n_terms = matrix.shape[0], series.shape[1]
    squares = np.empty((rates.size, n_nodes))
    for start in range(0, n_nodes, COLUMNS):
        nodes = torch.arange(start, min(start + COLUMNS, n_nodes), device=matrix.device)
        units = torch.zeros((n_nodes, nodes.numel()), dtype=torch.float64, device=matrix.device)
        units[nodes, nodes - start] = 1.0
        first = diagonal[nodes]
        moments = [torch.ones_like(first), first]
        for lower, upper in islice(pairwise(_polynomials(matrix, units, n_terms // 2 + 2)), 1, None):
            moments.append(2 * torch.linalg.vecdot(lower, lower, dim=0) - 1)
            moments.append(2 * torch.linalg.vecdot(lower, upper, dim=0) - first)
        squares[:, start : start + COLUMNS] = (series @ torch.stack(moments[:n_terms])).cpu().numpy()
    return squares


def _from_probes(matrix: Tensor, rates: FloatArray, n_probes: int, rng: np.random.Generator) -> FloatArray:
    """Return the mean of (exp(−τ L / λ_max) z)_i² over random sign vectors z, each used for all times."""
    series = torch.from_numpy(_series(rates / 2)).to(matrix.device)
    n_nodes, n_terms = matrix.shape[0], series.shape[1]
    total = torch.zeros((rates.size, n_nodes), dtype=torch.float64, device=matrix.device)
    for _ in range(n_probes):
        signs = torch.from_numpy(rng.integers(0, 2, size=(n_nodes, 1)) * 2.0 - 1.0).to(matrix.device)
        flowed = torch.zeros_like(total)
        for term, vectors in _batches(_polynomials(matrix, signs, n_terms), max(1, BATCH_VALUES // n_nodes)):
            flowed += series[:, term : term + vectors.shape[1]] @ vectors.T
        total += flowed.square_()
    return np.asarray((total / n_probes).cpu().numpy())


def _polynomials(matrix: Tensor, vectors: Tensor, n_terms: int) -> Iterator[Tensor]:
    """Yield T_0(M) V, T_1(M) V, …: T_{k+1} = 2 M T_k − T_{k−1}."""
    previous, current = vectors, matrix @ vectors
    yield previous
    for _ in range(n_terms - 1):
        yield current
        previous, current = current, torch.addmm(previous, matrix, current, beta=-1, alpha=2)


def _batches(columns: Iterator[Tensor], size: int) -> Iterator[tuple[int, Tensor]]:
    """Yield ``size`` columns at a time as one matrix, with the position of its first column."""
    start = 0
    while batch := list(islice(columns, size)):
        yield start, torch.cat(batch, dim=1)
        start += len(batch)


def _series(rates: FloatArray) -> FloatArray:
    """Return the coefficients of exp(−ρ(1 + x)) in Chebyshev polynomials, one row per rate ρ."""
    order = np.arange(chebyshev_order(float(rates.max(initial=0.0))) + 1)
    factor = np.where(order == 0, 1.0, 2.0) * np.where(order % 2, -1.0, 1.0)
    return np.asarray(factor * ive(order, rates[:, None]))


def _duration(seconds: float) -> str:
    if seconds == np.inf:
        return "none"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
