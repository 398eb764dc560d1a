"""A fitted CrossHCM that learns: a new detector, the old one unchanged, the same after saving."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hopsight as hs
from hopsight.hcm import feedback as taught_module
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.feedback import MAX_VERDICTS


@pytest.fixture(scope="module")
def fitted() -> CrossHCM:
    graph = hs.make_graph(240, n_structural=10, n_attribute_anomalies=10, seed=1)
    return hs.CrossHCM(seed=0, **CrossHCM.quick).fit(graph)


@pytest.fixture(scope="module")
def verdicts(fitted: CrossHCM) -> dict[Any, str]:
    labels = dict(zip(fitted.graph_.node_ids.tolist(), fitted.graph_.labels.tolist(), strict=True))
    return {node: "anomalous" if labels[node] == 1 else "normal" for node in fitted.queue(20)}


@pytest.fixture(scope="module")
def taught(fitted: CrossHCM, verdicts: dict[Any, str]) -> CrossHCM:
    return fitted.learn(verdicts)


def test_learning_returns_a_new_detector_and_leaves_the_old_one(fitted: CrossHCM, taught: CrossHCM) -> None:
    assert taught is not fitted and fitted.learned_ is None
    assert not np.array_equal(taught.decision_score_, fitted.decision_score_)
    assert taught.label_.sum() == fitted.label_.sum()  # as many are flagged as before
    assert taught.to_frame().columns[-1] == "rank_before"
    assert "Learned from" in (taught.learned_words or "")


def test_nothing_moves_until_there_are_verdicts_of_both_kinds(fitted: CrossHCM, taught: CrossHCM) -> None:
    first = fitted.queue(3)
    for words in ("anomalous", "normal", "unsure"):
        same = fitted.learn(dict.fromkeys(first, words))
        assert np.array_equal(same.decision_score_, fitted.decision_score_)
        assert same.learned_words is None
    forgot = taught.learn({first[0]: "normal"})  # learning starts from the fit, not from what was learned before
    assert np.array_equal(forgot.decision_score_, fitted.decision_score_)


def test_learning_twice_gives_the_same_scores_to_the_bit(
    fitted: CrossHCM, taught: CrossHCM, verdicts: dict[Any, str]
) -> None:
    assert np.array_equal(fitted.learn(verdicts).decision_score_, taught.decision_score_)
    assert np.array_equal(taught.learn(verdicts).decision_score_, taught.decision_score_)


def test_a_long_list_of_known_good_nodes_takes_no_longer_than_some(
    fitted: CrossHCM, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them are judged, but nodes are compared with no more than some of them."""
    compared: list[int] = []
    resemblance = taught_module.resemblance_of

    def count(attributes: Any, judged: Any, *rest: Any) -> Any:
        compared.append(judged.size)
        return resemblance(attributes, judged, *rest)

    monkeypatch.setattr(taught_module, "resemblance_of", count)
    order = np.argsort(-fitted.decision_score_)
    ids = [fitted.graph_.node_ids[i] for i in order]
    learned = fitted.learn({**dict.fromkeys(ids[:3], "anomalous"), **dict.fromkeys(ids[3:], "normal")})
    assert len(ids) > MAX_VERDICTS + 20
    assert compared == [MAX_VERDICTS] and learned.learned_.judged.size == len(ids)
    assert f"3 anomalous and {len(ids) - 3} normal nodes" in (learned.learned_words or "")


def test_what_was_learned_is_saved_with_the_model(taught: CrossHCM, tmp_path: Path) -> None:
    taught.save(tmp_path)
    loaded = hs.load_detector(tmp_path)
    assert np.array_equal(loaded.decision_score_, taught.decision_score_)
    assert loaded.learned_words == taught.learned_words
    assert loaded.queue(5, graph=taught.graph_) == taught.queue(5)
    assert np.allclose(loaded.judge(taught.graph_).decision_score_, taught.decision_score_)
    with pytest.raises(ValueError, match="pass learn graph="):
        loaded.learn({})


def test_a_saved_detector_whose_learned_parts_do_not_fit_is_refused(taught: CrossHCM) -> None:
    taught.check_learned()
    for change in (
        {"judged": np.array([10_000])}, {"association": np.zeros(3)}, {"reach": np.zeros(1)},
        {"factors": -taught.learned_.factors}, {"shares": np.ones(1)},
    ):  # fmt: skip
        broken = copy.copy(taught)
        broken.learned_ = dataclasses.replace(taught.learned_, **change)
        with pytest.raises(ValueError, match="what was learned"):
            broken.check_learned()
    broken = copy.copy(taught)
    broken.before_ = {}
    with pytest.raises(ValueError, match="has the wrong length"):
        broken.check_learned()


def test_another_graph_is_judged_by_the_learned_weights_alone(taught: CrossHCM) -> None:
    other = hs.make_graph(120, n_structural=5, n_attribute_anomalies=5, seed=2)
    judged = taught.judge(other)
    evidence = np.stack([judged.evidence_[kind] for kind in judged.evidence])
    assert np.allclose(judged.decision_score_, taught.learned_.scores(evidence))
    assert judged.learned_.judged.size == 0 and judged.rank_before_.size == 120
    assert taught.learned_.judged.size > 0


def test_fitting_again_forgets(taught: CrossHCM, fitted: CrossHCM) -> None:
    again = taught.learn({fitted.queue(1)[0]: "anomalous", fitted.queue(2)[1]: "normal"})
    again.fit(fitted.graph_)
    assert again.learned_ is None and "rank_before" not in again.to_frame().columns
    assert np.allclose(again.decision_score_, fitted.decision_score_)


def test_the_queue_has_the_first_of_the_ranking_and_leaves_judged_nodes_out(
    fitted: CrossHCM, taught: CrossHCM, verdicts: dict[Any, str]
) -> None:
    ranked = fitted.to_frame()["node"].to_list()
    queue = fitted.queue(9)
    assert queue[:2] == ranked[:2] and len(set(queue)) == 9
    assert not set(taught.queue(20)) & set(verdicts)
    with pytest.raises(ValueError, match="n must be at least 1"):
        fitted.queue(0)


def test_a_score_that_is_not_evidence_cannot_learn() -> None:
    graph = hs.make_graph(120, n_structural=3, n_attribute_anomalies=3, seed=3)
    model = hs.CrossHCM(score="ahp", **CrossHCM.quick)
    with pytest.raises(ValueError, match="not fitted"):
        model.learn({})
    with pytest.raises(ValueError, match="score='evidence'"):
        model.fit(graph).learn({})
