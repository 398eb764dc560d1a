"""Heat kept by a node: both exact solvers and the estimate against the matrix exponential."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.linalg import expm
from threadpoolctl import threadpool_limits

from hopsight.baselines import heat
from hopsight.baselines.heat import chebyshev_order, heat_kept, largest_eigenvalue


@pytest.fixture
def laplacian(rng: np.random.Generator) -> sp.csr_array:
    """90 nodes with random weights on about 4 edges each, the last node isolated."""
    weights = np.triu(rng.random((90, 90)) * (rng.random((90, 90)) < 0.05), k=1)
    weights[:, 89] = 0.0
    weights += weights.T
    return sp.csr_array(np.diag(weights.sum(axis=1)) - weights)


def naive(laplacian: sp.csr_array, times: np.ndarray) -> np.ndarray:
    dense = laplacian.toarray()
    largest = np.linalg.eigvalsh(dense)[-1]
    return np.array([np.linalg.norm(expm(-time * dense / largest), axis=0) for time in times])


@pytest.mark.parametrize("solver", ["eigh", "chebyshev", "auto"])
def test_both_solvers_equal_the_matrix_exponential(
    laplacian: sp.csr_array, rng: np.random.Generator, solver: str
) -> None:
    times = np.array([0.0, 0.1, 1.0, 20.0, 500.0])
    kept = heat_kept(laplacian, times, solver=solver, rng=rng)
    np.testing.assert_allclose(kept, naive(laplacian, times), atol=1e-8)
    np.testing.assert_allclose(kept[0], 1.0, atol=1e-9)
    np.testing.assert_allclose(kept[:, 89], 1.0, atol=1e-9)  # the isolated node


def test_order_30_is_not_enough_where_the_rule_requires_more(
    laplacian: sp.csr_array, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = np.array([371.0])
    assert chebyshev_order(371.0, 1e-8) > 90
    monkeypatch.setattr(heat, "chebyshev_order", lambda rho: 30)
    short = heat_kept(laplacian, times, solver="chebyshev", rng=rng)
    assert abs(short - naive(laplacian, times)).max() > 0.05


def test_a_very_long_time_takes_little_memory(laplacian: sp.csr_array, rng: np.random.Generator) -> None:
    """Weights near zero make times of 10¹⁸: the series that would be needed is not written down to count it."""
    tracemalloc.start()
    kept = heat_kept(laplacian, np.array([1e18]), rng=rng)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(kept).all() and peak < 1e7
    with pytest.raises(ValueError, match=r"h and .* GB"):
        heat_kept(laplacian, np.array([1e24]), rng=rng, solver="chebyshev", time_limit=np.inf)


def test_the_estimated_length_of_a_series_is_a_little_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = chebyshev_order(1e8)
    monkeypatch.setattr(heat, "LONG", 1e6)
    assert counted <= chebyshev_order(1e8) < 1.1 * counted


def test_probes_are_within_their_stated_error(laplacian: sp.csr_array, rng: np.random.Generator) -> None:
    times = np.array([1.0, 50.0])
    exact = naive(laplacian, times) ** 2
    estimate = heat_kept(laplacian, times, n_probes=800, rng=rng) ** 2
    error = np.sqrt(np.mean((estimate[:, :89] / exact[:, :89] - 1) ** 2))
    assert error < 1.5 * np.sqrt(2 / 800)


def test_small_batches_give_the_same_estimate(
    laplacian: sp.csr_array, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = np.array([3.0, 30.0])
    whole = heat_kept(laplacian, times, n_probes=3, rng=np.random.default_rng(1))
    monkeypatch.setattr(heat, "BATCH_VALUES", 500)
    np.testing.assert_allclose(heat_kept(laplacian, times, n_probes=3, rng=np.random.default_rng(1)), whole, atol=1e-12)


def test_largest_eigenvalue_of_a_large_ring_is_4(rng: np.random.Generator) -> None:
    ring = sp.csr_array(sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(100, 100))).tolil()
    ring[0, 99] = ring[99, 0] = -1.0
    assert largest_eigenvalue(ring.tocsr(), rng) == pytest.approx(4.0, abs=1e-9)


def test_without_edges_every_node_keeps_its_heat(rng: np.random.Generator) -> None:
    assert (heat_kept(sp.csr_array((3, 3)), np.array([5.0]), rng=rng) == 1.0).all()


def test_a_graph_beyond_the_time_limit_is_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"100,000 nodes would take about .* GB .*n_probes"):
        heat.plan(
            100_000,
            2_100_000,
            np.array([1e3]),
            solver="auto",
            n_probes=None,
            time_limit=3600.0,
            device=torch.device("cpu"),
        )


def test_too_little_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heat, "available_memory", lambda: 10**6)
    with pytest.raises(ValueError, match=r"0\.0 GB are free"):
        heat.plan(
            5_000, 50_000, np.array([1.0]), solver="auto", n_probes=None, time_limit=np.inf, device=torch.device("cpu")
        )


@pytest.mark.parametrize("solver", ["eigh", "chebyshev"])
def test_the_heats_do_not_depend_on_the_number_of_threads(rng: np.random.Generator, solver: str) -> None:
    adjacency = np.triu(rng.random((300, 300)) < 0.05, 1).astype(float)
    adjacency += adjacency.T
    graph = sp.csr_array(np.diag(adjacency.sum(axis=1)) - adjacency)
    before, found = torch.get_num_threads(), []
    for count in (1, 2):
        torch.set_num_threads(count)
        with threadpool_limits(count):
            found.append(heat_kept(graph, np.array([0.5, 20.0]), solver=solver, rng=np.random.default_rng(0)))
            assert torch.get_num_threads() == count
    torch.set_num_threads(before)
    assert np.array_equal(*found)
