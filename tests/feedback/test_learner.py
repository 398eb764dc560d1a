"""What labels teach: features, experts and reasons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.metrics import roc_auc_score

import hopsight as hs
from hopsight.explanations.text import chance
from hopsight.feedback.experts import balanced, kernel, kernel_fit, logistic
from hopsight.feedback.features import Features, judged_neighbors, node_features, normal_scores, quantile_levels
from hopsight.feedback.forests import Forest
from hopsight.feedback.learner import Learned, learn
from hopsight.feedback.reasons import LearnedReasons, given_away, groups_of, in_words
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.metrics import roc_auc_difference
from hopsight.system.threads import few_threads


def column(features, name: str) -> list[float]:  # type: ignore[no-untyped-def]
    return [round(float(value), 4) for value in features.values[:, features.names.index(name)]]


def path(*, directed: bool = False, weight: list[float] | None = None) -> AttributedGraph:
    """Return a – b – c, where a = 1, b = 2 and c = 6."""
    values = np.array([[1.0], [2.0], [6.0]])
    return AttributedGraph.from_edges(
        [0, 1], [1, 2], values, attribute_names=["age"], directed=directed,
        edge_weight=None if weight is None else np.array(weight),
    )  # fmt: skip


def test_means_over_neighbors_are_those_worked_out_by_hand() -> None:
    graph = path()
    found = node_features(graph, graph.attributes, ["age"], {"misfit": np.array([3.0, 0.0, 1.0])}, np.ones(3))
    assert column(found, "age") == [1.0, 2.0, 6.0]
    assert column(found, "neighbors' age") == [2.0, 3.5, 2.0]
    assert column(found, "neighbors of neighbors' age") == [3.5, 2.0, 3.5]
    assert column(found, "neighbors' misfit") == [0.0, 2.0, 0.0]
    assert column(found, "number of neighbors") == [round(float(np.log1p(d)), 4) for d in (1, 2, 1)]
    assert not found.local[found.names.index("misfit")] and found.local[found.names.index("neighbors' age")]


def test_senders_and_receivers_are_averaged_apart() -> None:
    graph = path(directed=True)
    found = node_features(graph, graph.attributes, ["age"], {}, np.ones(3))
    assert column(found, "targets' age") == [2.0, 6.0, 0.0]
    assert column(found, "sources' age") == [0.0, 1.0, 2.0]


def test_a_mean_by_weight_follows_the_amounts() -> None:
    graph = path(weight=[1.0, 3.0])
    found = node_features(graph, graph.attributes, ["age"], {}, np.ones(3))
    assert column(found, "neighbors' age, by weight") == [2.0, 4.75, 2.0]  # (1 · 1 + 3 · 6) / 4


def test_a_label_never_enters_the_features_of_its_own_node() -> None:
    graph = path()
    judged, anomalous = np.array([0, 1]), np.array([True, False])
    assert judged_neighbors(graph, judged, anomalous)[:, :2].tolist() == [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]


def test_normal_scores_put_ties_in_the_middle() -> None:
    values = np.array([0.0] * 50 + [1.0] * 50)[:, None]
    found = normal_scores(values, quantile_levels(values))
    assert abs(found[0, 0] + found[-1, 0]) < 1e-6 and round(float(found[-1, 0]), 2) == 0.67  # Φ⁻¹(3/4)


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


def test_the_ranking_stays_if_labels_have_nothing_to_do_with_the_rows() -> None:
    """Some sets of random labels are predicted worse than by chance: all nodes would be as probable, in no order."""
    features, score, truth, rng = rows(by_score=True)
    kept = 0
    for seed in range(8):
        judged = rng.permutation(truth.size)[:60]
        found = learn(features.rows, score, judged, rng.random(60) < 0.2, hashes(truth.size), seed)
        learned = found.scores(score, found.log_odds(features, score))
        assert np.unique(learned).size > truth.size // 2
        kept += int(found.kept[0])
        assert not found.kept[0] or np.array_equal(learned, score)
    assert kept >= 5


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
    trees = ExtraTreesRegressor(20, random_state=0).fit(features.values[:300], truth[:300])
    expected = trees.predict(features.values)
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


@pytest.fixture(scope="module")
def reasons() -> LearnedReasons:
    """Return what was learned where a high amount, and nothing else, makes an anomaly."""
    rng = np.random.default_rng(0)
    n = 600
    values = rng.normal(size=(n, 4)).astype(np.float32)
    truth = values[:, 0] > 1.0
    features = Features(values, ("amount", "age", "neighbors' amount", "misfit"), np.array([True, True, True, False]))
    judged = rng.permutation(n)[:120]
    hashes = rng.integers(0, 2**63, size=n, dtype=np.uint64)
    score = np.abs(rng.normal(size=n))
    return LearnedReasons(learn(features.rows, score, judged, truth[judged], hashes, 0), features.rows, score)


def test_the_attribute_that_makes_anomalies_distinguishes_them(reasons: LearnedReasons) -> None:
    first, *others = reasons.distinctions()
    assert (first.feature, first.direction) == ("amount", "higher")
    assert first.alone > 0.95 and first.drop > 0.2
    assert all(each.drop < 0.05 for each in others)
    assert f"What distinguishes known anomalies: amount (higher; {100 * first.alone:.0f} of 100). " in in_words([first])
    names = ("opened, days since 1970", *reasons.features.names[1:])
    dated = LearnedReasons(reasons.learned, lambda rows: replace(reasons.rows(rows), names=names), reasons.score)
    assert dated.distinctions()[0].direction == "later"


def test_a_high_amount_raises_the_probability_and_a_low_one_lowers_it(reasons: LearnedReasons) -> None:
    amount = reasons.features.values[:, 0]
    high, low = (reasons.influences(int(place))[0] for place in (np.argmax(amount), np.argmin(amount)))
    assert high.feature == low.feature == "amount" and high.effect > 1.0 > 0.0 > low.effect
    assert high.value == amount.max() and (high.higher, low.lower) == (0.0, 0.0)
    assert high.lower == low.higher == pytest.approx(100 * 599 / 600)
    usual = int(np.argsort(amount)[amount.size // 2])
    assert all(abs(each.effect) < high.effect for each in reasons.influences(usual))


def test_the_probability_of_an_influence_is_that_with_the_median_instead(reasons: LearnedReasons) -> None:
    place = int(np.argmax(reasons.features.values[:, 0]))
    row = reasons.features.values[[place]].copy()
    row[0, 0] = np.median(reasons.features.values[:, 0])
    changed = Features(row, reasons.features.names, reasons.features.local)
    log_odds = reasons.learned.log_odds(changed, reasons.score[[place]])[0]
    assert reasons.influences(place)[0].probability == pytest.approx(1 / (1 + np.exp(-log_odds)))


def test_features_of_a_graph_are_grouped_by_attribute_neighbors_and_kind() -> None:
    graph = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(3)[:, :2], directed=True, edge_weight=[1.0, 2.0])
    nobody = np.zeros(0, dtype=np.int64)
    features = node_features(graph, graph.attributes, ["age", "city=Oslo"], {"ring": np.zeros(3)}, np.zeros(3))
    names = ("anomalous neighbors", "normal neighbors", "share of anomalous neighbors")
    found = groups_of(features.with_columns(judged_neighbors(graph, nobody, nobody > 0), names))
    assert set(found) == {
        "age", "city", "neighbors' age", "neighbors' city", "number of neighbors", "neighbors' number of neighbors",
        "number of targets", "number of sources", "total weight", "evidence of ring", "score without labels",
        "labels of neighbors",
    }  # fmt: skip
    columns = np.concatenate(list(found.values()))
    assert sorted(columns.tolist()) == list(range(len(features.names) + 3))
    assert [features.names[column] for column in found["neighbors' age"]] == [
        "neighbors' age", "neighbors of neighbors' age", "targets' age", "sources' age", "neighbors' age, by weight",
    ]  # fmt: skip


def test_a_column_that_equals_the_label_is_asked_about_and_others_are_not() -> None:
    anomalous = np.arange(40) < 8
    almost = np.where(anomalous, 1.0, 0.0)
    almost[7] = 0.0
    columns = np.stack([-1.0 * anomalous, almost, np.arange(40.0) % 7], axis=1)
    names = ["chargeback", "reported", "age"]
    wanted = "chargeback predicts is_fraud alone, ROC-AUC 1.000: is it known before the fact?"
    assert given_away(columns, names, anomalous, "is_fraud") == [wanted]
    assert given_away(columns[:19], names, anomalous[:19], "is_fraud") == []
    assert given_away(columns[:8], names, anomalous[:8], "is_fraud") == []


def test_only_columns_of_the_user_are_asked_about_each_once() -> None:
    anomalous = np.arange(40) < 8
    names = ["edges sent, log count", "core number", "refund sent, mean", "refund sent, maximum for its count"]
    names += ["Amount received, log sum for its count"]  # known with the payment itself
    columns = np.repeat(anomalous[:, None], 5, axis=1).astype(np.float64)
    wanted = "refund predicts is_fraud alone, ROC-AUC 1.000: is it known before the fact?"
    assert given_away(columns, names, anomalous, "is_fraud") == [wanted]


def test_a_category_is_had_more_often_and_by_shares_of_labels() -> None:
    rng = np.random.default_rng(1)
    truth, n = np.arange(300) < 100, 300
    oslo = np.where(rng.random(n) < 0.1, ~truth, truth)
    values = np.column_stack([oslo, ~oslo, rng.normal(size=n)]).astype(np.float32)
    features = Features(values, ("city=Oslo", "city=Bergen", "burst"), np.array([True, True, False]))
    judged, hashes = np.arange(0, n, 3), rng.integers(0, 2**63, size=n, dtype=np.uint64)
    reasons = LearnedReasons(
        learn(features.rows, np.ones(n), judged, truth[judged], hashes, 0), features.rows, values[:, 2]
    )
    first = reasons.distinctions()[0]
    assert first.feature == "city" and first.direction in ("more often Oslo", "less often Bergen")
    found = reasons.influences(int(np.flatnonzero(oslo)[0]))[0]
    known, positive = (oslo if found.feature == "city=Oslo" else ~oslo)[judged] == found.value, truth[judged]
    assert found.shares == (known[positive].mean(), known[~positive].mean())
    assert found.lower + found.higher < 100.0


def test_a_learned_detector_says_what_distinguishes_and_explains_with_probabilities(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = hs.make_graph(240, n_structural=10, n_attribute_anomalies=10, seed=1)
    leak = np.where(made.labels > 0, 1.0, 0.0) + np.linspace(0.0, 0.1, made.n_nodes)
    attributes = np.column_stack([np.asarray(made.attributes)[:, :5], leak])
    graph = AttributedGraph(made.adjacency, attributes, attribute_names=[*"abcde", "chargeback"], labels=made.labels)
    model = hs.CrossHCM(seed=0, **CrossHCM.quick).fit(graph)
    assert model.learned_reasons() is None and hs.explain(model, 0).probability is None
    places = np.concatenate([np.flatnonzero(made.labels > 0)[:10], np.flatnonzero(made.labels == 0)[:30]])
    taught = model.learn({graph.node_ids[place]: int(made.labels[place]) for place in places})
    assert "chargeback predicts the label alone, ROC-AUC 1.000: is it known before the fact?" in caplog.messages
    found = taught.learned_reasons()
    assert found is not None and "chargeback" in [each.feature for each in found.distinctions(100)]
    explained = hs.explain(taught, graph.node_ids[int(np.argmax(taught.probability_))])
    assert explained.probability == taught.probability_.max() and explained.influences
    assert f"a probability of {chance(explained.probability)}, raised by " in explained.summary
    assert "What distinguishes known anomalies: " in hs.report(taught).text
