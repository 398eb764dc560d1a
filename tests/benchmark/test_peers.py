"""Other libraries' detectors behind one face."""

from __future__ import annotations

import numpy as np
import pytest

from hopsight.benchmark.peers import is_peer, peer_defaults, peer_names, peer_scores
from hopsight.benchmark.recipes import parameters_of
from hopsight.benchmark.suites import Options, make_suite
from hopsight.datasets import make_network

NAMES = peer_names()
needs_peers = pytest.mark.skipif(not NAMES, reason="neither PyGOD nor PyOD is installed: pip install hopsight[peers]")


@needs_peers
def test_every_graph_detector_that_can_be_imported_is_found():
    assert {"pygod:DOMINANT", "pygod:CoLA", "pygod:SCAN"} <= set(NAMES)
    assert "pygod:DeepDetector" not in NAMES
    assert all(is_peer(name) for name in NAMES)
    if any(name.startswith("pyod:") for name in NAMES):
        assert "pyod:DOMINANT" in NAMES


@needs_peers
def test_defaults_are_the_librarys_own_and_plain():
    assert peer_defaults("pygod:DOMINANT")["lr"] == 0.004
    assert peer_defaults("pygod:DOMINANT")["epoch"] == 100
    assert "backbone" not in peer_defaults("pygod:DOMINANT")
    with pytest.raises(ValueError, match="no graph detector 'HCM'"):
        peer_defaults("pygod:HCM")


@needs_peers
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["pygod:DOMINANT", "pygod:OCGNN", "pyod:DOMINANT", "pygod:SCAN"])
def test_a_seed_decides_the_scores_of_a_peer(name):
    graph = make_network(60, n_edges=200)
    if name not in NAMES:
        pytest.skip(f"{name} cannot be imported here")
    parameters = {key: 5 for key in ("epoch", "epochs") if key in peer_defaults(name)}
    one, same = (peer_scores(name, graph, seed=1, parameters=parameters) for _ in range(2))
    assert one.shape == (graph.n_nodes,)
    assert np.array_equal(one, same)
    assert one.std() > 0


@needs_peers
@pytest.mark.filterwarnings("ignore")
def test_pyod_works_on_the_device_of_the_cell():
    graph = make_network(60, n_edges=200)
    parameters = parameters_of("pyod:DOMINANT", {"epochs": 2}, device="cuda:0")
    assert parameters["device"] == "cuda:0"
    assert "device" not in parameters_of("pyod:DOMINANT", {}, device="cpu")
    here, there = (
        peer_scores("pyod:DOMINANT", graph, seed=1, parameters={"epochs": 2} | device)
        for device in ({}, {"device": "cpu"})
    )
    assert np.array_equal(here, there)


@needs_peers
def test_the_suite_of_peers_compares_all_on_six_networks(data_dir):
    suite = make_suite("peers", Options(data_dir=str(data_dir), repetitions=1, seeds=1))
    networks = {task.cell.network for task in suite.plan}
    assert networks == {"flickr", "blogcatalog", "inj_cora", "disney", "amazon", "enron"}
    detectors = {task.cell.detector for task in suite.plan}
    assert set(NAMES) | {"hcm", "cross_hcm", "lof", "random"} <= detectors
    views = {(task.cell.network, task.cell.view) for task in suite.plan if task.cell.detector == "pygod:DOMINANT"}
    assert ("blogcatalog", "reduced") in views
    assert ("enron", "scaled") in views
