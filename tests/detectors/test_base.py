"""The contract of all detectors, tested on one whose score is the degree."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import pytest

from hopsight.detectors.base import Callback, Detector, Epoch
from hopsight.graph import AttributedGraph
from toys import quick, two_groups


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
    assert model.fit(star_graph) is model
    assert model.decision_score_.tolist() == [5.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert model.decision_score_.dtype == np.float64
    assert model.threshold_ == 1.0
    assert model.label_.tolist() == [1, 0, 0, 0, 0, 0] and model.label_.dtype == np.int64
    assert model.graph_ is star_graph


def test_same_seed_same_scores_and_no_seed_others(star_graph: AttributedGraph) -> None:
    first, again, other = (Degree(noise=1.0, seed=seed).fit(star_graph).decision_score_ for seed in (4, 4, 5))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    free = [Degree(noise=1.0, seed=None).fit(star_graph).decision_score_ for _ in range(2)]
    assert not np.array_equal(free[0], free[1])


def test_callback_is_called(star_graph: AttributedGraph) -> None:
    seen: list[Epoch] = []
    Degree().fit(star_graph, callback=seen.append)
    assert (seen[0].number, seen[0].total, seen[0].loss) == (1, 1, 0.5)
    assert seen[0].scores()[0] == 5.0


def test_predict_before_fit_and_on_new_graphs_is_refused(
    star_graph: AttributedGraph, path_graph: AttributedGraph, random_graph: AttributedGraph
) -> None:
    with pytest.raises(ValueError, match="Degree is not fitted yet: call fit first"):
        Degree().predict()
    model = Degree().fit(star_graph)
    again = AttributedGraph(star_graph.adjacency, star_graph.attributes)
    assert model.decision_function(again).tolist() == model.decision_score_.tolist()
    other = AttributedGraph(star_graph.adjacency, star_graph.attributes + 1.0)
    for graph in (path_graph, random_graph, other):
        with pytest.raises(ValueError, match="Degree can only judge the graph it was fitted on"):
            model.predict(graph)


def test_scores_that_are_not_finite_are_refused(star_graph: AttributedGraph) -> None:
    with pytest.raises(ValueError, match="Degree produced scores that are not finite"):
        Degree(broken=True).fit(star_graph)


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

    with pytest.raises(ValueError, match=f"{next(iter(setting))} must be"):
        Degree(**setting).fit(star_graph, callback=fail)  # type: ignore[arg-type]


def test_settings_are_keywords_only_and_shown() -> None:
    with pytest.raises(TypeError):
        Degree(3)  # type: ignore[misc]
    assert repr(Degree(noise=0.5)) == ("Degree(noise=0.5)")


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
