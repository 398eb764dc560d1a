"""What verdicts teach, worked out by hand on small tables of evidence."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hopsight.hcm.feedback import (
    company_of,
    in_words,
    learn,
    log_likelihood,
    profile_of,
    queue,
    reach_of,
    resemblance_of,
    trusted,
)

N = 400


@pytest.fixture
def evidence() -> np.ndarray:
    """Return two kinds: ring is strong for nodes 0–39, outlier for nodes 40–79; nothing about the rest."""
    found = np.full((2, N), 0.2)
    found[0, :40] = np.linspace(4.0, 2.0, 40)
    found[1, 40:80] = np.linspace(4.1, 2.1, 40)
    return found


def test_nothing_is_learned_without_both_kinds(evidence: np.ndarray) -> None:
    nodes = np.array([0, 1, 40])
    for verdicts in ([0, 0, 0], [1, 1, 1]):
        assert learn(evidence, nodes, np.array(verdicts)) is None


def test_a_kind_that_is_right_counts_more_than_one_that_is_wrong(evidence: np.ndarray) -> None:
    judged = np.array([0, 1, 2, 3, 4, 40, 41, 42, 43, 44])
    learned = learn(evidence, judged, (judged < 40).astype(np.int64))
    assert learned is not None
    ring, outlier = learned.weights
    assert ring > 1.1 > 0.9 > outlier
    scores = learned.scores(evidence)
    left = np.setdiff1d(np.arange(80), judged)
    first = left[np.argsort(-scores[left])][:20]
    assert (first < 40).all()  # before, both kinds took turns
    assert (scores[80:] < scores[:80].min()).all()  # nodes without any evidence stay where they are
    assert in_words(learned, ("ring", "outlier")).endswith("Learned from 5 anomalous and 5 normal nodes.")


def test_verdicts_that_say_little_change_little(evidence: np.ndarray) -> None:
    """One of each kind right and wrong: the weights stay near 1 and the order of nodes within a kind stays."""
    learned = learn(evidence, np.array([0, 1, 40, 41]), np.array([1, 0, 1, 0]))
    assert learned is not None
    assert np.allclose(learned.weights, 1.0, atol=0.1)
    assert learned.shares[0] > 0.2  # of the default alone
    assert learned.shares.sum() == pytest.approx(1.0)
    order = np.argsort(-learned.scores(evidence)[:40], kind="stable")
    assert order.tolist() == list(range(40))


def test_learning_is_deterministic_and_does_not_depend_on_the_order_of_verdicts(evidence: np.ndarray) -> None:
    judged, anomalous = np.array([0, 3, 41, 45]), np.array([1, 1, 0, 0])
    one = learn(evidence, judged, anomalous)
    two = learn(evidence, judged[::-1], anomalous[::-1])
    assert one is not None and two is not None
    assert np.allclose(one.scores(evidence), two.scores(evidence), rtol=0, atol=1e-9)


def test_thousands_of_known_good_nodes_are_quick_and_do_not_raise_their_kind(evidence: np.ndarray) -> None:
    wide = np.tile(evidence, 20)
    judged = np.concatenate([np.arange(5), np.arange(1000, 7000)])
    learned = learn(wide, judged, (judged < 5).astype(np.int64))
    assert learned is not None
    assert np.isfinite(learned.scores(wide)).all()


def test_the_likelihood_is_that_of_a_penalized_logistic_regression() -> None:
    """Compare with a fine grid over intercept and slope."""
    scores, y = np.array([[0.0, 1.0, 2.0, 4.0]]), np.array([0.0, 1.0, 0.0, 1.0])
    a, b = np.meshgrid(np.linspace(-4, 4, 801), np.linspace(0, 4, 401))
    odds = a[..., None] + b[..., None] * (scores[0] - scores.mean())
    fit = (y * odds - np.log1p(np.exp(odds))).sum(axis=-1) - 0.5 * (b - 1) ** 2 - 0.005 * a**2
    assert log_likelihood(scores, y)[0] == pytest.approx(fit.max(), abs=1e-4)


def test_company_counts_judged_neighbors() -> None:
    edges = np.array([[0, 0, 0, 3], [1, 2, 3, 4]])
    found = company_of(edges, np.array([1, 2, 4]), np.array([1, 0, 0]), 6)
    assert found.tolist() == [0.5, 0.0, 0.0, -0.5, 0.0, 0.0]


def test_resemblance_is_to_the_nearest_judged_node_and_never_to_itself() -> None:
    attributes = np.array([[0.0], [0.0], [10.0], [10.0], [5.0]])
    found = resemblance_of(attributes, np.array([0, 2]), np.array([1, 0]), np.arange(5))
    assert found[1] == pytest.approx(1.0, abs=0.01)  # equal to the anomalous one
    assert found[3] == pytest.approx(-1.0, abs=0.01)
    assert abs(found[4]) < 0.01  # as far from both
    assert abs(found[0]) < 0.01  # its own verdict says nothing about it


def test_association_raises_the_neighbors_of_confirmed_nodes_only_if_verdicts_support_it(evidence: np.ndarray) -> None:
    company = np.zeros(N)
    company[:40] = 1.0  # whoever is connected to a judged node is anomalous
    judged = np.array([0, 1, 2, 3, 4, 40, 41, 42, 43, 44])
    truth = (judged < 40).astype(np.int64)
    helps = learn(evidence, judged, truth, company=company)
    harms = learn(evidence, judged, 1 - truth, company=company)
    assert helps is not None and harms is not None
    assert helps.ties[0] > harms.ties[0] + 0.01
    profile = profile_of(evidence, judged, truth)
    assert np.allclose(helps.association, helps.ties[0] * company + helps.ties[2] * profile)


def test_a_profile_is_the_kinds_of_evidence_that_a_node_has(evidence: np.ndarray) -> None:
    profile = profile_of(evidence, np.array([0, 40]), np.array([1, 0]))
    assert profile[1] > 0.9 and profile[41] < -0.9  # the next of the same kind
    assert profile[39] < profile[1]  # half as strong is less alike
    assert np.abs(profile[80:]).max() < 0.01  # nodes without evidence are like neither


def test_verdicts_on_the_top_leave_the_order_of_the_bulk() -> None:
    """Outlier is wrong at the top and counts less there; 5,000 nodes further down keep their order."""
    rng = np.random.default_rng(0)
    evidence = rng.exponential(0.3, (2, 6000))
    evidence[0, :40], evidence[1, 40:80] = np.linspace(8.0, 6.0, 40), np.linspace(8.0, 6.0, 40)
    judged = np.r_[0:5, 40:45]
    learned = learn(evidence, judged, (judged < 40).astype(np.int64))
    assert learned is not None and learned.reach[0] == 150.0
    before, after = np.sqrt((evidence**2).sum(axis=0)), learned.scores(evidence)
    assert after[5:40].min() > after[45:80].max()  # the next of the kind that was right come first
    bulk = np.argsort(-before)[1000:]
    inside = np.corrcoef(np.argsort(np.argsort(before[bulk])), np.argsort(np.argsort(after[bulk])))[0, 1]
    assert inside > 0.98
    everywhere = dataclasses.replace(learned, reach=np.array([1e9])).scores(evidence)
    assert np.corrcoef(np.argsort(np.argsort(before[bulk])), np.argsort(np.argsort(everywhere[bulk])))[0, 1] < inside
    alone = learned.scores(evidence[:, [3000]], among=before)  # one node is judged as within its graph
    assert alone[0] == pytest.approx(after[3000])


def test_verdicts_reach_further_the_more_there_are_of_both_kinds() -> None:
    assert reach_of(np.array([1, 0])) == 30.0
    assert reach_of(np.repeat([1, 0], 10)) == 300.0
    assert reach_of(np.repeat([1, 0], [1, 5000])) < 60.0  # a list of known-good nodes does not reorder everything
    scores = np.array([5.0, 4.0, 3.0, 2.0])
    assert trusted(scores, scores, 2.0).tolist() == [1.0, 1.0, 2.0 / 3.0, 0.5]


def test_the_queue_is_the_ranking_with_every_third_node_from_a_kind_in_turn() -> None:
    ring = np.array([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 0.0, 0.0, 0.0])
    outlier = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0])
    kinds, scores = {"outlier": outlier, "ring": ring}, np.maximum(ring, outlier)
    nobody = np.zeros(0, dtype=np.int64)
    assert queue(scores, kinds, nobody, 4) == [(0, None), (1, None), (8, "outlier"), (2, None)]
    assert queue(scores, kinds, np.array([0]), 3) == [(1, None), (8, "outlier"), (2, None)]  # the rest keeps its order
    assert len(queue(ring, {"ring": ring}, np.array([0, 1]), 100)) == 7
