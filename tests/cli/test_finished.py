"""Commands on finished runs and on graphs."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Run, assert_refused, detect, left_behind, worked
from hopsight.cli import main
from hopsight.detectors import DETECTORS
from hopsight.detectors.storage import load_detector
from hopsight.io.npz import read_npz
from hopsight.runs.folder import write_record
from toys import set_options

QUICK = ("--detector", "cross_hcm", "--quiet", *set_options(DETECTORS["cross_hcm"].quick))


def test_a_group_is_explained_or_refused(run: Run, tables: Path) -> None:
    with (tables / "edges.csv").open("a") as file:  # strangers who all know each other
        file.writelines(f"{a},{b}\n" for a, b in combinations(("p2", "p12", "p22", "p32", "p37"), 2))
    worked(detect(run, tables, *QUICK, "--out", "result"))
    assert_refused(run("explain", "result", "--group", 99), "group")
    assert_refused(run("explain", "result"), "--group")
    assert_refused(run("explain", "result", "p5", "--group", 1), "--group")
    model = load_detector("result/model")
    model.kind_thresholds_ = np.full(5, np.median(model.evidence_["ring"]))  # half of the nodes may form a group
    model.save("result/model")
    out, _ = worked(run("explain", "result", "--group", 1))
    assert out.startswith("Group 1: a ring of ")
    assert json.loads(run("explain", "result", "--group", 1, "--json")[1])["group"] == 1
    assert_refused(run("explain", "result", "1"), "there is no node '1'", "pass --group 1")
    assert "--group" not in run("explain", "result", "1000000")[2]


def test_an_empty_argument_is_refused(run: Run, tables: Path) -> None:
    """The empty path would be the folder that one is in."""
    for out in (("--out", ""), ("--out=",)):
        assert_refused(run("detect", "tables/edges.csv", *out), "an argument is empty")


def test_explain_answers_for_a_finished_run_and_refuses_anything_else(run: Run, tables: Path) -> None:
    detect(run, tables, "--out", "result")
    out, _ = worked(run("explain", "result", "p5"))
    assert "p5" in out and "age" in out
    assert json.loads(run("explain", "result", "p5", "--json")[1])["node"] == "p5"
    out, _ = worked(run("explain", "result", "p5", "p6"))
    assert out.startswith("Edge p5 – p6, judged by LOF")
    assert json.loads(run("explain", "result", "p5", "p6", "--json")[1])["target"] == "p6"
    assert_refused(run("explain", "result", "p5", "p39"), "no edge between 'p5' and 'p39'")
    assert_refused(run("explain", "result", "nobody"), "nobody")
    assert_refused(run("explain", tables, "p5"), "no finished run")
    assert_refused(run("explain", "nowhere", "p5"), "nowhere")


def test_compare_prints_text_or_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, order in {"a": "xy", "b": "yx"}.items():
        (tmp_path / name).mkdir()
        rows = "".join(f"{node},{rank},{3 - rank},{2 - rank}\n" for rank, node in enumerate(order, start=1))
        (tmp_path / name / "scores.csv").write_text(f"node,rank,score,flagged\n{rows}", encoding="utf-8")
        write_record(tmp_path / name / "run.json", {"detector": "lof"})
    folders = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert main(["compare", *folders]) == 0
    assert "Flagged in both: 0; only in the first: 1; only in the second: 1." in capsys.readouterr().out
    assert main(["compare", *folders, "--json", "--top", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["shared_top"] == 0
    assert main(["compare", folders[0], str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"hopsight: there is no finished run in {tmp_path}: run.json is missing\n"


def test_the_options_reach_the_server_unless_there_is_no_run(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert_refused(run("review", tmp_path, "--no-open"), "there is no finished run")
    seen: dict[str, Any] = {}
    monkeypatch.setattr("hopsight.review.serve.serve", lambda folder, **options: seen.update(options, folder=folder))
    assert main(["review", str(tmp_path), "--reviewer", "Zoë", "--port", "8080", "--no-open"]) == 0
    assert seen["folder"] == tmp_path and seen["reviewer"] == "Zoë" and seen["host"] == "127.0.0.1"
    assert seen["port"] == 8080 and seen["browser"] is False


def test_convert_and_describe(run: Run, tables: Path, tmp_path: Path) -> None:
    out, _ = worked(run("convert", tables / "edges.csv", "network.npz", "--nodes", tables / "people.csv"))
    assert "40 nodes, 123 undirected edges" in out
    out, _ = worked(run("describe", "network.npz"))
    assert "123" in out
    assert_refused(run("convert", "network.npz", "network.docx"), "docx")
    assert_refused(run("convert", "nowhere.npz", "network.arrow"), "cannot write network.arrow")  # before it is read
    assert left_behind(tmp_path) == ["network.npz"]


def test_inject_plants_what_was_asked_for(run: Run, tables: Path, tmp_path: Path) -> None:
    run("convert", tables / "edges.csv", "network.npz", "--nodes", tables / "people.csv")
    counts = ("--cliques", 1, "--clique-size", 4, "--candidates", 5, "--seed", 1)
    out, _ = worked(run("inject", "network.npz", "planted.npz", *counts, "--attribute-anomalies", 3))
    assert "7 planted anomalies" in out and int((read_npz(tmp_path / "planted.npz").labels == 1).sum()) == 7
    out, _ = worked(run("inject", "planted.npz", "twice.npz", *counts, "--attribute-anomalies", 2))
    assert "6 planted anomalies" in out  # besides the 7 that were there
    assert_refused(run("inject", "network.npz", "more.npz", "--cliques", 100), "100 cliques of 15")
    assert_refused(run("inject", "network.npz", "more.npz", "--candidates", 0), "--candidates must be at least 1")
    assert left_behind(tmp_path) == ["network.npz", "planted.npz", "twice.npz"]


@pytest.mark.parametrize("command", ["convert", "inject"])
def test_no_file_is_replaced_unless_asked_for(run: Run, tables: Path, tmp_path: Path, command: str) -> None:
    source = (tables / "edges.csv", "--nodes", tables / "people.csv")
    if command == "inject":
        source += ("--cliques", 1, "--clique-size", 4, "--candidates", 5, "--attribute-anomalies", 3)
    Path("p.nodes.csv").write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.csv")}
    Path("same.csv").symlink_to(tables / "edges.csv")
    for out in ("p.csv", "p.nodes.csv"):
        assert_refused(run(command, source[0], out, *source[1:]), "p.nodes.csv already exists", "--force")
    for out in (tables / "edges.csv", tables / "people.csv", "same.csv"):
        for force in ((), ("--force",)):
            assert_refused(run(command, source[0], out, *source[1:], *force), "read and written at once")
    (tables / "people.csv").rename(tables / "edges.nodes.csv")  # found beside the edges, without being named
    before[tables / "edges.nodes.csv"] = before.pop(tables / "people.csv")
    assert_refused(run(command, source[0], tables / "edges.nodes.csv", *source[3:], "--force"), "read and written")
    assert {path: path.read_bytes() for path in before} == before
    worked(run(command, source[0], "p.csv", *source[3:], "--force"))
    assert Path("p.nodes.csv").read_text() != "mine"


def test_the_catalog_is_listed(run: Run) -> None:
    out, _ = worked(run("data", "list"))
    assert "blogcatalog" in out and "5,196" in out
    assert_refused(run("data", "fetch", "blogcatalogue"), "did you mean")


def test_bench_writes_its_page_and_resumes(run: Run, tmp_path: Path) -> None:
    choice = ("--graphs", "generated", "--detectors", "lof", "--repetitions", 1)
    out, _ = worked(run("bench", "--suite", "quick", "--out", "bench", *choice))
    assert "0 of them from earlier runs" in out
    assert {"results.csv", "report.html"} <= {path.name for path in (tmp_path / "bench").iterdir()}
    code, out, err = run("bench", "--suite", "quick", "--out", "bench", "--quiet", *choice)
    assert (code, err) == (0, "") and "0 of them from earlier runs" not in out
    assert_refused(run("bench", "--suite", "slow", "--out", "other"), "suite", "slow")
    assert_refused(run("bench", "--memory-limit", "much", "--out", "other"), "--memory-limit must be a size")
    assert left_behind(tmp_path) == ["bench"]
