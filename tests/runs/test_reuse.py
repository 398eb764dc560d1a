"""Finished runs used again."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from hopsight.cli import main
from hopsight.graph import AttributedGraph
from hopsight.io import write
from hopsight.io.npz import write_npz
from hopsight.runs.detect import Request, Source, detect
from hopsight.runs.progress import LineProgress
from hopsight.runs.record import read_record, write_record
from hopsight.runs.reuse import node_in, reopen, rerun, score
from toys import QUICK, two_groups

FAST = {"n_epochs": "6", "burn_in": "3", "min_class_pairs": "10"}


@pytest.fixture
def network(tmp_path: Path, random_graph: AttributedGraph) -> Path:
    """Write the random graph."""
    write_npz(random_graph, tmp_path / "network.npz")
    return tmp_path / "network.npz"


@pytest.fixture
def finished(network: Path, tmp_path: Path) -> Path:
    """Return the folder of a finished run of HCM."""
    detect(Request(source=Source(path=str(network)), detector="hcm", settings=FAST), tmp_path / "run")
    return tmp_path / "run"


def scores(folder: Path) -> dict[str, float]:
    with (folder / "scores.csv").open(encoding="utf-8") as file:
        return {row["node"]: float(row["score"]) for row in csv.DictReader(file)}


def test_a_run_reopens_with_its_scores(finished: Path) -> None:
    model, graph = reopen(finished)
    written = scores(finished)
    assert [written[str(node)] for node in graph.node_ids] == model.decision_score_.tolist()


def test_a_folder_without_a_finished_run_is_refused(tmp_path: Path, finished: Path) -> None:
    with pytest.raises(ValueError, match="no finished run"):
        reopen(tmp_path)
    (finished / "run.json").unlink()
    with pytest.raises(ValueError, match="no finished run"):
        reopen(finished)


def test_a_network_of_another_run_is_noticed(finished: Path, path_graph: AttributedGraph) -> None:
    write_npz(path_graph, finished / "graph.npz")
    with pytest.raises(ValueError, match="do not belong together"):
        reopen(finished)


def test_a_node_is_found_by_its_id_or_by_its_cell() -> None:
    graph = AttributedGraph.from_edges([0], [1], np.eye(3), node_ids=["=1", "'a", "b"])
    assert [node_in(graph, text) for text in ("=1", "'=1", "''a", "'a", "b")] == ["=1", "=1", "'a", "'a", "b"]
    with pytest.raises(ValueError, match="no node"):
        node_in(graph, "'c")


@pytest.mark.parametrize("inside", ["", "model"])
def test_the_training_network_gets_its_scores_back(finished: Path, network: Path, tmp_path: Path, inside: str) -> None:
    score(finished / inside, Source(path=str(network)), tmp_path / "new")
    assert scores(tmp_path / "new") == pytest.approx(scores(finished), abs=1e-4)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["run.json", "scores.csv"]


@pytest.mark.parametrize("name", ["hcm", "cross_hcm", "dominant", "resgcn"])
def test_other_nodes_are_scored_with_the_model_of_a_run(tmp_path: Path, name: str) -> None:
    settings = {key: str(value) for key, value in QUICK[name].items()}
    for seed in (1, 2):
        write_npz(two_groups(seed, n_each=20), tmp_path / f"{seed}.npz")
    detect(Request(source=Source(path=str(tmp_path / "1.npz")), detector=name, settings=settings), tmp_path / "run")
    score(tmp_path / "run", Source(path=str(tmp_path / "2.npz")), tmp_path / "new")
    written = scores(tmp_path / "new")
    assert set(written) == {f"2-{node}" for node in range(40)}
    assert np.isfinite(list(written.values())).all() and len(set(written.values())) > 10


@pytest.mark.parametrize("name", ["hcm", "cross_hcm", "dominant", "resgcn"])
def test_columns_and_rows_in_any_order_give_the_training_scores(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the command line, with tables as people have them: one is sorted anew between ``detect`` and ``score``."""
    monkeypatch.setattr("signal.signal", lambda *_: None)
    edges, people, turned = (tmp_path / f"{word}.csv" for word in ("edges", "edges.nodes", "turned"))
    write(two_groups(1, n_each=20), edges)
    header, *rows = csv.reader(people.read_text().splitlines())
    places = [4, 0, 3, 1, 2, *range(5, len(header))]
    turned.write_text("".join(",".join(row[place] for place in places) + "\n" for row in [header, *reversed(rows)]))
    settings = [word for key, value in QUICK[name].items() for word in ("--set", f"{key}={value}")]
    common = ["--quiet", "--nodes"]
    out, new = tmp_path / "run", tmp_path / "new"
    assert main(["detect", str(edges), *common, str(people), "--detector", name, *settings, "--out", str(out)]) == 0
    assert main(["score", str(out), str(edges), *common, str(turned), "--out", str(new)]) == 0
    assert len(scores(new)) == 40
    assert scores(new) == pytest.approx(scores(out), abs=1e-4)
    turned.write_text("".join(",".join(row[place] for place in places if place != 3) + "\n" for row in [header, *rows]))
    assert main(["score", str(out), str(edges), *common, str(turned), "--out", str(new)]) == 2


