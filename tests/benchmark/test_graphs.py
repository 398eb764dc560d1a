"""The graph of a cell."""

from __future__ import annotations

import numpy as np

from hopsight.benchmark.cells import Cell
from hopsight.benchmark.graphs import build_graph

BASE = {"n_nodes": 150, "n_edges": 600, "n_attributes": 30, "n_structural": 0, "n_attribute_anomalies": 0, "seed": 3}
PLANTING = {"n_cliques": 2, "clique_size": 5, "n_attribute": 10, "n_candidates": 20}


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
