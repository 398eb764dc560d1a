"""A finished run is repeated from its record."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from hopsight.graph import AttributedGraph
from hopsight.io import write
from hopsight.io.npz import write_npz
from hopsight.runs.console import LineProgress
from hopsight.runs.detect import detect, rerun, score
from hopsight.runs.folder import read_record, write_record
from hopsight.runs.request import Request, Source
from run_tables import scores
from toys import two_groups


def test_a_rerun_gives_the_same_scores_next_to_the_first(finished: Path) -> None:
    again = rerun(finished / "run.json")
    assert again.folder == finished.parent / "run-rerun"
    assert (again.folder / "scores.csv").read_bytes() == (finished / "scores.csv").read_bytes()
    assert read_record(again.folder)["parameters"] == read_record(finished)["parameters"]


def test_a_rerun_says_when_its_source_has_changed(
    finished: Path, saved_graph: Path, path_graph: AttributedGraph
) -> None:
    stream = io.StringIO()
    rerun(finished / "run.json", progress=LineProgress(stream))
    assert "has changed" not in stream.getvalue()
    write_npz(path_graph, saved_graph)
    rerun(finished / "run.json", progress=LineProgress(stream))
    assert "graph.npz has changed since the first run" in stream.getvalue()


def test_a_rerun_whose_source_is_gone_says_which(finished: Path, saved_graph: Path) -> None:
    saved_graph.unlink()
    with pytest.raises(ValueError, match=r"graph\.npz"):
        rerun(finished / "run.json")


def test_an_edited_record_is_refused(finished: Path) -> None:
    record = json.loads((finished / "run.json").read_text())
    record["request"]["detector"] = "hcmm"
    (finished / "run.json").write_text(json.dumps(record))
    with pytest.raises(ValueError, match="did you mean"):
        rerun(finished / "run.json")
    record["command"] = "score"
    (finished / "run.json").write_text(json.dumps(record))
    with pytest.raises(ValueError, match="how to repeat"):
        rerun(finished / "run.json")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("detector", ["lof"]),
        ("device", None),
        ("top", "many"),
        ("settings", {"n_epochs": 6}),
        ("settings", 5),
        ("source", None),
        ("source", {"path": 7, "ignore": []}),
        ("source", {"path": None, "ignore": [None]}),
        ("unheard of", 1),
    ],
)
def test_a_record_with_values_of_other_types_is_refused(tmp_path: Path, name: str, value: object) -> None:
    request = {"detector": "lof", "source": {"path": "nowhere.npz", "ignore": []}, "settings": {}, name: value}
    write_record(tmp_path / "run.json", {"command": "detect", "request": request})
    with pytest.raises(ValueError, match="does not say how to repeat the run"):
        rerun(tmp_path / "run.json")
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_node_table_that_was_found_next_to_the_edges_is_checked_too(tmp_path: Path) -> None:
    write(two_groups(0), tmp_path / "f.csv")
    detect(Request(source=Source(path=str(tmp_path / "f.csv")), detector="lof"), tmp_path / "run")
    assert sorted(Path(path).name for path in read_record(tmp_path / "run")["inputs"]) == ["f.csv", "f.nodes.csv"]
    stream = io.StringIO()
    write(two_groups(1), tmp_path / "f.csv")
    rerun(tmp_path / "run", progress=LineProgress(stream))
    assert "f.nodes.csv has changed since the first run" in stream.getvalue()


def test_a_rerun_finds_a_graph_of_the_catalog_where_it_was(
    tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOPSIGHT_DATA", str(data_dir))
    detect(Request(source=Source(path="disney"), detector="lof"), tmp_path / "run")
    assert len(read_record(tmp_path / "run")["inputs"]) == 1
    monkeypatch.setenv("HOPSIGHT_DATA", str(tmp_path))
    assert rerun(tmp_path / "run").folder.name == "run-rerun"
    assert (tmp_path / "run-rerun" / "scores.csv").read_bytes() == (tmp_path / "run" / "scores.csv").read_bytes()


def test_a_rerun_of_scores_says_when_the_graph_has_changed(finished: Path, saved_graph: Path, tmp_path: Path) -> None:
    score(finished, Source(path=str(saved_graph)), tmp_path / "scored")
    record = read_record(tmp_path / "scored")
    record["inputs"] = dict.fromkeys(record["inputs"], "0" * 64)
    write_record(tmp_path / "scored" / "run.json", record)
    stream = io.StringIO()
    rerun(tmp_path / "scored", progress=LineProgress(stream))
    assert "graph.npz has changed since the first run" in stream.getvalue()


def test_scores_of_a_saved_model_are_repeated(finished: Path, saved_graph: Path, tmp_path: Path) -> None:
    score(finished, Source(path=str(saved_graph)), tmp_path / "new", top=2)
    again = rerun(tmp_path / "new" / "run.json")
    assert again.folder == tmp_path / "new-rerun"
    assert scores(again.folder) == scores(tmp_path / "new")
    assert len(json.loads((again.folder / "explanations.json").read_text())) == 2
