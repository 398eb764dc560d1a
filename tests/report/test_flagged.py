"""A report explains every flagged node, up to a bound that keeps the file small."""

from __future__ import annotations

import numpy as np
import pytest

from hopsight.baselines.lof import LOF
from hopsight.datasets import make_textbook
from hopsight.explanations import Explainer
from hopsight.report import flagged
from hopsight.report.flagged import with_flagged
from hopsight.report.page import full_data


def test_every_flagged_node_is_explained_and_listed() -> None:
    graph = make_textbook("outlier", n=100)
    model = LOF(contamination=0.2).fit(graph)
    first = [Explainer(model, graph).node(int(np.argmax(model.decision_score_)))]
    found, sentences = with_flagged(Explainer(model, graph), first)
    assert found[0] is first[0]
    assert {each.node for each in found} == set(np.flatnonzero(model.label_).tolist())
    assert [each.rank for each in found] == list(range(1, 21))
    assert sentences == {}
    page = full_data(Explainer(model, graph), first, {})
    assert len(page["top"]) == 20 and len(page["reasons"]) == 20


def test_the_number_of_explanations_and_of_their_edges_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = make_textbook("outlier", n=100)
    model = LOF(contamination=0.2).fit(graph)
    first = [Explainer(model, graph).node(int(np.argmax(model.decision_score_)))]
    monkeypatch.setattr(flagged, "MOST", 5)
    found, sentences = with_flagged(Explainer(model, graph), first)
    assert len(found) == 5 and len(sentences) == 15  # all 20 flagged nodes, one way or the other
    assert all("of 100 (flagged)" in text for text in sentences.values())
    monkeypatch.setattr(flagged, "MOST_EDGES", 1)
    monkeypatch.setattr(flagged, "MOST_SENTENCES", 7)
    found, sentences = with_flagged(Explainer(model, graph), first)
    assert len(found) == 1 and len(sentences) == 7
    assert with_flagged(Explainer(model, graph), []) == ([], {})


def test_the_page_knows_how_many_flagged_nodes_it_explains(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = make_textbook("outlier", n=100)
    model = LOF(contamination=0.2).fit(graph)
    first = [Explainer(model, graph).node(int(np.argmax(model.decision_score_)))]
    assert full_data(Explainer(model, graph), first, {})["n_explained"] == 20
    monkeypatch.setattr(flagged, "MOST", 5)
    monkeypatch.setattr(flagged, "MOST_SENTENCES", 7)
    assert full_data(Explainer(model, graph), first, {})["n_explained"] == 12
