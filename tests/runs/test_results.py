"""The files of a run: how labels are compared, and which columns a detector adds."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np

from hopsight.detectors import DETECTORS
from hopsight.graph import AttributedGraph
from hopsight.runs.folder import Stages, read_record
from hopsight.runs.request import Source
from hopsight.runs.results import FILES, compare_with_labels, record_of, write_results
from toys import quick, two_groups


def test_known_anomalies_are_counted(path_graph: AttributedGraph) -> None:
    graph = dataclasses.replace(path_graph, labels=[1, 0, 0, 0, 0, 1])
    # scores put node 5 first and node 0 fourth: 1 of 2 found; of the 8 pairs, 4 + 2 are in order
    truth = compare_with_labels(graph, np.array([0.3, 0.9, 0.5, 0.2, 0.1, 1.0]))
    assert truth == {"n_anomalies": 2, "n_found": 1, "roc_auc": 0.75}
    assert compare_with_labels(path_graph, np.arange(6.0)) is None


def test_every_file_is_written_with_the_seconds_of_each_stage(tmp_path: Path) -> None:
    graph = two_groups(1, n_each=20)
    model = quick("hcm").fit(graph)
    write_results(tmp_path, graph, model, 3, {"warnings": []}, Stages(lambda _: None, lambda *_: None))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(set(FILES) - {"groups.csv"})
    assert set(read_record(tmp_path)["seconds"]) == {"write", "explain"}
    assert len(json.loads((tmp_path / "explanations.json").read_text())) == 3
    header = (tmp_path / "scores.csv").read_text().splitlines()[0]
    assert header.split(",")[6:] == list(DETECTORS["hcm"].node_values)


def test_a_detector_with_evidence_writes_its_columns_and_groups(tmp_path: Path) -> None:
    graph = two_groups(1, n_each=20)
    model = quick("cross_hcm").fit(graph)
    write_results(tmp_path, graph, model, 3, {"warnings": []}, Stages(lambda _: None, lambda *_: None))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
    header = (tmp_path / "scores.csv").read_text().splitlines()[0].split(",")
    assert header[6:] == ["ahp", "iv", "hav", "misfit", "ring", "outlier", "activity", "lockstep", "decided_by"]
    assert header == model.to_frame().columns
    first = json.loads((tmp_path / "explanations.json").read_text())[0]
    assert first["decided_by"] in model.evidence and len(first["evidence"]) == 5
    groups = (tmp_path / "groups.csv").read_text().splitlines()
    assert groups[0] == "group,kind,members,density,score,shared"
    assert len(groups) == 1 + len(model.groups_)


def test_the_record_says_by_which_rule_nodes_are_flagged() -> None:
    graph = two_groups(1, n_each=20)
    model = quick("cross_hcm", contamination=0.1).fit(graph)
    assert record_of(Source(), graph, model)["flagged"].endswith("10% of all, as asked.")
    assert record_of(Source(), graph, model, scored=True)["flagged"].endswith("by the threshold of the fit.")
