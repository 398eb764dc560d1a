"""Hop counts: classes written by hand, brute force on 300 nodes, uniform draws, merged classes, sampled sources."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path
from scipy.stats import chi2

from hopsight.graph import AttributedGraph
from hopsight.hops.pool import hop_pairs, merge_classes

N_CLASSES = 4


def random_edges(n_nodes: int, n_edges: int, *, directed: bool = False, seed: int = 0) -> Any:
    """Return a 0/1 CSR adjacency; the last three nodes have no edge."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n_nodes - 3, size=(2, n_edges))
    return AttributedGraph.from_edges(ends[0], ends[1], np.zeros((n_nodes, 1)), directed=directed).adjacency


def brute_force(adjacency: Any, *, directed: bool = False) -> np.ndarray:
    """Return hop classes 1..4 of all ordered pairs by scipy's shortest paths, 0 on the diagonal."""
    hops = shortest_path(adjacency, directed=directed, unweighted=True)
    return np.minimum(hops, N_CLASSES).astype(int)


def all_pairs(n_nodes: int, directed: bool) -> tuple[np.ndarray, np.ndarray]:
    source, target = np.where(~np.eye(n_nodes, dtype=bool)) if directed else np.triu_indices(n_nodes, k=1)
    return source, target


def prepared(adjacency: Any, **settings: Any) -> Any:
    defaults: dict[str, Any] = {
        "n_classes": N_CLASSES,
        "sampling_ratio": 0.3,
        "max_pairs": 100_000,
        "min_class_pairs": 1,
        "rng": np.random.default_rng(0),
    }
    return hop_pairs(adjacency, **defaults | settings)


def test_sizes_by_hand(path_graph: AttributedGraph, star_graph: AttributedGraph, two_cliques: AttributedGraph) -> None:
    assert prepared(path_graph.adjacency, n_classes=5).sizes.tolist() == [5.0, 4.0, 3.0, 2.0, 1.0]
    assert prepared(star_graph.adjacency, n_classes=2).sizes.tolist() == [5.0, 10.0]
    assert prepared(two_cliques.adjacency, n_classes=4).sizes.tolist() == [13.0, 6.0, 9.0, 0.0]


def test_sizes_of_arcs_by_hand() -> None:
    """0 → 1 → 2 → 0 and 2 → 3: no path leads out of 3."""
    arcs = sp.csr_array(([1.0] * 4, ([0, 1, 2, 2], [1, 2, 0, 3])), shape=(4, 4))
    assert prepared(arcs, directed=True).sizes.tolist() == [4.0, 4.0, 1.0, 3.0]


def test_unreachable_pairs_belong_to_the_last_class() -> None:
    two_edges = sp.csr_array(([1.0] * 4, ([0, 1, 2, 3], [1, 0, 3, 2])), shape=(5, 5))
    pairs = prepared(two_edges)
    assert pairs.sizes.tolist() == [2.0, 0.0, 0.0, 8.0]
    assert (pairs.n_classes, pairs.class_of_hop.tolist()) == (2, [0, 1, 1, 1])


@pytest.mark.parametrize("directed", [False, True])
def test_classes_and_sizes_are_those_of_brute_force(directed: bool) -> None:
    adjacency = random_edges(300, 450, directed=directed)
    truth = brute_force(adjacency, directed=directed)
    pairs = prepared(adjacency, directed=directed)
    counted = np.bincount(truth[all_pairs(300, directed)], minlength=5)[1:]
    assert pairs.exact and pairs.sizes.tolist() == counted.tolist() and not pairs.errors.any()


