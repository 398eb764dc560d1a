"""The data of a report and the size of its file."""

import base64
import dataclasses
import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hopsight.baselines.lof import LOF
from hopsight.canonical import Events
from hopsight.datasets import make_textbook
from hopsight.explanations import Explainer, Explanation
from hopsight.explanations.text import number
from hopsight.graph import AttributedGraph
from hopsight.report.page import report_page
from hopsight.report.words import title_of
from report_pages import RECORD, explain_top, write_report


def data_of(model: Any, first: Sequence[Explanation], run: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what the page of a model carries; keys of nodes are text, as everywhere in JSON."""
    text = report_page(Explainer(model, model.graph_), first, run or {}).text
    ((kind, embedded),) = re.findall(r'<script type="([^"]*)" id="data">(.*?)</script>', text, flags=re.DOTALL)
    if kind == "application/gzip":
        embedded = gzip.decompress(base64.b64decode(embedded)).decode()
    data: dict[str, Any] = json.loads(embedded)
    return data


def test_the_file_holds_scores_reasons_and_edges(judged: Any) -> None:
    explanations = explain_top(judged, 10)
    data = data_of(judged, explanations, RECORD)
    assert [data["nodes"][str(rank)][0] for rank in data["top"]] == [each.node for each in explanations]
    assert sum(data["scores"]["counts"]) == 80
    assert data["threshold"] == pytest.approx(judged.threshold_, rel=1e-5) and len(data["edges"]) == 100
    assert data["edges"][0][2] == pytest.approx(judged.edge_hop_.max(), rel=1e-5)
    around = data["egos"]["1"]
    assert sum(row[1] for row in around["edges"]) / around["total"] == pytest.approx(judged.ahp_[3], rel=1e-4)
    assert data["reasons"]["1"]["attributes"][0][0] == explanations[0].attributes[0].name
    assert len(data["egos"]) == 80 and len(data["reasons"]) == 10


def test_every_flagged_node_is_explained_before_others_are_carried() -> None:
    graph = make_textbook("outlier", n=100)
    model = LOF(contamination=0.2).fit(graph)
    first = [Explainer(model, graph).node(int(np.argmax(model.decision_score_)))]
    data = data_of(model, first)
    assert data["top"] == list(range(1, 21)) and len(data["reasons"]) == 20
    assert len(data["egos"]) == 100


def test_fewer_nodes_are_carried_where_the_page_would_be_too_large(
    judged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = explain_top(judged, 3)
    whole = len(report_page(Explainer(judged, judged.graph_), first, {}).text)
    monkeypatch.setattr("hopsight.report.page.MAX_SIZE", whole - 10_000)
    data = data_of(judged, first)
    assert 3 <= len(data["egos"]) < 80 and set(data["reasons"]) <= set(data["egos"])


def test_no_name_appears_as_markup(judged: Any, tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", judged, 5)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    for markup in ("<img", "<script>alert", "<b>income", "<i>shop", "<email>", "secret place"):
        assert markup not in text
    assert "&lt;i&gt;shop&lt;/i&gt; · hopsight" in text


def test_fifty_nodes_of_a_dense_graph_stay_under_five_megabytes(rng: np.random.Generator, tmp_path: Path) -> None:
    n_nodes = 2000
    graph = AttributedGraph.from_edges(
        *rng.integers(0, n_nodes, size=(2, 200_000)),
        rng.normal(size=(n_nodes, 50)),
        node_ids=[f"a rather long name of customer number {i}" for i in range(n_nodes)],
    )
    model = SimpleNamespace(decision_score_=rng.random(n_nodes), threshold_=0.9, edge_index_=graph.edges, graph_=graph)
    model.edge_hop_, model.edge_variance_, model.edge_probability_ = rng.random((3, graph.n_edges))
    path = tmp_path / "report.html"
    write_report(path, model, 50, {})
    assert path.stat().st_size < 5_000_000


def test_detectors_without_edges_or_training_have_a_page_too(judged: Any) -> None:
    for name in ("edge_index_", "edge_hop_", "edge_variance_", "edge_probability_", "ahp_", "loss_"):
        delattr(judged, name)
    data = data_of(judged, explain_top(judged, 3))
    assert data["edges"] == [] and data["columns"] == []
    assert len(data["top"]) == 8  # the first three, and the other five that are flagged


def test_a_category_is_one_row_with_its_values(judged: Any) -> None:
    cities = np.eye(3)[np.arange(80) % 3]
    names = ["city=Dublin", "city=Oslo", "city=Rome"]
    judged.graph_ = AttributedGraph(judged.graph_.adjacency, cities, attribute_names=names)
    data = data_of(judged, explain_top(judged, 1))
    (row,) = data["reasons"]["1"]["attributes"]
    assert row[:2] == ["city", "Dublin"]  # node 3


def test_evidence_groups_and_what_differs_are_on_the_page(suspected: Any) -> None:
    graph = suspected.graph_
    data = data_of(suspected, explain_top(suspected, 4))
    kinds = [kind for kind, *_ in data["kinds"]]
    assert kinds == ["misfit", "ring", "outlier", "activity", "lockstep"]
    assert [weight for _, weight, _ in data["kinds"]] == [1.0, 0.8, 0.4, 0.5, 0.0]
    decided, *strengths = data["evidence"]["1"]  # node 3
    assert decided == "activity"
    assert strengths == pytest.approx([suspected.evidence_[kind][3] for kind in kinds], rel=1e-5)
    assert data["stability"]["1"] == pytest.approx(suspected.stability_[3], rel=1e-5)
    assert (data["columns"], data["values"]) == ([], {})  # the bars take their place
    assert data["n_groups"] == 2
    names = {int(rank): row[0] for rank, row in data["nodes"].items()}
    first = data["groups"][0]
    assert first[:2] == [1, "ring"] and [names[node] for node in first[2]] == graph.node_ids[3:6].tolist()
    assert first[3:6] == [3, 0.666667, 4.5] and first[6].startswith("unlike in <b>income</b> 10,373 to ")
    worst = int(np.argmax(suspected.edge_score_))
    source, target, hop, _, _, unlike, score, flagged, differs, carried, *rest = data["edges"][0]
    assert (data["edge_data"], carried, rest) == ([], [], [None, None])
    assert [names[node] for node in (source, target)] == graph.node_ids[graph.edges[:, worst]].tolist()
    assert (hop, score) == pytest.approx((suspected.edge_hop_[worst], suspected.edge_score_[worst]), rel=1e-5)
    lower = 100 * np.mean(suspected.edge_dissimilarity_ < suspected.edge_dissimilarity_[worst])
    assert flagged == 1 and unlike == pytest.approx(lower, rel=1e-5)
    assert " / " in differs and any(name in differs for name in graph.attribute_names)
    assert all(0 <= row[4] < 100 for row in data["egos"]["1"]["edges"])


def test_edges_are_shown_with_what_the_edge_list_says(suspected: Any) -> None:
    times = np.full(suspected.graph_.n_edges, 1_709_251_200.0)
    graph = dataclasses.replace(suspected.graph_, edge_weight=np.arange(float(times.size)), edge_time=times)
    suspected.graph_ = graph
    data = data_of(suspected, explain_top(suspected, 1))
    worst = int(np.argmax(suspected.edge_score_))
    assert data["edge_data"] == ["weight", "time"]
    (weight, words), (_, day) = data["edges"][0][9]
    assert (weight, words, day) == (worst, number(float(worst)), "2024-03-01") and data["edges"][0][11] is None
    ends = np.repeat(graph.edges[:, [worst]], 2, axis=1)
    events = Events(*ends, np.array([5.0, 8.0]), times[0] + np.array([0.0, 86_400.0]))
    suspected.graph_ = graph = dataclasses.replace(graph, events=events)
    data = data_of(suspected, explain_top(suspected, 1))
    assert data["edges"][0][11] == "13 in 2 events (2024-03-01 to 2024-03-02)"


@pytest.mark.parametrize(("name", "path", "title"), [
    ("shop", "orders.csv", "shop"),
    ("", "/home/somebody/zamówienia.csv?encoding=cp1250", "zamówienia"),
    ("", "C:\\data\\orders.parquet", "orders"), ("", "postgresql://ada:secret@host/db", "Graph"), ("", None, "Graph"),
])  # fmt: skip
def test_the_title_is_the_name_of_the_graph_or_of_its_file(name: str, path: str | None, title: str) -> None:
    graph = AttributedGraph.from_edges([0], [1], [[1.0]] * 2, name=name)
    assert title_of(graph, {"request": {"source": {"path": path}}}) == title
    assert title_of(graph, {}) == (name or "Graph")


def test_without_evidence_the_page_has_none(judged: Any) -> None:
    data = data_of(judged, explain_top(judged, 2))
    assert (data["kinds"], data["evidence"], data["stability"], data["groups"]) == ([], {}, {}, [])
    assert data["columns"] == ["ahp"] and data["values"]["1"] == pytest.approx([judged.ahp_[3]], rel=1e-5)
