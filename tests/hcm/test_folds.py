"""Hidden edges: each once a repeat, decided by ids and seed alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from hopsight.graph import AttributedGraph
from hopsight.hcm.folds import hidden_edges, mix, node_hashes, split_seed
from toys import renumbered


def as_sets(graph: AttributedGraph, masks: list[np.ndarray]) -> list[set[frozenset[object]]]:
    """Return the hidden edges of each mask by the ids of their ends."""
    ends = graph.node_ids[graph.edges]
    return [{frozenset(edge) for edge in ends[:, mask].T.tolist()} for mask in masks]


@pytest.fixture
def named(random_graph: AttributedGraph) -> AttributedGraph:
    ids = [f"person {i}" for i in range(60)]
    return AttributedGraph(random_graph.adjacency, random_graph.attributes, node_ids=ids)


@pytest.mark.parametrize("n_folds", [2, 3, 7])
def test_every_edge_is_hidden_once_in_every_repeat(named: AttributedGraph, n_folds: int) -> None:
    masks = hidden_edges(named, 4, n_folds, 5)
    assert len(masks) == n_folds * 5
    for repeat in range(5):
        part = np.array(masks[repeat * n_folds : (repeat + 1) * n_folds])
        assert (part.sum(axis=0) == 1).all()
        low, high = binom.ppf([1e-5, 1 - 1e-5], named.n_edges, 1 / n_folds)
        assert ((low <= part.sum(axis=1)) & (part.sum(axis=1) <= high)).all()


def test_repeats_and_seeds_split_differently(named: AttributedGraph) -> None:
    masks = hidden_edges(named, 0, 2, 6)
    again = hidden_edges(named, 0, 2, 6)
    assert all(np.array_equal(a, b) for a, b in zip(masks, again, strict=True))
    others = [hidden_edges(named, seed, 2, 1)[0] for seed in (1, 2, 3)]
    for first, second in [(masks[0], masks[2]), (masks[2], masks[4]), (masks[0], others[0]), (others[0], others[1])]:
        shared = (first == second).sum()  # two independent halves agree on about half of the edges
        assert binom.ppf(1e-6, named.n_edges, 0.5) < shared < binom.ppf(1 - 1e-6, named.n_edges, 0.5)


def test_renumbered_nodes_hide_the_same_edges(named: AttributedGraph, rng: np.random.Generator) -> None:
    moved = renumbered(named, rng.permutation(60))
    assert as_sets(named, hidden_edges(named, 3, 2, 4)) == as_sets(moved, hidden_edges(moved, 3, 2, 4))


def test_other_edges_do_not_matter(named: AttributedGraph) -> None:
    keep = np.ones(named.n_edges, dtype=bool)
    keep[[0, 10, 50]] = False
    fewer = AttributedGraph.from_edges(
        named.edges[0, keep], named.edges[1, keep], named.attributes, node_ids=named.node_ids
    )
    for mask, mask_of_fewer in zip(hidden_edges(named, 3, 2, 4), hidden_edges(fewer, 3, 2, 4), strict=True):
        assert np.array_equal(mask[keep], mask_of_fewer)


def test_numbers_and_their_text_are_the_same_node(random_graph: AttributedGraph) -> None:
    as_text = AttributedGraph(
        random_graph.adjacency, random_graph.attributes, node_ids=[str(node) for node in random_graph.node_ids]
    )
    assert as_text.node_ids.dtype == object and random_graph.node_ids.dtype == np.int64
    assert np.array_equal(hidden_edges(random_graph, 1, 2, 2), hidden_edges(as_text, 1, 2, 2))


def test_both_arcs_between_two_nodes_are_hidden_together() -> None:
    both_ways = AttributedGraph(np.ones((12, 12)), np.zeros((12, 1)), directed=True)
    for mask in hidden_edges(both_ways, 0, 2, 3):
        hidden = np.zeros((12, 12), dtype=bool)
        hidden[both_ways.edges[0], both_ways.edges[1]] = mask
        assert np.array_equal(hidden, hidden.T)


@pytest.mark.parametrize("seed", [0, 2**63, 2**64 - 1, 2**70])
def test_any_seed_will_do(named: AttributedGraph, seed: int) -> None:
    assert 0 < hidden_edges(named, seed, 2, 1)[0].sum() < named.n_edges


def test_no_seed_is_a_random_one() -> None:
    assert split_seed(5) == 5 and split_seed(None) != split_seed(None)


@pytest.mark.parametrize("strange", ["", "a\nb", "\ud800", "x" * 10_000, "日本"])
def test_any_id_has_a_hash(strange: str) -> None:
    ids = np.array(["plain", strange], dtype=object)
    assert np.unique(node_hashes(ids)).size == 2


def test_hashes_are_the_same_everywhere() -> None:
    """Values that other engines must reproduce; SplitMix64 of 1 and 2 as published with Java's generator."""
    assert node_hashes(np.array([7, 8])).tolist() == node_hashes(np.array(["7", "8"], dtype=object)).tolist()
    step = 0x9E3779B97F4A7C15
    assert mix(np.array([step, 2 * step % 2**64], dtype=np.uint64)).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


def test_some_edges_are_hidden_as_they_are_among_all(named: AttributedGraph) -> None:
    some = np.array([1, 4, 7, named.n_edges - 1])
    for mask, part in zip(hidden_edges(named, 3, 3, 2), hidden_edges(named, 3, 3, 2, some), strict=True):
        assert mask[some].tolist() == part.tolist()
