"""The report of a detection on Spark shows an excerpt, with the numbers of the whole graph."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import KINDS
from hopsight.hcm.groups import Group
from hopsight.spark import results as module
from hopsight.spark.results import Excerpt, collect_excerpt, write_reasons


def test_numbers_are_those_of_the_whole_graph(tmp_path: Path) -> None:
    nodes = {
        "node": ["a", "b", "c", "d"], "rank": np.array([1, 70, 500, 9000]), "score": np.array([9.0, 3.0, 1.0, 0.5]),
        "flagged": np.array([1, 0, 0, 0]), "judged": np.array([1, 1, 1, 1]), "degree": np.array([40, 7, 3, 5]),
        "ahp": np.array([2.0, 1.5, 1.2, 1.0]), "iv": np.array([0.1, 0.1, 0.1, 0.1]),
        "hav": np.array([2.0, 1.7, 1.6, 1.5]),
        **{kind: np.array([9.0, 3.0, 1.0, 0.5]) * share for kind, share in zip(KINDS, (0.1, 1, 0, 0, 0), strict=True)},
        "decided_by": np.array(["ring"] * 4),
    }  # fmt: skip
    edges = {
        "source": np.array([1, 0]), "target": np.array([0, 2]), "hop": np.array([2.5, 1.5]),
        "probability": np.array([0.1, 0.6]), "variance": np.array([0.01, 0.02]), "surprise": np.array([2.3, 0.5]),
        "score": np.array([4.0, 0.2]), "flagged": np.array([1, 0]),
    }  # fmt: skip
    ring = Group("ring", np.array([0, 1, 2]), 0.9, 4.5)
    part = Excerpt(nodes, np.arange(8.0).reshape(4, 2), edges, np.array([0]), np.array([1, 2, 3]), [ring])
    sizes = {"n_nodes": 9000, "n_edges": 50_000, "n_attributes": 2}
    record = {"graph": sizes, "n_flagged": 900, "losses": [1.0, 0.5], "threshold": 4.0}
    fitted = {"threshold_": 4.0, "loss_": np.array([1.0, 0.5]), "edge_threshold_": 3.0}
    write_reasons(tmp_path, part, CrossHCM(), ["age", "size"], fitted, record)
    (reason,) = json.loads((tmp_path / "explanations.json").read_text(encoding="utf-8"))
    assert (reason["node"], reason["rank"], reason["n_nodes"], reason["degree"]) == ("a", 1, 9000, 40)
    assert reason["degree_percentile"] == 100.0
    assert [(each["node"], each["rank"], each["hop"]) for each in reason["neighbors"]] == [
        ("b", 70, 2.5),
        ("c", 500, 1.5),
    ]
    assert (reason["detector"], reason["companions"]["nodes"]) == ("CrossHCM", ["b", "c"])
    assert "1,ring,a; b; c,0.9,4.5," in (tmp_path / "groups.csv").read_text(encoding="utf-8")
    assert (reason["decided_by"], reason["evidence"][1]["strength"]) == ("ring", 9.0)
    assert any("Only the 60 neighbors along its most anomalous edges" in note for note in reason["notes"])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "examined 9,000 nodes and 50,000 edges on Spark" in page


def test_top_nodes_come_with_the_neighbors_that_fit_them_least(
    detected: Any, graph: AttributedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "NEIGHBORS", 3)
    monkeypatch.setattr(module, "BACKGROUND", 20)
    ids = np.array([row["node"] for row in detected.scores.orderBy("rank").collect()], dtype=object)
    groups = [Group("ring", ids[[3, 70]], 1.0, 2.0), Group("ring", ids[[9, 10, 11]], 1.0, 1.0)]
    monkeypatch.setattr(module, "GROUP_MEMBERS", 4)
    table = pa.table({"id": graph.node_ids.tolist(), "features": list(graph.attributes)})
    nodes = detected.scores.sparkSession.createDataFrame(table)  # the run has removed what it was read from
    part = collect_excerpt(dataclasses.replace(detected, groups=groups, nodes=nodes), 4)
    assert [part.nodes["rank"][group.members].tolist() for group in part.groups] == [[4, 71]]
    ranks = part.nodes["rank"]
    assert ranks[part.top].tolist() == [1, 2, 3, 4] and 15 <= part.background.size <= 20
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
