"""Measures of a ranking."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hopsight.benchmark.measure import MEASURES, curve_point, measure, without_labels
from hopsight.detectors.base import Epoch
from hopsight.graph import AttributedGraph


@pytest.fixture
def graph():
    labels, kinds = np.zeros(120, dtype=int), np.zeros(120, dtype=int)
    labels[:4], kinds[:4] = 1, (1, 1, 2, 3)
    return AttributedGraph.from_edges(range(119), range(1, 120), np.eye(120), labels=labels, kinds=kinds)


def test_measures_by_hand(graph):
    scores = np.arange(120.0)  # node 0 lowest: the anomalies are the four lowest
    scores[0] = 500.0  # except for the first, which is on top
    found = measure(graph, scores)
    assert set(found) == set(MEASURES)
    assert found["auc"] == pytest.approx(116 / (4 * 116))
    assert found["auc_structure"] == pytest.approx(0.5)
    assert (found["auc_attribute"], found["auc_both"]) == (0.0, 0.0)
    assert found["precision_at_n"] == 0.25
    assert found["precision_at_50"] == 1 / 50
    assert (found["recall_at_50"], found["recall_at_100"]) == (0.25, 0.25)
    assert found["mean_anomalous"] == pytest.approx((500 + 1 + 2 + 3) / 4)
    assert found["mean_normal"] == pytest.approx(np.arange(4, 120).mean())
    assert found["auc_low"] <= found["auc"] <= found["auc_high"]


def test_what_cannot_be_measured_is_left_out(graph, path_graph):
    assert measure(path_graph, np.arange(6.0)) == {}
    small = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(3), labels=[0, 0, 1])
    assert set(measure(small, np.arange(3.0))) & {"precision_at_50", "auc_structure"} == set()


def test_scores_that_are_not_a_ranking_are_refused(graph):
    with pytest.raises(ValueError, match="one finite score for each of the 120 nodes"):
        measure(graph, np.full(120, np.nan))
    with pytest.raises(ValueError, match="one finite score"):
        measure(graph, np.arange(5.0))


def test_a_detector_sees_no_labels(graph):
    bare = without_labels(graph)
    assert bare.labels is None
    assert bare.kinds is None
    assert (bare.n_nodes, bare.n_edges, bare.n_attributes) == (120, 119, 120)


def test_a_point_of_a_curve(graph):
    epoch = Epoch(7, 10, 0.5, lambda: np.arange(120.0)[::-1])
    assert curve_point(graph, epoch) == {"epoch": 7, "loss": 0.5, "auc": 1.0}
    assert curve_point(without_labels(graph), epoch) == {"epoch": 7, "loss": 0.5}


def test_unlabeled_nodes_count_neither_as_anomalies_nor_as_normal(graph):
    scores = np.random.default_rng(0).normal(size=120)
    labels = np.where(np.arange(120) < 70, graph.labels, -1)
    found = measure(replace(graph, labels=labels), scores)
    alone = AttributedGraph.from_edges([0], [1], np.eye(70), labels=labels[:70], kinds=graph.kinds[:70])
    assert found == measure(alone, scores[:70])
    assert "precision_at_100" not in found  # only 70 nodes have a label
    assert "precision_at_50" in found


def test_labels_of_one_class_give_no_measure_and_a_curve_without_it(graph):
    one_class = replace(graph, labels=np.where(graph.labels == 1, 1, -1))
    epoch = Epoch(7, 10, 0.5, lambda: np.arange(120.0))
    assert measure(one_class, np.arange(120.0)) == {}
    assert curve_point(one_class, epoch) == {"epoch": 7, "loss": 0.5}
