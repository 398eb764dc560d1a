"""Detectors of other libraries behind hopsight's contract."""

from __future__ import annotations

import numpy as np
import pytest

from hopsight.benchmark.cells import Cell, execute
from hopsight.benchmark.recipes import detector_class, parameters_of, title_of
from hopsight.datasets import make_graph
from paper.peers import peer_recipes

RECIPES = peer_recipes()
needs_peers = pytest.mark.skipif(not RECIPES, reason="neither PyGOD nor PyOD is installed: pip install hopsight[peers]")


def scores(recipe, graph, **parameters):
    return detector_class(recipe)(seed=1, device="cpu", **parameters).fit(graph).decision_score_


@needs_peers
def test_every_graph_detector_that_can_be_imported_is_found():
    assert {"paper.pygod:DOMINANT", "paper.pygod:CoLA", "paper.pygod:SCAN"} <= set(RECIPES)
    assert "paper.pygod:DeepDetector" not in RECIPES
    assert title_of("paper.pygod:DOMINANT") == "DOMINANT (PyGOD)"
    if any(recipe.startswith("paper.pyod:") for recipe in RECIPES):
        assert "paper.pyod:DOMINANT" in RECIPES


@needs_peers
def test_defaults_are_the_librarys_own_and_plain():
    parameters = parameters_of("paper.pygod:DOMINANT", {})
    assert (parameters["lr"], parameters["epoch"]) == (0.004, 100)
    assert "backbone" not in parameters
    with pytest.raises(AttributeError, match="PyGOD has no graph detector 'HCM'"):
        detector_class("paper.pygod:HCM")


@needs_peers
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["pygod:DOMINANT", "pygod:OCGNN", "pyod:DOMINANT", "pygod:SCAN"])
def test_a_seed_decides_the_scores_of_a_peer(name):
    graph = make_graph(60, n_edges=200)
    if f"paper.{name}" not in RECIPES:
        pytest.skip(f"{name} cannot be imported here")
    known = parameters_of(f"paper.{name}", {})
    fewer = {key: 5 for key in ("epoch", "epochs") if key in known}
    one, same = (scores(f"paper.{name}", graph, **fewer) for _ in range(2))
    assert one.shape == (graph.n_nodes,)
    assert np.array_equal(one, same)
    assert one.std() > 0


@needs_peers
@pytest.mark.filterwarnings("ignore")
def test_a_cell_of_a_peer_runs_as_any_other():
    settings = {"generate": {"n_nodes": 80, "n_edges": 300, "n_structural": 4, "n_attribute_anomalies": 4, "seed": 0}}
    parameters = parameters_of("paper.pygod:DOMINANT", {"epoch": 3}, device="cpu")
    cell = Cell(
        graph="generated",
        settings=settings,
        detector="paper.pygod:DOMINANT",
        seed=0,
        view="scaled",
        parameters=parameters,
    )
    record = execute({"cell": cell.as_dict()})
    assert 0 <= record["scores"][0]["auc"] <= 1
