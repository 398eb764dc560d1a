"""Convert, inject, the catalog and bench."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import Run, assert_refused, left_behind
from hopsight.io.npz import read_npz


def test_convert_and_describe(run: Run, tables: Path, tmp_path: Path) -> None:
    code, out, err = run("convert", tables / "edges.csv", "network.npz", "--nodes", tables / "people.csv")
    assert code == 0, err
    assert "40 nodes, 123 undirected edges" in out
    code, out, err = run("describe", "network.npz")
    assert code == 0, err
    assert "123" in out
    assert_refused(run("convert", "network.npz", "network.docx"), "docx")
    assert left_behind(tmp_path) == ["network.npz"]


def test_inject_plants_what_was_asked_for(run: Run, tables: Path, tmp_path: Path) -> None:
    run("convert", tables / "edges.csv", "network.npz", "--nodes", tables / "people.csv")
    counts = ("--cliques", 1, "--clique-size", 4, "--candidates", 5, "--seed", 1)
    code, out, err = run("inject", "network.npz", "planted.npz", *counts, "--attribute-anomalies", 3)
    assert code == 0, err
    assert "7 planted anomalies" in out
    assert int((read_npz(tmp_path / "planted.npz").labels == 1).sum()) == 7
    code, out, err = run("inject", "planted.npz", "twice.npz", *counts, "--attribute-anomalies", 2)
    assert code == 0, err
    assert "6 planted anomalies" in out  # besides the 7 that were there
    assert_refused(run("inject", "network.npz", "more.npz", "--cliques", 100), "n_cliques")
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
    assert run(command, source[0], "p.csv", *source[3:], "--force")[0] == 0
    assert Path("p.nodes.csv").read_text() != "mine"


def test_the_catalog_is_listed(run: Run) -> None:
    code, out, err = run("data", "list")
    assert code == 0, err
    assert "blogcatalog" in out
    assert "5,196" in out
    assert_refused(run("data", "fetch", "blogcatalogue"), "did you mean")


def test_bench_writes_its_page_and_resumes(run: Run, tmp_path: Path) -> None:
    choice = ("--graphs", "generated", "--detectors", "lof", "--repetitions", 1)
    code, out, err = run("bench", "--suite", "quick", "--out", "bench", *choice)
    assert code == 0, err
    assert "0 of them from earlier runs" in out
    assert {"results.csv", "report.html"} <= {path.name for path in (tmp_path / "bench").iterdir()}
    code, out, err = run("bench", "--suite", "quick", "--out", "bench", "--quiet", *choice)
    assert (code, err) == (0, "")
    assert "0 of them from earlier runs" not in out
    assert_refused(run("bench", "--suite", "slow", "--out", "other"), "suite", "slow")
    assert_refused(run("bench", "--memory-limit", "much", "--out", "other"), "--memory-limit must be a size")
    assert left_behind(tmp_path) == ["bench"]
