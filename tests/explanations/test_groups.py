"""Groups: members, numbers, and what they share."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.explanations.groups import Groups, Shared
from hopsight.graph import AttributedGraph
from hopsight.hcm.groups import Group
from hopsight.metrics import ranks


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
    assert "Mean strength 3.3 (3 = as unusual as 1 in 1,000 ordinary nodes)." in words
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
        "alike in city Oslo (all members, 20% of nodes), age 20 to 26.32; unlike in job (3 values)"
    )
    assert Shared(graph).among(np.array([0, 19])) == "unlike in age 20 to 80, city (2 values)"


def test_members_share_rare_words() -> None:
    words = np.zeros((50, 6))
    words[:, 0] = 1
    words[:3, 4] = 1
    for attributes in (words, sp.csr_array(words)):
        graph = AttributedGraph.from_edges([0], [1], attributes)
        assert Shared(graph).among(np.array([0, 1, 2])) == "alike in x4 (6% of nodes)"
        assert Shared(graph).among(np.array([7, 8, 9])) == "no attribute sets them apart"
