"""The reasons behind nodes, edges and groups are those that were planted."""

from __future__ import annotations

import dataclasses
import json
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import hopsight as hs
from hopsight.explanations import Explainer, explain
from hopsight.explanations.groups import Groups, Shared
from hopsight.graph import AttributedGraph
from hopsight.hcm.groups import Group
from hopsight.metrics import ranks


def test_neighbors_come_farthest_first(fitted: Any) -> None:
    reasons = explain(fitted, "hub")
    assert [each.node for each in reasons.neighbors] == ["c", "a", "d", "b"]
    assert [each.hop for each in reasons.neighbors] == [4.0, 3.0, 2.0, 1.0]
    assert reasons.neighbors[0].probability == 0.05
    assert reasons.neighbors[0].rank == 2  # c has the second highest score


def test_rank_flag_and_percentiles_place_the_node_in_the_graph(fitted: Any) -> None:
    reasons = explain(fitted, "hub")
    assert (reasons.rank, reasons.n_nodes, reasons.flagged, reasons.degree) == (1, 6, True, 4)
    assert reasons.degree_percentile == pytest.approx(100 * 5 / 6)
    ahp = reasons.values[0]
    assert (ahp.name, ahp.value) == ("ahp", 2.5)
    assert ahp.percentile == pytest.approx(100 * 4 / 6)  # only c's is higher
    assert explain(fitted, "d").rank == 6


def test_a_node_without_edges_is_not_judged_and_says_so(fitted: Any) -> None:
    reasons = explain(fitted, "lone")
    assert not reasons.judged
    assert reasons.neighbors == ()
    assert reasons.attributes == ()
    assert any("no edges" in note for note in reasons.notes)
    assert any("median" in note for note in reasons.notes)


def test_rescoring_removes_the_farthest_edges_but_never_the_last_one(fitted: Any) -> None:
    asked: list[tuple[int, list[int]]] = []

    def score_without(graph: AttributedGraph, position: int, edges: Any) -> float:
        asked.append((position, edges.tolist()))
        return 0.97

    fitted.score_without = score_without
    without = explain(fitted, "hub", absent=2).without
    assert asked == [(0, [2, 0])]  # hub–c and hub–a
    assert without is not None
    assert (without.neighbors, without.score, without.rank) == (("c", "a"), 0.97, 3)
    assert explain(fitted, "c").without is None
    assert len(explain(fitted, "hub", absent=9).without.neighbors) == 3  # type: ignore[union-attr]
    assert explain(fitted, "hub", absent=0).without is None


def test_edges_that_speak_for_a_node_are_no_counterfactual(fitted: Any) -> None:
    fitted.score_without = lambda graph, position, edges: 2.0  # no less than the score of the hub
    assert explain(fitted, "hub").without is None


def test_a_neighbor_without_a_row_is_not_compared(fitted: Any) -> None:
    known = np.array([True, True, True, False, True, True])  # all but c
    fitted.graph_ = dataclasses.replace(fitted.graph_, known=known)
    hub, edge = explain(fitted, "hub"), explain(fitted, "hub", "c")
    assert [each.node for each in hub.neighbors if each.hop is None] == ["c"]
    assert "The 3 neighbors with attributes look 2.0 hops away on average" in str(hub)
    assert hub.attributes[0].high == 33.0 and not edge.attributes
    assert hub.unusual == "It differs most in age: 90, while its neighbors with attributes have 30 to 33."
    assert hub.attributes[0].percentile == 80.0  # of five nodes with an age, four are younger
    assert edge.summary == "Ranks 1 of 5 edges: an end has no attributes to compare."
    fitted.graph_ = dataclasses.replace(fitted.graph_, known=np.arange(6) == 0)
    alone = explain(fitted, "hub")
    assert "no neighbor has a row in the node table, so there are no attributes to compare." in alone.notes
    assert not alone.attributes and "hops away" not in str(alone) and "P(1 hop)" not in str(alone)


def test_a_detector_that_cannot_rescore_says_so(fitted: Any) -> None:
    reasons = explain(fitted, "hub")
    assert reasons.without is None
    assert "HandMade cannot score the node again without some of its edges." in reasons.notes


def test_without_hops_neighbors_are_ordered_by_score_and_nothing_is_invented(fitted: Any) -> None:
    for name in ("edge_hop_", "edge_variance_", "edge_probability_", "ahp_", "iv_"):
        delattr(fitted, name)
    fitted.attribute_error_ = np.arange(6.0)
    reasons = explain(fitted, "hub")
    assert [each.node for each in reasons.neighbors] == ["c", "a", "b", "d"]
    assert {each.hop for each in reasons.neighbors} == {None}
    assert [(value.name, value.value) for value in reasons.values] == [("attribute_error", 0.0)]
    edge = explain(fitted, "a", "b")
    assert (edge.hop, edge.rank, edge.reason) == (None, None, None)
    assert "judges nodes, not edges" in str(edge)


