"""What distinguishes known anomalies and what moved a node, on graphs where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest

import hopsight as hs
from hopsight.feedback.features import Features, judged_neighbors, node_features
from hopsight.feedback.learner import learn
from hopsight.feedback.reasons import LearnedReasons, given_away, groups_of, in_words
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM


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
    return LearnedReasons(learn(features.rows, score, judged, truth[judged], hashes, 0), features, score)


def test_the_attribute_that_makes_anomalies_distinguishes_them(reasons: LearnedReasons) -> None:
    first, *others = reasons.distinctions()
    assert (first.feature, first.direction) == ("amount", "higher")
    assert first.alone > 0.95 and first.drop > 0.2
    assert all(each.drop < 0.05 for each in others)
    words = in_words([first])
    assert words is not None and words.startswith("What distinguishes known anomalies: amount (higher; ROC-AUC ")


def test_a_high_amount_raises_the_probability_and_a_low_one_lowers_it(reasons: LearnedReasons) -> None:
    amount = reasons.features.values[:, 0]
    high, low = (reasons.node(int(place))[0] for place in (np.argmax(amount), np.argmin(amount)))
    assert high.feature == low.feature == "amount" and high.effect > 1.0 > 0.0 > low.effect
    assert high.value == amount.max() and (high.higher, low.lower) == (0.0, 0.0)
    assert high.lower == low.higher == pytest.approx(100 * 599 / 600)
    usual = int(np.argsort(amount)[amount.size // 2])
    assert all(abs(each.effect) < high.effect for each in reasons.node(usual))


def test_the_probability_of_an_influence_is_that_with_the_median_instead(reasons: LearnedReasons) -> None:
    place = int(np.argmax(reasons.features.values[:, 0]))
    row = reasons.features.values[[place]].copy()
    row[0, 0] = np.median(reasons.features.values[:, 0])
    changed = Features(row, reasons.features.names, reasons.features.local)
    log_odds = reasons.learned.log_odds(changed, reasons.score[[place]])[0]
    assert reasons.node(place)[0].probability == pytest.approx(1 / (1 + np.exp(-log_odds)))


def test_features_of_a_graph_are_grouped_by_attribute_neighbors_and_kind() -> None:
    graph = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(3)[:, :2], directed=True, edge_weight=[1.0, 2.0])
    nobody = np.zeros(0, dtype=np.int64)
    features = node_features(graph, graph.attributes, ["age", "city=Oslo"], {"ring": np.zeros(3)}, np.zeros(3))
    names = ("anomalous neighbors", "normal neighbors", "share of anomalous neighbors")
    found = groups_of(features.with_columns(judged_neighbors(graph, nobody, nobody > 0), names))
    assert set(found) == {
        "age", "city", "neighbors' age", "neighbors' city", "number of neighbors", "neighbors' number of neighbors",
        "number of receivers", "number of senders", "total weight", "evidence of ring", "score without labels",
        "labels of neighbors",
    }  # fmt: skip
    columns = np.concatenate(list(found.values()))
    assert sorted(columns.tolist()) == list(range(len(features.names) + 3))
    assert [features.names[column] for column in found["neighbors' age"]] == [
        "neighbors' age", "neighbors of neighbors' age", "receivers' age", "senders' age", "neighbors' age, by weight",
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
    assert f"with a probability of {explained.probability:.0%}. It is raised by " in explained.summary
    assert "What distinguishes known anomalies: " in hs.report(taught).text
