"""The data of a report and the size of its file."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hopsight.explanations import Explainer, Explanation
from hopsight.explanations.text import number
from hopsight.graph import AttributedGraph
from hopsight.report.page import full_data, report_data, write_report

ExplainTop = Callable[..., list[Explanation]]


def read_data(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    (embedded,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, flags=re.DOTALL)
    data: dict[str, Any] = json.loads(embedded)
    return data


def test_the_file_holds_scores_reasons_edges_and_losses(
    judged: Any, record: dict[str, Any], tmp_path: Path, explain_top: ExplainTop
) -> None:
    explanations = explain_top(judged, judged.graph_, 10)
    write_report(tmp_path / "report.html", judged, judged.graph_, explanations, record)
    data = read_data(tmp_path / "report.html")
    assert [data["nodes"][row[0]][0] for row in data["top"]] == [each.node for each in explanations]
    assert sum(data["scores"]["counts"]) == 80
    assert data["scores"]["threshold"] == pytest.approx(judged.threshold_, rel=1e-5)
    assert data["losses"][0] == [1, 2.0]
    assert data["losses"][-1] == [60, 1.0]
    assert len(data["edges"]) == 100
    assert data["edges"][0][2] == pytest.approx(judged.edge_hop_.max(), rel=1e-5)
    first = data["reasons"][str(data["top"][0][0])]
    assert sum(row[4] for row in first["neighbors"]) == pytest.approx(judged.ahp_[3], rel=1e-4)
    assert first["attributes"][0][0] == explanations[0].attributes[0].name
    assert all(str(node) in data["egos"] for node, *_ in data["top"])


def test_no_name_appears_as_markup(
    judged: Any, record: dict[str, Any], tmp_path: Path, explain_top: ExplainTop
) -> None:
    write_report(tmp_path / "report.html", judged, judged.graph_, explain_top(judged, judged.graph_, 5), record)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    for markup in ("<img", "<script>alert", "<b>income", "<i>shop", "<email>", "secret place"):
        assert markup not in text
    assert "&lt;i&gt;shop&lt;/i&gt; · hopsight" in text


def test_fifty_nodes_of_a_dense_graph_stay_under_five_megabytes(
    rng: np.random.Generator, tmp_path: Path, explain_top: ExplainTop
) -> None:
    n_nodes = 2000
    graph = AttributedGraph.from_edges(
        *rng.integers(0, n_nodes, size=(2, 200_000)),
        rng.normal(size=(n_nodes, 50)),
        node_ids=[f"a rather long name of customer number {i}" for i in range(n_nodes)],
    )
    model = SimpleNamespace(decision_score_=rng.random(n_nodes), threshold_=0.9, edge_index_=graph.edges)
    model.edge_hop_, model.edge_variance_, model.edge_probability_ = rng.random((3, graph.n_edges))
    path = tmp_path / "report.html"
    write_report(path, model, graph, explain_top(model, graph, 50), {})
    assert path.stat().st_size < 5_000_000


def test_detectors_without_edges_or_training_have_a_page_too(judged: Any, explain_top: ExplainTop) -> None:
    for name in ("edge_index_", "edge_hop_", "edge_variance_", "edge_probability_", "ahp_", "loss_"):
        delattr(judged, name)
    data = full_data(Explainer(judged, judged.graph_), explain_top(judged, judged.graph_, 3), {})
    assert data["edges"] == []
    assert data["losses"] == []
    assert data["columns"] == []
    assert len(data["top"]) == 8  # the first three, and the other five that are flagged


def test_long_training_is_thinned_and_keeps_its_end(judged: Any) -> None:
    judged.loss_ = np.arange(5000.0)
    losses = report_data(judged, judged.graph_, [], {})["losses"]
    assert len(losses) <= 600
    assert losses[0] == [1, 0.0]
    assert losses[-1] == [5000, 4999.0]


def test_a_category_is_one_row_with_its_values(judged: Any, explain_top: ExplainTop) -> None:
    cities = np.eye(3)[np.arange(80) % 3]
    names = ["city=Dublin", "city=Oslo", "city=Rome"]
    judged.graph_ = AttributedGraph(judged.graph_.adjacency, cities, attribute_names=names)
    data = report_data(judged, judged.graph_, explain_top(judged, judged.graph_, 1), {})
    (row,) = data["reasons"][data["top"][0][0]]["attributes"]
    assert row[0] == "city=Dublin"  # node 3
    assert row[8][:2] == ("city", "Dublin")


def test_evidence_groups_and_what_differs_are_on_the_page(suspected: Any, explain_top: ExplainTop) -> None:
    graph = suspected.graph_
    data = report_data(suspected, graph, explain_top(suspected, graph, 4), {})
    assert [kind for kind, *_ in data["kinds"]] == ["misfit", "ring", "outlier", "activity", "lockstep"]
    assert [counts for _, counts, _ in data["kinds"]] == [True, True, True, True, False]
    number = data["top"][0][0]  # node 3
    assert data["evidence"][number] == ["activity", *(suspected.evidence_[kind][3] for kind, *_ in data["kinds"])]
    assert data["stability"][number] == suspected.stability_[3]
    assert data["columns"] == []  # the bars take their place
    assert data["n_groups"] == 2
    first = data["groups"][0]
    assert first[:2] == [1, "ring"] and [data["nodes"][node][0] for node in first[2]] == graph.node_ids[3:6].tolist()
    assert first[3:6] == [3, 2 / 3, 4.5] and first[6].startswith("unlike in <b>income</b> 10,373 to ")
    assert all(node in data["egos"] for node in first[2])
    worst = int(np.argmax(suspected.edge_score_))
    source, target, hop, _, _, score, flagged, unlike, differs, carried = data["edges"][0]
    assert (data["edge_data"], carried) == ([], [])
    assert [data["nodes"][node][0] for node in (source, target)] == graph.node_ids[graph.edges[:, worst]].tolist()
    assert (hop, score, flagged) == (suspected.edge_hop_[worst], suspected.edge_score_[worst], 1)
    assert unlike == pytest.approx(100 * np.mean(suspected.edge_dissimilarity_ < suspected.edge_dissimilarity_[worst]))
    assert " / " in differs and any(name in differs for name in graph.attribute_names)
    rows = data["reasons"][number]["neighbors"]
    assert all(0 <= row[5] < 100 for row in rows)


def test_edges_are_shown_with_what_the_edge_list_says(suspected: Any, explain_top: ExplainTop) -> None:
    times = np.full(suspected.graph_.n_edges, 1_709_251_200.0)
    graph = dataclasses.replace(suspected.graph_, edge_weight=np.arange(float(times.size)), edge_time=times)
    data = report_data(suspected, graph, explain_top(suspected, graph, 1), {})
    worst = int(np.argmax(suspected.edge_score_))
    assert data["edge_data"] == ["weight", "time"]
    assert data["edges"][0][-1] == [[float(worst), number(float(worst))], [1_709_251_200.0, "2024-03-01"]]


def test_without_evidence_the_page_has_none(judged: Any, explain_top: ExplainTop) -> None:
    data = report_data(judged, judged.graph_, explain_top(judged, judged.graph_, 2), {})
    assert (data["kinds"], data["evidence"], data["stability"], data["groups"]) == ([], {}, {}, [])
    assert data["columns"] == ["ahp"]
