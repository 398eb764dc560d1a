"""The key of a cell: the same for equal cells, another after any change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hopsight.benchmark.cells import Cell, Task, build_graph, unique_cells

CELL = Cell(
    graph="blogcatalog",
    settings={"sha256": "ab", "planting": {"n_cliques": 10, "clique_size": 15}},
    protocol="dominant",
    injection=0,
    view="reduced",
    detector="hcm",
    parameters={"lr": 0.01, "n_epochs": 300, "widths": [64, 32]},
    seed=0,
)

BASE = {"n_nodes": 150, "n_edges": 600, "n_attributes": 30, "n_structural": 0, "n_attribute_anomalies": 0, "seed": 3}
PLANTING = {"n_cliques": 2, "clique_size": 5, "n_attribute": 10, "n_candidates": 20}


@pytest.mark.parametrize(
    "change",
    [
        {"graph": "flickr"},
        {"settings": {"sha256": "cd", "planting": {"n_cliques": 10, "clique_size": 15}}},
        {"settings": {"sha256": "ab", "planting": {"n_cliques": 11, "clique_size": 15}}},
        {"protocol": "leak-free"},
        {"injection": 1},
        {"view": "raw"},
        {"detector": "dominant"},
        {"parameters": {"lr": 0.02, "n_epochs": 300, "widths": [64, 32]}},
        {"parameters": {"lr": 0.01, "n_epochs": 300, "widths": [64, 33]}},
        {"parameters": {"lr": 0.01, "n_epochs": 300, "widths": [64, 32], "dropout": 0.0}},
        {"seed": 1},
        {"curve": True},
        {"version": "9.9"},
    ],
)
def test_any_change_is_another_cell(change):
    assert replace(CELL, **change).key != CELL.key


def test_equal_cells_have_the_same_key_whatever_the_order_of_their_settings():
    parameters = {"widths": [64, 32], "n_epochs": 300, "lr": 0.01}
    assert replace(CELL, parameters=parameters).key == CELL.key
    assert Cell(**CELL.as_dict()).key == CELL.key
    assert len(CELL.key) == 20


def test_the_key_does_not_depend_on_the_process():
    simple = Cell(graph="disney", detector="lof", seed=0, version="0.1.0")
    assert simple.key == "307fc2eff5df81952db9"


def test_cells_shared_by_experiments_are_run_once():
    plan = [
        Task("comparison", "HCM", CELL),
        Task("sweep R", "0.2", Cell(**CELL.as_dict())),
        Task("x", "y", replace(CELL, seed=1)),
    ]
    assert [cell.seed for cell in unique_cells(plan)] == [0, 1]


def cell(**changes):
    settings = {"generate": BASE, "planting": PLANTING}
    values = {"graph": "generated", "settings": settings, "protocol": "dominant", "injection": 0}
    return Cell(**(values | {"detector": "lof", "seed": 0} | changes))


def test_the_injection_seed_decides_the_anomalies():
    first, again, other = (build_graph(cell(injection=seed)) for seed in (0, 0, 1))
    assert np.array_equal(first.kinds, again.kinds)
    assert not np.array_equal(first.kinds, other.kinds)
    assert np.bincount(first.kinds).tolist() == [130, 10, 10]


def test_views_change_only_the_attributes():
    raw, scaled, reduced = (build_graph(cell(view=view)) for view in ("raw", "scaled", "reduced"))
    assert (raw.n_attributes, scaled.n_attributes, reduced.n_attributes) == (30, 30, 20)
    assert np.allclose(scaled.attributes.mean(axis=0), 0, atol=1e-9)
    assert np.allclose(scaled.attributes.std(axis=0), 1)
    for view in (scaled, reduced):
        assert (view.adjacency != raw.adjacency).nnz == 0
        assert np.array_equal(view.labels, raw.labels)
        assert np.array_equal(view.kinds, raw.kinds)
    # the reduced view is the principal components: singular values of the scaled matrix
    values = np.linalg.svd(scaled.attributes, compute_uv=False)[:20]
    assert np.allclose(np.sort(np.linalg.norm(reduced.attributes, axis=0))[::-1], values, rtol=1e-3)


def test_files_are_found_relative_to_the_folder_of_the_suite(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    (tmp_path / "people.csv").write_text("id,age,fraud\na,30,0\nb,40,0\nc,50,1\n")
    load = {"source": "edges.csv", "nodes": "people.csv", "label": "fraud"}
    graph = build_graph(cell(settings={"load": load}, protocol="as found", injection=None), folder=str(tmp_path))
    assert (graph.n_nodes, graph.n_edges, graph.n_attributes) == (3, 2, 1)
    assert graph.labels.tolist() == [0, 0, 1]
