"""A new graph is scored and explained with a saved model."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from hopsight.cli import main
from hopsight.detectors import DETECTORS
from hopsight.graph import AttributedGraph
from hopsight.io import write
from hopsight.io.npz import write_npz
from hopsight.runs.detect import detect, score
from hopsight.runs.finished import explain, open_run
from hopsight.runs.request import Request, Source
from hopsight.runs.results import FILES
from run_tables import scores
from toys import two_groups

TRANSFERABLE = ["hcm", "cross_hcm", "dominant", "resgcn"]


@pytest.mark.parametrize("inside", ["", "model"])
def test_the_training_graph_gets_its_scores_back(
    finished: Path, saved_graph: Path, tmp_path: Path, inside: str
) -> None:
    score(finished / inside, Source(path=str(saved_graph)), tmp_path / "new")
    assert scores(tmp_path / "new") == pytest.approx(scores(finished), abs=1e-4)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(set(FILES) - {"groups.csv"})


@pytest.mark.parametrize("name", TRANSFERABLE)
def test_other_nodes_are_scored_with_the_model_of_a_run(tmp_path: Path, name: str) -> None:
    settings = {key: str(value) for key, value in DETECTORS[name].quick.items()}
    for seed in (1, 2):
        write_npz(two_groups(seed, n_each=20), tmp_path / f"{seed}.npz")
    detect(Request(source=Source(path=str(tmp_path / "1.npz")), detector=name, settings=settings), tmp_path / "run")
    score(tmp_path / "run", Source(path=str(tmp_path / "2.npz")), tmp_path / "new")
    written = scores(tmp_path / "new")
    assert set(written) == {f"2-{node}" for node in range(40)}
    assert np.isfinite(list(written.values())).all() and len(set(written.values())) > 10


@pytest.mark.parametrize("name", TRANSFERABLE)
def test_the_top_nodes_of_a_new_graph_are_explained(tmp_path: Path, name: str) -> None:
    """The folder of scores has the files of a detection, and explain works on it."""
    settings = {key: str(value) for key, value in DETECTORS[name].quick.items()}
    for seed in (1, 2):
        write_npz(two_groups(seed, n_each=20), tmp_path / f"{seed}.npz")
    detect(Request(source=Source(path=str(tmp_path / "1.npz")), detector=name, settings=settings), tmp_path / "run")
    result = score(tmp_path / "run", Source(path=str(tmp_path / "2.npz")), tmp_path / "new", top=3)
    assert result.record["detector"] == name
    files = {path.name for path in (tmp_path / "new").iterdir()}
    left_out = {"hcm": {"groups.csv"}, "cross_hcm": set()}.get(name, {"edges.csv", "groups.csv"})
    assert files == set(FILES) - left_out
    written = json.loads((tmp_path / "new" / "explanations.json").read_text())
    assert [reason["node"] for reason in written] == result.graph.node_ids[result.order[:3]].tolist()
    again = explain(tmp_path / "new", written[0]["node"])
    assert str(again).splitlines()[1] == written[0]["summary"]
    model, graph = open_run(tmp_path / "new")
    assert model.decision_score_.tolist() == result.scores.tolist()
    assert model.threshold_ == open_run(tmp_path / "run")[0].threshold_
    if name == "cross_hcm":
        assert written[0]["decided_by"] == again.decided_by
        assert [each["strength"] for each in written[0]["evidence"]] == [each.strength for each in again.evidence]
        assert result.record["flagged"].endswith("by the threshold of the fit.")
    if "hcm" in name:
        assert [each["hop"] for each in written[0]["neighbors"]] == [each.hop for each in again.neighbors]
        assert model.edge_index_.tolist() == graph.edges.tolist()


def test_values_of_the_training_graph_are_not_shown_for_another(tmp_path: Path) -> None:
    """DOMINANT keeps an error per node of the training graph; a new graph of the same size must not get it."""
    settings = {key: str(value) for key, value in DETECTORS["dominant"].quick.items()}
    for seed in (1, 2):
        write_npz(two_groups(seed, n_each=20), tmp_path / f"{seed}.npz")
    source = Source(path=str(tmp_path / "1.npz"))
    detect(Request(source=source, detector="dominant", settings=settings), tmp_path / "run")
    score(tmp_path / "run", Source(path=str(tmp_path / "2.npz")), tmp_path / "new")
    fitted, judged = (open_run(tmp_path / folder)[0] for folder in ("run", "new"))
    for name in (f"{key}_" for key in type(fitted).node_values):
        assert not hasattr(judged, name) or not np.array_equal(getattr(judged, name), getattr(fitted, name))


@pytest.mark.parametrize("name", TRANSFERABLE)
def test_columns_and_rows_in_any_order_give_the_training_scores(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the command line, with tables as people have them: one is sorted between ``detect`` and ``score``."""
    monkeypatch.setattr("signal.signal", lambda *_: None)
    edges, people, turned = (tmp_path / f"{word}.csv" for word in ("edges", "edges.nodes", "turned"))
    write(two_groups(1, n_each=20), edges)
    header, *rows = csv.reader(people.read_text().splitlines())
    places = [4, 0, 3, 1, 2, *range(5, len(header))]
    turned.write_text("".join(",".join(row[place] for place in places) + "\n" for row in [header, *reversed(rows)]))
    settings = [word for key, value in DETECTORS[name].quick.items() for word in ("--set", f"{key}={value}")]
    common = ["--quiet", "--nodes"]
    out, new = tmp_path / "run", tmp_path / "new"
    assert main(["detect", str(edges), *common, str(people), "--detector", name, *settings, "--out", str(out)]) == 0
    assert main(["score", str(out), str(edges), *common, str(turned), "--out", str(new)]) == 0
    assert len(scores(new)) == 40
    assert scores(new) == pytest.approx(scores(out), abs=1e-4)
    turned.write_text("".join(",".join(row[place] for place in places if place != 3) + "\n" for row in [header, *rows]))
    assert main(["score", str(out), str(edges), *common, str(turned), "--out", str(new)]) == 2


def test_a_model_that_cannot_judge_new_graphs_says_so(saved_graph: Path, tmp_path: Path) -> None:
    detect(Request(source=Source(path=str(saved_graph)), detector="radar"), tmp_path / "run")
    with pytest.raises(ValueError, match="can only judge the graph it was fitted on"):
        score(tmp_path / "run", Source(path=str(saved_graph)), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_graph_without_the_columns_of_the_fit_is_refused(finished: Path, path_graph: AttributedGraph) -> None:
    other = finished.parent / "other.npz"
    write_npz(path_graph, other)
    with pytest.raises(ValueError, match=r"column|attribute"):
        score(finished, Source(path=str(other)), finished.parent / "new")
