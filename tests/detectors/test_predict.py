"""Labels, probabilities and confidence, by hand and as PyGOD computes them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import binom
from sklearn.metrics import roc_auc_score

from hopsight.baselines.dominant import DOMINANT
from hopsight.baselines.lof import LOF
from hopsight.datasets import make_graph
from hopsight.detectors.predict import answer, confidence, probability, threshold
from hopsight.detectors.storage import load_detector
from toys import quick, refuses

SCORES = np.arange(1.0, 11.0)


def fitted(scores: np.ndarray, contamination: float | str = 0.2) -> SimpleNamespace:
    limit = threshold(scores, contamination)
    return SimpleNamespace(
        decision_score_=scores, threshold_=limit, label_=(scores > limit).astype(np.int64), contamination=contamination
    )


def test_the_threshold_leaves_the_share_above_it_and_of_equal_scores_all_or_none(rng: np.random.Generator) -> None:
    assert threshold(SCORES, 0.2) == pytest.approx(8.2)  # between the 8th and 9th of ten
    assert (threshold(SCORES, 0.5) < SCORES).sum() == 5 and threshold(np.full(4, 3.0), 0.1) == 3.0
    scores = np.append(rng.exponential(size=500), np.full(6, 20.0))
    assert (scores > threshold(scores, "auto"))[-6:].all()


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
def test_false_alarms_are_as_few_as_promised(share: float, rng: np.random.Generator) -> None:
    """A twentieth of the nodes is found; a fifth is taken for a heavy tail of the bulk and may be missed."""
    scores = rng.normal(size=10_000)
    n_planted = int(share * scores.size)
    scores[:n_planted] += 5.0
    flagged = scores > threshold(scores, "auto")
    assert flagged[n_planted:].sum() <= 0.15 * flagged.sum()
    assert share > 0.1 or flagged[:n_planted].mean() > 0.85


@pytest.mark.parametrize("bad", [-0.1, 0.6, float("nan"), "automatic", True])
def test_bad_contamination_is_refused(bad: Any) -> None:
    refuses("contamination must be", threshold, SCORES, bad)


def test_probabilities_by_hand() -> None:
    assert probability(np.array([0.0, 1.0, 5.5, 10.0, 12.0]), SCORES, "linear").tolist() == [0.0, 0.0, 0.5, 1.0, 1.0]
    mean, deviation = 5.5, np.sqrt(82.5 / 9)
    values = np.array([0.0, mean, mean + deviation, mean + 2 * deviation])
    np.testing.assert_allclose(probability(values, SCORES, "unify"), [0.0, 0.0, 0.682689, 0.954500], atol=1e-6)
    for method in ("linear", "unify"):
        assert probability(SCORES, np.ones(3), method).tolist() == [0.0] * 10  # all scores are equal
    refuses(r"prob_method must be one of linear, unify, got 'linea'; did you", probability, SCORES, SCORES, "linea")


def test_confidence_by_hand() -> None:
    model = fitted(SCORES, 0.2)
    values = confidence(np.array([1.0, 10.0]), model)
    # one of ten scores is ≤ 1, so p = 2/12; all ten are ≤ 10, so p = 11/12; k = 10 − 2
    np.testing.assert_allclose(values, [binom.cdf(8, 10, 2 / 12), 1 - binom.cdf(8, 10, 11 / 12)], atol=1e-12)
    assert values[0] > 0.999 and values[1] == pytest.approx(1 - binom.cdf(8, 10, 11 / 12))


def test_confidence_with_an_automatic_threshold_counts_the_flagged() -> None:
    scores = np.append(np.linspace(0.0, 1.0, 99), 500.0)
    automatic, fixed = fitted(scores, "auto"), fitted(scores, 0.01)
    assert automatic.label_.sum() == 1
    np.testing.assert_allclose(confidence(scores, automatic), confidence(scores, fixed))


def test_results_come_alone_or_as_a_tuple_in_order() -> None:
    model = fitted(SCORES)
    assert answer(model, SCORES).tolist() == [0] * 8 + [1] * 2
    assert answer(model, SCORES, return_pred=False, return_score=True) is SCORES
    labels, scores, chances, sure = answer(model, SCORES, return_score=True, return_prob=True, return_conf=True)
    assert labels.dtype == np.int64 and scores is SCORES
    assert chances[-1] == 1.0 and sure.shape == (10,)
    refuses("predict has nothing to return", answer, model, SCORES, return_pred=False)


@pytest.mark.filterwarnings("ignore:__array_wrap__:DeprecationWarning")  # PyGOD's own
@pytest.mark.parametrize("contamination", [0.1, 0.13, 0.5])
@pytest.mark.parametrize("n_train", [10, 57, 101])
def test_everything_as_pygod_computes_it(rng: np.random.Generator, contamination: float, n_train: int) -> None:
    pygod = pytest.importorskip("pygod.detector.base", reason="pygod is not installed")

    class Given(pygod.Detector):  # type: ignore[name-defined,misc]
        """PyGOD's own arithmetic on given scores."""

        def process_graph(self, data: object) -> None:
            """Do nothing."""

        def fit(self, data: torch.Tensor, label: object = None) -> "Given":
            """Take the scores as they are."""
            self.decision_score_ = data
            self._process_decision_score()
            return self

        def decision_function(self, data: torch.Tensor, label: object = None) -> torch.Tensor:
            """Take the scores as they are."""
            return data

    train, test = rng.gamma(2.0, size=n_train), rng.gamma(3.0, size=40)
    train[:3] = train[3]  # ties
    theirs = Given(contamination=contamination).fit(torch.from_numpy(train))
    ours = fitted(train, contamination)
    assert ours.threshold_ == pytest.approx(theirs.threshold_)
    flags: dict[str, Any] = {"return_score": True, "return_prob": True, "return_conf": True}
    for method in ("linear", "unify"):
        expected = theirs.predict(torch.from_numpy(test), prob_method=method, **flags)
        for mine, other in zip(answer(ours, test, prob_method=method, **flags), expected, strict=True):
            np.testing.assert_allclose(mine, np.asarray(other), atol=1e-6)


