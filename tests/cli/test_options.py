"""Sources: bad input is one sentence and exit code 2."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from commands import Run, assert_refused, detect, left_behind, write_csv
from hopsight.io.npz import read_npz


def test_a_missing_file(run: Run, tables: Path, tmp_path: Path) -> None:
    assert_refused(run("detect", "nowhere.csv", "--nodes", tables / "people.csv"), "nowhere.csv")
    assert_refused(run("detect", tables / "edges.csv", "--nodes", "nowhere.csv"), "nowhere.csv")
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("name", ["network.mat", "network.npz", "network.graphml", "network.parquet", "network.docx"])
def test_a_wrong_format(run: Run, tables: Path, tmp_path: Path, name: str) -> None:
    (tables / name).write_bytes(b"this is not what the name says\n" * 20)
    assert_refused(run("detect", tables / name, "--detector", "lof"), name)
    assert left_behind(tmp_path) == []


def test_an_empty_graph(run: Run, tables: Path, tmp_path: Path) -> None:
    write_csv(tables / "edges.csv", ("source", "target"), [])
    write_csv(tables / "people.csv", ("id", "age"), [])
    assert_refused(detect(run, tables))
    assert left_behind(tmp_path) == []


def test_one_node(run: Run, tables: Path, tmp_path: Path) -> None:
    write_csv(tables / "edges.csv", ("source", "target"), [("a", "a")])
    write_csv(tables / "people.csv", ("id", "age"), [("a", 3)])
    assert_refused(detect(run, tables), "at least 2 nodes")
    assert left_behind(tmp_path) == []


def test_an_edge_to_an_unknown_node(run: Run, tables: Path, tmp_path: Path) -> None:
    write_csv(tables / "edges.csv", ("source", "target"), [("p1", "p2"), ("p1", "stranger")])
    code, _, err = detect(run, tables, "--out", tmp_path / "out")
    assert code == 0
    assert "1 id has no row in the node table ('stranger'): not ranked; pass --rank-unknown to rank it." in err


def test_no_attributes_at_all(run: Run, tables: Path, tmp_path: Path) -> None:
    write_csv(tables / "people.csv", ("id",), [(f"p{i}",) for i in range(40)])
    assert_refused(detect(run, tables, "--derive", "none"), "attribute")
    assert_refused(run("detect", tables / "edges.csv", "--detector", "lof", "--derive", "none"), "--nodes")
    assert left_behind(tmp_path) == []


def test_an_edge_list_alone_is_ranked_and_its_options_reach_the_record(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ends = [rng.choice(30, size=2, replace=False) for _ in range(150)]
    rows = [
        (f"t{row}", f"p{a}", f"p{b}", round(10 * rng.exponential(), 2), f"2024-05-{1 + row % 28:02d}", row % 3, row % 2)
        for row, (a, b) in enumerate(ends)
    ]
    write_csv(tmp_path / "tx.csv", ("tx_id", "payer", "payee", "amount", "when", "channel", "is_fraud"), rows)
    code, _, err = run(
        "detect", tmp_path / "tx.csv", "--detector", "lof", "--out", tmp_path / "out",
        "--weight-column", "amount", "--category", "channel", "--duplicates", "count", "--derive", "structure,sent",
    )  # fmt: skip
    assert code == 0, err
    assert "Read edges from column 'payer' to column 'payee'." in err
    assert "Column 'is_fraud' of the edge list looks like ground truth and is left out." in err
    assert "Column 'tx_id' only identifies rows and is left out." in err
    source = json.loads((tmp_path / "out" / "run.json").read_text())["request"]["source"]
    assert (source["weight_column"], source["category"], source["derive"]) == ("amount", ["channel"], "structure,sent")
    graph = read_npz(tmp_path / "out" / "graph.npz")
    assert {"amount sent, median", "channel sent, share 1", "clustering"} <= set(graph.attribute_names)
    assert not any("received" in name or "is_fraud" in name for name in graph.attribute_names)
    assert graph.edge_weight.sum() == 150
    assert graph.edge_time.min() == 1714521600.0
