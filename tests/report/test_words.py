"""The summary in sentences and the tables of the record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.detectors.table import KINDS
from hopsight.explanations import Explainer, Explanation
from hopsight.report.words import GLOSSARY, details, summary

ExplainTop = Callable[..., list[Explanation]]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"


def test_the_summary_says_what_was_found_and_what_was_not_judged(
    judged: Any, record: dict[str, Any], explain_top: ExplainTop
) -> None:
    judged.judged_ = np.arange(80) != 7
    text = "\n".join(summary(Explainer(judged, judged.graph_), explain_top(judged, judged.graph_, 2), record))
    flagged = int((judged.decision_score_ > judged.threshold_).sum())
    rule = f"{flagged} nodes flagged (score above {judged.threshold_:.4g})."
    assert f"HandMade examined 80 nodes and {judged.graph_.n_edges} edges. {rule}" in text
    assert "The most anomalous node is <img src=x onerror=alert(1)>. It differs most in " in text
    farthest = int(np.argmax(judged.edge_hop_))
    source, target = judged.graph_.node_ids[judged.graph_.edges[:, farthest]]
    assert f"The edge most out of place is {source} – {target}: its ends look 4.0 hops apart" in text
    assert "1 node has no edges and was not judged" in text
    assert "2 of the 3 known anomalies are among the first 3 nodes (ROC-AUC 0.910)" in text


def test_the_summary_names_the_rule_the_groups_and_the_repeats(suspected: Any, explain_top: ExplainTop) -> None:
    explanations = explain_top(suspected, suspected.graph_, 1)
    text = "\n".join(summary(Explainer(suspected, suspected.graph_), explanations, {"repeat": 5}))
    assert "8 nodes stand out (score above " in text
    assert "false alarm" not in text
    assert "It found 1 ring of nodes that look far apart and 1 lockstep group of near-copies." in text
    assert "means of 5 fits with different seeds; stability is the share of them" in text
    assert f"{suspected.edge_label_.sum()} edges are flagged." in text
    record = {"flagged": "7 nodes flagged (score above 1), by the threshold of the fit."}
    assert record["flagged"] in "\n".join(summary(Explainer(suspected, suspected.graph_), explanations, record))


def test_a_detector_without_hops_says_nothing_about_edges(judged: Any, explain_top: ExplainTop) -> None:
    del judged.edge_hop_, judged.ahp_
    text = "\n".join(summary(Explainer(judged, judged.graph_), explain_top(judged, judged.graph_, 1), {}))
    assert "hops" not in text
    assert "labels" not in text


def test_details_show_what_was_recorded_but_no_folders(record: dict[str, Any]) -> None:
    tables = {table["title"]: dict(table["rows"]) for table in details(record)}
    assert tables["Run"]["source"] == "edges.csv"
    assert tables["Run"]["seed"] == "11"
    assert tables["Parameters"] == {"n_layers": "2", "drop_ratio": "0.2"}
    assert tables["Time"] == {"fit": "1.2 s"}
    assert "secret place" not in str(tables)
    assert details({}) == []


def test_every_word_of_the_report_is_on_the_page_of_the_documentation() -> None:
    text = PAGE.read_text(encoding="utf-8").casefold()
    assert [word for word in GLOSSARY if word.casefold().removesuffix("s") not in text] == []


def test_each_meaning_is_a_sentence_and_every_kind_of_evidence_has_one() -> None:
    assert set(KINDS) <= set(GLOSSARY)
    assert all(meaning[0].isupper() or meaning[0] in "1−" for meaning in GLOSSARY.values())
    assert all(meaning.endswith(".") for meaning in GLOSSARY.values())
