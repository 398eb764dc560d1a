"""Learning from labels: what the combination promises, on graphs where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import roc_auc_score

from hopsight.feedback.experts import balanced, kernel, kernel_fit, logistic
from hopsight.feedback.features import Features
from hopsight.feedback.forests import Forest
from hopsight.feedback.learner import Learned, learn
from hopsight.metrics import roc_auc_difference
from hopsight.system.threads import few_threads


def rows(n: int = 1500, *, by_score: bool, seed: int = 0):  # type: ignore[no-untyped-def]
    """Return features, scores and truth: anomalies have high scores, or a high third feature that no score sees."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 6)).astype(np.float32)
    score = np.abs(rng.normal(size=n))
    truth = (score if by_score else values[:, 2]) > np.quantile(score if by_score else values[:, 2], 0.9)
    features = Features(values, tuple(f"x{i}" for i in range(6)), np.array([True] * 4 + [False] * 2))
    return features, score, truth, rng


def hashes(n: int) -> np.ndarray:
    return np.random.default_rng(5).integers(0, 2**63, size=n, dtype=np.uint64)


def test_labels_find_what_no_score_looks_for() -> None:
    features, score, truth, rng = rows(by_score=False)
    judged = rng.permutation(truth.size)[:100]
    found = learn(features.rows, score, judged, truth[judged], hashes(truth.size), 0)
    rest = np.setdiff1d(np.arange(truth.size), judged)
    assert roc_auc_score(truth[rest], score[rest]) < 0.6
    assert roc_auc_score(truth[rest], found.log_odds(features, score)[rest]) > 0.9


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_few_labels_are_enough_to_learn(n: int) -> None:
    features, score, truth, _ = rows(by_score=True)
    judged = np.argsort(-score)[[0, *range(-1, -n, -1)]]
    found = learn(features.rows, score, judged, truth[judged], hashes(truth.size), 0)
    assert roc_auc_score(truth, found.log_odds(features, score)) > 0.8


def test_labels_from_the_top_of_a_good_ranking_do_not_ruin_it() -> None:
    """Features say nothing, three to six of the 60 first are normal: what trees make of that must not count."""
    losses = []
    for seed in range(6):
        features, score, truth, rng = rows(by_score=True, seed=seed)
        noisy = score + rng.normal(scale=0.4, size=score.size)
        judged = np.argsort(-noisy)[:60]
        found = learn(features.rows, noisy, judged, truth[judged], hashes(truth.size), 0)
        rest = np.setdiff1d(np.arange(truth.size), judged)
        before, after = (roc_auc_score(truth[rest], each[rest]) for each in (noisy, found.log_odds(features, noisy)))
        losses.append(before - after)
    assert np.mean(losses) < 0.03
    assert max(losses) < 0.1


def test_the_ranking_stays_if_labels_contradict_themselves() -> None:
    features, score, truth, rng = rows(by_score=True)
    judged = rng.permutation(truth.size)[:80]
    random = Features(rng.normal(size=features.values.shape).astype(np.float32), features.names, features.local)
    found = learn(random.rows, score, judged, truth[judged], hashes(truth.size), 0)
    rest = np.setdiff1d(np.arange(truth.size), judged)
    assert roc_auc_score(truth[rest], found.log_odds(random, score)[rest]) > 0.97


def test_probabilities_are_about_as_often_right_as_they_say() -> None:
    errors = []
    for seed in range(4):
        features, score, truth, rng = rows(by_score=False, seed=seed)
        judged = rng.permutation(truth.size)[:100]
        found = learn(features.rows, score, judged, truth[judged], hashes(truth.size), 0)
        rest = np.setdiff1d(np.arange(truth.size), judged)
        chance = 1.0 / (1.0 + np.exp(-found.log_odds(features, score)[rest]))
        bins = np.minimum((10 * chance).astype(int), 9)
        errors.append(sum(abs(chance[bins == b].sum() - truth[rest][bins == b].sum()) for b in range(10)) / rest.size)
        assert np.mean((chance - truth[rest]) ** 2) < truth[rest].mean() * (1 - truth[rest].mean())
    assert np.mean(errors) < 0.08


