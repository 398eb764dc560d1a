"""The whole detection: from two DataFrames to the scores of the local engine."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from hopsight.detectors.storage import load_detector
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import KINDS
from hopsight.spark.detection import detect
from spark_stages import QUICK
from toys import refuses


def by_node(detected: Any, graph: AttributedGraph) -> dict[str, np.ndarray]:
    rows = {row["node"]: row for row in detected.scores.collect()}
    assert len(rows) == graph.n_nodes
    ordered = [rows[node] for node in graph.node_ids]
    return {name: np.array([row[name] for row in ordered]) for name in detected.scores.columns}


@pytest.fixture(scope="module")
def arcs(graph: AttributedGraph) -> AttributedGraph:
    """Return the graph with a direction for each edge, and some edges in both directions.

    Of two opposite arcs, which are equally similar, one is the last to be dropped.
    """
    rng = np.random.default_rng(0)
    swap, both = rng.random((2, graph.n_edges)) < np.array([[0.5], [0.3]])
    source, target = np.where(swap, graph.edges[::-1], graph.edges)
    ends = np.concatenate([source, target[both]]), np.concatenate([target, source[both]])
    fields = {"node_ids": graph.node_ids, "attribute_names": graph.attribute_names}
    return AttributedGraph.from_edges(*ends, graph.attributes, directed=True, **fields)


@pytest.mark.slow
def test_directed_graphs_are_judged_as_by_the_local_engine(arcs: AttributedGraph, frames: tuple[Any, Any]) -> None:
    import pyarrow as pa

    reference, spark = CrossHCM(**QUICK).fit(arcs), frames[0].sparkSession
    source, target = arcs.node_ids[arcs.edges].tolist()
    edges = pa.table({"source": [*source, source[0], source[1]], "target": [*target, target[0], source[1]]})
    found = detect(spark.createDataFrame(edges), frames[1], CrossHCM(**QUICK), n_blocks=2, directed=True)
    check_nodes(found, reference, arcs)
    check_edges(found, reference, arcs)
    assert found.graph["directed"]
    assert found.notices == [
        "1 row repeats a pair of nodes: merged the rows of each pair into one edge.",
        "Removed 1 self-loop.",
    ]
    groups = [(group.kind, set(group.members.tolist()), group.density) for group in found.groups]
    assert groups == [
        (group.kind, set(arcs.node_ids[group.members].tolist()), group.density) for group in reference.groups_
    ]


def test_scores_are_those_of_the_local_engine(detected: Any, reference: CrossHCM, graph: AttributedGraph) -> None:
    check_nodes(detected, reference, graph)


def check_nodes(detected: Any, reference: CrossHCM, graph: AttributedGraph) -> None:
    found = by_node(detected, graph)
    assert spearmanr(found["score"], reference.decision_score_)[0] > 0.999
    np.testing.assert_allclose(found["score"], reference.decision_score_, atol=0.001)
    for name in ("ahp", "iv", "hav"):
        np.testing.assert_allclose(found[name], getattr(reference, f"{name}_"), atol=0.001)
    for kind in KINDS:
        np.testing.assert_allclose(found[kind], reference.evidence_[kind], atol=0.001)
    np.testing.assert_array_equal(found["decided_by"], np.array(reference.evidence)[reference.decided_by_])
    np.testing.assert_array_equal(found["degree"], graph.degrees)
    np.testing.assert_array_equal(found["judged"], reference.judged_)
    np.testing.assert_array_equal(found["flagged"], reference.label_)
    assert detected.threshold == pytest.approx(reference.threshold_, abs=0.001)
    np.testing.assert_allclose(detected.losses, reference.loss_, rtol=1e-3)


def test_edges_are_those_of_the_local_engine(detected: Any, reference: CrossHCM, graph: AttributedGraph) -> None:
    check_edges(detected, reference, graph)


def check_edges(detected: Any, reference: CrossHCM, graph: AttributedGraph) -> None:
    rows = {(row["source"], row["target"]): row for row in detected.edges.collect()}
    ordered = [rows[tuple(pair)] for pair in graph.node_ids[graph.directions].T.tolist()]
    assert len(rows) == graph.n_edges
    for name in ("hop", "probability", "variance", "surprise", "score"):
        wanted = getattr(reference, f"edge_{name}_")
        np.testing.assert_allclose([row[name] for row in ordered], wanted, atol=0.01)
    np.testing.assert_array_equal([row["flagged"] for row in ordered], reference.edge_label_)


def test_sizes_and_notices(detected: Any, graph: AttributedGraph) -> None:
    assert detected.graph["n_nodes"] == graph.n_nodes and detected.graph["n_edges"] == graph.n_edges
    assert "1 row repeats a pair of nodes: merged the rows of each pair into one edge." in detected.notices
    assert "Removed 1 self-loop." in detected.notices


def test_bad_parameters_are_refused_before_any_work(frames: tuple[Any, Any]) -> None:
    refuses("n_folds must be at least 2", detect, *frames, CrossHCM(n_folds=1))
    refuses("contamination", detect, *frames, CrossHCM(contamination=0.9))
    refuses("false_alarms", detect, *frames, CrossHCM(false_alarms=1.5))
    with pytest.raises(ValueError, match="the Spark engine judges edges without dropout"):
        detect(*frames, CrossHCM(dropout=0.2, dropout_at_prediction=True))


def test_tables_are_ranked(detected: Any) -> None:
    own = [*CrossHCM.node_values, *KINDS, "decided_by"]
    assert detected.scores.columns == ["node", "rank", "score", "flagged", "judged", "degree", *own]
    values = ["hop", "probability", "variance", "surprise", "score", "flagged", "reason"]
    assert detected.edges.columns == ["source", "target", "rank", *values]
    for table, threshold in (
        (detected.scores, detected.threshold),
        (detected.edges, detected.fitted["edge_threshold_"]),
    ):
        rows = table.orderBy("rank").collect()
        assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
        scores = np.array([row["score"] for row in rows])
        assert (np.diff(scores) <= 0).all()
        assert [row["flagged"] for row in rows] == (scores > threshold).astype(int).tolist()


def test_the_model_judges_on_one_machine_as_it_did_on_the_cluster(
    detected: Any, graph: AttributedGraph, tmp_path: Path
) -> None:
    wanted = by_node(detected, graph)
    detected.model().save(tmp_path)
    judged = load_detector(tmp_path).judge(graph)
    np.testing.assert_allclose(judged.decision_score_, wanted["score"], atol=1e-3)
    clear = abs(wanted["score"] - detected.threshold) > 1e-3  # the threshold is the score of a node
    np.testing.assert_array_equal(judged.label_[clear], wanted["flagged"][clear])
    assert judged.threshold_ == detected.threshold
