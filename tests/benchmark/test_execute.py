"""One cell, fitted and measured in this process."""

from __future__ import annotations

import numpy as np
import pytest

from hopsight.benchmark.cells import Cell
from hopsight.benchmark.execute import execute, fit, rankings
from hopsight.benchmark.graphs import build_graph
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
    assert record["warnings"] == ["UserWarning: this graph is odd"]
    assert record["details"]["n_classes"] == 3
    assert record["size"] == {
        "name": "synthetic-120",
        "nodes": 120,
        "edges": 600,
        "attributes": 30,
        "anomalies": 8,
    }


def test_a_score_other_than_ahp_and_hav_is_a_third_ranking():
    class Model:
        decision_score_ = np.array([1.0, 2.0])
        ahp_ = np.array([2.0, 1.0])
        hav_ = np.array([0.0, 1.0])

    assert list(rankings(Model())) == ["score", "ahp", "hav"]
    Model.decision_score_ = Model.hav_
    assert list(rankings(Model())) == ["ahp", "hav"]


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


def test_trivial_scores_and_seeds():
    graph = build_graph(cell("degree"), None)
    assert fit(cell("degree"), graph).scores["score"].tolist() == graph.degrees.tolist()
    one, other = (fit(cell("random", seed=seed), graph).scores["score"] for seed in (0, 1))
    assert not np.array_equal(one, other)
    assert np.array_equal(one, fit(cell("random"), graph).scores["score"])


def test_time_and_memory_are_measured():
    slow = cell("benchmark.fakes:Degree", parameters={"seconds": 0.2})
    record = execute({"cell": slow.as_dict()})
    assert 0.2 <= record["seconds"] < 5
    assert record["cpu_seconds"] < record["seconds"]
    assert record["memory_peak"] >= 0.9 * record["memory_before"] > 10 * 2**20
