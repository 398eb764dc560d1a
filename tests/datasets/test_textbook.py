"""Textbook anomalies: each is what its name says, by direct counting, and CrossHCM finds it."""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import hopsight as hs
from hopsight.datasets.textbook import KINDS, N_LOCKSTEP, N_RING, N_SINGLE
from hopsight.graph import AttributedGraph
from toys import refuses

SETTINGS: dict[str, dict[str, Any]] = {
    "5x12": {},
    "12x40": {"n_communities": 12, "n_attributes": 40, "separation": 0.7},
    "2x2": {"n_communities": 2, "n_attributes": 2, "separation": 2.0},
}


def planted_in(graph: AttributedGraph) -> np.ndarray:
    return np.flatnonzero(graph.labels)


def neighbors(graph: AttributedGraph, node: int) -> np.ndarray:
    return graph.adjacency[[node]].indices


@lru_cache
def communities(seed: int = 0, n: int = 1000, n_communities: int = 5) -> np.ndarray:
    """Return the community of each node, which the first draw of the seed decides."""
    first, _ = np.random.default_rng(seed).spawn(2)
    return first.permutation(np.arange(n) % n_communities)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_sizes_and_labels(kind: str, setting: str) -> None:
    graph = hs.make_textbook(kind, n=400, seed=1, **SETTINGS[setting])
    n_planted = {"ring": N_RING, "lockstep": N_LOCKSTEP}.get(kind, N_SINGLE)
    assert graph.n_nodes == 400 and graph.n_attributes == SETTINGS[setting].get("n_attributes", 12)
    assert np.bincount(graph.labels).tolist() == [400 - n_planted, n_planted]
    assert graph.name == f"textbook-{kind.replace(' ', '-')}" and not graph.directed


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_ordinary_part(setting: str) -> None:
    """Ten edges per node, heavy-tailed, a tenth across communities; centers apart by separation · √(2 · columns)."""
    graph = hs.make_textbook("outlier", **SETTINGS[setting])
    chosen = {"n_communities": 5, "n_attributes": 12, "separation": 1.5} | SETTINGS[setting]
    group = communities(n_communities=chosen["n_communities"])
    assert graph.n_edges == 5_000 and graph.degrees.max() > 5 * graph.degrees.mean()
    assert (group[graph.edges[0]] != group[graph.edges[1]]).mean() == pytest.approx(0.1, abs=0.02)
    rows = np.delete(graph.attributes, planted_in(graph), axis=0)
    group = np.delete(group, planted_in(graph))
    centers = np.array([rows[group == c].mean(axis=0) for c in range(chosen["n_communities"])])
    apart = np.linalg.norm(centers[:, None] - centers, axis=2)[np.triu_indices(len(centers), 1)]
    expected = chosen["separation"] * np.sqrt(2 * chosen["n_attributes"])
    np.testing.assert_allclose(apart, expected, rtol=0.15)  # orthogonal centers: any two are as far apart
    assert (rows - centers[group]).std() == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize(("kind", "hub"), [("stranger", False), ("stranger hub", True)])
def test_a_stranger_has_all_edges_in_one_other_community(kind: str, hub: bool) -> None:
    graph, group = hs.make_textbook(kind), communities()
    largest = hs.make_textbook("outlier").degrees.max()
    for node in planted_in(graph):
        around = set(group[neighbors(graph, node)].tolist())
        assert len(around) == 1 and group[node] not in around
        assert graph.degrees[node] == largest if hub else 4 <= graph.degrees[node] < largest


def test_a_spam_hub_has_the_largest_degree_and_edges_to_anybody() -> None:
    graph, group = hs.make_textbook("spam hub"), communities()
    assert (graph.degrees[planted_in(graph)] == hs.make_textbook("outlier").degrees.max()).all()
    for node in planted_in(graph):
        shares = np.bincount(group[neighbors(graph, node)], minlength=5) / graph.degrees[node]
        assert shares.min() > 0.05 and shares.max() < 0.4


def test_a_ring_is_a_clique_of_all_communities() -> None:
    graph = hs.make_textbook("ring")
    ring = planted_in(graph)
    assert graph.adjacency[ring][:, ring].sum() == N_RING * (N_RING - 1)
    assert sorted(np.bincount(communities()[ring], minlength=5).tolist()) == [2, 2, 2, 3, 3]


def test_a_lockstep_group_is_a_clique_of_near_copies() -> None:
    graph = hs.make_textbook("lockstep")
    group = planted_in(graph)
    assert graph.adjacency[group][:, group].sum() == N_LOCKSTEP * (N_LOCKSTEP - 1)
    assert graph.attributes[group].std(axis=0).max() < 0.1 < graph.attributes.std(axis=0).min()
    assert np.unique(communities()[group]).size == 1


