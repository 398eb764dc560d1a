"""Measures of a ranking: values by hand, by counting pairs, and from scikit-learn."""

import math

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from hopsight.metrics import average_precision, precision_at_k, recall_at_k, roc_auc, roc_auc_by_kind, roc_auc_interval
from processes import python
from toys import refuses


@pytest.fixture(params=["distinct", "tied"])
def ranking(request, rng):
    labels = (rng.random(300) < 0.1).astype(int)
    scores = rng.normal(size=300) + labels
    return labels, scores if request.param == "distinct" else np.round(scores, 0)


def test_roc_auc_counts_pairs_by_hand():
    # anomalies 3 and 5 against normals 1, 2, 4: 5 of the 6 pairs are in order
    assert roc_auc([0, 0, 0, 1, 1], [1, 2, 4, 3, 5]) == pytest.approx(5 / 6) and roc_auc([0, 1], [7, 7]) == 0.5
    assert roc_auc([1, 0, 0], [1, 2, 3]) == 0.0


def test_roc_auc_and_average_precision_equal_scikit_learn(ranking):
    labels, scores = ranking
    assert roc_auc(labels, scores) == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
    assert average_precision(labels, scores) == pytest.approx(average_precision_score(labels, scores), abs=1e-12)


def test_interval_equals_delong_written_out_pair_by_pair(ranking):
    labels, scores = ranking
    above, below = scores[labels == 1], scores[labels == 0]
    wins = (above[:, None] > below) + 0.5 * (above[:, None] == below)
    variance = wins.mean(1).var(ddof=1) / len(above) + wins.mean(0).var(ddof=1) / len(below)
    low, high = roc_auc_interval(labels, scores)
    assert low == pytest.approx(wins.mean() - 1.959964 * math.sqrt(variance), abs=1e-6)
    assert high == pytest.approx(min(1, wins.mean() + 1.959964 * math.sqrt(variance)), abs=1e-6)


def test_interval_covers_the_true_auc_about_as_often_as_it_says(rng):
    # normals N(0, 1), anomalies N(1, 1): the AUC is Phi(1 / sqrt 2) = .7602
    covered = 0
    labels = np.repeat([0, 1], [200, 30])
    for _ in range(400):
        low, high = roc_auc_interval(labels, rng.normal(size=230) + labels)
        covered += low <= 0.76025 <= high
    assert 0.91 <= covered / 400 <= 0.98


def test_interval_is_clipped_and_survives_a_single_anomaly():
    assert roc_auc_interval([0, 0, 1, 1], [1, 2, 3, 4]) == (1.0, 1.0)
    low, high = roc_auc_interval([0, 0, 0, 1], [1, 2, 4, 3])
    assert 0.0 <= low < 2 / 3 < high <= 1.0
    narrow = roc_auc_interval([0, 0, 0, 1, 1], [1, 2, 4, 3, 5], level=0.5)
    assert narrow[0] > roc_auc_interval([0, 0, 0, 1, 1], [1, 2, 4, 3, 5])[0]


def test_precision_and_recall_at_k_by_hand():
    labels, scores = [1, 0, 1, 0, 0, 1], [9, 8, 7, 6, 5, 4]
    assert [precision_at_k(labels, scores, k) for k in (1, 2, 3, 6)] == [1.0, 0.5, pytest.approx(2 / 3), 0.5]
    assert [recall_at_k(labels, scores, k) for k in (1, 3, 6)] == [pytest.approx(1 / 3), pytest.approx(2 / 3), 1.0]
    # ties at the cut: one place left for four equal nodes of which one is an anomaly
    assert precision_at_k([1, 1, 0, 0, 0], [9, 5, 5, 5, 5], 2) == pytest.approx((1 + 0.25) / 2)
    assert precision_at_k([1, 0, 0, 0], [5, 5, 5, 5], 4) == 0.25


def test_roc_auc_by_kind_leaves_the_other_kinds_out():
    labels, kinds, scores = [0, 0, 1, 1, 1], [0, 0, 1, 2, 3], [2.0, 4.0, 3.0, 5.0, 1.0]
    assert roc_auc_by_kind(labels, kinds, scores) == {"structure": 0.5, "attribute": 1.0, "both": 0.0}
    assert roc_auc_by_kind(labels, None, scores) == {}
    assert roc_auc_by_kind([0, 1], [0, 2], [1, 2]) == {"attribute": 1.0}


@pytest.mark.parametrize("measure", [roc_auc, average_precision, roc_auc_interval])
def test_bad_labels_and_scores_are_refused(measure):
    refuses("both classes", measure, [0, 0], [1.0, 2.0])
    refuses("both classes", measure, [1, 1], [1.0, 2.0])
    refuses("finite", measure, [0, 1], [1.0, math.nan])
    refuses("one length", measure, [0, 1, 0], [1.0, 2.0])
    refuses(r"0 \(normal\), 1 \(anomaly\) or -1 \(unlabeled\)", measure, [0, 2], [1.0, 2.0])
    refuses("both classes", measure, [0, -1, -1], [1.0, 2.0, 3.0])


def test_unlabeled_nodes_are_left_out(ranking, rng):
    labels, scores = ranking
    unlabeled = np.flatnonzero(rng.random(300) < 0.4)
    kinds = np.where(labels == 1, rng.integers(1, 4, 300), 0)
    known = np.setdiff1d(np.arange(300), unlabeled)
    partly = labels.copy()
    partly[unlabeled] = -1
    for measure in (roc_auc, roc_auc_interval, average_precision):
        assert measure(partly, scores) == measure(labels[known], scores[known]) != measure(labels, scores)
    for measure in (precision_at_k, recall_at_k):
        assert measure(partly, scores, 20) == measure(labels[known], scores[known], 20)
    by_kind = roc_auc_by_kind(partly, kinds, scores)
    assert by_kind == roc_auc_by_kind(labels[known], kinds[known], scores[known])


def test_the_roc_auc_does_not_load_scikit_learn():
    """It takes two seconds to import, a sixth of the time of a first look at the demo."""
    code = (
        "import sys, hopsight.metrics as m; labels, scores = [0, 1, 0, 1], [1.0, 2.0, 2.0, 4.0]; "
        "m.roc_auc(labels, scores), m.roc_auc_interval(labels, scores); "
        "sys.exit(not {'sklearn', 'scipy.stats'}.isdisjoint(sys.modules))"
    )
    assert python(code).returncode == 0