@pytest.mark.parametrize("directed", [False, True])
def test_pairs_are_uniform_within_their_class(directed: bool) -> None:
    """Chi-square over every pair of a class; drawing without replacement shrinks it by 1 − n_pairs / size."""
    adjacency = random_edges(300, 450, directed=directed)
    truth = brute_force(adjacency, directed=directed)
    pairs = prepared(adjacency, directed=directed)
    n_epochs = 300
    drawn = pairs.draw(0, n_epochs, rng=np.random.default_rng(1)).reshape(n_epochs, 2, N_CLASSES, pairs.n_pairs)
    source, target = all_pairs(300, directed)
    for hop in range(1, N_CLASSES + 1):
        ends = drawn[:, :, hop - 1]
        if not directed:
            ends = np.sort(ends, axis=1)
        codes = ends[:, 0] * 300 + ends[:, 1]
        members = np.flatnonzero(truth[source, target] == hop)
        members = source[members] * 300 + target[members]
        assert np.isin(codes, members).all()
        counts = np.bincount(np.searchsorted(members, codes.ravel()), minlength=members.size)
        cells = min(members.size, counts.sum() // 10)  # at least ten expected in each
        bounds = np.linspace(0, members.size, cells + 1).astype(int)
        observed = np.add.reduceat(counts, bounds[:-1])
        expected = counts.sum() * np.diff(bounds) / members.size
        statistic = ((observed - expected) ** 2 / expected).sum() / (1 - pairs.n_pairs / members.size)
        assert 1e-4 < chi2.sf(statistic, cells - 1) < 1 - 1e-4, f"class {hop}"


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("max_sources", [None, 100])
def test_pairs_of_an_epoch_are_distinct_and_of_their_class(directed: bool, max_sources: int | None) -> None:
    adjacency = random_edges(300, 450, directed=directed)
    truth = brute_force(adjacency, directed=directed)
    pairs = prepared(adjacency, directed=directed, max_sources=max_sources, sampling_ratio=1.0)
    drawn = pairs.draw(0, 4, rng=np.random.default_rng(1))
    assert drawn.shape == (4, 1, 2, pairs.labels.size)  # one network
    for source, target in drawn[:, 0]:
        assert np.array_equal(truth[source, target], pairs.labels + 1)
        ends = np.stack([source, target]) if directed else np.sort([source, target], axis=0)
        assert np.unique(ends, axis=1).shape[1] == source.size


def test_the_whole_smallest_class_can_be_drawn() -> None:
    adjacency = random_edges(300, 450)
    pairs = prepared(adjacency, sampling_ratio=1.0)
    assert pairs.n_pairs == pairs.sizes.min() == pairs.sizes[0]
    source, target = pairs.draw(0, 1, rng=np.random.default_rng(3))[0, 0, :, : pairs.n_pairs]
    edges = sp.triu(adjacency).tocoo()
    assert set(zip(source.tolist(), target.tolist(), strict=True)) == set(
        zip(edges.row.tolist(), edges.col.tolist(), strict=True)
    )


def test_share_of_the_smallest_class_and_the_cap() -> None:
    adjacency = random_edges(300, 450)
    smallest = prepared(adjacency).sizes.min()
    assert prepared(adjacency, sampling_ratio=0.3).n_pairs == int(0.3 * smallest)
    capped = prepared(adjacency, max_pairs=82)
    assert capped.n_pairs == 20 and capped.labels.tolist() == [0] * 20 + [1] * 20 + [2] * 20 + [3] * 20


def test_same_generator_same_pairs() -> None:
    pairs = prepared(random_edges(300, 450))
    first, again, other = (pairs.draw(0, 2, rng=np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert not np.array_equal(first[0], first[1])


@pytest.mark.parametrize(
    ("sizes", "smallest", "expected"),
    [
        ([137_395, 4.95e6, 8.21e6, 195_623, 3], 200, [0, 1, 2, 3, 3]),  # BlogCatalog at R = 0.2, C = 5
        ([1000, 1000, 1000, 1000], 200, [0, 1, 2, 3]),
        ([1000, 1000, 0, 1000], 200, [0, 1, 1, 2]),
        ([1000, 900, 150, 120], 200, [0, 1, 2, 2]),  # together they are large enough
        ([1000, 900, 50, 60], 200, [0, 1, 1, 1]),
        ([1000, 5, 900, 900], 200, [0, 1, 1, 2]),  # two hops never join the edges themselves
        ([1000, 5, 4, 3], 200, [0, 1, 1, 1]),
        ([10, 1000, 1000, 1000], 200, [0, 1, 2, 3]),  # the edges are one class however few
    ],
)
def test_small_classes_merge_downward(sizes: list[float], smallest: int, expected: list[int]) -> None:
    assert merge_classes(np.array(sizes, dtype=float), smallest).tolist() == expected


def test_pairs_of_merged_classes_are_drawn_from_all_their_hops(path_graph: AttributedGraph) -> None:
    """A path of six has 5, 4, 3, 2, 1 pairs at 1 to 5 hops: under 4 pairs a class, 3, 4 and 5 hops are one."""
    pairs = prepared(path_graph.adjacency, n_classes=5, min_class_pairs=4, sampling_ratio=1.0)
    assert (pairs.n_classes, pairs.n_pairs, pairs.class_of_hop.tolist()) == (3, 4, [0, 1, 2, 2, 2])
    drawn = pairs.draw(0, 50, rng=np.random.default_rng(0)).reshape(50, 2, 3, 4)
    hops = abs(drawn[:, 0] - drawn[:, 1])
    assert [sorted(set(hops[:, c].ravel().tolist())) for c in range(3)] == [[1], [2], [3, 4, 5]]


def test_sizes_from_sampled_sources_are_within_their_error() -> None:
    """Errors as large as stated: the squared deviations, in units of the error, average about one."""
    adjacency = random_edges(300, 450)
    truth = prepared(adjacency).sizes
    deviations = []
    for seed in range(40):
        estimated = prepared(adjacency, max_sources=100, rng=np.random.default_rng(seed))
        assert not estimated.exact and estimated.sizes[0] == truth[0] and estimated.errors[0] == 0
        assert (estimated.errors[1:] > 0).all() and (estimated.errors[1:] < 0.3 * truth[1:]).all()
        deviations.append((estimated.sizes[1:] - truth[1:]) / estimated.errors[1:])
    assert abs(np.array(deviations)).max() < 5
    assert (np.mean(np.square(deviations), axis=0) < 2).all() and (np.mean(np.square(deviations), axis=0) > 0.5).all()


@pytest.mark.parametrize("directed", [False, True])
def test_renumbered_nodes_have_the_same_class_sizes(directed: bool) -> None:
    adjacency = random_edges(150, 250, directed=directed)
    order = np.random.default_rng(7).permutation(150)
    moved = sp.csr_array(adjacency[order][:, order])
    moved.sort_indices()
    before, after = (prepared(edges, directed=directed) for edges in (adjacency, moved))
    assert before.sizes.tolist() == after.sizes.tolist() and before.n_pairs == after.n_pairs


def test_two_threads_draw_the_same_pairs() -> None:
    """Processes of their own, because the number of threads is fixed when the first one starts."""
    code = """
import numpy as np, scipy.sparse as sp
from hopsight.hops.pool import hop_pairs
rng = np.random.default_rng(0)
ends = rng.integers(0, 1_000, size=(2, 2_000))
edges = sp.coo_array((np.ones(4_000), (ends.ravel(), ends[::-1].ravel())), shape=(1_000, 1_000)).tocsr()
pairs = hop_pairs(edges, n_classes=4, sampling_ratio=0.3, max_pairs=9_000, min_class_pairs=1, rng=rng)
print(pairs.sizes.tolist(), pairs.draw(0, 3, rng=rng).tolist())
"""
    one, two = (
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"NUMBA_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    )
    assert one == two and len(one) > 10_000


def test_memory_grows_with_nodes_and_edges_only() -> None:
    """One bit for each pair of 100,000 nodes would take 1.2 GB; a process of its own shows what is really used."""
    code = """
import resource, numpy as np, scipy.sparse as sp
from hopsight.hops.pool import hop_pairs
rng = np.random.default_rng(0)
def go(n, m):
    a, b = rng.integers(0, n, size=(2, m))
    edges = sp.coo_array((np.ones(2 * m), (np.r_[a, b], np.r_[b, a])), shape=(n, n)).tocsr()
    pairs = hop_pairs(edges, n_classes=4, sampling_ratio=0.3, max_pairs=50_000, min_class_pairs=200,
                      rng=rng, max_sources=128)
    return pairs.draw(0, 2, rng=rng)
go(2_000, 20_000)  # what is loaded and compiled is not counted
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert go(100_000, 200_000).shape[3] > 4_000
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 150  # MB


def test_nothing_to_learn_from_is_refused() -> None:
    with pytest.raises(ValueError, match="no edges to learn hop counts from"):
        prepared(sp.csr_array((5, 5)))
    complete = sp.csr_array(np.ones((5, 5)) - np.eye(5))
    with pytest.raises(ValueError, match="every pair of nodes is connected"):
        prepared(complete)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_classes": 1}, "n_classes must be at least 2, got 1"),
        ({"sampling_ratio": 1.5}, "sampling_ratio must be"),
        ({"max_pairs": 0}, "max_pairs must be at least 2, got 0"),
        ({"min_class_pairs": 0}, "min_class_pairs must be at least 1, got 0"),
    ],
)
def test_bad_settings_are_refused(setting: dict[str, Any], message: str, path_graph: AttributedGraph) -> None:
    with pytest.raises(ValueError, match=message):
        prepared(path_graph.adjacency, **setting)