def test_edge_knows_its_rank_and_common_neighbors(fitted: Any) -> None:
    edge = explain(fitted, "a", "hub")
    assert (edge.rank, edge.n_edges, edge.hop, edge.variance, edge.probability) == (2, 5, 3.0, 0.5, 0.1)
    assert edge.common_neighbors == 1  # b
    assert edge.attributes[0].name == "age"
    assert (edge.attributes[0].value, edge.attributes[0].median) == (30.0, 90.0)


def test_in_a_directed_graph_the_two_directions_are_two_edges(fitted: Any) -> None:
    graph = AttributedGraph.from_edges([0, 1, 2], [1, 0, 0], np.array([[1.0], [2.0], [4.0]]), directed=True)
    assert graph.edges.tolist() == [[0, 1, 2], [1, 0, 0]]
    fitted.graph_, fitted.edge_index_ = graph, graph.edges
    fitted.decision_score_, fitted.judged_ = np.array([3.0, 2.0, 1.0]), np.ones(3, dtype=bool)
    fitted.edge_hop_, fitted.edge_variance_ = np.array([1.0, 3.0, 2.0]), np.zeros(3)
    fitted.edge_probability_, fitted.ahp_ = np.array([0.9, 0.1, 0.5]), np.array([2.0, 2.0, 2.0])
    reasons = explain(fitted, 0)
    assert [each.node for each in reasons.neighbors] == [1, 2, 1]
    assert [each.hop for each in reasons.neighbors] == [3.0, 2.0, 1.0]
    assert explain(fitted, 0, 1).hop == 1.0
    assert explain(fitted, 1, 0).hop == 3.0
    assert explain(fitted, 0, 2).hop == 2.0  # only the edge back exists


def test_everything_turns_into_json(fitted: Any) -> None:
    for reasons in (explain(fitted, "hub"), explain(fitted, "hub", "a")):
        assert json.loads(json.dumps(reasons.to_dict(), allow_nan=False)) == reasons.to_dict()


