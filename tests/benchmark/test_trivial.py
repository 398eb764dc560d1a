"""Scores that use next to nothing of the graph."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.benchmark.trivial import TRIVIAL, attribute_norm, degree, random_score
from hopsight.graph import AttributedGraph


def test_degree_and_norm_by_hand(star_graph):
    assert degree(star_graph, 0).tolist() == [5, 1, 1, 1, 1, 1]
    expected = [np.hypot(2 * i, 2 * i + 1) for i in range(6)]
    assert attribute_norm(star_graph, 0) == pytest.approx(expected)


def test_norm_of_sparse_attributes_and_of_huge_ones():
    sparse = AttributedGraph.from_edges([0], [1], sp.csr_array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0]]))
    assert attribute_norm(sparse, 0).tolist() == [5.0, 0.0]
    huge = AttributedGraph.from_edges([0], [1], np.array([[3e200, 4e200], [1e200, 0.0]]))
    assert attribute_norm(huge, 0) == pytest.approx([5e200, 1e200])


def test_random_scores_depend_on_the_seed_alone(star_graph):
    assert random_score(star_graph, 1).tolist() == random_score(star_graph, 1).tolist()
    assert random_score(star_graph, 1).tolist() != random_score(star_graph, 2).tolist()
    assert set(TRIVIAL) == {"random", "degree", "attribute_norm"}


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
