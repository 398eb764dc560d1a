"""A fitted CrossHCM that learns: a new detector, the old one unchanged, the same after saving."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import hopsight as hs
from hopsight.explanations.text import chance
from hopsight.feedback.teaching import BULK, TOP, in_words
from hopsight.hcm.cross_hcm import CrossHCM


@pytest.fixture(scope="module")
def fitted() -> CrossHCM:
    graph = hs.make_graph(240, n_structural=10, n_attribute_anomalies=10, seed=1)
    return hs.CrossHCM(seed=0, **CrossHCM.quick).fit(graph)


@pytest.fixture(scope="module")
def labels(fitted: CrossHCM) -> dict[Any, str]:
    known = dict(zip(fitted.graph_.node_ids.tolist(), fitted.graph_.labels.tolist(), strict=True))
    return {node: "anomalous" if known[node] == 1 else "normal" for node in fitted.queue(40)}


@pytest.fixture(scope="module")
def taught(fitted: CrossHCM, labels: dict[Any, str]) -> CrossHCM:
    return fitted.learn(labels)


def test_learning_returns_a_new_detector_and_leaves_the_old_one(fitted: CrossHCM, taught: CrossHCM) -> None:
    assert taught is not fitted and fitted.learned_ is None and not hasattr(fitted, "probability_")
    assert not np.array_equal(taught.decision_score_, fitted.decision_score_)
    assert {"anomaly_probability", "rank_before"} <= set(taught.to_frame().columns)
    assert (taught.learned_words or "").startswith("Learned from ")


def test_the_score_is_minus_the_logarithm_of_the_probability_of_being_normal(taught: CrossHCM) -> None:
    assert np.allclose(taught.decision_score_, -np.log10(1.0 - taught.probability_))
    flagged = taught.label_ == 1
    if flagged.any():
        assert (1.0 - taught.probability_[flagged]).mean() <= taught.false_alarms
        assert taught.probability_[flagged].min() >= taught.probability_[~flagged].max()


def test_a_labeled_node_is_explained_with_its_label_and_with_probabilities(
    fitted: CrossHCM, taught: CrossHCM, labels: dict[Any, str]
) -> None:
    for kind in ("anomalous", "normal"):
        node = next(node for node, label in labels.items() if label == kind)
        reasons = hs.explain(taught, node)
        place = taught.graph_.index_of(node)
        assert reasons.labeled == kind and reasons.in_short.startswith(f"labeled {kind}; ")
        assert reasons.summary.startswith(f"It was labeled {kind}. What was learned from all labels gives it a prob")
        said = " ".join(str(reasons).split())
        least, own = 1.0 - 10.0**-taught.threshold_, taught.probability_[place]
        assert f"Probability {chance(own)} (flagged from {least:.1%}); " in said
        assert "score" not in said.partition("Neighbors")[0].replace("score without labels", "")
    other = next(node for node in taught.graph_.node_ids.tolist() if node not in labels)
    assert hs.explain(taught, other).labeled is None and "labeled" not in hs.explain(taught, other).in_short
    before = hs.explain(fitted, other)
    assert (before.labeled, before.flagged_from) == (None, None) and "flagged above" in str(before)


def test_a_share_of_nodes_is_flagged_if_that_is_asked_for(fitted: CrossHCM, labels: dict[Any, str]) -> None:
    wanted = hs.CrossHCM(seed=0, contamination=0.1, **CrossHCM.quick).fit(fitted.graph_).learn(labels)
    assert wanted.label_.sum() == 24


def test_nothing_moves_until_there_are_labels_of_both_kinds(
    fitted: CrossHCM, taught: CrossHCM, caplog: pytest.LogCaptureFixture
) -> None:
    first = fitted.queue(3)
    for word in ("anomalous", "normal", "unsure"):
        for model in (fitted, taught):  # learning starts from the fit
            caplog.clear()
            same = model.learn(dict.fromkeys(first, word))
            assert np.array_equal(same.decision_score_, fitted.decision_score_) and same.learned_words is None
            assert (f"All labels are {word}" in caplog.text) == (word != "unsure")


def test_the_order_of_the_nodes_changes_nothing(fitted: CrossHCM, labels: dict[Any, str], taught: CrossHCM) -> None:
    graph = fitted.graph_
    order = np.random.default_rng(0).permutation(graph.n_nodes)
    moved = hs.AttributedGraph(
        graph.adjacency[order][:, order], graph.attributes[order], node_ids=graph.node_ids[order],
        attribute_names=graph.attribute_names,
    )  # fmt: skip
    again = hs.CrossHCM(seed=0, **CrossHCM.quick).fit(moved).learn(labels)
    assert np.array_equal(again.probability_, taught.probability_[order])
    assert np.array_equal(again.judge(moved).probability_, again.probability_)


def test_a_graph_judged_again_has_the_same_probabilities(taught: CrossHCM, labels: dict[Any, str]) -> None:
    source, target = (taught.graph_.node_ids[ends].tolist() for ends in taught.graph_.edges)
    edges = {"payer": [*source, 240], "payee": [*target, source[0]]}
    order = np.random.default_rng(0).permutation(240)
    ages: list[float | None] = taught.graph_.attributes[order, 0].tolist()
    nodes = {"id": taught.graph_.node_ids[order].tolist(), "age": [*[None] * 12, *ages[12:]]}
    graph = hs.load(pl.DataFrame(edges), nodes=pl.DataFrame(nodes))
    model = hs.CrossHCM.untrained(seed=0).fit(graph).learn(labels)
    again = model.judge(graph)
    assert np.array_equal(again.probability_, model.probability_)
    assert np.array_equal(again.rank_before_, model.rank_before_)
    other_order = {name: values[::-1] for name, values in nodes.items()}
    turned = model.judge(hs.load(pl.DataFrame(edges), nodes=pl.DataFrame(other_order)))
    assert np.array_equal(turned.probability_[:240][::-1], model.probability_[:240])
    complete = hs.load(pl.DataFrame(edges), nodes=pl.DataFrame(nodes | {"age": ages}))  # has no column of empty cells
    assert np.corrcoef(model.judge(complete).probability_, model.probability_)[0, 1] > 0.9


def test_what_was_learned_is_saved_with_the_model(taught: CrossHCM, tmp_path: Path) -> None:
    taught.save(tmp_path)
    loaded = hs.load_detector(tmp_path)
    assert np.array_equal(loaded.probability_, taught.probability_)
    assert loaded.learned_words == taught.learned_words
    again = loaded.judge(taught.graph_)
    assert np.allclose(again.probability_, taught.probability_, atol=1e-6)
    assert loaded.queue(5, graph=taught.graph_) == taught.queue(5)
    assert {file.suffix for file in tmp_path.iterdir()} == {".json", ".safetensors"}


def test_a_saved_detector_whose_learned_parts_do_not_fit_is_refused(taught: CrossHCM, tmp_path: Path) -> None:
    for name, value in (("weights", np.zeros(2)), ("judged", np.array([10**6])), ("coefficients", np.zeros(3))):
        broken = taught.learn({taught.graph_.node_ids[0]: "unsure"})
        broken.__dict__.update(vars(taught))
        assert taught.learned_ is not None
        broken.learned_ = replace(taught.learned_, **{name: value})
        with pytest.raises(ValueError, match="what was learned"):
            broken.check_learned()


def test_another_graph_gets_probabilities_too(fitted: CrossHCM, taught: CrossHCM) -> None:
    other = hs.make_graph(240, n_structural=10, n_attribute_anomalies=10, seed=2)
    judged = taught.judge(other)
    assert judged.probability_.shape == (240,) and ((judged.probability_ > 0) & (judged.probability_ < 1)).all()
    assert roc_auc_score(other.labels == 1, judged.probability_) > 0.5
    assert judged.learned_words == taught.learned_words and judged.distinctions() == taught.distinctions()
    plain, forgotten = fitted.judge(other), judged.learn({})
    assert np.array_equal(forgotten.decision_score_, plain.decision_score_)
    assert np.array_equal(forgotten.label_, plain.label_) and forgotten.threshold_ == plain.threshold_


def test_the_score_without_some_edges_is_that_of_a_graph_without_them(taught: CrossHCM) -> None:
    graph = taught.graph_
    node = int(np.argmax(graph.degrees))
    same = taught.score_without(graph, node, np.zeros(0, dtype=np.int64))
    assert np.isclose(same, taught.decision_score_[node], rtol=0.05, atol=0.02)


def test_fitting_again_forgets(taught: CrossHCM, fitted: CrossHCM) -> None:
    copied = taught.learn({})
    copied.__dict__.update(vars(taught))
    again = copied.fit(taught.graph_)
    assert again.learned_ is None and np.array_equal(again.decision_score_, fitted.decision_score_)


def test_the_queue_mixes_the_top_of_the_ranking_with_the_bulk(fitted: CrossHCM, taught: CrossHCM) -> None:
    graph = fitted.graph_
    asked = fitted.questions(20, graph)
    assert [why for _, why in asked] == [TOP, BULK] * 10
    top = [place for place, why in asked if why is TOP]
    assert max(np.argsort(np.argsort(-fitted.decision_score_))[top]) < 20
    bulk = np.array([place for place, why in asked if why == BULK])
    assert np.argsort(np.argsort(-fitted.decision_score_))[bulk].max() > 120  # from all over the ranking
    assert len(set(fitted.queue(240))) == 240
    judged = set(graph.node_ids[taught.learned_.judged].tolist())  # type: ignore[union-attr]
    assert not judged & set(taught.queue(200))


def test_a_score_that_is_not_evidence_cannot_learn(fitted: CrossHCM) -> None:
    model = hs.CrossHCM(seed=0, score="hav", **CrossHCM.quick).fit(fitted.graph_)
    with pytest.raises(ValueError, match="learn needs score='evidence'"):
        model.learn({})


def test_few_labels_give_no_estimate(fitted: CrossHCM) -> None:
    first = fitted.queue(6)
    few = fitted.learn({node: "anomalous" if place < 2 else "normal" for place, node in enumerate(first)})
    words = few.learned_words or ""
    assert words.startswith("Learned from 2 anomalous and 4 normal nodes.") and "ROC-AUC" not in words
    assert "fewer than 5 labels of each kind; about 10 of each are usually enough to flag nodes." in words
    stays = in_words(replace(few.learned_, kept=np.ones(1, dtype=np.int64)))  # type: ignore[type-var]
    assert "The ranking stays as it was, but how many are flagged can change." in stays


def test_notices_about_labels_reach_the_list(fitted: CrossHCM, caplog: pytest.LogCaptureFixture) -> None:
    first, notices = fitted.queue(3), list[str]()
    fitted.learn({**dict.fromkeys(first, "confirmed"), "nobody": "confirmed"}, notices=notices)
    assert notices[0] == "1 labeled node of 4 is not in the graph, such as 'nobody': left out."
    remedy = "label some normal nodes too, for example with hopsight review"
    assert notices[1] == f"All labels are anomalous: {remedy}. Until then the ranking is that without labels."
    assert not caplog.text


def test_probabilities_come_in_two_columns_after_learning(fitted: CrossHCM, taught: CrossHCM) -> None:
    both = taught.predict_proba()
    assert both.shape == (240, 2) and np.array_equal(both[:, 1], taught.probability_)
    assert np.allclose(both.sum(axis=1), 1.0)
    assert np.array_equal(taught.predict_proba(taught.graph_), both)
    with pytest.raises(
        ValueError, match="has learned from no labels of nodes, and a score is no probability: call learn"
    ):
        fitted.predict_proba()
