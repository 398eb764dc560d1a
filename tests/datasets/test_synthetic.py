"""Generated networks: exact sizes, communities that show, anomalies that nothing simple gives away."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from hopsight.datasets import make_network
from hopsight.graph import AttributedGraph


@pytest.fixture(scope="module")
def network() -> AttributedGraph:
    """20,000 nodes and 200,000 edges, with the defaults."""
    return make_network(20_000)


def _distances(graph: AttributedGraph, pairs: np.ndarray) -> np.ndarray:
    return np.linalg.norm(graph.attributes[pairs[0]] - graph.attributes[pairs[1]], axis=1)


def test_sizes_are_exact(network: AttributedGraph) -> None:
    assert (network.n_nodes, network.n_edges, network.n_attributes) == (20_000, 200_000, 32)
    assert np.bincount(network.kinds).tolist() == [19_600, 200, 200]
    np.testing.assert_array_equal(network.labels, network.kinds > 0)
    assert network.attributes.dtype == np.float32


def test_degrees_have_a_heavy_tail(network: AttributedGraph) -> None:
    degrees = network.degrees
    assert degrees.mean() == 20.0
    assert np.median(degrees) < 18
    assert degrees.max() > 8 * degrees.mean()


def test_connected_nodes_are_alike_unless_one_is_an_anomaly(network: AttributedGraph, rng: np.random.Generator) -> None:
    strangers = rng.integers(0, network.n_nodes, size=(2, 50_000))
    ends = network.kinds[network.edges]
    apart = {kind: _distances(network, network.edges[:, (ends == kind).any(axis=0)]).mean() for kind in (1, 2)}
    honest = _distances(network, network.edges[:, (ends == 0).all(axis=0)]).mean()
    typical = _distances(network, strangers).mean()
    assert honest < 0.85 * typical
    assert min(apart.values()) > 0.95 * typical


def test_neither_degree_nor_norm_tells_the_anomalies(network: AttributedGraph) -> None:
    norms = np.linalg.norm(network.attributes, axis=1)
    for kind in (1, 2):
        keep = np.isin(network.kinds, [0, kind])
        for score in (network.degrees, norms):
            assert roc_auc_score(network.labels[keep], score[keep]) == pytest.approx(0.5, abs=0.07)


def test_one_seed_decides_all() -> None:
    first, again, other = (make_network(500, seed=seed) for seed in (4, 4, 5))
    assert (first.adjacency != again.adjacency).nnz == 0
    np.testing.assert_array_equal(first.attributes, again.attributes)
    np.testing.assert_array_equal(first.kinds, again.kinds)
    assert (first.adjacency != other.adjacency).nnz > 0


def test_more_noise_changes_nothing_but_the_attributes() -> None:
    quiet, loud = make_network(300, noise=0.1), make_network(300, noise=3.0)
    assert (quiet.adjacency != loud.adjacency).nnz == 0
    np.testing.assert_array_equal(quiet.kinds, loud.kinds)
    assert loud.attributes.std() > 2 * quiet.attributes.std()


@pytest.mark.parametrize(
    ("n_nodes", "request_"),
    [(4, {"n_edges": 1}), (50, {"n_edges": 306, "n_communities": 2}), (60, {"n_edges": 60, "n_communities": 30})],
)
def test_small_and_dense_networks_work_too(n_nodes: int, request_: dict[str, int]) -> None:
    graph = make_network(n_nodes, **request_)
    assert (graph.n_nodes, graph.n_edges) == (n_nodes, request_["n_edges"])


@pytest.mark.parametrize(
    ("n_nodes", "request_", "message"),
    [
        (3, {}, "n_nodes must be at least 4, got 3"),
        (20, {"n_edges": 48}, "n_edges must be at least 1 and at most 47, got 48"),
        (100, {"n_communities": 1}, "n_communities must be at least 2 and at most 50, got 1"),
        (100, {"n_structural": 60, "n_attribute_anomalies": 41}, "n_attribute_anomalies .* at most 40, got 41"),
        (100, {"mixing": 1.5}, "mixing must be at least 0 and below 1, got 1.5"),
        (100, {"noise": -1.0}, "noise must be 0 or more, got -1.0"),
        (40, {"n_edges": 150, "n_communities": 20, "mixing": 0.0}, "n_edges must be small enough"),
    ],
)
def test_impossible_requests_are_refused(n_nodes: int, request_: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_network(n_nodes, **request_)  # type: ignore[arg-type]


def test_a_tenth_of_the_largest_size_takes_a_tenth_of_its_minute() -> None:
    start = time.perf_counter()
    graph = make_network(100_000)
    assert graph.n_edges == 1_000_000
    assert time.perf_counter() - start < 6.0


@pytest.mark.slow
def test_a_million_nodes_and_ten_million_edges_within_a_minute_and_4_gb() -> None:
    resource = pytest.importorskip("resource", reason="peak memory is read the Unix way")
    start = time.perf_counter()
    graph = make_network(1_000_000)
    assert (graph.n_nodes, graph.n_edges) == (1_000_000, 10_000_000)
    assert time.perf_counter() - start < 60.0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4e6  # in kB
