"""The explanation of a node begins with the evidence that decided, and gives what lies behind it."""

from __future__ import annotations

import copy
import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from hopsight.explanations import Explainer, explain
from hopsight.graph import AttributedGraph
from hopsight.hcm.evidence import KINDS
from toys import quick

N = 120
RING, COPIES = (20, 30, 50, 60, 90, 100), (70, 71, 72, 73, 74)


@pytest.fixture(scope="module")
def town() -> AttributedGraph:
    """Three districts of 40; node 0 has the attributes of another one, 1 an odd income, 2 very many edges.

    Two nodes of each district know each other (a ring), and so do five that are copies of one (lockstep).
    """
    rng = np.random.default_rng(3)
    district = np.arange(N) // 40
    draws = [rng.integers(40 * k, 40 * (k + 1), size=(2, 160)) for k in range(3)]
    cliques = [np.array(list(combinations(members, 2))).T for members in (RING, COPIES)]
    ends = np.concatenate([*draws, np.stack([np.full(60, 2), rng.integers(0, 40, 60)]), *cliques], axis=1)
    ends = ends[:, ends[0] != ends[1]]
    shown = district.copy()
    shown[0] = 2
    attributes = np.column_stack([np.eye(3)[shown], rng.normal(40, 5, N) + 10 * shown, rng.normal(30_000, 900, N)])
    attributes[1, 4] = 250_000
    attributes[list(COPIES)] = attributes[COPIES[0]]
    names = ["city=Oslo", "city=Rome", "city=Dublin", "age", "income"]
    return AttributedGraph.from_edges(*ends, attributes, node_ids=[f"p{i}" for i in range(N)], attribute_names=names)


@pytest.fixture(scope="module")
def model(town: AttributedGraph) -> Any:
    """Return CrossHCM, little trained."""
    return quick("cross_hcm", seed=0).fit(town)


def decided(model: Any, kind: str) -> Any:
    """Return the model as if one kind had decided every node, with strong evidence."""
    changed = copy.copy(model)
    changed.evidence = (kind,)
    changed.decided_by_ = np.zeros(N, dtype=np.int64)
    changed.evidence_ = {**model.evidence_, kind: model.evidence_[kind] + 1}
    return changed


def test_groups_do_not_depend_on_the_order_of_evidence_in_a_saved_model(model: Any) -> None:
    saved = copy.copy(model)
    saved.kind_thresholds_ = np.where(np.array(KINDS) == "ring", 0.5, 99.0)  # all kinds but ring are far out of reach
    wanted = [(group.kind, group.members.tolist()) for group in saved.groups_]
    saved.evidence_ = dict(reversed(model.evidence_.items()))
    assert wanted and [(group.kind, group.members.tolist()) for group in saved.groups_] == wanted


def test_all_strengths_are_listed_with_their_meaning(model: Any) -> None:
    reasons = explain(model, "p1")
    assert [each.kind for each in reasons.evidence] == list(KINDS)
    assert [each.strength for each in reasons.evidence] == [model.evidence_[kind][1] for kind in KINDS]
    assert [each.counts for each in reasons.evidence] == [True, True, True, True, False]
    text = str(reasons)
    lines = text.splitlines()
    start = lines.index(f"Evidence (3 = an estimated 1 in 1,000 ordinary nodes), decided by {reasons.decided_by}")
    assert lines[start + 1] == f"  {model.evidence_['misfit'][1]:.1f}  misfit: its neighbors look far away"
    assert all(len(line) <= 80 for line in lines)
    assert not any(line.startswith(("ahp ", "iv ", "hav ")) for line in lines) and "variance" not in text
    assert any(line.split()[:4] == ["neighbor", "hops", "P(1", "hop)"] for line in lines)
    plain = reasons.to_dict()
    assert {each["name"] for each in plain["values"]} >= {"ahp", "iv", "hav"}
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["evidence"][0]["kind"] == "misfit" and plain["decided_by"] == reasons.decided_by


def test_the_kind_that_decided_adds_most(model: Any) -> None:
    for position in range(0, N, 7):
        reasons = explain(model, f"p{position}", absent=0)
        strongest = max(
            (each for each in reasons.evidence if each.counts), key=lambda each: each.weight * each.strength
        )
        assert reasons.decided_by == strongest.kind
        assert f"decided by {strongest.kind}" in str(reasons)
        assert reasons.score >= strongest.weight * strongest.strength


def test_an_outlier_is_explained_by_its_unusual_attributes(model: Any) -> None:
    """Also where another kind decided, because neighbors with ordinary attributes look far away to it."""
    assert "income: 250,000" in explain(model, "p1").unusual
    reasons = explain(decided(model, "outlier"), "p1")
    usual = f"{np.quantile(model.graph_.attributes[:, 4], 0.5, method='lower'):,.0f}"
    words = f"income 250,000 ({usual} is usual): higher than for 99.1% of nodes"
    assert reasons.unusual.startswith(f"Its own attributes are unusual: {words}")
    assert f"  {words}" in str(reasons).splitlines()


