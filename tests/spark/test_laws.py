"""Laws: both engines fit them to the same nodes and edges."""

from __future__ import annotations

import numpy as np
import pytest

from hopsight.graph import AttributedGraph
from hopsight.hcm import splits as folds
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import AttributeBaseline, EdgeBaseline, EdgeFeatures
from hopsight.hcm.splits import baseline_edges, baseline_nodes, node_folds
from hopsight.hcm.views import inputs_of
from hopsight.spark import laws as module
from spark_stages import CommandRun, FirstStages, cluster_numbers, edges_by_ends


def test_nodes_are_those_of_the_local_engine(
    first_stages: FirstStages, graph: AttributedGraph, reference: CrossHCM, monkeypatch: pytest.MonkeyPatch
) -> None:
    for home in (module, folds):
        monkeypatch.setattr(home, "BASELINE_NODES", 40)
    _, magnitude = first_stages.engine.units
    chosen = module.choose_law_nodes(first_stages.graph.nodes, first_stages.layout, magnitude)
    wanted = baseline_nodes(graph)
    assert wanted.size == 40
    assert chosen.numbers.tolist() == cluster_numbers(first_stages)[wanted].tolist()
    attributes = inputs_of(graph, reference.transform_, reference.magnitude_)[wanted]
    np.testing.assert_allclose(chosen.attributes, attributes, atol=1e-9)
    laws = module.fit_attribute_laws(chosen, first_stages.degrees, first_stages.layout)
    local = AttributeBaseline.fit(attributes, graph.degrees[wanted], node_folds(graph.node_hashes[wanted]))
    np.testing.assert_allclose(laws.center, local.center, atol=1e-9)
    np.testing.assert_allclose(laws.ridges, local.ridges, atol=1e-9)
    for similarity in ("cosine", "euclidean"):
        assert module.choose_references(chosen, similarity).cosine == (similarity == "cosine")


def test_edges_are_those_of_the_local_engine(
    run: CommandRun, first_stages: FirstStages, graph: AttributedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for home in (module, folds):
        monkeypatch.setattr(home, "BASELINE_EDGES", 100)
    judged = run.judged.edges
    values = edges_by_ends(judged, first_stages, graph)
    edges = EdgeFeatures(values["hop"], values["surprise"], values["dissimilarity"])
    chosen = baseline_edges(graph)
    assert chosen.size == 100 < graph.n_edges
    found, wanted = module.fit_edge_laws(judged, graph.n_edges), EdgeBaseline.fit(edges.rows(chosen))
    for name in ("levels", "robust", "null"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-12)