def test_scores_of_a_saved_model_can_be_repeated_but_not_explained(
    finished: Path, network: Path, tmp_path: Path
) -> None:
    score(finished, Source(path=str(network)), tmp_path / "new")
    again = rerun(tmp_path / "new" / "run.json")
    assert again.folder == tmp_path / "new-rerun"
    assert scores(again.folder) == scores(tmp_path / "new")
    with pytest.raises(ValueError, match="folder of a detect run"):
        reopen(tmp_path / "new")


def test_a_model_that_cannot_judge_new_networks_says_so(network: Path, tmp_path: Path) -> None:
    detect(Request(source=Source(path=str(network)), detector="radar"), tmp_path / "run")
    with pytest.raises(ValueError, match="can only judge the graph it was fitted on"):
        score(tmp_path / "run", Source(path=str(network)), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_network_without_the_columns_of_the_fit_is_refused(finished: Path, path_graph: AttributedGraph) -> None:
    other = finished.parent / "other.npz"
    write_npz(path_graph, other)
    with pytest.raises(ValueError, match=r"column|attribute"):
        score(finished, Source(path=str(other)), finished.parent / "new")


def test_a_rerun_gives_the_same_scores_beside_the_first(finished: Path) -> None:
    again = rerun(finished / "run.json")
    assert again.folder == finished.parent / "run-rerun"
    assert (again.folder / "scores.csv").read_bytes() == (finished / "scores.csv").read_bytes()
    assert read_record(again.folder)["parameters"] == read_record(finished)["parameters"]


def test_a_rerun_says_when_its_source_has_changed(finished: Path, network: Path, path_graph: AttributedGraph) -> None:
    stream = io.StringIO()
    rerun(finished / "run.json", progress=LineProgress(stream))
    assert "has changed" not in stream.getvalue()
    write_npz(path_graph, network)
    rerun(finished / "run.json", progress=LineProgress(stream))
    assert "network.npz has changed since the first run" in stream.getvalue()


def test_a_rerun_whose_source_is_gone_says_which(finished: Path, network: Path) -> None:
    network.unlink()
    with pytest.raises(ValueError, match=r"network\.npz"):
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


def test_a_node_table_that_was_found_beside_the_edges_is_checked_too(tmp_path: Path) -> None:
    write(two_groups(0), tmp_path / "f.csv")
    detect(Request(source=Source(path=str(tmp_path / "f.csv")), detector="lof"), tmp_path / "run")
    assert sorted(Path(path).name for path in read_record(tmp_path / "run")["inputs"]) == ["f.csv", "f.nodes.csv"]
    stream = io.StringIO()
    write(two_groups(1), tmp_path / "f.csv")
    rerun(tmp_path / "run", progress=LineProgress(stream))
    assert "f.nodes.csv has changed since the first run" in stream.getvalue()


def test_a_rerun_finds_a_network_of_the_catalog_where_it_was(
    tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOPSIGHT_DATA", str(data_dir))
    detect(Request(source=Source(path="disney"), detector="lof"), tmp_path / "run")
    assert len(read_record(tmp_path / "run")["inputs"]) == 1
    monkeypatch.setenv("HOPSIGHT_DATA", str(tmp_path))
    assert rerun(tmp_path / "run").folder.name == "run-rerun"
    assert (tmp_path / "run-rerun" / "scores.csv").read_bytes() == (tmp_path / "run" / "scores.csv").read_bytes()


def test_a_rerun_of_scores_says_when_the_network_has_changed(finished: Path, network: Path, tmp_path: Path) -> None:
    score(finished, Source(path=str(network)), tmp_path / "scored")
    record = read_record(tmp_path / "scored")
    record["inputs"] = dict.fromkeys(record["inputs"], "0" * 64)
    write_record(tmp_path / "scored" / "run.json", record)
    stream = io.StringIO()
    rerun(tmp_path / "scored", progress=LineProgress(stream))
    assert "network.npz has changed since the first run" in stream.getvalue()
