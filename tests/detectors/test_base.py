"""The contract of all detectors, in Python, scikit-learn, notebooks and print."""

import copy
import pickle
import threading
from dataclasses import dataclass
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
from hopsight.detectors.base import Callback, Detector, Epoch
from hopsight.graph import AttributedGraph
from processes import python
from toys import quick, refuses, two_groups


@dataclass(kw_only=True)
class Degree(Detector):
    """Score a node by its degree plus a random number below ``noise``."""

    noise: float = 0.0
    broken: bool = False

    def _fit(self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callback | None) -> np.ndarray:
        scores = graph.degrees + self.noise * rng.random(graph.n_nodes)
        if callback is not None:
            callback(Epoch(1, 1, 0.5, lambda: scores))
        if self.broken:
            scores = np.append(scores[1:], np.nan)
        return scores


def test_fit_sets_scores_threshold_and_labels(star_graph: AttributedGraph) -> None:
    model = Degree(contamination=0.2)
    assert model.fit(star_graph) is model and model.decision_score_.tolist() == [5.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert model.decision_score_.dtype == np.float64 and model.threshold_ == 1.0
    assert model.label_.tolist() == [1, 0, 0, 0, 0, 0] and model.label_.dtype == np.int64
    assert model.graph_ is star_graph


def test_only_the_same_graph_is_judged(
    star_graph: AttributedGraph, path_graph: AttributedGraph, random_graph: AttributedGraph
) -> None:
    model = Degree().fit(star_graph)
    again = AttributedGraph(star_graph.adjacency, star_graph.attributes)
    assert model.decision_function(again).tolist() == model.decision_score_.tolist()
    other = AttributedGraph(star_graph.adjacency, star_graph.attributes + 1.0)
    for graph in (path_graph, random_graph, other):
        refuses("Degree can only judge the graph it was fitted on", model.predict, graph)


def test_scores_that_are_not_finite_and_settings_without_names_are_refused(star_graph: AttributedGraph) -> None:
    with pytest.raises(TypeError):
        Degree(3)  # type: ignore[misc]
    refuses("Degree produced scores that are not finite", Degree(broken=True).fit, star_graph)


@pytest.mark.parametrize(
    "setting",
    [
        {"contamination": 0.7}, {"contamination": "some"}, {"false_alarms": 1.0}, {"false_alarms": -0.1}, {"seed": -1},
        {"seed": 1.5},
    ],
)  # fmt: skip
def test_bad_settings_are_refused_before_the_work(star_graph: AttributedGraph, setting: dict[str, object]) -> None:
    def fail(epoch: Epoch) -> None:
        pytest.fail("the fit has started")

    refuses(f"{next(iter(setting))} must be", Degree(**setting).fit, star_graph, callback=fail)


@dataclass(kw_only=True)
class Given(Detector):
    """Return given scores."""

    scores: tuple[float, ...] = ()

    def _fit(self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callback | None) -> np.ndarray:
        return np.array(self.scores)


def test_scores_beyond_the_tail_of_the_others_are_flagged() -> None:
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(size=995), np.full(5, 30.0)])
    graph = AttributedGraph(np.zeros((1000, 1000)), np.zeros((1000, 1)))
    model = Given(scores=tuple(scores)).fit(graph)
    assert model.label_[995:].all() and model.label_[:995].sum() <= 1
    assert Given(scores=tuple(scores[:995]) + (0.0,) * 5).fit(graph).label_.sum() == 0  # nothing stands out


@pytest.mark.parametrize("name", ["hcm", "dominant", "lof"])
def test_one_detector_in_several_threads_is_refused_in_one_sentence(name: str) -> None:
    """Exactly one of them may fit; the others leave what it learns alone."""
    model, graph, alone = quick(name), two_groups(0), quick(name).fit(two_groups(0))
    begin, inside, errors = threading.Barrier(4), threading.Event(), []
    finish = type(model)._fit

    def slow(self: Detector, *arguments: object, **options: object) -> np.ndarray:
        inside.wait(60)  # until the others have been refused
        return finish(self, *arguments, **options)

    def work() -> None:
        begin.wait(60)
        try:
            model.fit(graph)
        except ValueError as error:
            errors.append(str(error))
            if len(errors) == 3:
                inside.set()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(model), "_fit", slow)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    assert len(errors) == 3 and all("is being fitted in another thread: create one" in error for error in errors)
    assert np.array_equal(model.decision_score_, alone.decision_score_)
    assert np.array_equal(model.fit(graph).decision_score_, alone.decision_score_)


@cache
def graph() -> AttributedGraph:
    return make_textbook("ring", n=120, n_communities=3)


@cache
def fitted(name: str) -> Any:
    kind = get_detector(name)
    return kind(contamination=0.1, **kind.quick).fit(graph())


@pytest.mark.parametrize("name", DETECTORS)
def test_a_copied_or_pickled_detector_judges_as_before_and_a_clone_has_no_fit(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    twin = clone(model)
    assert twin.get_params() == model.get_params() and not hasattr(twin, "decision_score_")
    joblib.dump(model, tmp_path / "model")
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        assert np.array_equal(twin.decision_score_, model.decision_score_)
        assert np.array_equal(twin.decision_function(graph()), model.decision_score_)
        assert twin.predict().tolist() == model.label_.tolist()
    assert copy.deepcopy(model).graph_ is model.graph_  # read-only, so there is nothing to copy


def test_set_params_changes_the_next_fit_and_refuses_unknown_names() -> None:
    model = get_detector("lof")()
    assert model.set_params(contamination=0.25) is model and model.fit(graph()).label_.sum() == 30
    refuses(r"^LOF has no parameter 'contaminaton'; did you mean contamination\?$", model.set_params, contaminaton=0.1)


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


def test_groups_are_a_list_that_a_notebook_shows() -> None:
    groups = fitted("cross_hcm").groups_
    assert isinstance(groups, list)
    shown = groups._repr_html_()
    assert f"{len(groups)} group" in shown and all(f">{group.kind}<" in shown for group in groups)


def test_every_name_leads_to_a_detector_and_back() -> None:
    for name, kind in DETECTORS.items():
        assert issubclass(kind, Detector) and kind.__doc__
        assert get_detector(name) is kind and get_detector(kind.__name__) is kind
        assert kind.__name__.lower() == name.replace("_", "")


def test_wrong_names() -> None:
    refuses(r"detector must be one of .*, got 'dominat'; did you mean dominant\?", get_detector, "dominat")
    refuses(r"got 'cross-hcm'; did you mean cross_hcm\?", get_detector, "cross-hcm")
    with pytest.raises(KeyError):
        DETECTORS["random"]
    assert "random" not in DETECTORS


def test_listing_names_loads_no_model() -> None:
    """Listing names does not import torch, which takes seconds."""
    code = "import sys; from hopsight.detectors import DETECTORS; list(DETECTORS); print('torch' in sys.modules)"
    assert python(code).stdout.strip() == "False"
