"""Readings of edges: strangeness and alikeness are ranks, scores are tails, means are those of each node's edges."""

from __future__ import annotations

import numpy as np
import pytest

from hopsight.detectors.tails import Tail
from hopsight.hcm.evidence import EdgeBaseline, EdgeFeatures


@pytest.fixture
def features(rng: np.random.Generator) -> EdgeFeatures:
    return EdgeFeatures(rng.uniform(1, 4, 2_001), rng.exponential(size=2_001), rng.random(2_001))


def one(hop: float, surprise: float, dissimilarity: float) -> EdgeFeatures:
    return EdgeFeatures(*(np.array([value]) for value in (hop, surprise, dissimilarity)))


def test_strangeness_and_alikeness_run_from_zero_to_one(features: EdgeFeatures) -> None:
    usual = EdgeBaseline.fit(features)
    strange, alike = usual.strangeness(features), usual.alikeness(features)
    assert strange[features.surprise.argmax()] == 1.0 and strange[features.surprise.argmin()] == 0.0
    assert alike[features.dissimilarity.argmin()] == 1.0 and alike[features.dissimilarity.argmax()] == 0.0
    steps = np.diff(np.sqrt(strange[np.argsort(features.surprise, kind="stable")]))
    assert steps.min() > -1e-3 and (steps > 0).mean() > 0.99  # near ties may change places


def test_the_middle_edge_by_hand(features: EdgeFeatures) -> None:
    """Rank ½: ½² of the strangeness, ½⁴ of the alikeness."""
    usual = EdgeBaseline.fit(features)
    middle = one(2.0, float(np.median(features.surprise)), float(np.median(features.dissimilarity)))
    np.testing.assert_allclose(usual.strangeness(middle), 0.25, atol=1e-3)
    np.testing.assert_allclose(usual.alikeness(middle), 1 / 16, atol=1e-3)


def test_scores_are_tails_of_both_features_together(features: EdgeFeatures) -> None:
    """Both features are centered on the median and divided by their distance to the quantile .8."""
    usual = EdgeBaseline.fit(features)
    both = np.zeros(2_001)
    for values in (features.surprise, features.dissimilarity):
        middle, high = np.quantile(values, [0.5, 0.8])
        both += (values - middle) / (high - middle) / 2
    np.testing.assert_allclose(usual.scores(features), Tail(*usual.tail).surprise(both) / np.log(10.0))
    assert usual.scores(one(4.0, 40.0, 1.0))[0] > usual.scores(features).max()


def test_node_means_and_triangles_by_hand() -> None:
    edges = np.array([[0, 0, 1], [1, 2, 2]])
    features = EdgeFeatures(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0]), np.array([0.2, 0.4, 0.9]))
    usual = EdgeBaseline.fit(features)
    expected = [[1.5, 2.0, 2.5, np.nan], [0.3, 0.55, 0.65, np.nan]]
    np.testing.assert_allclose(usual.node_means(edges, features, 4), expected)
    strangers, lookalikes = usual.triangles(edges, features, 4)
    assert strangers.tolist() == lookalikes.tolist() == [0.0] * 4  # the least strange side has rank 0


def test_an_edge_counts_by_its_absolute_weight() -> None:
    edges = np.array([[0, 0, 3], [1, 2, 4]])
    features = EdgeFeatures(np.array([1.0, 2.0, 5.0]), np.array([0.0, 1.0, 5.0]), np.array([0.2, 0.4, 5.0]))
    usual = EdgeBaseline.fit(features)
    means = usual.node_means(edges, features, 5, np.array([3.0, -1.0, 0.0]))
    np.testing.assert_allclose(means[:, 0], [1.25, 0.25])
    np.testing.assert_allclose(means[:, 3], [5.0, 5.0])  # no weight at all: all edges alike
    same = usual.node_means(edges, features, 5, np.full(3, 7.0))
    np.testing.assert_allclose(same, usual.node_means(edges, features, 5))
