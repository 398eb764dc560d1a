"""Detectors in scikit-learn, in notebooks and in print: on all detectors, with a quick fit of each."""

from __future__ import annotations

import copy
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from hopsight.datasets import make_textbook
from hopsight.detectors import DETECTORS, get_detector
from hopsight.graph import AttributedGraph


@cache
def graph() -> AttributedGraph:
    return make_textbook("ring", n=120, n_communities=3)


@cache
def fitted(name: str) -> Any:
    kind = get_detector(name)
    return kind(contamination=0.1, **kind.quick).fit(graph())


@pytest.mark.parametrize("name", DETECTORS)
def test_a_clone_has_the_parameters_and_no_fit(name: str) -> None:
    model = fitted(name)
    twin = clone(model)
    assert twin.get_params() == model.get_params() and not hasattr(twin, "decision_score_")


@pytest.mark.parametrize("name", DETECTORS)
def test_a_copied_or_pickled_detector_judges_as_before(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    joblib.dump(model, tmp_path / "model")
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        assert np.array_equal(twin.decision_score_, model.decision_score_)
        assert np.array_equal(twin.decision_function(graph()), model.decision_score_)
        assert twin.predict().tolist() == model.label_.tolist()
    assert copy.deepcopy(model).graph_ is model.graph_  # read-only, so there is nothing to copy


def test_set_params_changes_the_next_fit_and_refuses_unknown_names() -> None:
    model = get_detector("lof")()
    assert model.set_params(contamination=0.25) is model
    assert model.fit(graph()).label_.sum() == 30
    with pytest.raises(ValueError, match=r"^LOF has no parameter 'contaminaton'; did you mean contamination\?$"):
        model.set_params(contaminaton=0.1)


def test_fit_predict_flags_and_score_samples_is_lower_for_anomalies() -> None:
    model = get_detector("lof")(contamination=0.1)
    assert model.fit_predict(graph()).tolist() == fitted("lof").label_.tolist()
    assert np.array_equal(model.score_samples(graph()), -model.decision_score_)
    assert model.score_samples(graph())[model.label_ == 1].max() < model.score_samples(graph())[model.label_ == 0].min()


def test_a_pipeline_of_graphs_ends_in_a_detector() -> None:
    without_last = FunctionTransformer(lambda source: AttributedGraph(source.adjacency, source.attributes[:, :-1]))
    pipeline = make_pipeline(without_last, get_detector("lof")(contamination=0.1))
    found = pipeline.fit(graph()).predict(graph())
    assert found.sum() == 12
    assert pipeline.set_params(lof__contamination=0.05).fit_predict(graph()).sum() == 6


def test_a_notebook_shows_the_first_nodes_and_the_threshold() -> None:
    assert "Not fitted yet." in get_detector("lof")()._repr_html_()
    shown = fitted("lof")._repr_html_()
    first = int(fitted("lof").decision_score_.argmax())
    assert "12 nodes of 120 flagged" in shown and f">{first}<" in shown


def test_report_writes_the_page_or_returns_it(tmp_path: Path) -> None:
    path = fitted("lof").report(tmp_path / "out.html", top=2)
    assert path == tmp_path / "out.html"
    assert path.read_text(encoding="utf-8") == fitted("lof").report(top=2).text


def test_the_registry_prints_as_a_table() -> None:
    header, *rows = repr(DETECTORS).splitlines()
    assert header.split()[:2] == ["name", "class"] and len(rows) == len(DETECTORS)
    assert rows[0].startswith("hcm        HCM        how far away its neighbors look")
    assert "<td" in DETECTORS._repr_html_()  # type: ignore[attr-defined]


def test_groups_are_a_list_that_a_notebook_shows() -> None:
    groups = fitted("cross_hcm").groups_
    assert isinstance(groups, list)
    shown = groups._repr_html_()
    assert f"{len(groups)} group" in shown
    assert all(f">{group.kind}<" in shown for group in groups)