def test_the_order_of_rows_and_the_number_of_threads_change_nothing() -> None:
    features, score, truth, rng = rows(by_score=False)
    judged, words = rng.permutation(truth.size)[:60], hashes(truth.size)
    found = learn(features.rows, score, judged, truth[judged], words, 3).log_odds(features, score)
    order = rng.permutation(truth.size)
    moved = Features(features.values[order], features.names, features.local)
    places = np.argsort(order)[judged]
    with few_threads(1):
        again = learn(moved.rows, score[order], places, truth[judged], words[order], 3).log_odds(moved, score[order])
    assert np.array_equal(again, found[order])


def test_the_estimate_is_made_without_the_own_label() -> None:
    """Labels at random cannot be predicted: an estimate that had seen them would be far above one half."""
    features, score, truth, _ = rows(by_score=False)
    estimates = []
    for seed in range(5):
        judged = np.random.default_rng(seed).permutation(truth.size)[:100]
        found = learn(features.rows, score, judged, np.arange(100) % 4 == 0, hashes(truth.size), 0)
        estimates.append(found.quality()["roc_auc"])
    assert np.mean(estimates) < 0.58


def test_what_was_learned_is_made_of_arrays_alone_and_refuses_damage() -> None:
    features, score, truth, rng = rows(by_score=False)
    judged = rng.permutation(truth.size)[:50]
    found = learn(features.rows, score, judged, truth[judged], hashes(truth.size), 0)
    found.check(truth.size)
    arrays = {}
    for name, value in vars(found).items():
        parts = vars(value) if isinstance(value, Forest) else None
        arrays |= {name: value} if parts is None else {f"{name}.{part}": array for part, array in parts.items()}
    assert all(isinstance(array, np.ndarray) for array in arrays.values())
    assert sum(array.nbytes for array in arrays.values()) < 5e6
    again = Learned.of(**arrays)
    assert np.array_equal(again.log_odds(features, score), found.log_odds(features, score))
    loop = arrays["everything.left"].copy()
    inner = np.flatnonzero(loop > np.arange(loop.size))
    loop[inner[-1]] = 0  # a child that comes before its parent: walking down would never end
    with pytest.raises(ValueError, match="damaged"):
        Learned.of(**{**arrays, "everything.left": loop}).check(truth.size)


def test_a_forest_predicts_what_scikit_learn_predicts() -> None:
    features, _, truth, _ = rows(by_score=False)
    trees = ExtraTreesClassifier(20, random_state=0).fit(features.values[:300], truth[:300])
    expected = np.mean([tree.predict_proba(features.values)[:, 1] for tree in trees.estimators_], axis=0)
    assert np.allclose(Forest.of(trees.estimators_).predict(features.values), expected, atol=1e-6)


def test_leaving_one_out_in_closed_form_is_leaving_one_out() -> None:
    rng = np.random.default_rng(0)
    normal, anomalous = rng.normal(size=(30, 4)).astype(np.float32), np.arange(30) % 3 == 0
    sign = np.where(anomalous, 1.0, -1.0)
    coefficients, without = kernel_fit(normal, np.column_stack([sign, anomalous]), balanced(anomalous))
    noise = 0.5 / np.where(anomalous, 30 / 20, 30 / 40)
    rest = np.arange(1, 30)
    fitted = np.linalg.solve(kernel(normal[rest], normal[rest]) + np.diag(noise[rest]), sign[rest])
    assert np.isclose(without[0, 0], (kernel(normal[:1], normal[rest]) @ fitted)[0])
    assert coefficients.shape == (30, 2)


def test_the_logistic_regression_is_that_of_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(200, 3)), rng.random(200) < 0.4
    found = logistic(x, y, np.ones(200), np.full(3, 0.5), np.zeros(3))
    expected = LogisticRegression(C=1.0, tol=1e-8).fit(x, y)
    assert np.allclose(found, [expected.intercept_[0], *expected.coef_[0]], atol=1e-3)


def test_the_error_of_a_difference_of_auc_is_that_of_many_samples() -> None:
    rng = np.random.default_rng(2)
    differences, errors = [], []
    for _ in range(300):
        truth = np.arange(80) < 20
        first, second = truth + rng.normal(size=80), 0.5 * truth + rng.normal(size=80)
        difference, error = roc_auc_difference(truth, first, second)
        assert np.isclose(difference, roc_auc_score(truth, first) - roc_auc_score(truth, second))
        differences.append(difference)
        errors.append(error)
    assert abs(np.mean(errors) / np.std(differences) - 1.0) < 0.15