@pytest.mark.parametrize(("node", "words"), [("nobody", "no node 'nobody'"), ("hub", "top must be at least 1, got 0")])
def test_bad_arguments_are_named(fitted: Any, node: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        explain(fitted, node, top=0 if node == "hub" else 5)


def test_an_edge_that_does_not_exist_is_refused(fitted: Any) -> None:
    with pytest.raises(ValueError, match="no edge between 'a' and 'c'"):
        explain(fitted, "a", "c")


def test_another_graph_is_refused(fitted: Any, path_graph: AttributedGraph, two_cliques: AttributedGraph) -> None:
    with pytest.raises(ValueError, match="the edges HandMade was fitted on"):
        explain(fitted, 0, graph=path_graph)
    with pytest.raises(ValueError, match="must have the 6 nodes HandMade was fitted on, it has 8"):
        explain(fitted, 0, graph=two_cliques)
    fitted.graph_ = None
    with pytest.raises(ValueError, match="without its graph: pass graph="):
        explain(fitted, 0)
    del fitted.decision_score_
    with pytest.raises(ValueError, match="not fitted"):
        explain(fitted, 0)


def test_a_node_of_a_large_graph_is_explained_in_a_second(fitted: Any, rng: np.random.Generator) -> None:
    n_nodes, n_edges = 100_000, 500_000
    ends = rng.integers(0, n_nodes, size=(2, n_edges))
    graph = AttributedGraph.from_edges(*ends, rng.normal(size=(n_nodes, 32)).astype(np.float32))
    fitted.graph_, fitted.edge_index_, fitted.decision_score_ = graph, graph.edges, rng.random(n_nodes)
    fitted.edge_hop_, fitted.edge_probability_ = rng.random((2, graph.n_edges))
    fitted.edge_variance_, fitted.judged_ = fitted.edge_hop_, graph.degrees > 0
    seconds = []
    for node in (17, 18, 19):  # the best of three, because other programs may be busy
        start = time.perf_counter()
        explain(fitted, node)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 1.0


def test_a_node_that_is_not_there_is_answered_with_those_spelled_alike(fitted: Any) -> None:
    names = [f"ACC10{node}" for node in range(fitted.graph_.n_nodes)]
    renamed = dataclasses.replace(fitted.graph_, node_ids=names)
    with pytest.raises(ValueError, match="there is no node 'acc1' in this graph; did you mean ACC100 or ACC101"):
        Explainer(fitted, renamed).node("acc1")


N, PLANTED = 400, range(0, 100, 10)  # nodes 0 to 199 are one community, the others another


def communities() -> hs.AttributedGraph:
    """Return two communities; each planted node has an odd attribute and three edges into the other community."""
    rng = np.random.default_rng(0)
    side = np.repeat([0, 1], N // 2)
    attributes = rng.normal(4.0 * side[:, None], 1.0, size=(N, 8))
    source = np.repeat(np.arange(N), 4)
    target = side[source] * (N // 2) + rng.integers(0, N // 2, source.size)
    across = [(node, N // 2 + (7 * node + step) % (N // 2)) for node in PLANTED for step in range(3)]
    for node in PLANTED:
        attributes[node, node // 10 % 8] = -12.0
    source, target = np.concatenate([source, [a for a, _ in across]]), np.concatenate([target, [b for _, b in across]])
    kept = source != target
    return hs.AttributedGraph.from_edges(source[kept], target[kept], attributes)


@pytest.fixture(scope="module")
def model() -> hs.CrossHCM:
    return hs.CrossHCM(seed=0, n_epochs=60, burn_in=30).fit(communities())


def test_the_planted_attribute_is_among_the_first_three(model: hs.CrossHCM) -> None:
    explainer, names = Explainer(model), model.graph_.attribute_names
    for node in PLANTED:
        named = [gap.name for gap in explainer.node(node, absent=0).attributes[:3]]
        assert names[node // 10 % 8] in named, (node, named)


def test_planted_edges_come_before_the_honest_ones(model: hs.CrossHCM) -> None:
    explainer = Explainer(model)
    for node in PLANTED:
        across = [int(each.node) >= N // 2 for each in explainer.node(node, absent=0).neighbors]
        assert sum(across) >= 3
        assert all(across[:3]), (node, across)


def test_the_ahp_of_a_node_is_the_mean_hop_of_its_neighbors(model: hs.CrossHCM) -> None:
    explainer = Explainer(model)
    for position in range(0, N, 40):
        hops = [each.hop for each in explainer.node(position, absent=0).neighbors if each.hop is not None]
        assert np.mean(hops) == pytest.approx(model.ahp_[position], rel=1e-6)


@pytest.fixture
def groups() -> Groups:
    """Return a ring and a lockstep group among six nodes."""
    graph = AttributedGraph.from_edges([0, 1], [1, 2], np.arange(6.0)[:, None], node_ids=list("abcdef"))
    scores = np.array([1.0, 5.0, 4.0, 0.5, 0.4, 0.3])
    model: Any = SimpleNamespace(
        decision_score_=scores,
        threshold_=2.0,
        evidence_={"ring": scores, "lockstep": scores[::-1]},
        groups_=[Group("ring", np.array([1, 2, 0]), 2 / 3, 3.3), Group("lockstep", np.array([3, 4, 5]), 1.0, 2.0)],
    )
    return Groups(model, graph, ranks(scores))


def test_a_group_is_explained_with_its_members(groups: Groups) -> None:
    ring = groups.explain(1)
    assert [(each.node, each.rank, each.flagged, each.strength) for each in ring.members] == [
        ("b", 1, True, 5.0), ("c", 2, True, 4.0), ("a", 3, False, 1.0),
    ]  # fmt: skip
    text, words = str(ring), " ".join(str(ring).split())
    assert text.startswith("Group 1: a ring of 3 nodes, judged by SimpleNamespace")
    assert "look far apart" in words and "67% of their pairs are connected" in words
    assert "Mean strength 3.3 (3 = an estimated 1 in 1,000 ordinary nodes)." in words
    assert ["b", "1", "5.0", "yes"] in [line.split() for line in text.splitlines()]
    assert "near-copies" in str(groups.explain(2))
    assert json.loads(json.dumps(ring.to_dict())) == ring.to_dict()


@pytest.mark.parametrize("number", [0, 3, -1])
def test_a_group_that_does_not_exist_is_refused(groups: Groups, number: int) -> None:
    with pytest.raises(ValueError, match=f"group must be at least 1 and at most 2, got {number}"):
        groups.explain(number)
    groups.model.groups_ = []
    with pytest.raises(ValueError, match="found no groups"):
        Groups(groups.model, groups.graph, np.arange(6)).explain(1)


def test_members_share_categories_and_differ_in_others() -> None:
    names = ["city=Oslo", "city=Rome", "job=cook", "job=judge", "job=nurse", "age"]
    attributes = np.zeros((20, 6))
    attributes[:4, 0] = attributes[4:, 1] = 1
    attributes[np.arange(20), 2 + np.arange(20) % 3] = 1
    attributes[:, 5] = np.linspace(20, 80, 20)
    graph = AttributedGraph.from_edges([0], [1], attributes, attribute_names=names)
    assert Shared(graph).among(np.array([0, 1, 2])) == (
        "alike in city Oslo (all members, 20% of nodes); age 20 to 26.32; unlike in job (3 values)"
    )
    assert Shared(graph).among(np.array([0, 19])) == "unlike in age 20 to 80; city (2 values)"


def test_what_members_share_can_be_looked_up_and_is_said_once_per_column() -> None:
    values = np.r_[[[7.0, 1.0, 1.0, 1.0]] * 3, np.arange(48.0).reshape(12, 4)]
    names = ("amount sent, maximum for its count", "amount sent, mean", "amount sent, median", "clustering")
    graph = AttributedGraph.from_edges([0], [1], values, attribute_names=names)
    assert Shared(graph).among(np.array([0, 1, 2])) == "alike in amount sent, mean 1; clustering 1"


def test_members_share_rare_words() -> None:
    words = np.zeros((50, 6))
    words[:, 0] = 1
    words[:3, 4] = 1
    for attributes in (words, sp.csr_array(words)):
        graph = AttributedGraph.from_edges([0], [1], attributes)
        assert Shared(graph).among(np.array([0, 1, 2])) == "alike in x4 (6% of nodes)"
        assert Shared(graph).among(np.array([7, 8, 9])) == "no attribute sets them apart"
