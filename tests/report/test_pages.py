"""Pages as files: their words, policy, frame and tables."""

import base64
import hashlib
import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopsight.baselines.lof import LOF
from hopsight.datasets import make_textbook
from hopsight.detectors.table import KINDS
from hopsight.explanations import Explainer
from hopsight.report.page import report
from hopsight.report.pages import write_bench_page, write_timeline
from hopsight.report.shell import embedded_json, render_page
from hopsight.report.words import GLOSSARY, details, summary
from processes import python
from report_pages import RECORD, explain_top
from toys import refuses

SCRIPTS = ("charts.js", "ego.js", "node.js", "report.js")


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>", "\u2028\u2029", "&amp;", "\ud800", "\x00", "日本"])
def test_embedded_text_survives_and_cannot_leave_its_element(text: str) -> None:
    embedded = embedded_json({"name": text})
    assert json.loads(embedded) == {"name": text} and embedded.isascii()
    assert not set(embedded) & set("<>&\u2028\u2029\x00")


def test_the_policy_allows_exactly_the_script_and_style_of_the_page_and_the_title_is_escaped() -> None:
    page = render_page("a title", {}, SCRIPTS)
    for element in ("script", "style"):
        (content,) = re.findall(rf"<{element}>(.*?)</{element}>", page, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page and "unsafe" not in page
    assert "<title>&lt;/title&gt;&lt;script&gt;</title>" in render_page("</title><script>", {}, SCRIPTS)


def test_nothing_in_the_page_names_an_address_to_fetch() -> None:
    page = render_page("a title", {}, (*SCRIPTS, "bench.js"))
    addresses = set(re.findall(r"""(?:https?:)?//[\w.]+\.\w{2,}[^\s"']*""", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # the name of SVG, never fetched
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", page)


def test_every_aria_attribute_is_one_that_browsers_know() -> None:
    known = {"aria-label", "aria-labelledby", "aria-hidden", "aria-pressed", "aria-sort"}
    assert set(re.findall(r"aria-[a-z]+", render_page("a title", {}, SCRIPTS))) == known


PAGE = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"


def test_the_summary_says_what_was_found_and_what_was_not_judged(judged: Any) -> None:
    judged.judged_ = np.arange(80) != 7
    text = "\n".join(summary(Explainer(judged, judged.graph_), explain_top(judged, 2), RECORD))
    flagged = int((judged.decision_score_ > judged.threshold_).sum())
    rule = f"{flagged} nodes flagged (score above {judged.threshold_:.4g})."
    assert f"HandMade examined 80 nodes and {judged.graph_.n_edges} edges. {rule}" in text
    assert "The most anomalous node is <img src=x onerror=alert(1)>. It differs most in " in text
    farthest = int(np.argmax(judged.edge_hop_))
    source, target = judged.graph_.node_ids[judged.graph_.edges[:, farthest]]
    assert f"The edge most out of place is {source} – {target}: looks 4.0 hops apart" in text
    assert "1 node has no edges and was not judged" in text
    assert "2 of the 3 known anomalies are among the first 3 labeled nodes (ROC-AUC 0.910)" in text


def test_the_summary_names_the_rule_the_groups_and_the_repeats(suspected: Any) -> None:
    explanations = explain_top(suspected, 1)
    text = "\n".join(summary(Explainer(suspected, suspected.graph_), explanations, {"repeat": 5}))
    assert "8 nodes stand out (score above " in text and "false alarm" not in text
    assert "It found 1 ring of nodes that look far apart and 1 lockstep group of near-copies." in text
    others = re.search(
        r"The first of each other kind: (.+) \(rank 2\): .+; (.+) \(rank 3\): .+; .+ \(rank (\d)\): ", text
    )
    assert others is not None, "nodes 3, 4 and 5 are decided by activity, misfit and ring, a later one by outlier"
    assert [*others.groups()[:2]] == suspected.graph_.node_ids[[4, 5]].tolist() and int(others[3]) > 3
    assert "means of 5 fits with different seeds; stability is the share of them" in text
    assert f"{suspected.edge_label_.sum()} edges are flagged." in text
    record = {"flagged": "7 nodes flagged (score above 1), by the threshold of the fit."}
    assert record["flagged"] in "\n".join(summary(Explainer(suspected, suspected.graph_), explanations, record))


def test_a_detector_without_hops_says_nothing_about_edges(judged: Any) -> None:
    del judged.edge_hop_, judged.ahp_
    text = "\n".join(summary(Explainer(judged, judged.graph_), explain_top(judged, 1), {}))
    assert "hops" not in text and "labels" not in text


def test_details_show_what_was_recorded_but_no_folders() -> None:
    tables = {table["title"]: dict(table["rows"]) for table in details(RECORD)}
    assert tables["Run"]["source"] == "edges.csv" and tables["Run"]["seed"] == "11"
    assert tables["Parameters"] == {"n_layers": "2", "drop_ratio": "0.2"} and tables["Time"] == {"fit": "1.2 s"}
    assert "secret place" not in str(tables) and details({}) == []


def test_every_word_of_the_report_is_on_the_page_of_the_documentation() -> None:
    text = PAGE.read_text(encoding="utf-8").casefold()
    assert [word for word in GLOSSARY if word.casefold().removesuffix("s") not in text] == []
    assert text.count("\n:   ") <= 25, "a glossary of more words is not read"


def test_each_meaning_is_a_sentence_and_every_kind_of_evidence_has_one() -> None:
    assert set(KINDS) <= set(GLOSSARY)
    assert all(meaning[0].isupper() or meaning[0] in "1−" for meaning in GLOSSARY.values())
    assert all(meaning.endswith(".") for meaning in GLOSSARY.values())


def test_the_report_is_shown_in_a_frame_that_can_only_run_its_own_script(tmp_path: Path) -> None:
    graph = make_textbook("outlier", n=100)
    page = report(LOF().fit(graph), top=3)
    shown = page._repr_html_()
    frame = re.fullmatch(
        r'<iframe title="(.*?)" sandbox="allow-scripts allow-downloads" .* srcdoc="([^"]*)"></iframe>', shown, re.DOTALL
    )
    assert frame is not None
    assert html.unescape(frame[2]) == page.text and "of the 3 known anomalies" in page.text
    assert repr(page).startswith("ReportPage('textbook-outlier · hopsight', ")
    assert page.write(tmp_path / "a.html").read_text(encoding="utf-8") == page.text


def test_a_loaded_detector_needs_its_graph(tmp_path: Path) -> None:
    from hopsight.detectors.storage import load_detector

    graph = make_textbook("outlier", n=100)
    LOF().fit(graph).save(tmp_path / "model")
    model = load_detector(tmp_path / "model")
    refuses("pass graph=, the one it was fitted on", report, model)
    assert "LOF" in report(model, graph, top=1).text


@pytest.mark.parametrize("first", ["import hopsight.report.page", "from hopsight.report import page", "hopsight.plot"])
def test_hs_report_can_be_called_whatever_was_imported_before(first: str) -> None:
    program = f"import hopsight; {first}; print(callable(hopsight.report), hopsight.report.__name__)"
    assert python(program).stdout.split() == ["True", "hopsight.report"]


SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(3)</script><circle r="4"/></svg>'
TABLE = {"title": "ROC-AUC", "columns": ["Detector", "Flickr"], "rows": [["HCM", 0.763], ["</script>", "timed out"]]}


def test_tables_figures_and_cells_are_in_the_file(tmp_path: Path) -> None:
    drawn = tmp_path / "figure.svg"
    drawn.write_text(SVG, encoding="utf-8")
    figures = [{"title": "from text", "svg": SVG}, {"title": "from a file", "svg": drawn, "note": "a note"}]
    cells = [{"detector": "hcm", "auc": 0.7}, {"detector": "lof", "error": "out of memory"}]
    write_bench_page(tmp_path / "bench.html", cells, [TABLE], figures, summary=["Two runs."], run={"seed": 3})
    text = (tmp_path / "bench.html").read_text(encoding="utf-8")
    (embedded,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, flags=re.DOTALL)
    data = json.loads(embedded)
    assert data["tables"][0]["rows"] == [["HCM", 0.763], ["</script>", "timed out"]]
    assert data["results"] == {
        "columns": ["detector", "auc", "error"],
        "rows": [["hcm", 0.7, None], ["lof", None, "out of memory"]],
    }
    for figure in data["figures"]:
        assert base64.b64decode(figure["image"].removeprefix("data:image/svg+xml;base64,")).decode() == SVG
    assert "alert(3)" not in text


def test_the_page_holds_its_values_and_no_path(tmp_path: Path) -> None:
    page = {
        "name": "payments.csv", "summary": ["Judged 3 events."], "n_windows": 1, "fits": [],
        "windows": [[7, "2024-01-01", 3, 2, 1, 0.5, 1.25, "events"]],
        "alerts": [[7, "</script>", "b", "2024-01-01", 3.5, "hop", 3.0, "They had no path."]],
        "nodes": [["</script>", 3.5, "hop", 3, 1, "It was new.", [[7, "2024-01-01", 3, 3.5]]]],
        "run": {"started": "2024-01-02", "request": {"path": "/secret/folder/payments.csv"}, "warnings": ["Careful."]},
    }  # fmt: skip
    write_timeline(tmp_path / "report.html", page)
    text = (tmp_path / "report.html").read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    assert data["alerts"][0][1] == "</script>" and data["warnings"] == ["Careful."]
    assert "/secret/folder" not in text and "run" not in data
