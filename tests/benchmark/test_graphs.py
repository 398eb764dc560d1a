"""The graph a cell's detector is given."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.benchmark.cells import Cell
from hopsight.benchmark.graphs import SETUPS, build_graph, file_settings, setup_of

BASE = {"n_nodes": 150, "n_edges": 600, "n_attributes": 30, "n_structural": 0, "n_attribute_anomalies": 0, "seed": 3}
PLANTING = {"n_cliques": 2, "clique_size": 5, "n_attribute": 10, "n_candidates": 20}


def cell(**changes):
    values = {"network": "generated", "settings": BASE | {"planting": PLANTING}, "protocol": "dominant", "injection": 0}
    return Cell(**(values | {"detector": "lof", "seed": 0} | changes))


def test_the_injection_seed_decides_the_anomalies():
    first, again, other = (build_graph(cell(injection=seed), None) for seed in (0, 0, 1))
    assert np.array_equal(first.kinds, again.kinds)
    assert not np.array_equal(first.kinds, other.kinds)
    assert np.bincount(first.kinds).tolist() == [130, 10, 10]


def test_views_change_the_attributes_only():
    raw, scaled, reduced = (build_graph(cell(view=view), None) for view in ("raw", "scaled", "reduced"))
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


def test_a_missing_file_is_a_setting_and_a_changed_file_another_one(tmp_path, data_dir):
    assert "data fetch acm" in file_settings("acm", str(tmp_path))["missing"]
    copy = tmp_path / "Disney.mat"
    copy.write_bytes((data_dir / "Disney.mat").read_bytes())
    published = file_settings("disney", str(tmp_path))
    assert published == {"sha256": "2bb0133d43c5338249bf9f23f532927a9b5fa9a3ba480f4d0ecc3563f44076fd"}
    copy.write_bytes(copy.read_bytes() + b" ")
    assert file_settings("disney", str(tmp_path)) != published


def test_the_papers_injections(data_dir):
    """15 nodes a clique; 10, 15 and 20 cliques for BlogCatalog, Flickr and ACM."""
    assert {name: SETUPS[name].n_cliques for name in ("blogcatalog", "flickr", "acm", "amazon", "enron")} == {
        "blogcatalog": 10, "flickr": 15, "acm": 20, "amazon": 0, "enron": 0,
    }  # fmt: skip
    from hopsight.benchmark.suites import Options, make_suite

    suite = make_suite("paper", Options(networks=["blogcatalog"], detectors=["degree"], data_dir=str(data_dir)))
    graph = build_graph(suite.plan[0].cell, str(data_dir))
    assert np.bincount(graph.kinds).tolist() == [4896, 150, 150]
    assert sp.issparse(graph.attributes)


def test_a_network_outside_the_paper_is_taken_as_found():
    assert setup_of("weibo").n_cliques == 0
    with pytest.raises(ValueError, match="did you mean disney"):
        setup_of("disny")
