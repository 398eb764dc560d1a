"""A finished run is explained from its folder alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hopsight.explanations import EdgeExplanation, Explanation
from hopsight.graph import AttributedGraph
from hopsight.io.npz import write_npz
from hopsight.runs.explain import explain, find_node, open_run
from run_tables import scores


def test_a_run_is_opened_with_its_scores(finished: Path) -> None:
    model, graph = open_run(finished)
    written = scores(finished)
    assert [written[str(node)] for node in graph.node_ids] == model.decision_score_.tolist()


def test_nodes_and_edges_are_explained(finished: Path) -> None:
    _, graph = open_run(finished)
    source, target = map(str, graph.edges[:, 0].tolist())
    node, edge = explain(finished, source), explain(finished, source, target)
    assert isinstance(node, Explanation) and str(node.node) == source
    assert isinstance(edge, EdgeExplanation) and (str(edge.source), str(edge.target)) == (source, target)
    with pytest.raises(ValueError, match="no edge between"):
        explain(finished, source, "59")


def test_a_folder_without_a_finished_run_is_refused(tmp_path: Path, finished: Path) -> None:
    with pytest.raises(ValueError, match="no finished run"):
        open_run(tmp_path)
    (finished / "run.json").unlink()
    with pytest.raises(ValueError, match="no finished run"):
        open_run(finished)


def test_a_folder_of_scores_only_says_what_to_do(finished: Path) -> None:
    """Spark writes no graph, and neither did the score command of version 0.1."""
    (finished / "graph.npz").unlink()
    with pytest.raises(ValueError, match=r"has no graph\.npz and model, which explain needs: .* repeat the run"):
        open_run(finished)


def test_the_graph_of_another_run_is_noticed(finished: Path, path_graph: AttributedGraph) -> None:
    write_npz(path_graph, finished / "graph.npz")
    with pytest.raises(ValueError, match="do not belong together"):
        open_run(finished)


def test_a_node_is_found_by_its_id_or_by_its_cell_in_the_table() -> None:
    graph = AttributedGraph.from_edges([0], [1], np.eye(3), node_ids=["=1", "'a", "b"])
    assert [find_node(graph, text) for text in ("=1", "'=1", "''a", "'a", "b")] == ["=1", "=1", "'a", "'a", "b"]
    with pytest.raises(ValueError, match="no node"):
        find_node(graph, "'c")
