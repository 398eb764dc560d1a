"""The table of nodes: its columns, its order, and the same as a DataFrame."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hopsight as hs
from hopsight.detectors.table import KINDS, decided_by, own_columns, score_table, to_frame
from hopsight.graph import AttributedGraph
from hopsight.hcm import evidence, relations
from toys import quick, refuses, two_groups


@pytest.fixture
def judged() -> Any:
    """Return a stand-in for CrossHCM on four nodes."""

    class Judged(SimpleNamespace):
        node_values = {"ahp": "mean hops", "iv": "variance"}  # noqa: RUF012

    found = {kind: np.arange(4.0) + place for place, kind in enumerate(reversed(KINDS))}
    return Judged(
        decision_score_=np.array([0.1, 4.0, 3.0, 0.2]), threshold_=1.0, ahp_=np.arange(4.0),
        evidence=("ring", "outlier"), evidence_=found, decided_by_=np.array([0, 1, 0, 1]),
    )  # fmt: skip


@pytest.fixture
def graph() -> AttributedGraph:
    return AttributedGraph.from_edges([0, 1, 2], [1, 2, 3], np.eye(4), node_ids=["a", "b", "c", "d"])


def test_every_kind_of_evidence_is_a_column_in_a_fixed_order(judged: Any, graph: AttributedGraph) -> None:
    assert (*evidence.ALL_KINDS, *relations.KINDS) == KINDS
    table = score_table(judged, graph)
    assert list(table) == ["node", "rank", "score", "flagged", "judged", "degree", "ahp", *KINDS, "decided_by"]
    assert table["node"].tolist() == ["b", "c", "d", "a"] and table["flagged"].tolist() == [1, 1, 0, 0]
    assert table["decided_by"].tolist() == ["outlier", "ring", "outlier", "ring"]
    assert table["misfit"].tolist() == judged.evidence_["misfit"][[1, 2, 3, 0]].tolist()
    judged.stability_ = np.array([0.0, 1.0, 0.8, 0.2])
    assert score_table(judged, graph)["stability"].tolist() == [1.0, 0.8, 0.2, 0.0]


def test_only_the_columns_a_detector_has_are_there(judged: Any) -> None:
    assert next(iter(own_columns(judged))) == "ahp" and own_columns(SimpleNamespace(ahp_=2)) == {}
    judged.score = "ahp"  # which is not evidence, so that none has decided
    assert decided_by(judged) is None and "decided_by" not in own_columns(judged)
    assert "misfit" in own_columns(judged)


def test_a_detector_gives_its_table_as_a_frame(graph: AttributedGraph) -> None:
    model = hs.LOF()
    refuses("not fitted yet", model.to_frame)
    frame = model.fit(graph).to_frame()
    assert frame.columns == ["node", "rank", "score", "flagged", "judged", "degree"]
    assert frame["rank"].to_list() == [1, 2, 3, 4] and sorted(frame["node"]) == ["a", "b", "c", "d"]
    assert frame["score"].to_list() == sorted(model.decision_score_.tolist(), reverse=True)
    del model.graph_
    refuses("loaded from disk without its graph", model.to_frame)


def test_names_of_nodes_are_the_last_column() -> None:
    graph = replace(two_groups(0), node_names=[f"Name {i}" for i in range(80)])
    frame = to_frame(quick("lof").fit(graph), graph)
    assert frame.columns[-1] == "name"
    first = frame.row(0, named=True)
    assert first["name"] == f"Name {graph.index_of(first['node'])}"
