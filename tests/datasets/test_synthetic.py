"""Generated graphs and the bank."""

import time

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import hopsight as hs
from hopsight.datasets import bank_tables, make_graph
from hopsight.graph import AttributedGraph
from toys import refuses


@pytest.fixture(scope="module")
def graph() -> AttributedGraph:
    """20,000 nodes and 200,000 edges, with the defaults."""
    return make_graph(20_000)


def _distances(graph: AttributedGraph, pairs: np.ndarray) -> np.ndarray:
    return np.linalg.norm(graph.attributes[pairs[0]] - graph.attributes[pairs[1]], axis=1)


def test_sizes_are_exact_and_degrees_have_a_heavy_tail(graph: AttributedGraph) -> None:
    degrees = graph.degrees
    assert degrees.mean() == 20.0 and np.median(degrees) < 18 and degrees.max() > 8 * degrees.mean()
    assert (graph.n_nodes, graph.n_edges, graph.n_attributes) == (20_000, 200_000, 32)
    assert np.bincount(graph.kinds).tolist() == [19_600, 200, 200]
    np.testing.assert_array_equal(graph.labels, graph.kinds > 0)
    assert graph.attributes.dtype == np.float32


def test_connected_nodes_are_alike_unless_one_is_an_anomaly(graph: AttributedGraph, rng: np.random.Generator) -> None:
    strangers = rng.integers(0, graph.n_nodes, size=(2, 50_000))
    ends = graph.kinds[graph.edges]
    apart = {kind: _distances(graph, graph.edges[:, (ends == kind).any(axis=0)]).mean() for kind in (1, 2)}
    normal = _distances(graph, graph.edges[:, (ends == 0).all(axis=0)]).mean()
    typical = _distances(graph, strangers).mean()
    assert normal < 0.85 * typical and min(apart.values()) > 0.95 * typical


def test_neither_degree_nor_norm_gives_the_anomalies_away(graph: AttributedGraph) -> None:
    norms = np.linalg.norm(graph.attributes, axis=1)
    for kind in (1, 2):
        keep = np.isin(graph.kinds, [0, kind])
        for score in (graph.degrees, norms):
            assert roc_auc_score(graph.labels[keep], score[keep]) == pytest.approx(0.5, abs=0.07)


def test_the_seed_determines_everything() -> None:
    first, again, other = (make_graph(500, seed=seed) for seed in (4, 4, 5))
    assert (first.adjacency != again.adjacency).nnz == 0
    np.testing.assert_array_equal(first.attributes, again.attributes)
    np.testing.assert_array_equal(first.kinds, again.kinds)
    assert (first.adjacency != other.adjacency).nnz > 0


@pytest.mark.parametrize(
    ("n_nodes", "request_"),
    [(4, {"n_edges": 1}), (50, {"n_edges": 306, "n_communities": 2}), (60, {"n_edges": 60, "n_communities": 30})],
)
def test_small_and_dense_graphs_work_too(n_nodes: int, request_: dict[str, int]) -> None:
    graph = make_graph(n_nodes, **request_)
    assert (graph.n_nodes, graph.n_edges) == (n_nodes, request_["n_edges"])


@pytest.mark.parametrize(("n_nodes", "request_", "message"), [
    (3, {}, "n_nodes must be at least 4, got 3"),
    (20, {"n_edges": 48}, "n_edges must be at least 1 and at most 47, got 48"),
    (100, {"n_communities": 1}, "n_communities must be at least 2 and at most 50, got 1"),
    (100, {"n_structural": 60, "n_attribute_anomalies": 41}, "n_attribute_anomalies .* at most 40, got 41"),
])  # fmt: skip
def test_impossible_requests_are_refused(n_nodes: int, request_: dict[str, float], message: str) -> None:
    refuses(message, make_graph, n_nodes, **request_)


def test_a_tenth_of_the_largest_size_takes_a_tenth_of_its_minute() -> None:
    start = time.process_time()
    graph = make_graph(100_000)
    assert graph.n_edges == 1_000_000 and time.process_time() - start < 6.0


@pytest.mark.slow
def test_a_million_nodes_and_ten_million_edges_within_a_minute_and_4_gb() -> None:
    resource = pytest.importorskip("resource", reason="peak memory is read the Unix way")
    start = time.process_time()
    graph = make_graph(1_000_000)
    assert (graph.n_nodes, graph.n_edges) == (1_000_000, 10_000_000) and time.process_time() - start < 60.0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4e6  # in kB


def test_the_planted_accounts_do_what_their_role_says() -> None:
    bank = bank_tables(n=800, seed=3, ring_size=6)
    flows = bank.transfers.with_columns(day=pl.col("time").dt.epoch("s") / 86400.0)
    for role, case in zip(bank.cases["role"], bank.cases.rows(named=True), strict=True):
        sent = flows.filter(pl.col("sender") == case["account"])
        received = flows.filter(pl.col("receiver") == case["account"])
        if role == "mule":
            assert sent.filter(pl.col("amount") >= 3000.0 * 0.97**12).height >= 2
        elif role == "takeover":
            busiest = sent.sort("time").rolling("time", period="6h").agg(pl.col("receiver").n_unique())
            assert busiest["receiver"].max() >= 9
        else:
            below = received.filter(pl.col("amount").is_between(880.0, 1000.0))
            assert 28 <= below.height <= 42 and below["day"].max() - below["day"].min() < 7.0


def test_a_bank_is_decided_by_its_seed_and_can_be_written_and_read(tmp_path) -> None:
    one, same, other = (bank_tables(n=400, seed=seed) for seed in (1, 1, 2))
    assert one.transfers.equals(same.transfers) and one.accounts.equals(same.accounts)
    assert not one.transfers.equals(other.transfers)
    one.write(tmp_path)
    read = hs.load(tmp_path / "transfers.csv", nodes=tmp_path / "accounts.csv", notices=[])
    made = hs.make_demo(400, 1)
    assert read.n_edges == made.n_edges and set(made.node_ids[made.labels == 1]) == set(one.cases["account"])
