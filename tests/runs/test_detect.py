"""One detection into a folder: what is recorded and repeatable, and what labels may change."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from hopsight.explanations import Explainer
from hopsight.graph import AttributedGraph
from hopsight.io.npz import write_npz
from hopsight.runs.console import Progress
from hopsight.runs.detect import detect
from hopsight.runs.folder import CHECKPOINT, claim, read_record
from hopsight.runs.request import Request, Source
from hopsight.runs.results import FILES

FAST = {"n_epochs": "6", "burn_in": "3", "min_class_pairs": "10"}


class Messages(Progress):
    """Keeps the messages."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.epochs: list[int] = []

    def say(self, text: str) -> None:
        """Keep a message."""
        self.said.append(text)

    def epoch(self, epoch: object) -> None:
        """Keep the number of an epoch."""
        self.epochs.append(epoch.number)  # type: ignore[attr-defined]


@pytest.fixture
def labeled(tmp_path: Path, random_graph: AttributedGraph) -> Path:
    """Write the random graph with two labeled nodes."""
    labels = np.zeros(60, dtype=int)
    labels[[3, 40]] = 1
    path = tmp_path / "labeled.npz"
    write_npz(dataclasses.replace(random_graph, labels=labels), path)
    return path


def test_the_record_holds_everything_a_reader_needs(labeled: Path, tmp_path: Path) -> None:
    request = Request(source=Source(path=str(labeled)), detector="hcm", settings=FAST, seed=5, top=4)
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


def test_the_top_nodes_are_explained_in_order(labeled: Path, tmp_path: Path) -> None:
    request = Request(source=Source(path=str(labeled)), detector="hcm", settings=FAST, top=4)
    result = detect(request, tmp_path / "out")
    explained = json.loads((tmp_path / "out" / "explanations.json").read_text())
    assert [reason["node"] for reason in explained] == result.order[:4].tolist()
    assert [reason["rank"] for reason in explained] == [1, 2, 3, 4]