@pytest.mark.parametrize("kind", ["outlier", "outlier hub", "isolated outlier"])
def test_every_attribute_of_an_outlier_is_four_deviations_off(kind: str) -> None:
    graph, plain = hs.make_textbook(kind), hs.make_textbook("stranger")
    planted = planted_in(graph)
    assert np.array_equal(planted, planted_in(plain))  # the same nodes of the same ordinary graph
    off = abs(graph.attributes - plain.attributes) / plain.attributes.std(axis=0)
    np.testing.assert_allclose(off[planted], 4.0, rtol=0.1)
    assert not np.delete(off, planted, axis=0).any()


def test_edges_of_the_three_outliers() -> None:
    plain, hub, alone = (hs.make_textbook(kind) for kind in ("outlier", "outlier hub", "isolated outlier"))
    group, planted = communities(), planted_in(plain)
    for node in planted:
        assert plain.degrees[node] < 60 and hub.degrees[node] == plain.degrees.max() and alone.degrees[node] == 0
        assert set(group[neighbors(hub, node)].tolist()) == {int(group[node])}


def test_half_of_the_edges_of_a_bridge_lead_to_another_community() -> None:
    graph, group = hs.make_textbook("bridge"), communities()
    for node in planted_in(graph):
        around = group[neighbors(graph, node)]
        at_home = int((around == group[node]).sum())
        assert np.unique(around).size == 2 and abs(2 * at_home - around.size) <= 1


def test_the_seed_determines_everything() -> None:
    first, again, other = (hs.make_textbook("ring", n=200, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(first.edges, again.edges) and np.array_equal(first.attributes, again.attributes)
    assert first.edges.shape != other.edges.shape or not np.array_equal(first.edges, other.edges)


@pytest.mark.parametrize(("kind", "settings", "message"), [
    ("rings", {}, r"kind must be one of .* did you mean ring\?"),
    ("ring", {"n": 99}, "n must be at least 100, got 99"), ("ring", {"seed": -1}, "seed must be at least 0, got -1"),
    ("ring", {"n_communities": 1}, "n_communities must be at least 2 and at most 50, got 1"),
    ("ring", {"n": 100, "n_communities": 6}, "n_communities must be at least 2 and at most 5, got 6"),
    ("ring", {"n_attributes": 0}, "n_attributes must be at least 1, got 0"),
    ("ring", {"separation": 0.0}, "separation must be above 0, got 0.0"),
])  # fmt: skip
def test_impossible_requests_are_refused(kind: str, settings: dict[str, Any], message: str) -> None:
    refuses(message, hs.make_textbook, kind, **settings)


def standing(graph: AttributedGraph, scores: np.ndarray) -> tuple[float, float]:
    """Return the mean percentile of the planted nodes, and their share among the first 2k of the ranking."""
    planted = planted_in(graph)
    rank = np.empty(graph.n_nodes)
    rank[np.argsort(-scores, kind="stable")] = np.arange(graph.n_nodes)
    return float(1 - rank[planted].mean() / graph.n_nodes), float((rank[planted] < 2 * planted.size).mean())


def test_the_default_finds_a_group() -> None:
    graph = hs.make_textbook("ring", 600)
    assert standing(graph, hs.CrossHCM().fit(graph).decision_score_)[1] >= 0.75


@pytest.mark.parametrize("kind", ["outlier", "stranger hub"])
def test_a_short_training_finds_outliers_and_hubs(kind: str) -> None:
    graph = hs.make_textbook(kind)
    model = hs.CrossHCM(n_epochs=60, burn_in=30).fit(graph)
    assert standing(graph, model.decision_score_)[1] >= 0.75


N_SEEDS = 10
FIRST_2K = dict.fromkeys(("stranger hub", "spam hub", "ring", "outlier", "outlier hub"), 0.75)
PERCENTILE = {"stranger": 0.95, "isolated outlier": 0.95, "bridge": 0.90, "lockstep": 0.93}
LOWER = {("12x40", "bridge"): 0.88, ("12x40", "stranger"): 0.93}  # weakly separated attributes, see RESULTS.md


def floor(setting: str, kind: str) -> tuple[float, float]:
    """Return the least percentile and the least share among the first 2k; 0 asks for nothing."""
    third = setting == "2x2"
    if kind in FIRST_2K:
        return 0.0, 0.6 if third else FIRST_2K[kind]
    return LOWER.get((setting, kind), PERCENTILE[kind] - (0.15 if third else 0.0)), 0.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_floors_over_ten_seeds(setting: str, kind: str) -> None:
    evidence = {"evidence": (*hs.CrossHCM.evidence, "lockstep")} if kind == "lockstep" else {}
    found = []
    for seed in range(N_SEEDS):
        graph = hs.make_textbook(kind, seed=seed, **SETTINGS[setting])
        found.append(standing(graph, hs.CrossHCM(seed=seed, **evidence).fit(graph).decision_score_))
    percentile, first = np.mean(found, axis=0)
    least_percentile, least_first = floor(setting, kind)
    assert percentile >= least_percentile and first >= least_first, f"percentile {percentile:.3f}, first 2k {first:.2f}"
