"""One cell, fitted and measured in this process."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hopsight.benchmark.cells import MEASURES, Cell, build_graph, curve_point, execute, measure, without_labels
from hopsight.detectors.base import Epoch
from hopsight.graph import AttributedGraph
from hopsight.metrics import roc_auc

SETTINGS = {
    "n_nodes": 120,
    "n_edges": 600,
    "n_attributes": 30,
    "n_structural": 4,
    "n_attribute_anomalies": 4,
    "seed": 3,
}


def cell(detector, **changes):
    return Cell(
        **({"graph": "generated", "settings": {"generate": SETTINGS}, "detector": detector, "seed": 0} | changes)
    )


def test_a_fit_gives_one_row_for_each_ranking_and_keeps_its_warnings():
    record = execute({"cell": cell("benchmark.fakes:Warns", parameters={"sizes": [4, 2]}).as_dict()})
    assert [row["score"] for row in record["scores"]] == ["ahp", "hav"]
    assert record["scores"][0]["auc"] == pytest.approx(1 - record["scores"][1]["auc"])
    assert record["warnings"] == ["this graph is odd"]
    assert record["details"]["n_classes"] == 3
    assert record["size"] == {
        "name": "synthetic-120",
        "nodes": 120,
        "edges": 600,
        "attributes": 30,
        "anomalies": 8,
    }


def test_a_curve_has_the_auc_of_each_epochs_own_prediction():
    record = execute({"cell": cell("benchmark.fakes:Degree", curve=True).as_dict()})
    graph = build_graph(cell("degree"), None)
    assert [point["epoch"] for point in record["curve"]] == [1, 2, 3]
    assert [point["loss"] for point in record["curve"]] == [1.0, 0.5, pytest.approx(1 / 3)]
    assert {point["auc"] for point in record["curve"]} == {roc_auc(graph.labels, graph.degrees)}
    assert execute({"cell": cell("benchmark.fakes:Degree").as_dict()})["curve"] == []
    assert record["details"]["loss"] == 0.25


def test_only_a_class_that_says_so_sees_the_labels():
    record = execute({"cell": cell("benchmark.fakes:Cheating").as_dict()})
    assert record["scores"][0]["auc"] == 1.0
    assert record["details"]["uses_labels"] is True
    assert "uses_labels" not in execute({"cell": cell("benchmark.fakes:Degree").as_dict()})["details"]


def test_time_and_memory_are_measured():
    slow = cell("benchmark.fakes:Degree", parameters={"seconds": 0.2})
    record = execute({"cell": slow.as_dict()})
    assert 0.2 <= record["seconds"] < 5
    assert record["cpu_seconds"] < record["seconds"]
    assert record["memory_peak"] >= 0.9 * record["memory_before"] > 10 * 2**20


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
