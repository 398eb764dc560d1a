"""Groups and flags: hardly anything in noise, and what was planted."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from hopsight.canonical import Context
from hopsight.datasets.textbook import make_textbook
from hopsight.explanations.groups import around
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.groups import LEAST_SIDE, all_groups, find_groups, sharing_groups
from toys import quick


def clique(*members: int) -> list[tuple[int, int]]:
    return list(combinations(members, 2))


def groups_of(
    pairs: list[tuple[int, int]], n_nodes: int, *, sides: np.ndarray | None = None, suspects: np.ndarray | None = None
) -> list[tuple[list[int], float, float]]:
    edges = np.array(pairs).T
    evidence = np.arange(n_nodes, dtype=float)
    found = find_groups(
        "ring", edges, np.ones(edges.shape[1]) if sides is None else sides, evidence,
        np.ones(n_nodes, dtype=bool) if suspects is None else suspects,
    )  # fmt: skip
    assert all(group.kind == "ring" for group in found)
    return [(group.members.tolist(), group.density, group.score) for group in found]


SQUARE, FIVE = clique(0, 1, 2, 3), clique(0, 1, 2, 3, 4)
FOUR = [([3, 2, 1, 0], 1.0, 1.5)]  # members come by evidence, which is their number here


def familiar(pairs: list[tuple[int, int]], *which: tuple[int, int], other: float = 1.0) -> np.ndarray:
    return np.array([0.0 if pair in which else other for pair in pairs])


GROUPS: dict[str, tuple[Any, ...]] = {
    "two cliques, the stronger first, and a bridge that closes no triangle": (
        [*SQUARE, *clique(4, 5, 6, 7), (3, 4)], 8, {}, [([7, 6, 5, 4], 1.0, 5.5), *FOUR]),
    # by chance, power-law graphs have triangles that share a node or an edge
    "single triangles and chains of them": ([*clique(0, 1, 2), *clique(2, 3, 4), (5, 3), (5, 4)], 6, {}, []),
    "only suspects are members": (
        FIVE, 5, {"suspects": np.array([True, True, True, False, True])}, [([4, 2, 1, 0], 1.0, 1.75)]),
    "no suspects": (SQUARE, 4, {"suspects": np.zeros(4, dtype=bool)}, []),
    "nine strange sides hold five together, and the familiar 3 – 4 counts as density": (
        FIVE, 5, {"sides": familiar(FIVE, (3, 4), other=LEAST_SIDE)}, [([4, 3, 2, 1, 0], 1.0, 2.0)]),
    "the same without 3 – 4": (
        [pair for pair in FIVE if pair != (3, 4)], 5, {}, [([4, 3, 2, 1, 0], 0.9, 2.0)]),
    "no side is strange": (SQUARE, 4, {"sides": np.full(6, 0.9 * LEAST_SIDE)}, []),
    "all sides are": (SQUARE, 4, {}, FOUR),
    # then the other edges of 2 and 3 close one triangle each; without them, 0 – 1 closes none
    "without 2 – 3, which is familiar, all fall apart": (SQUARE, 4, {"sides": familiar(SQUARE, (2, 3))}, []),
}  # fmt: skip


@pytest.mark.parametrize("case", GROUPS)
def test_groups_by_hand(case: str) -> None:
    pairs, n_nodes, options, expected = GROUPS[case]
    assert groups_of(pairs, n_nodes, **options) == expected


def test_what_most_nodes_have_makes_no_group() -> None:
    edges, side = np.array(clique(0, 1, 2, 3)).T, {"lockstep": np.ones(6)}
    found = [all_groups(edges, side, {"lockstep": 1.0 * (np.arange(n) < 4)}, {"lockstep": 0.5}, None) for n in (8, 7)]
    assert [len(each) for each in found] == [1, 0]  # four of eight, four of seven


@pytest.mark.parametrize("seed", range(3))
def test_groups_are_components_of_edges_in_triangles(seed: int) -> None:
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = networkx.gnp_random_graph(60, 0.2, seed=seed)
    truss = networkx.k_truss(graph, 4)  # the edges that close two triangles of such edges
    expected = sorted(sorted(part) for part in networkx.connected_components(truss))
    found = groups_of(list(graph.edges), 60)
    assert expected and sorted(sorted(members) for members, _, _ in found) == expected
    for members, density, score in found:
        assert density == pytest.approx(networkx.density(graph.subgraph(members)))
        assert score == pytest.approx(np.mean(members))
    assert [score for _, _, score in found] == sorted((score for _, _, score in found), reverse=True)


def test_users_around_one_device_are_a_group() -> None:
    # Devices 0 and 1 have the users 0 to 3, device 2 everybody, device 3 the users 4 and 5.
    users = [*range(4), *range(4), *range(11), 4, 5]
    devices = [0] * 4 + [1] * 4 + [2] * 11 + [3] * 2
    links = np.array(sorted(zip(users, devices, strict=True))).T
    context = Context(np.zeros((11, 0)), (), ("device",), ("a", "b", "c", "d"), np.zeros(4), (4, 4, 11, 2), links)
    evidence = np.array([3.0, 4.0, 3.5, 1.0, 5.0, 5.0, *np.zeros(5)])
    (group,) = sharing_groups(context.checked(11), np.array(clique(0, 1, 2)).T, evidence, evidence > 2.0)
    assert (group.kind, group.members.tolist(), group.around) == ("sharing", [1, 2, 0, 3], (0, 1))
    assert group.density == 0.5 and group.score == 2.875
    graph = AttributedGraph.from_edges([0, 1], [1, 2], np.zeros((11, 1)), context=context)
    said = "They share device a (4 of 4 members) and device b (4 of 4 members)."
    assert around(graph, group) == around(graph, replace(group, kind="ring", around=())) == said


def test_persons_who_share_a_garage_and_a_doctor_are_a_group_though_many_share_each() -> None:
    """Persons 0 to 11 have garage g, 0 to 4 and 12 to 19 doctor d; of five who have both, 0 to 3 are suspects."""
    persons, others = [*range(12), *range(5), *range(12, 20)], [1] * 12 + [0] * 13
    links = np.array(sorted(zip(persons, others, strict=True))).T
    context = Context(np.zeros((20, 0)), (), ("doctor", "garage"), ("d", "g"), [0, 1], (13, 12), links).checked(20)
    evidence = np.array([3.0, 3.0, 3.0, 3.0, *np.zeros(16)])
    edges = np.array(clique(0, 1, 2, 3)).T
    (group,) = sharing_groups(context, edges, evidence, evidence > 2.0)
    assert (group.members.tolist(), group.around, group.density, group.score) == ([0, 1, 2, 3, 4], (0, 1), 0.6, 2.4)
    assert sharing_groups(context, edges, evidence, np.arange(20) < 2) == []  # two of five


def noise(seed: int, n: int = 150) -> AttributedGraph:
    rng = np.random.default_rng(seed)
    return AttributedGraph.from_edges(*rng.integers(n, size=(2, 3 * n)), rng.normal(size=(n, 6)))


def complete_bipartite(seed: int) -> AttributedGraph:
    ends = np.stack(np.meshgrid(np.arange(10), 10 + np.arange(20))).reshape(2, -1)
    return AttributedGraph.from_edges(*ends, np.random.default_rng(seed).normal(size=(30, 4)))


@pytest.mark.parametrize("make", [noise, complete_bipartite])
def test_four_of_five_graphs_of_noise_have_no_flag_and_no_group(make: object) -> None:
    models = [CrossHCM(device="cpu").fit(make(seed)) for seed in range(5)]  # type: ignore[operator]
    assert sum(model.label_.any() for model in models) <= 1
    assert sum(model.edge_label_.mean() > 0.001 for model in models) <= 1
    assert sum(len(model.groups_) > 0 for model in models) <= 1


@pytest.mark.parametrize("score", ["hav", "ahp"])
def test_scores_of_the_paper_have_a_threshold_of_their_own(score: str) -> None:
    model = quick("cross_hcm", score=score).fit(noise(0))
    assert model.label_.sum() <= 1 and model.threshold_ < 3 * model.decision_score_.max()


@pytest.mark.parametrize("kind", ["ring", "outlier hub"])
def test_planted_anomalies_are_flagged(kind: str) -> None:
    graph = make_textbook(kind, 600, 1)
    model = quick("cross_hcm").fit(graph)
    planted = graph.labels == 1
    assert model.label_[planted].mean() > 0.6 and model.label_[~planted].sum() <= 3