def test_the_same_request_gives_the_same_scores_and_the_record_repeats_it(labeled: Path, tmp_path: Path) -> None:
    request = Request(source=Source(path=str(labeled)), detector="hcm", settings=FAST)
    detect(request, tmp_path / "first")
    repeated = Request.from_record(read_record(tmp_path / "first"))
    detect(repeated, tmp_path / "second")
    for name in ("scores.csv", "edges.csv"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_labels_change_nothing_but_their_evaluation(
    labeled: Path, tmp_path: Path, random_graph: AttributedGraph
) -> None:
    write_npz(random_graph, tmp_path / "unlabeled.npz")
    for name in ("labeled", "unlabeled"):
        source = Source(path=str(tmp_path / f"{name}.npz"))
        detect(Request(source=source, detector="hcm", settings=FAST), tmp_path / name)
    assert (tmp_path / "labeled" / "scores.csv").read_bytes() == (tmp_path / "unlabeled" / "scores.csv").read_bytes()
    assert read_record(tmp_path / "labeled")["labels"]["n_anomalies"] == 2
    assert read_record(tmp_path / "unlabeled")["labels"] is None


def test_epochs_are_reported_after_the_expected_need(labeled: Path, tmp_path: Path) -> None:
    progress = Messages()
    request = Request(source=Source(path=str(labeled)), detector="hcm", settings=FAST)
    detect(request, tmp_path / "out", progress=progress)
    assert progress.epochs == [1, 2, 3, 4, 5, 6]
    need, fitted = (
        next(i for i, said in enumerate(progress.said) if word in said) for word in ("needs about", "Fitting took")
    )
    assert need < fitted


def test_resuming_a_detector_without_checkpoints_starts_again_and_says_so(labeled: Path, tmp_path: Path) -> None:
    progress = Messages()
    request = Request(source=Source(path=str(labeled)), detector="lof")
    detect(request, tmp_path / "out", resume=True, progress=progress)
    assert any("LOF keeps no checkpoint" in text for text in progress.said)


@pytest.fixture
def stopped(labeled: Path, tmp_path: Path) -> tuple[Request, Path]:
    """Return the request of a run that was stopped in its third epoch, and its folder."""

    class Stop(Progress):
        def epoch(self, epoch: object) -> None:
            if epoch.number == 3:  # type: ignore[attr-defined]
                raise KeyboardInterrupt

    request = Request(source=Source(path=str(labeled)), detector="hcm", settings=FAST)
    with pytest.raises(KeyboardInterrupt):
        detect(request, tmp_path / "out", progress=Stop())
    return request, tmp_path / "out"


def test_only_a_run_that_owns_a_checkpoint_or_restart_removes_it(stopped: tuple[Request, Path]) -> None:
    """A mistyped path or label, another seed or detector, or a forgotten --resume cost nothing."""
    request, folder = stopped
    state = (folder / CHECKPOINT).read_bytes()
    missing = dataclasses.replace(request, source=Source(path="mistyped.npz"))
    mistyped = dataclasses.replace(request, source=dataclasses.replace(request.source, label="mistyped"))
    for other, resume in ((missing, True), (mistyped, True), (dataclasses.replace(request, seed=7), True)):
        with pytest.raises((ValueError, OSError)):
            detect(other, folder, resume=resume)
        assert (folder / CHECKPOINT).read_bytes() == state
    with pytest.raises(ValueError, match="pass resume=True to continue it, restart=True to discard it"):
        detect(request, folder)
    with pytest.raises(ValueError, match="pass one"):
        detect(request, folder, resume=True, restart=True)
    detect(Request(source=request.source, detector="lof"), folder, resume=True)
    assert (folder / CHECKPOINT).read_bytes() == state
    progress = Messages()
    detect(request, folder, resume=True, progress=progress)
    assert not (folder / CHECKPOINT).exists()


def test_restart_discards_an_interrupted_run(stopped: tuple[Request, Path]) -> None:
    request, folder = stopped
    progress = Messages()
    detect(request, folder, restart=True, progress=progress)
    assert progress.epochs == [1, 2, 3, 4, 5, 6] and not (folder / CHECKPOINT).exists()


def test_a_folder_in_use_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    request = Request(source=Source(path="does-not-exist.npz"), detector="lof")
    with claim(tmp_path / "out", FILES), pytest.raises(ValueError, match="another run"):
        detect(request, tmp_path / "out")


def test_without_a_source_the_demo_graph_is_used(tmp_path: Path) -> None:
    result = detect(Request(detector="lof"), tmp_path / "out")
    assert result.graph.n_nodes > 1000
    assert result.record["labels"]["n_anomalies"] >= 40
    assert result.record["request"]["source"]["path"] is None


def test_the_saved_model_and_graph_belong_together(labeled: Path, tmp_path: Path) -> None:
    from hopsight.detectors.storage import load_detector
    from hopsight.io.npz import read_npz

    detect(Request(source=Source(path=str(labeled)), detector="hcm", settings=FAST), tmp_path / "out")
    model, graph = load_detector(tmp_path / "out" / "model"), read_npz(tmp_path / "out" / "graph.npz")
    assert Explainer(model, graph).node(7).node == 7


def test_a_run_on_two_kinds_of_nodes_says_that_there_is_no_ring_evidence(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"u{user},i{item},{rng.lognormal():.2f}" for user in range(40) for item in rng.choice(15, 4, replace=False)]
    (tmp_path / "orders.csv").write_text("user,item,price\n" + "\n".join(rows) + "\n")
    messages = Messages()
    source = Source(path=str(tmp_path / "orders.csv"))
    result = detect(Request(detector="cross_hcm", source=source, settings=FAST), tmp_path / "out", progress=messages)
    said = [text for text in messages.said if "no ring and no lockstep evidence" in text]
    assert len(said) == 1 and said[0] in result.record["warnings"]
    assert said[0] in (tmp_path / "out" / "report.html").read_text()
    with (tmp_path / "out" / "scores.csv").open() as file:
        assert all(float(row["ring"]) == 0.0 and row["decided_by"] != "ring" for row in csv.DictReader(file))
