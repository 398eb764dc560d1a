"""Readings of nodes: means over edges, triangles and attributes are those of the local engine."""

from __future__ import annotations

import dataclasses

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import EdgeFeatures, NodeFeatures
from hopsight.hcm.views import inputs_of
from hopsight.spark.blocks import gather_rows
from hopsight.spark.readings import READINGS, node_readings, own_blocks, reading_blocks
from hopsight.spark.rings import ring_blocks
from spark_stages import CommandRun, FirstStages, cluster_numbers, edges_by_ends


def test_readings_are_those_of_the_local_engine(
    run: CommandRun, first_stages: FirstStages, graph: AttributedGraph, reference: CrossHCM
) -> None:
    judged, fitted, layout = run.judged.edges, run.judged.fitted, first_stages.layout
    own = own_blocks(first_stages.graph.nodes, fitted["attribute_baseline_"], first_stages.engine.units[1])
    rings = ring_blocks(judged, first_stages.degrees, layout, fitted["edge_baseline_"])
    blocks = reading_blocks(judged, rings, own, layout, "std")
    rows = gather_rows(blocks, layout, np.float64, cluster_numbers(first_stages))
    values = edges_by_ends(judged, first_stages, graph)
    edges = EdgeFeatures(values["hop"], values["surprise"], values["dissimilarity"])
    local = dataclasses.replace(reference)
    local.edge_baseline_, local.attribute_baseline_ = fitted["edge_baseline_"], fitted["attribute_baseline_"]
    local.transform_ = reference.transform_
    wanted = local._node_features(graph, edges, inputs_of(graph, reference.transform_, reference.magnitude_))
    found = node_readings(rows)
    assert found.effective is None and wanted.effective is None  # edges have no weights here
    for name in {field.name for field in dataclasses.fields(NodeFeatures)} - {"effective"}:
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), atol=1e-9, err_msg=name)
    spread = np.sqrt(values["variance"])
    node = int(np.argmax(graph.degrees))
    mine = (graph.edges == node).any(axis=0)
    np.testing.assert_allclose(rows[node, READINGS.index("variance")], spread[mine].mean())