def as_data(seed: int, *, with_labels: bool = True) -> Any:
    """Return a generated graph as PyG users have it: both directions of every edge, labels in y."""
    data = pytest.importorskip("torch_geometric.data", reason="torch_geometric is not installed")
    graph = make_graph(150, n_edges=600, n_attributes=8, n_structural=10, n_attribute_anomalies=10, seed=seed)
    both = np.concatenate([graph.edges, graph.edges[::-1]], axis=1)
    out = data.Data(x=torch.tensor(np.array(graph.attributes)).float(), edge_index=torch.from_numpy(both))
    if with_labels:
        out.y = torch.tensor(np.array(graph.labels)).long()
    return out


def test_a_script_written_for_pygod_runs() -> None:
    """Everything that PyGOD's tests assert of DOMINANT holds, under the same names."""
    train_data, test_data = as_data(0), as_data(1)
    detector = DOMINANT(n_epochs=20, contamination=0.15)
    assert detector.fit(train_data) is detector
    for value in (detector.decision_score_, detector.label_, detector.predict()):
        assert value.shape[0] == train_data.y.shape[0]
    assert (detector.label_ == (detector.decision_score_ > detector.threshold_)).all()
    score = detector.predict(return_pred=False, return_score=True)
    assert roc_auc_score(train_data.y, score) >= 0.6  # the floor that PyGOD's test sets

    pred, score, conf = detector.predict(
        test_data, label=test_data.y, return_pred=True, return_score=True, return_conf=True
    )
    assert pred.shape[0] == score.shape[0] == conf.shape[0] == test_data.y.shape[0]
    assert np.array_equal(score, detector.decision_function(test_data))
    assert pred.min() >= 0 and pred.max() <= 1 and conf.min() >= 0 and conf.max() <= 1
    for method in ("linear", "unify"):
        prob = detector.predict(test_data, return_pred=False, return_prob=True, prob_method=method)
        assert prob.shape[0] == test_data.y.shape[0] and prob.min() >= 0 and prob.max() <= 1
        prob, conf = detector.predict(
            data=test_data, return_pred=False, return_prob=True, prob_method=method, return_conf=True
        )
        assert prob.shape == conf.shape == (test_data.y.shape[0],)
    refuses("prob_method", detector.predict, test_data, return_prob=True, prob_method="something")
    assert len(detector.predict(test_data, None, True, True, True, "unify", True)) == 4  # flags in PyGOD's order
    pred, emb = detector.predict(test_data, return_emb=True)
    assert emb.shape == (test_data.y.shape[0], 64) and np.array_equal(pred, detector.predict(test_data))


@pytest.mark.parametrize("name", ["hcm", "dominant", "lof"])
def test_labels_are_accepted_where_pygod_accepts_them_and_ignored(name: str) -> None:
    data = as_data(0)
    wanted = quick(name).fit(data).decision_score_
    np.testing.assert_array_equal(quick(name).fit(data, data.y).decision_score_, wanted)
    model = quick(name).fit(data, label=data.y)
    np.testing.assert_array_equal(model.decision_score_, wanted)
    np.testing.assert_array_equal(model.decision_function(data, data.y), model.decision_function(data))
    np.testing.assert_allclose(model.predict(data, return_pred=False, return_score=True), wanted, atol=1e-4)


def test_half_precision_attributes_are_read() -> None:
    data = as_data(0)
    data.x = data.x.bfloat16()
    assert np.isfinite(LOF().fit(data).decision_score_).all()


def test_embeddings_come_last_and_only_from_detectors_that_have_them(tmp_path: Path) -> None:
    graph = make_graph(60, n_edges=150, n_attributes=4, seed=0)
    model = DOMINANT(n_epochs=3, encoder_units=(16, 5)).fit(graph)
    (alone,) = model.predict(return_pred=False, return_emb=True)
    assert alone.shape == (60, 5) and np.isfinite(alone).all() and alone.any()
    np.testing.assert_array_equal(model.predict(graph, return_score=True, return_emb=True)[2], alone)
    model.save(tmp_path)
    loaded = load_detector(tmp_path)
    np.testing.assert_array_equal(loaded.embed(graph), alone)
    refuses("a loaded DOMINANT has no training graph", loaded.predict, return_emb=True)
    refuses("LOF has no representation of nodes", LOF().fit(graph).predict, return_emb=True)
