"""Two runs side by side: counts and moves worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hopsight.runs.finished import Move, compare
from hopsight.runs.folder import write_record


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
    assert "have 3 nodes in common (1 only in the first, 0 only in the second)." in text
    assert "Flagged in both: 1; only in the first: 1; only in the second: 1." in text
    assert "3 of the first 20 nodes are the same." in text
    assert "  =z       3         1   second" in text
    assert json.loads(json.dumps(compare(*pair).to_dict()))["moves"][0]["node"] == "=z"


def test_a_run_is_the_same_as_itself(pair: tuple[Path, Path]) -> None:
    found = compare(pair[0], pair[0])
    assert found.correlation == pytest.approx(1.0) and found.moves == () and found.settings == {}


def test_a_scored_graph_is_compared_with_the_run_that_fitted_the_model(tmp_path: Path) -> None:
    rows = "x,1,9.0,1,1\n"
    read = {"path": "march.csv", "missing": "fill"}
    first = run_folder(tmp_path / "a", rows, detector="cross_hcm", request={"source": read})
    second = run_folder(tmp_path / "b", rows, detector="cross_hcm", source={**read, "path": "april.csv"})
    assert compare(first, second).settings == {"source": ("march.csv", "april.csv")}


def test_a_folder_without_a_run_or_scores_is_refused(pair: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no finished run in .*: run\.json is missing"):
        compare(pair[0], tmp_path / "nowhere")
    (pair[1] / "scores.csv").unlink()
    with pytest.raises(ValueError, match=r"has no scores\.csv to compare"):
        compare(*pair)


@pytest.mark.parametrize(
    "rows",
    ["a,one,1.0,1\n", ",1,1.0,1\n", "a,1,1.0,1\na,2,0.5,0\n", "a,1,1.0,maybe\n", "a,1\n", "\0\0\0\0", '"a,1,1,1'],
)
def test_damaged_scores_are_one_sentence(pair: tuple[Path, Path], rows: str) -> None:
    (pair[1] / "scores.csv").write_text(f"node,rank,score,flagged\n{rows}")
    with pytest.raises(ValueError, match=r"scores.csv is damaged: .*; repeat the run$") as caught:
        compare(*pair)
    assert "\n" not in str(caught.value)


def test_other_tables_and_changed_files_are_settings_that_differ(tmp_path: Path) -> None:
    rows = "x,1,9.0,1,1\ny,2,5.0,1,1\n"
    first = run_folder(
        tmp_path / "a", rows, request={"source": {"path": "pay.csv", "nodes": None}}, inputs={"pay.csv": "0123456789"}
    )
    second = run_folder(
        tmp_path / "b",
        rows,
        request={"source": {"path": "pay.csv", "nodes": "who.csv"}},
        inputs={"pay.csv": "abcdefabcd"},
    )
    assert compare(first, second).settings == {
        "nodes": (None, "who.csv"),
        "content of pay.csv": ("01234567", "abcdefab"),
    }


@pytest.mark.parametrize("part", ["request", "inputs", "parameters"])
def test_a_record_with_something_else_in_a_part_is_compared_without_it(pair: tuple[Path, Path], part: str) -> None:
    record = json.loads((pair[1] / "run.json").read_text())
    (pair[1] / "run.json").write_text(json.dumps({**record, part: 5}))
    assert compare(*pair).n_common > 0
