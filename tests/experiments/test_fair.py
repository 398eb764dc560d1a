"""The comparison on equal terms: its plan, its views, its trivial scores, its resampling and its raw results."""

import json
import pickle
import zlib

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import compare
from fair.graphs import GRAPHS, prepared_file, viewed
from fair.pack import pack
from fair.plan import DETECTORS, REPETITIONS, all_cells, cell, deterministic, key
from fair.trivial import DistanceFromMean, NoModel
from fair.work import bootstrap, execute
from hopsight import AttributedGraph, CrossHCM, make_graph
from hopsight.metrics import roc_auc
from run_tables import rows_of


@pytest.fixture(scope="module")
def cells():
    return all_cells()


def test_every_detector_sees_the_same_graphs_injections_seeds_and_views(cells):
    compared = [one for one in cells if one["experiment"] == "comparison"]
    seen = {name: set() for name in DETECTORS}
    for one in compared:
        seen[one["detector"]].add((one["graph"], one["injection"], one["seed"], one["view"]))
    full = seen["cross_hcm"]
    assert {graph for graph, *_ in full} == set(GRAPHS)
    for name, mine in seen.items():
        assert mine == full or (deterministic(name) and mine < full)
    for name, graph in GRAPHS.items():
        for detector in ("random", "paper.pygod:DOMINANT"):
            assert sum((one[0], one[3]) == (name, "20") for one in seen[detector]) == REPETITIONS
        if graph.nodes > 6_000:
            assert {view for place, *_, view in full if place == name} == {"20"}


def test_the_first_repetition_of_everything_quick_comes_before_the_second(cells):
    fixed = [one for one in cells if one["experiment"] == "comparison" and one["view"] == "20"]
    seeds = [one["seed"] for one in fixed if one["detector"] == "cross_hcm"]
    assert seeds == sorted(seeds) and len({key(one) for one in cells}) == len(cells)


def test_draws_are_the_measures_of_resampled_nodes():
    rng = np.random.default_rng(0)
    labels = np.array([1] * 6 + [0] * 30 + [-1] * 4)
    scores = np.round(rng.normal(size=40) + (labels == 1), 1)  # with ties
    drawn = bootstrap(labels, scores, "some graph", 0, n_draws=50)
    known = labels >= 0
    again = np.random.default_rng([zlib.crc32(b"some graph"), 0])
    weight = np.zeros((50, 36))
    weight[:, :6] = again.multinomial(6, np.full(6, 1 / 6), size=50)
    weight[:, 6:] = again.multinomial(30, np.full(30, 1 / 30), size=50)
    for draw in range(50):
        nodes = np.repeat(np.arange(36), weight[draw].astype(int))
        truth, values = labels[known][nodes], scores[known][nodes]
        assert drawn[draw] == pytest.approx(roc_auc_score(truth, values))


def test_draws_pair_up_across_detectors_but_not_across_injections():
    labels, scores = np.repeat([1, 0], [10, 50]), np.arange(60.0)[::-1]
    same = [bootstrap(labels, values, "g", 0) for values in (scores, scores**3)]
    assert np.array_equal(*same)
    noisy = np.random.default_rng(0).normal(size=60)
    assert not np.array_equal(bootstrap(labels, noisy, "g", 0), bootstrap(labels, noisy, "g", 1))


def test_views_are_raw_standardized_or_projected():
    graph = make_graph(100, n_attributes=30, seed=0)
    assert viewed(graph, "raw") is graph and viewed(graph, "20").n_attributes == 20
    columns = np.asarray(viewed(graph, "256").attributes)
    assert columns.shape == (100, 30) and np.allclose(columns.std(axis=0), 1.0)


def test_distance_from_the_mean_by_hand():
    graph = AttributedGraph.from_edges([0, 1], [1, 2], np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 2.0]]))
    assert DistanceFromMean().fit(graph).decision_score_ == pytest.approx([5**0.5, 8**0.5, 1.0])


def test_without_a_model_the_networks_do_not_matter():
    graph = make_graph(200, seed=0)
    short, longer = (NoModel(seed=0, device="cpu", n_epochs=n, burn_in=1).fit(graph) for n in (2, 6))
    assert np.allclose(short.decision_score_, longer.decision_score_)
    learned = CrossHCM(seed=0, device="cpu", n_epochs=20, burn_in=10).fit(graph)
    assert not np.allclose(learned.decision_score_, short.decision_score_)
    assert roc_auc(graph.labels, short.decision_score_) > 0.6


def test_a_cell_is_run_and_packed(tmp_path):
    graph = make_graph(60, n_edges=200, n_structural=3, n_attribute_anomalies=3, seed=0)
    prepared_file(tmp_path, "Disney", 0, "20").write_bytes(pickle.dumps(graph))
    one = cell("comparison", "Disney", "degree", 0, 0)
    record = execute(one | {"folder": str(tmp_path)})
    assert record["rankings"]["score"]["auc"] == pytest.approx(roc_auc(graph.labels, graph.degrees), abs=1e-6)
    late = cell("comparison", "Disney", "paper.pygod:GUIDE", 0, 0)
    lines = [
        {"run": {"commit": "abc"}},
        {"cell": one, "status": "ok", "reason": "", "wall": 1.0} | record,
        {"cell": late, "status": "time limit", "reason": "not finished after 100 s", "wall": 100.0},
    ]
    journal = tmp_path / "cells.jsonl"
    journal.write_text("\n".join(map(json.dumps, lines)) + '\n{"cell": {"cut sho', encoding="utf-8")
    assert len(compare.read([journal])) == 2
    pack([journal], tmp_path / "raw")
    rows = rows_of(tmp_path / "raw" / "cells.csv")
    assert [(row["detector"], row["status"], row["draws"]) for row in rows] == [
        ("degree", "ok", "0"),
        ("paper.pygod:GUIDE", "time limit", ""),
    ]
    drawn = np.load(tmp_path / "raw" / "draws.npz")["draws"]
    expected = bootstrap(np.asarray(graph.labels), graph.degrees.astype(float), "Disney", 0)
    assert np.abs(drawn[0] / 65535 - expected).max() < 1e-5

    again = {"cell": late, "status": "ok", "reason": "", "wall": 9.0} | record
    journal.write_text("\n".join(map(json.dumps, [{"run": {"commit": "def"}}, again])), encoding="utf-8")
    pack([journal], tmp_path / "raw")
    rows = rows_of(tmp_path / "raw" / "cells.csv")
    assert [(row["detector"], row["status"], row["run"], row["draws"]) for row in rows] == [
        ("degree", "ok", "0", "0"),
        ("paper.pygod:GUIDE", "ok", "1", "1"),
    ]
    assert np.array_equal(np.load(tmp_path / "raw" / "draws.npz")["draws"][0], drawn[0])
