"""Labels, probabilities and confidence: worked by hand, and as PyGOD computes them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import binom
from sklearn.metrics import roc_auc_score

from hopsight.datasets import make_network
from hopsight.detectors.dominant import DOMINANT
from hopsight.detectors.predict import answer, confidence, probability, threshold

SCORES = np.arange(1.0, 11.0)


def fitted(scores: np.ndarray, contamination: float | str = 0.2) -> SimpleNamespace:
    limit = threshold(scores, contamination)
    return SimpleNamespace(
        decision_score_=scores,
        threshold_=limit,
        label_=(scores > limit).astype(np.int64),
        contamination=contamination,
    )


def test_threshold_leaves_the_share_above_it() -> None:
    assert threshold(SCORES, 0.2) == pytest.approx(8.2)  # between the 8th and 9th of ten
    assert (threshold(SCORES, 0.5) < SCORES).sum() == 5
    assert threshold(np.full(4, 3.0), 0.1) == 3.0


def test_automatic_threshold_by_hand() -> None:
    scores = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 100.0])
    # median 4; above it 0, 1, 2, 96 away, their median 1.5
    assert threshold(scores, "auto") == pytest.approx(4 + 3.5 * 1.4826 * 1.5)
    assert (scores > threshold(scores, "auto")).tolist() == [False] * 6 + [True]


def test_automatic_threshold_flags_little_of_a_normal_sample(rng: np.random.Generator) -> None:
    scores = rng.normal(size=20_000)
    flagged = scores > threshold(scores, "auto")
    assert flagged.mean() < 0.002
    scores[:200] += 12.0
    assert (scores > threshold(scores, "auto"))[:200].all()


@pytest.mark.parametrize("bad", [-0.1, 0.6, float("nan"), "automatic", True])
def test_bad_contamination_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="contamination must be"):
        threshold(SCORES, bad)


def test_linear_probability_by_hand() -> None:
    assert probability(np.array([0.0, 1.0, 5.5, 10.0, 12.0]), SCORES, "linear").tolist() == [0.0, 0.0, 0.5, 1.0, 1.0]
    assert probability(SCORES, np.ones(3), "linear").tolist() == [0.0] * 10  # nothing to tell apart


def test_unified_probability_by_hand() -> None:
    mean, deviation = 5.5, np.sqrt(82.5 / 9)
    values = np.array([0.0, mean, mean + deviation, mean + 2 * deviation])
    np.testing.assert_allclose(probability(values, SCORES, "unify"), [0.0, 0.0, 0.682689, 0.954500], atol=1e-6)
    assert probability(SCORES, np.ones(3), "unify").tolist() == [0.0] * 10


def test_unknown_probability_is_refused() -> None:
    with pytest.raises(ValueError, match=r"prob_method must be one of linear, unify, got 'linea'; did you"):
        probability(SCORES, SCORES, "linea")


def test_confidence_by_hand() -> None:
    model = fitted(SCORES, 0.2)
    values = confidence(np.array([1.0, 10.0]), model)
    # one of ten scores is ≤ 1, so p = 2/12; all ten are ≤ 10, so p = 11/12; k = 10 − 2
    np.testing.assert_allclose(values, [binom.cdf(8, 10, 2 / 12), 1 - binom.cdf(8, 10, 11 / 12)], atol=1e-12)
    assert values[0] > 0.999 and values[1] == pytest.approx(1 - binom.cdf(8, 10, 11 / 12))


def test_confidence_with_an_automatic_threshold_counts_the_flagged() -> None:
    scores = np.append(np.arange(1.0, 10.0), 500.0)
    automatic, fixed = fitted(scores, "auto"), fitted(scores, 0.1)
    assert automatic.label_.sum() == 1
    np.testing.assert_allclose(confidence(scores, automatic), confidence(scores, fixed))


def test_answers_come_alone_or_as_a_tuple_in_order() -> None:
    model = fitted(SCORES)
    assert answer(model, SCORES).tolist() == [0] * 8 + [1] * 2
    assert answer(model, SCORES, return_pred=False, return_score=True) is SCORES
    labels, scores, chances, sure = answer(model, SCORES, return_score=True, return_prob=True, return_conf=True)
    assert labels.dtype == np.int64 and scores is SCORES
    assert chances[-1] == 1.0 and sure.shape == (10,)
    with pytest.raises(ValueError, match="predict was asked for nothing"):
        answer(model, SCORES, return_pred=False)


@pytest.mark.filterwarnings("ignore:__array_wrap__:DeprecationWarning")  # PyGOD's own
@pytest.mark.parametrize("contamination", [0.1, 0.13, 0.5])
@pytest.mark.parametrize("n_train", [10, 57, 101])
def test_everything_as_pygod_computes_it(rng: np.random.Generator, contamination: float, n_train: int) -> None:
    pygod = pytest.importorskip("pygod.detector.base", reason="pygod is not installed")

    class Given(pygod.Detector):  # type: ignore[name-defined,misc]
        """PyGOD's own arithmetic on scores that are given."""

        def process_graph(self, data: object) -> None:
            """Do nothing."""

        def fit(self, data: torch.Tensor, label: object = None) -> Given:
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


def test_a_script_written_for_pygod_runs(recwarn: pytest.WarningsRecorder) -> None:
    """What PyGOD's tests assert of DOMINANT on a training and a test graph, its names for the results."""
    data = pytest.importorskip("torch_geometric.data", reason="torch_geometric is not installed")

    def as_data(seed: int, *, with_labels: bool) -> Any:
        graph = make_network(150, n_edges=600, n_attributes=8, n_structural=10, n_attribute_anomalies=10, seed=seed)
        both = np.concatenate([graph.edges, graph.edges[::-1]], axis=1)
        out = data.Data(x=torch.tensor(np.array(graph.attributes)).float(), edge_index=torch.from_numpy(both))
        if with_labels:
            out.y = torch.tensor(np.array(graph.labels)).long()
        return out

    train_data, test_data = as_data(0, with_labels=True), as_data(1, with_labels=False)
    detector = DOMINANT(n_epochs=20, contamination=0.15)
    assert detector.fit(train_data) is detector
    for value in (detector.decision_score_, detector.label_, detector.predict()):
        assert value.shape[0] == train_data.y.shape[0]
    assert (detector.label_ == (detector.decision_score_ > detector.threshold_)).all()
    assert roc_auc_score(train_data.y, detector.decision_score_) > 0.6

    pred, score, conf = detector.predict(test_data, return_pred=True, return_score=True, return_conf=True)
    assert pred.shape[0] == score.shape[0] == conf.shape[0] == test_data.x.shape[0]
    assert pred.min() >= 0 and pred.max() <= 1 and conf.min() >= 0 and conf.max() <= 1
    for method in ("linear", "unify"):
        prob = detector.predict(test_data, return_pred=False, return_prob=True, prob_method=method)
        assert prob.shape[0] == test_data.x.shape[0] and prob.min() >= 0 and prob.max() <= 1
    with pytest.raises(ValueError, match="prob_method"):
        detector.predict(test_data, return_prob=True, prob_method="something")

    unlabelled = DOMINANT(n_epochs=20, contamination=0.15)
    del train_data.y
    assert np.array_equal(unlabelled.fit(train_data).decision_score_, detector.decision_score_)
