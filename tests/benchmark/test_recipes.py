"""Recipes: every parameter written out, and facts that come from the class."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.benchmark.recipes import (
    all_recipes,
    attribute_norm,
    check_recipes,
    degree,
    is_deterministic,
    parameters_of,
    title_of,
)
from hopsight.detectors import DETECTORS
from hopsight.graph import AttributedGraph
from hopsight.hcm.hcm import HCM


def test_parameters_are_complete_so_that_a_changed_default_is_a_new_cell():
    parameters = parameters_of("hcm-paper", {"n_epochs": 7, "burn_in": 2})
    assert set(parameters) == {entry.name for entry in fields(HCM)} - {"seed"}
    paper = HCM.paper(n_epochs=7, burn_in=2)
    assert {name: getattr(paper, name) for name in parameters} == parameters


def test_every_detector_has_a_title_and_can_be_named():
    assert set(DETECTORS) <= set(all_recipes())
    titles = [title_of(recipe) for recipe in all_recipes()]
    assert len(set(titles)) == len(titles)
    assert {"LOF", "DOMINANT", "HCM", "HCM (paper)", "HCM (authors)", "CrossHCM", "attribute norm"} <= set(titles)
    assert title_of("no.such.module:Class") == "no.such.module:Class"
    with pytest.raises(ValueError, match="did you mean dominant"):
        check_recipes(["dominnt"])
    with pytest.raises(ValueError, match="detectors"):
        check_recipes(["hcn*"])
    with pytest.raises(ValueError, match="did you mean hcm-paper"):
        check_recipes(["hcm-papers"])
    check_recipes(["hcm", "hcm*", "lof*", "random", "some.module:Class"])


def test_the_seed_changes_what_the_class_says_it_changes():
    found = {recipe for recipe in all_recipes() if is_deterministic(recipe)}
    assert found == {"degree", "attribute_norm", "lof", "amen", "radar", "anomalous", "madan"}
    assert not is_deterministic("no.such.module:Class")


def test_degree_and_norm_by_hand(star_graph):
    assert degree(star_graph, 0).tolist() == [5, 1, 1, 1, 1, 1]
    expected = [np.hypot(2 * i, 2 * i + 1) for i in range(6)]
    assert attribute_norm(star_graph, 0) == pytest.approx(expected)


def test_norm_of_sparse_attributes_and_of_huge_ones():
    sparse = AttributedGraph.from_edges([0], [1], sp.csr_array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0]]))
    assert attribute_norm(sparse, 0).tolist() == [5.0, 0.0]
    huge = AttributedGraph.from_edges([0], [1], np.array([[3e200, 4e200], [1e200, 0.0]]))
    assert attribute_norm(huge, 0) == pytest.approx([5e200, 1e200])


def test_planted_anomalies_leak_through_degree_and_norm(data_dir):
    """Degree about .57 and norm about .73 on BlogCatalog; the norm alone finds attribute anomalies at .98."""
    from hopsight.datasets import inject
    from hopsight.loading import load
    from hopsight.metrics import roc_auc, roc_auc_by_kind

    graph = inject(load("blogcatalog", data_dir=data_dir), n_cliques=10, clique_size=15, seed=0)
    norm = attribute_norm(graph, 0)
    assert roc_auc(graph.labels, degree(graph, 0)) == pytest.approx(0.57, abs=0.03)
    assert roc_auc(graph.labels, norm) == pytest.approx(0.73, abs=0.03)
    assert roc_auc_by_kind(graph.labels, graph.kinds, norm)["attribute"] > 0.96
