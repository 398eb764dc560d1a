"""detect --verdicts and --only."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from hopsight.cli import main
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.io import write
from hopsight.runs.results import compare_with_labels, judged_or_left_out

SETTINGS = {**CrossHCM.quick, "n_epochs": 8, "burn_in": 4, "n_samples": 4}
QUICK = [option for name, value in SETTINGS.items() for option in ("--set", f"{name}={value}")]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import hopsight as hs

    path = tmp_path_factory.mktemp("graph") / "graph.npz"
    write(hs.make_graph(150, n_structural=8, n_attribute_anomalies=8, seed=4), path)
    return path


def test_verdicts_give_a_new_ranking_beside_the_old_and_only_ranks_a_subset(source: Path, tmp_path: Path) -> None:
    plain, taught = tmp_path / "plain", tmp_path / "taught"
    assert main(["detect", str(source), "--out", str(plain), "--quiet", *QUICK]) == 0
    before = pl.read_csv(plain / "scores.csv")
    first = before["node"].to_list()[:20]
    verdicts, nodes = tmp_path / "verdicts.csv", tmp_path / "nodes.txt"
    words = ("anomalous", "normal")
    verdicts.write_text("node,verdict\n" + "".join(f"{node},{words[i % 2]}\n" for i, node in enumerate(first[:10])))
    nodes.write_text("\n".join(map(str, first[8:])) + "\n")
    files = ["--verdicts", str(verdicts), "--only", str(nodes)]
    assert main(["detect", str(source), "--out", str(taught), "--quiet", *files, *QUICK]) == 0
    after = pl.read_csv(taught / "scores.csv")
    assert sorted(after["node"]) == sorted(first[8:]) and after["rank"].to_list() == list(range(1, 13))
    old = dict(zip(before["node"], before["rank"], strict=True))
    assert [old[node] for node in after["node"]] == after["rank_before"].to_list()
    record = json.loads((taught / "run.json").read_text())
    assert "Learned from 5 anomalous and 5 normal nodes" in record["learned"]
    assert len(json.loads((taught / "explanations.json").read_text())) == 12
    assert main(["explain", str(taught), str(first[0])]) == 0  # the whole graph can still be explained


def test_judged_nodes_are_left_out_of_the_comparison_with_labels() -> None:
    model = SimpleNamespace(decision_score_=np.array([4.0, 3.0, 2.0, 1.0]))
    graph = AttributedGraph.from_edges([0], [1], np.zeros((4, 1)), labels=[1, 0, 1, 0])
    assert judged_or_left_out(model) is None
    model.learned_ = SimpleNamespace(judged=np.array([1]))
    measured = compare_with_labels(graph, model.decision_score_, judged_or_left_out(model))
    assert measured == {"n_anomalies": 2, "n_found": 2, "roc_auc": 1.0}  # with node 1 it would be 0.75


def test_files_that_are_missing_and_detectors_that_cannot_learn_are_refused_first(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in ("--verdicts", "--only"):
        assert main(["detect", str(source), "--out", str(tmp_path / "out"), option, str(tmp_path / "none.csv")]) == 2
        assert f"({option})" in capsys.readouterr().err
    there = tmp_path / "verdicts.csv"
    there.write_text("node,verdict\n")
    assert (
        main(["detect", str(source), "--detector", "lof", "--verdicts", str(there), "--out", str(tmp_path / "o")]) == 2
    )
    assert "lof has no kinds of evidence" in capsys.readouterr().err
