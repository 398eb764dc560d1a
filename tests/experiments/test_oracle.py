"""MADAN at the time scale that the labels prefer."""

from __future__ import annotations

import numpy as np

from hopsight.baselines.madan import GRID, concentrations, edge_weights
from hopsight.benchmark.cells import Cell, build_graph, execute
from hopsight.metrics import roc_auc
from paper.oracle import ADDRESS

SMALL = {"n_nodes": 120, "n_edges": 600, "n_attributes": 30, "n_structural": 4, "n_attribute_anomalies": 4, "seed": 3}


def test_the_oracle_is_the_best_time_scale_and_says_that_it_uses_labels():
    parameters = {"sigma": 0.5, "device": "cpu"}
    cell = Cell(graph="generated", settings={"generate": SMALL}, detector=ADDRESS, seed=0, parameters=parameters)
    graph = build_graph(cell)
    record = execute({"cell": cell.as_dict()})
    every = [roc_auc(graph.labels, kept) for kept in concentrations(edge_weights(graph, 0.5)[0], GRID)[0]]
    assert record["scores"][0]["auc"] == max(every)
    assert record["details"]["uses_labels"] is True
    assert record["details"]["t"] == GRID[int(np.argmax(every))]
