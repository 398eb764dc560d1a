"""Splits: every edge is judged by exactly one network that neither sees it nor learns from it."""

import numpy as np
import pytest
from scipy.stats import binom

from hopsight.graph import AttributedGraph
from hopsight.hcm.splits import Splits, edge_hashes, mix
from hopsight.system.arrays import id_hashes
from toys import without_edges


@pytest.fixture
def named(random_graph: AttributedGraph) -> AttributedGraph:
    ids = [f"person {i}" for i in range(60)]
    return AttributedGraph(random_graph.adjacency, random_graph.attributes, node_ids=ids)


def by_ids(graph: AttributedGraph, splits: Splits) -> dict[frozenset[object], tuple[object, ...]]:
    """Return, for each edge by the ids of its ends, its part and which folds hide it and learn from it."""
    hashes = edge_hashes(graph)
    columns = [splits.of(hashes).part]
    placed = splits.of(hashes)
    columns += [mask(fold) for fold in splits.folds for mask in (placed.hidden, placed.positives)]
    ends = graph.node_ids[graph.edges].T.tolist()
    return {frozenset(edge): tuple(row) for edge, row in zip(ends, np.array(columns).T.tolist(), strict=True)}


@pytest.mark.parametrize(("n_folds", "n_inner"), [(2, 2), (3, 6), (7, 3)])
def test_every_edge_is_judged_by_one_network_that_never_meets_it(
    named: AttributedGraph, n_folds: int, n_inner: int
) -> None:
    splits, hashes = Splits(4, n_folds, n_inner), edge_hashes(named)
    assert list(splits.folds) == list(range(n_folds * n_inner))
    part = splits.of(hashes).part
    assert set(part.tolist()) == set(range(n_folds))
    for network in range(n_folds):
        for fold in range(network * n_inner, (network + 1) * n_inner):
            hidden, positives = splits.of(hashes).hidden(fold), splits.of(hashes).positives(fold)
            assert hidden[part == network].all() and not positives[part == network].any()
            assert hidden[positives].all()  # an example of one hop is hidden, too, or the network would look for it
            assert np.array_equal(hidden & (part != network), positives)


def test_the_other_edges_are_positives_of_exactly_one_fold_of_a_network(named: AttributedGraph) -> None:
    splits, hashes = Splits(4, 3, 6), edge_hashes(named)
    for network in range(3):
        masks = np.array([splits.of(hashes).positives(network * 6 + inner) for inner in range(6)])
        assert np.array_equal(masks.sum(axis=0), splits.of(hashes).part != network)
        low, high = binom.ppf([1e-5, 1 - 1e-5], (splits.of(hashes).part != network).sum(), 1 / 6)
        assert ((low <= masks.sum(axis=1)) & (masks.sum(axis=1) <= high)).all()


def test_seeds_split_differently_and_inner_folds_do_not_follow_the_parts() -> None:
    hashes = mix(np.arange(20_000, dtype=np.uint64))
    parts = [Splits(seed, 2, 2).of(hashes).part for seed in (0, 0, 1, 2)]
    assert np.array_equal(parts[0], parts[1])
    inner = Splits(0, 2, 2).of(hashes).positives(0) | Splits(0, 2, 2).of(hashes).positives(2)
    for first, second in ((parts[0], parts[2]), (parts[2], parts[3]), (parts[0] == 0, inner)):
        shared = (first == second).sum()  # two independent halves agree on about half of the edges
        assert binom.ppf(1e-6, 20_000, 0.5) < shared < binom.ppf(1 - 1e-6, 20_000, 0.5)


def test_other_edges_do_not_matter(named: AttributedGraph) -> None:
    fewer = without_edges(named, [0, 10, 50])
    whole, some = by_ids(named, Splits(3, 2, 4)), by_ids(fewer, Splits(3, 2, 4))
    assert some == {edge: whole[edge] for edge in some} and len(some) == len(whole) - 3


def test_both_arcs_between_two_nodes_are_hidden_together() -> None:
    both_ways = AttributedGraph(np.ones((12, 12)), np.zeros((12, 1)), directed=True)
    hashes, splits = edge_hashes(both_ways), Splits(0, 2, 3)
    for fold in splits.folds:
        hidden = np.zeros((12, 12), dtype=bool)
        hidden[both_ways.edges[0], both_ways.edges[1]] = splits.of(hashes).hidden(fold)
        assert np.array_equal(hidden, hidden.T) and hidden.any() and not hidden.all()


def test_hashes_are_the_same_on_every_engine() -> None:
    """Values that other engines must reproduce; SplitMix64 of 1 and 2 as published with Java's generator."""
    assert id_hashes(np.array([7, 8])).tolist() == id_hashes(np.array(["7", "8"], dtype=object)).tolist()
    step = 0x9E3779B97F4A7C15
    assert mix(np.array([step, 2 * step % 2**64], dtype=np.uint64)).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


def test_parts_follow_the_formula_in_plain_integers() -> None:
    """What an engine without NumPy would compute: SplitMix64's finalizer, then the upper half times the parts."""

    def finalize(word: int) -> int:
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
        return word ^ word >> 31

    hashes, splits = mix(np.arange(50, dtype=np.uint64)), Splits(9, 3, 5)
    for edge, part, inner in zip(hashes.tolist(), splits.of(hashes).part, splits.of(hashes).inner, strict=True):
        state = finalize(edge ^ finalize(9))
        assert part == (finalize(state) >> 32) * 3 >> 32
        assert inner == (finalize((state + 0x9E3779B97F4A7C15) % 2**64) >> 32) * 5 >> 32
