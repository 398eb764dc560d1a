"""The excerpt for the report: the top nodes with their neighbors, and a sample of the others."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from hopsight.graph import AttributedGraph
from hopsight.hcm.groups import Group
from hopsight.spark import excerpt as module
from hopsight.spark.excerpt import collect_excerpt


def test_top_nodes_come_with_the_neighbors_that_fit_them_least(
    detected: Any, graph: AttributedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "NEIGHBORS", 3)
    monkeypatch.setattr(module, "BACKGROUND", 20)
    ids = np.array([row["node"] for row in detected.scores.orderBy("rank").collect()], dtype=object)
    groups = [Group("ring", ids[[3, 70]], 1.0, 2.0), Group("ring", ids[[9, 10, 11]], 1.0, 1.0)]
    monkeypatch.setattr(module, "GROUP_MEMBERS", 4)
    part = collect_excerpt(dataclasses.replace(detected, groups=groups), 4)
    assert [part.nodes["rank"][group.members].tolist() for group in part.groups] == [[4, 71]]
    ranks = part.nodes["rank"]
    assert ranks[part.top].tolist() == [1, 2, 3, 4]
    assert 15 <= part.background.size <= 20
    assert len(part.nodes["node"]) <= 4 + 4 * 3 + 20 + 1
    place = {node: position for position, node in enumerate(graph.node_ids)}
    wanted = graph.attributes[[place[node] for node in part.nodes["node"]]]
    np.testing.assert_allclose(part.features, wanted)
    connected = {frozenset(pair) for pair in graph.node_ids[graph.edges].T.tolist()}
    for source, target in zip(part.edges["source"], part.edges["target"], strict=True):
        assert frozenset((part.nodes["node"][source], part.nodes["node"][target])) in connected
    for position in part.top:
        mine = (part.edges["source"] == position) | (part.edges["target"] == position)
        assert mine.sum() >= min(3, part.nodes["degree"][position])
