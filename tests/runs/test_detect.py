"""One detection into a folder: what is recorded, what is repeatable, what labels may do."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from hopsight.explain import Explainer
from hopsight.graph import AttributedGraph
from hopsight.io.npz import write_npz
from hopsight.runs.detect import FILES, Request, Source, detect, found
from hopsight.runs.folder import claim
from hopsight.runs.progress import Progress
from hopsight.runs.record import read_record

FAST = {"n_epochs": "6", "burn_in": "3", "min_class_pairs": "10"}


class Remarks(Progress):
    """Keeps what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.epochs: list[int] = []

    def say(self, text: str) -> None:
        """Keep a remark."""
        self.said.append(text)

    def epoch(self, epoch: object) -> None:
        """Keep the number of an epoch."""
        self.epochs.append(epoch.number)  # type: ignore[attr-defined]


@pytest.fixture
def network(tmp_path: Path, random_graph: AttributedGraph) -> Path:
    """Write the random graph with two labeled nodes."""
    labels = np.zeros(60, dtype=int)
    labels[[3, 40]] = 1
    path = tmp_path / "network.npz"
    write_npz(dataclasses.replace(random_graph, labels=labels), path)
    return path


def test_the_record_holds_everything_a_reader_needs(network: Path, tmp_path: Path) -> None:
    request = Request(source=Source(path=str(network)), detector="hcm", settings=FAST, seed=5, top=4)
    result = detect(request, tmp_path / "out")
    record = read_record(tmp_path / "out")
    assert record["seed"] == record["parameters"]["seed"] == 5
    assert record["parameters"]["n_epochs"] == 6
    assert record["graph"]["n_nodes"] == 60
    assert record["graph"]["n_isolated"] == 1
    assert len(record["losses"]) == 6
    assert set(record["seconds"]) == {"load", "fit", "write", "explain"}
    assert record["peak_memory_bytes"] > 1e7
    assert record["expected"]["memory"] > 1e7
    assert record["threshold"] == result.threshold
    assert record["n_flagged"] == int((result.scores > result.threshold).sum())
    assert {"python", "torch", "hopsight"} <= set(record["versions"])
    assert isinstance(record["warnings"], list)


def test_the_top_nodes_are_explained_in_order(network: Path, tmp_path: Path) -> None:
    request = Request(source=Source(path=str(network)), detector="hcm", settings=FAST, top=4)
    result = detect(request, tmp_path / "out")
    explained = json.loads((tmp_path / "out" / "explanations.json").read_text())
    assert [reason["node"] for reason in explained] == result.order[:4].tolist()
    assert [reason["rank"] for reason in explained] == [1, 2, 3, 4]


def test_the_same_request_gives_the_same_scores_and_the_record_repeats_it(network: Path, tmp_path: Path) -> None:
    request = Request(source=Source(path=str(network)), detector="hcm", settings=FAST)
    detect(request, tmp_path / "first")
    repeated = Request.from_record(read_record(tmp_path / "first"))
    detect(repeated, tmp_path / "second")
    for name in ("scores.csv", "edges.csv"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_every_field_of_a_request_survives_the_record() -> None:
    source = Source(path="e", nodes="n", directed=True, label="l", ignore=("a", "b"), missing="mean")
    request = Request(source=source, detector="lof", settings={"contamination": "0.2"}, memory_limit="8GB", top=3)
    written = json.loads(json.dumps(dataclasses.asdict(request)))
    assert Request.from_record({"request": written}) == request


@pytest.mark.parametrize("record", [{}, {"request": {}}, {"request": {"source": {"x": 1}}}, {"request": 3}])
def test_a_record_without_a_request_is_refused(record: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="how to repeat"):
        Request.from_record(record)


def test_labels_change_nothing_but_the_line_about_them(
    network: Path, tmp_path: Path, random_graph: AttributedGraph
) -> None:
    write_npz(random_graph, tmp_path / "unlabeled.npz")
    for name in ("network", "unlabeled"):
        source = Source(path=str(tmp_path / f"{name}.npz"))
        detect(Request(source=source, detector="hcm", settings=FAST), tmp_path / name)
    assert (tmp_path / "network" / "scores.csv").read_bytes() == (tmp_path / "unlabeled" / "scores.csv").read_bytes()
    assert read_record(tmp_path / "network")["labels"]["n_anomalies"] == 2
    assert read_record(tmp_path / "unlabeled")["labels"] is None


def test_found_counts_by_hand(path_graph: AttributedGraph) -> None:
    graph = dataclasses.replace(path_graph, labels=[1, 0, 0, 0, 0, 1])
    # scores put node 5 first and node 0 fourth: 1 of 2 found; of the 8 pairs, 4 + 2 are in order
    truth = found(graph, np.array([0.3, 0.9, 0.5, 0.2, 0.1, 1.0]))
    assert truth == {"n_anomalies": 2, "n_found": 1, "roc_auc": 0.75}
    assert found(path_graph, np.arange(6.0)) is None


def test_epochs_reach_the_progress_and_the_need_is_said_first(network: Path, tmp_path: Path) -> None:
    progress = Remarks()
    request = Request(source=Source(path=str(network)), detector="hcm", settings=FAST)
    detect(request, tmp_path / "out", progress=progress)
    assert progress.epochs == [1, 2, 3, 4, 5, 6]
    need, fitted = (
        next(i for i, said in enumerate(progress.said) if word in said) for word in ("needs about", "fitting took")
    )
    assert need < fitted


def test_resume_of_a_detector_without_checkpoints_is_said(network: Path, tmp_path: Path) -> None:
    progress = Remarks()
    request = Request(source=Source(path=str(network)), detector="lof")
    detect(request, tmp_path / "out", resume=True, progress=progress)
    assert any("LOF keeps no checkpoint" in remark for remark in progress.said)


def test_a_folder_in_use_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    request = Request(source=Source(path="does-not-exist.npz"), detector="lof")
    with claim(tmp_path / "out", FILES), pytest.raises(ValueError, match="another run"):
        detect(request, tmp_path / "out")


def test_the_demo_is_what_no_source_means(tmp_path: Path) -> None:
    result = detect(Request(detector="lof"), tmp_path / "out")
    assert result.graph.n_nodes > 1000
    assert result.record["labels"]["n_anomalies"] >= 40
    assert result.record["request"]["source"]["path"] is None


def test_the_saved_model_and_network_belong_together(network: Path, tmp_path: Path) -> None:
    from hopsight.detectors.storage import load_detector
    from hopsight.io.npz import read_npz

    detect(Request(source=Source(path=str(network)), detector="hcm", settings=FAST), tmp_path / "out")
    model, graph = load_detector(tmp_path / "out" / "model"), read_npz(tmp_path / "out" / "graph.npz")
    assert Explainer(model, graph).node(7).node == 7
