"""A finished run is explained from its folder alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hopsight.detectors import DETECTORS
from hopsight.explanations import EdgeExplanation, Explanation, GroupExplanation
from hopsight.graph import AttributedGraph
from hopsight.io.npz import write_npz
from hopsight.runs.detect import detect
from hopsight.runs.finished import explain, find_node, open_run
from hopsight.runs.request import Request, Source
from run_tables import scores
from toys import two_groups


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


def test_a_group_is_explained_by_its_number(tmp_path: Path) -> None:
    write_npz(two_groups(1, n_each=20), tmp_path / "graph.npz")
    settings = {name: str(value) for name, value in DETECTORS["cross_hcm"].quick.items()}
    source = Source(path=str(tmp_path / "graph.npz"))
    detect(Request(source=source, detector="cross_hcm", settings=settings), tmp_path / "run")
    model, graph = open_run(tmp_path / "run")
    model.kind_thresholds_ = np.full(5, -1.0)  # every node may belong to a group
    model.save(tmp_path / "run" / "model")
    group = explain(tmp_path / "run", group=1)
    assert isinstance(group, GroupExplanation)
    assert [each.node for each in group.members] == graph.node_ids[model.groups_[0].members].tolist()
    with pytest.raises(ValueError, match=r"found no groups|group must be at least 1"):
        explain(tmp_path / "run", group=99)
    for arguments in ({}, {"node": "1-0", "group": 1}):
        with pytest.raises(ValueError, match="explain takes a node, the two nodes of an edge, or group"):
            explain(tmp_path / "run", **arguments)  # type: ignore[arg-type]


def test_a_folder_without_a_finished_run_is_refused(tmp_path: Path, finished: Path) -> None:
    with pytest.raises(ValueError, match="no finished run"):
        open_run(tmp_path)
    (finished / "run.json").unlink()
    with pytest.raises(ValueError, match="no finished run"):
        open_run(finished)


def test_a_folder_of_scores_only_says_what_to_do(finished: Path) -> None:
    """Spark writes no graph, and neither did the score command of version 0.1."""
    (finished / "graph.npz").unlink()
    with pytest.raises(ValueError, match=r"lacks graph\.npz or model, which explain needs: .* repeat the run"):
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


def test_a_node_is_found_whatever_its_case_and_near_misses_are_suggested() -> None:
    names = ["Ada Berg", "ada berg 2", "Bo", "BO", "x1"]
    graph = AttributedGraph.from_edges([0], [1], np.zeros((5, 1)), node_ids=names)
    assert find_node(graph, "ADA BERG") == "Ada Berg"
    assert find_node(graph, "Bo") == "Bo"
    with pytest.raises(ValueError, match=r"there is no node 'bo' in this graph; did you mean Bo or BO\?$"):
        find_node(graph, "bo")
    with pytest.raises(ValueError, match=r"no node 'ada brg' in this graph; did you mean Ada Berg\?$"):
        find_node(graph, "ada brg")
    with pytest.raises(ValueError, match=r"no node 'berg' in this graph; did you mean Ada Berg\?$"):
        find_node(graph, "berg")
    with pytest.raises(ValueError, match=r"no node 'zzzzzz' in this graph$"):
        find_node(graph, "zzzzzz")


def test_a_node_is_found_by_its_name_and_an_id_by_its_beginning() -> None:
    graph = AttributedGraph.from_edges([0, 1], [1, 2], np.zeros((3, 1)), node_ids=["ACC100", "ACC200", "ACC210"])
    named = AttributedGraph.from_edges(
        [0, 1], [1, 2], np.zeros((3, 1)), node_ids=["ACC100", "ACC200", "ACC210"], node_names=["Ada", "Bo", "Bo"]
    )
    assert find_node(named, "ada") == "ACC100"
    with pytest.raises(ValueError, match="did you mean ACC200 or ACC210"):
        find_node(named, "bo")
    with pytest.raises(ValueError, match="did you mean ACC100"):
        find_node(graph, "ACC1")
