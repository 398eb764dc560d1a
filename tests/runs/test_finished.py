"""Explain, compare and redact finished runs."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hopsight.graph import AttributedGraph
from hopsight.io.npz import write_npz
from hopsight.runs.detect import detect, score
from hopsight.runs.finished import Move, compare, find_node, open_run, write_redacted
from hopsight.runs.folder import write_record
from hopsight.runs.request import Request, Source
from toys import refuses


def test_a_folder_without_a_whole_run_is_refused(tmp_path: Path, finished: Path, path_graph: AttributedGraph) -> None:
    """Spark writes no graph, and neither did the score command of version 0.1."""
    write_npz(path_graph, finished / "graph.npz")  # of another run
    refuses("do not belong together", open_run, finished)
    (finished / "graph.npz").unlink()
    refuses(r"lacks graph\.npz or model, which explain needs: .* repeat the run", open_run, finished)
    (finished / "run.json").unlink()
    for folder in (tmp_path, finished):
        refuses("no finished run", open_run, folder)


def test_a_node_is_found_by_its_id_or_by_its_cell_in_the_table() -> None:
    graph = AttributedGraph.from_edges([0], [1], np.eye(3), node_ids=["=1", "'a", "b"])
    assert [find_node(graph, text) for text in ("=1", "'=1", "''a", "'a", "b")] == ["=1", "=1", "'a", "'a", "b"]
    refuses("no node", find_node, graph, "'c")


def test_a_node_is_found_whatever_its_case_and_near_misses_are_suggested() -> None:
    names = ["Ada Berg", "ada berg 2", "Bo", "BO", "x1"]
    graph = AttributedGraph.from_edges([0], [1], np.zeros((5, 1)), node_ids=names)
    assert find_node(graph, "ADA BERG") == "Ada Berg" and find_node(graph, "Bo") == "Bo"
    refuses(r"there is no node 'bo' in this graph; did you mean Bo or BO\?$", find_node, graph, "bo")
    accounts = AttributedGraph.from_edges([0], [1], np.zeros((2, 1)), node_ids=np.array([53786, 81298]))
    assert [find_node(accounts, text) for text in ("00053786", "81 298")] == [53786, 81298]
    refuses(r"no node 'ada brg' in this graph; did you mean Ada Berg\?$", find_node, graph, "ada brg")
    refuses(r"no node 'berg' in this graph; did you mean Ada Berg\?$", find_node, graph, "berg")
    refuses(r"no node 'zzzzzz' in this graph$", find_node, graph, "zzzzzz")


def test_a_node_is_found_by_its_name_and_an_id_by_its_beginning() -> None:
    graph = AttributedGraph.from_edges([0, 1], [1, 2], np.zeros((3, 1)), node_ids=["ACC100", "ACC200", "ACC210"])
    named = AttributedGraph.from_edges(
        [0, 1], [1, 2], np.zeros((3, 1)), node_ids=["ACC100", "ACC200", "ACC210"], node_names=["Ada", "Bo", "Bo"]
    )
    assert find_node(named, "ada") == "ACC100"
    refuses("several nodes are called 'bo', such as ACC200 and ACC210: give the id", find_node, named, "bo")
    refuses("did you mean ACC100", find_node, graph, "ACC1")


def test_no_id_reaches_the_page_and_the_key_has_all(tmp_path: Path, random_graph: AttributedGraph) -> None:
    ids = [f"secret{i:02d}" for i in range(60)]
    graph = AttributedGraph(
        random_graph.adjacency, random_graph.attributes, node_ids=ids, name="secret bank",
        node_names=[f"secret name {i}" for i in range(60)],
    )  # fmt: skip
    write_npz(graph, tmp_path / "secret-file.npz")
    folder = tmp_path / "run"
    request = Request(source=Source(path=str(tmp_path / "secret-file.npz")), detector="lof")
    detect(request, folder)
    page, key = write_redacted(folder, top=60)
    assert "secret" not in page.read_text(encoding="utf-8") and "node 60" in page.read_text(encoding="utf-8")
    table = pl.read_csv(key)
    assert sorted(table["node"]) == ids and table["redacted"].to_list() == [f"node {i}" for i in range(1, 61)]
    assert table["node"].to_list() == pl.read_csv(folder / "scores.csv")["node"].to_list()
    detect(request, folder)
    assert not page.exists() and not key.exists() and (folder / "report.html").exists()


@pytest.mark.parametrize(("name", "already_run"), [
    ("redacted.csv", True), ("scores-learned.csv", True), ("model/notes.txt", True), ("redacted.csv", False),
])  # fmt: skip
def test_a_file_of_the_user_in_the_folder_of_a_run_is_kept(
    name: str, already_run: bool, tmp_path: Path, random_graph: AttributedGraph
) -> None:
    write_npz(random_graph, tmp_path / "graph.npz")
    request, folder = Request(source=Source(path=str(tmp_path / "graph.npz")), detector="lof"), tmp_path / "run"
    folder.mkdir()
    if already_run:
        detect(request, folder)
    (folder / name).write_text("mine")
    refuses(f"already has {name}, which hopsight did not write", detect, request, folder)
    if already_run and name == "redacted.csv":
        refuses("which hopsight did not write", write_redacted, folder)
    assert (folder / name).read_text() == "mine"


def run_folder(folder: Path, rows: str, **record: object) -> Path:
    folder.mkdir()
    (folder / "scores.csv").write_text("node,rank,score,flagged,judged\n" + rows, encoding="utf-8")
    write_record(folder / "run.json", {"detector": "lof", "parameters": {"seed": 0}, **record})
    return folder


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    first = run_folder(tmp_path / "a", "x,1,9.0,1,1\ny,2,5.0,1,1\n'=z,3,2.0,0,1\ngone,4,1.0,0,1\n")
    second = run_folder(tmp_path / "b", "'=z,1,8.0,1,1\nx,2,7.0,1,1\ny,3,1.0,0,1\n", parameters={"seed": 1, "lr": 0.1})
    return first, second


def test_nodes_flags_ranks_and_settings(pair: tuple[Path, Path]) -> None:
    found = compare(*pair, top=1)
    assert (found.n_common, found.only_first, found.only_second) == (3, 1, 0)
    assert (found.flagged_both, found.flagged_first, found.flagged_second) == (1, 1, 1)
    assert found.correlation == pytest.approx(-0.5)  # 1 − 6·(1 + 1 + 4) / (3·8)
    assert found.shared_top == 0
    assert found.moves == (Move("=z", 3, 1, False, True),)  # the farthest; x moved by one place only
    assert found.settings == {"seed": (0, 1), "lr": (None, 0.1)}


def test_the_text_says_it_in_sentences(pair: tuple[Path, Path]) -> None:
    text = str(compare(*pair))
    assert "  =z       3         1      now" in text
    text = " ".join(text.split())  # without line breaks
    assert "have 3 nodes in common (1 only in the first, 0 only in the second)." in text
    assert "Flagged in both: 1; only in the first: 1; only in the second: 1." in text
    assert "3 of the first 20 nodes are the same." in text
    assert json.loads(json.dumps(compare(*pair).to_dict()))["moves"][0]["node"] == "=z"


def test_a_scored_graph_is_compared_with_the_run_that_fitted_the_model(tmp_path: Path) -> None:
    rows = "x,1,9.0,1,1\n"
    read = {"path": "march.csv", "missing": "fill"}
    first = run_folder(tmp_path / "a", rows, detector="cross_hcm", request={"source": read})
    second = run_folder(tmp_path / "b", rows, detector="cross_hcm", source={**read, "path": "april.csv"})
    assert compare(first, second).settings == {"source": ("march.csv", "april.csv")}


def test_a_folder_without_a_run_or_scores_is_refused(pair: tuple[Path, Path], tmp_path: Path) -> None:
    refuses(r"there is no finished run in .*: run\.json is missing", compare, pair[0], tmp_path / "nowhere")
    (pair[1] / "scores.csv").unlink()
    refuses(r"has no scores\.csv to compare", compare, *pair)


@pytest.mark.parametrize(
    "rows",
    ["a,one,1.0,1\n", ",1,1.0,1\n", "a,1,1.0,1\na,2,0.5,0\n", "a,1,1.0,maybe\n", "a,1\n", "\0\0\0\0", '"a,1,1,1'],
)
def test_damaged_scores_are_one_sentence(pair: tuple[Path, Path], rows: str) -> None:
    (pair[1] / "scores.csv").write_text(f"node,rank,score,flagged\n{rows}")
    refuses(r"scores.csv is damaged: .*; repeat the run$", compare, *pair)


def test_other_tables_and_changed_files_are_settings_that_differ(tmp_path: Path) -> None:
    rows = "x,1,9.0,1,1\ny,2,5.0,1,1\n"
    first = run_folder(
        tmp_path / "a", rows, request={"source": {"path": "pay.csv", "nodes": None}}, inputs={"pay.csv": "0123456789"}
    )
    second = run_folder(
        tmp_path / "b", rows,
        request={"source": {"path": "pay.csv", "nodes": "who.csv"}}, inputs={"pay.csv": "abcdefabcd"},
    )  # fmt: skip
    assert compare(first, second).settings == {
        "nodes": (None, "who.csv"),
        "content of pay.csv": ("01234567", "abcdefab"),
    }


@pytest.mark.parametrize("part", ["request", "inputs", "parameters"])
def test_a_record_with_something_else_in_a_part_is_compared_without_it(pair: tuple[Path, Path], part: str) -> None:
    record = json.loads((pair[1] / "run.json").read_text())
    (pair[1] / "run.json").write_text(json.dumps({**record, part: 5}))
    assert compare(*pair).n_common > 0


def test_a_score_without_the_node_table_of_the_run_asks_for_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 40, size=(2, 200))
    pl.DataFrame({"from": ends[0], "to": ends[1]}).write_csv(tmp_path / "edges.csv")
    pl.DataFrame({"id": range(40), "age": rng.normal(size=40)}).write_csv(tmp_path / "people.csv")
    source = Source(path=str(tmp_path / "edges.csv"), nodes=str(tmp_path / "people.csv"))
    detect(Request(source=source, detector="cross_hcm", preset="untrained"), tmp_path / "run")
    refuses(
        "nodes is missing: the run of this model read a node table, people.csv, and the graph lacks 1 attribute that",
        score, tmp_path / "run", Source(path=str(tmp_path / "edges.csv")), tmp_path / "new",
    )  # fmt: skip
