"""A redacted report names no node of the graph, and its key says who is who."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hopsight.graph import AttributedGraph
from hopsight.io.npz import write_npz
from hopsight.runs.detect import detect
from hopsight.runs.finished import write_redacted
from hopsight.runs.request import Request, Source


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


def test_a_redacted_table_of_the_user_is_neither_removed_nor_replaced(
    tmp_path: Path, random_graph: AttributedGraph
) -> None:
    write_npz(random_graph, tmp_path / "graph.npz")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "redacted.csv").write_text("mine")
    with pytest.raises(ValueError, match=r"already has a redacted\.csv that hopsight did not write"):
        detect(Request(source=Source(path=str(tmp_path / "graph.npz")), detector="lof"), tmp_path / "run")
    assert (tmp_path / "run" / "redacted.csv").read_text() == "mine"
