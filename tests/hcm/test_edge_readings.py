"""Readings of edges: strangeness and alikeness are ranks, scores are tails, means are those of each node's edges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hopsight.detectors.storage import load_detector
from hopsight.detectors.tails import Null
from hopsight.hcm.evidence import EdgeBaseline, EdgeFeatures
from toys import quick, two_groups


@pytest.fixture
def readings(rng: np.random.Generator) -> EdgeFeatures:
    return EdgeFeatures(rng.uniform(1, 4, 2_001), rng.exponential(size=2_001), rng.random(2_001))


def one(hop: float, surprise: float, dissimilarity: float) -> EdgeFeatures:
    return EdgeFeatures(*(np.array([value]) for value in (hop, surprise, dissimilarity)))


def test_strangeness_and_alikeness_run_from_zero_to_one(readings: EdgeFeatures) -> None:
    laws = EdgeBaseline.fit(readings)
    strange, alike = laws.strangeness(readings), laws.alikeness(readings)
    assert strange[readings.surprise.argmax()] == 1.0 and strange[readings.surprise.argmin()] == 0.0
    assert alike[readings.dissimilarity.argmin()] == 1.0 and alike[readings.dissimilarity.argmax()] == 0.0
    steps = np.diff(np.sqrt(strange[np.argsort(readings.surprise, kind="stable")]))
    assert steps.min() > -1e-3 and (steps > 0).mean() > 0.99  # near ties may change places


def test_the_middle_edge_by_hand(readings: EdgeFeatures) -> None:
    """Rank ½: ½² of the strangeness, ½⁴ of the alikeness."""
    laws = EdgeBaseline.fit(readings)
    middle = one(2.0, float(np.median(readings.surprise)), float(np.median(readings.dissimilarity)))
    np.testing.assert_allclose(laws.strangeness(middle), 0.25, atol=1e-3)
    np.testing.assert_allclose(laws.alikeness(middle), 1 / 16, atol=1e-3)


def test_scores_are_tails_of_both_readings_together(readings: EdgeFeatures) -> None:
    """Both readings are centered on the median and divided by their distance to the quantile .8."""
    laws = EdgeBaseline.fit(readings)
    both = np.zeros(2_001)
    for values in (readings.surprise, readings.dissimilarity):
        middle, high = np.quantile(values, [0.5, 0.8])
        both += (values - middle) / (high - middle) / 2
    np.testing.assert_allclose(laws.scores(readings), Null(*laws.null).surprise(both) / np.log(10.0))
    assert laws.scores(one(4.0, 40.0, 1.0))[0] > laws.scores(readings).max()


def test_node_means_and_triangles_by_hand() -> None:
    edges = np.array([[0, 0, 1], [1, 2, 2]])
    readings = EdgeFeatures(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0]), np.array([0.2, 0.4, 0.9]))
    laws = EdgeBaseline.fit(readings)
    expected = [[1.5, 2.0, 2.5, np.nan], [0.5, 1.0, 1.5, np.nan], [0.3, 0.55, 0.65, np.nan]]
    np.testing.assert_allclose(laws.node_means(edges, readings, 4), expected)
    strangers, lookalikes = laws.triangles(edges, readings, 4)
    assert strangers.tolist() == lookalikes.tolist() == [0.0] * 4  # the least strange side has rank 0


@pytest.mark.parametrize("size", [0, 1, 2, 50])
def test_equal_and_few_edges_have_laws(size: int) -> None:
    readings = EdgeFeatures(*np.ones((3, size)))
    laws = EdgeBaseline.fit(readings)
    for values in (laws.scores(readings), laws.strangeness(readings), laws.alikeness(readings)):
        assert values.shape == (size,) and np.isfinite(values).all()


def test_laws_of_a_saved_model_are_the_same(tmp_path: Path) -> None:
    model = quick("cross_hcm").fit(two_groups(0))
    model.save(tmp_path)
    laws = load_detector(tmp_path).edge_baseline_
    assert isinstance(laws, EdgeBaseline)
    for name in ("levels", "robust", "null"):
        assert np.array_equal(getattr(laws, name), getattr(model.edge_baseline_, name))


def test_an_edge_counts_by_its_absolute_weight() -> None:
    edges = np.array([[0, 0, 3], [1, 2, 4]])
    readings = EdgeFeatures(np.array([1.0, 2.0, 5.0]), np.array([0.0, 1.0, 5.0]), np.array([0.2, 0.4, 5.0]))
    laws = EdgeBaseline.fit(readings)
    means = laws.node_means(edges, readings, 5, np.array([3.0, -1.0, 0.0]))
    np.testing.assert_allclose(means[:, 0], [1.25, 0.25, 0.25])
    np.testing.assert_allclose(means[:, 3], [5.0, 5.0, 5.0])  # no weight at all: all edges alike
    same = laws.node_means(edges, readings, 5, np.full(3, 7.0))
    np.testing.assert_allclose(same, laws.node_means(edges, readings, 5))