def test_activity_is_explained_by_the_expected_number_of_edges(model: Any, town: AttributedGraph) -> None:
    reasons = explain(decided(model, "activity"), "p2")
    degree = int(town.degrees[2])
    assert reasons.expected_degree is not None and 2 < reasons.expected_degree < 15 < degree
    expected = f"{reasons.expected_degree:.0f}"
    assert reasons.unusual.startswith(f"Has {degree} connections; its attributes suggest about {expected}.")
    assert reasons.in_short == f"{degree} connections; its attributes suggest about {expected}"
    stands_out = str(reasons.own_values[0])
    assert f"What stands out in its attributes: {stands_out}" in reasons.unusual


def test_a_misfit_is_explained_by_its_far_neighbors_and_what_differs(model: Any) -> None:
    reasons = explain(decided(model, "misfit"), "p0")
    first = reasons.neighbors[0]
    assert first.unlikeness is not None and first.unlikeness > 60
    assert "neighbors differ from it more than 90% of connected pairs do; " in reasons.unusual
    assert f"; {first.node} and {reasons.neighbors[1].node} fit it least." in reasons.unusual
    assert "Its city is Dublin; all" in reasons.unusual
    assert "Neighbors, most out of place first" in str(reasons)
    scores = [model.edge_score_[edge] for edge in Explainer(model).edges.at(0)[0]]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(("kind", "words"), [("ring", "nodes that look far apart"), ("lockstep", "near-copies")])
def test_rings_and_lockstep_are_explained_by_the_other_nodes(
    model: Any, town: AttributedGraph, kind: str, words: str
) -> None:
    changed = decided(model, kind)
    changed.kind_thresholds_ = np.full(len(KINDS), 1e9)  # no group is listed: the strongest triangles are named
    node = int(np.argmax(model.evidence_[kind]))
    reasons = explain(changed, f"p{node}")
    assert reasons.companions is not None and reasons.companions.group is None
    assert 2 <= len(reasons.companions.nodes) <= 6
    neighbors = {each.node for each in reasons.neighbors}
    assert set(reasons.companions.nodes) <= neighbors
    assert reasons.unusual.startswith(f"Its edges close triangles of {words} with ")
    changed.kind_thresholds_ = np.full(len(KINDS), np.median(changed.evidence_[kind]))  # half are suspects
    group = next(group for group in changed.groups_ if group.kind == kind)
    node = int(group.members[0])
    reasons = explain(changed, f"p{node}")
    assert reasons.companions is not None
    assert set(reasons.companions.nodes) == set(town.node_ids[group.members]) - {f"p{node}"}
    assert f"(group {reasons.companions.group})" in reasons.unusual
    assert Explainer(changed).group(reasons.companions.group or 0).kind == kind


def test_an_ordinary_node_is_not_made_a_suspect(model: Any) -> None:
    position = int(np.argmin(model.decision_score_))
    reasons = explain(model, f"p{position}")
    assert reasons.unusual == "No evidence about it is strong."


def test_a_detector_without_evidence_has_none(fitted: Any) -> None:
    reasons = explain(fitted, "hub")
    assert (reasons.evidence, reasons.decided_by, reasons.own_values, reasons.companions) == ((), None, (), None)
    assert "Evidence" not in str(reasons)


def test_an_edge_says_hops_unlikeness_and_rank(model: Any, town: AttributedGraph) -> None:
    edge = int(np.argmax(model.edge_score_))
    source, target = town.node_ids[town.edges[:, edge]].tolist()
    reasons = explain(model, source, target)
    assert (reasons.rank, reasons.score, reasons.hop) == (1, model.edge_score_[edge], model.edge_hop_[edge])
    assert reasons.flagged == bool(model.edge_label_[edge])
    assert reasons.reason is not None and reasons.reason.startswith(f"looks {reasons.hop:.1f} hops apart; attributes ")
    text = " ".join(str(reasons).split())
    for words in ("hops apart; attributes farther apart than for ", "Ranks 1 of"):
        assert words in text
    assert json.loads(json.dumps(reasons.to_dict(), allow_nan=False)) == reasons.to_dict()


def test_a_part_of_a_fitted_detector_is_enough(model: Any) -> None:
    """On Spark the laws of the fit may be missing; what can still be said is said."""
    part = decided(model, "activity")
    for name in ("attribute_baseline_", "edge_baseline_"):
        delattr(part, name)
    reasons = explain(part, "p2", absent=0)
    assert reasons.expected_degree is None
    assert "connections, more than" in reasons.unusual
    ring = decided(model, "ring")
    del ring.edge_baseline_
    assert explain(ring, "p2", absent=0).unusual == "Its edges close triangles of nodes that look far apart."
