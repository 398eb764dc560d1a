"""scores.csv and edges.csv: right order, right columns, safe cells that can be read back."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hopsight.graph import AttributedGraph
from hopsight.runs.outputs import guarded, node_columns, unguarded, write_edges, write_scores

STRANGE = [
    "=1+1",
    "+1",
    "-2",
    "@sum",
    "'quoted",
    'a "b", c',
    "two\nlines",
    "cr\rhere",
    "\ttab",
    "naïve 日本",
    "",
    "x" * 10_000,
]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("cell", STRANGE)
def test_a_guarded_cell_is_no_formula_and_can_be_restored(cell: str) -> None:
    assert not guarded(cell).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert unguarded(guarded(cell)) == cell


def test_scores_are_ranked_with_every_column(tmp_path: Path) -> None:
    graph = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(4), node_ids=["a", "b", "c", "d"])
    scores = np.array([0.1, 0.9, 1 / 3, 0.2])
    judged = np.array([True, True, True, False])
    write_scores(tmp_path / "scores.csv", graph, scores, 0.3, judged=judged, columns={"ahp": -scores})
    table = rows(tmp_path / "scores.csv")
    assert list(table[0]) == ["node", "rank", "score", "flagged", "judged", "degree", "ahp"]
    assert [row["node"] for row in table] == ["b", "c", "d", "a"]
    assert [row["rank"] for row in table] == ["1", "2", "3", "4"]
    assert [float(row["score"]) for row in table] == [0.9, 1 / 3, 0.2, 0.1]
    assert [row["flagged"] for row in table] == ["1", "1", "0", "0"]
    assert [row["judged"] for row in table] == ["1", "1", "0", "1"]
    assert [row["degree"] for row in table] == ["2", "1", "0", "1"]
    assert [float(row["ahp"]) for row in table] == [-0.9, -1 / 3, -0.2, -0.1]


def test_strange_ids_survive_the_round_trip(tmp_path: Path) -> None:
    graph = AttributedGraph.from_edges([0], [1], np.eye(len(STRANGE)), node_ids=STRANGE)
    write_scores(tmp_path / "scores.csv", graph, np.arange(float(len(STRANGE))), 100.0)
    cells = [row["node"] for row in rows(tmp_path / "scores.csv")]
    assert [unguarded(cell) for cell in reversed(cells)] == STRANGE
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def test_integer_ids_are_written_as_numbers(tmp_path: Path) -> None:
    graph = AttributedGraph.from_edges([0], [1], np.eye(2), node_ids=[-7, 12])
    write_scores(tmp_path / "scores.csv", graph, np.array([2.0, 1.0]), 5.0)
    assert [row["node"] for row in rows(tmp_path / "scores.csv")] == ["-7", "12"]


def test_edges_come_farthest_first(tmp_path: Path) -> None:
    graph = AttributedGraph.from_edges([0, 1, 2], [1, 2, 3], np.eye(4), node_ids=["a", "b", "c", "=d"])
    model = SimpleNamespace(
        edge_index_=graph.edges,
        edge_hop_=np.array([1.0, 2.5, 2.5]),
        edge_probability_=np.array([0.9, 0.3, 0.2]),
        edge_variance_=np.array([0.0, 0.5, 0.25]),
    )
    write_edges(tmp_path / "edges.csv", graph, model)
    table = rows(tmp_path / "edges.csv")
    assert list(table[0]) == ["source", "target", "rank", "hop", "probability", "variance"]
    assert [(row["source"], row["target"]) for row in table] == [("c", "'=d"), ("b", "c"), ("a", "b")]
    assert [float(row["variance"]) for row in table] == [0.25, 0.5, 0.0]


def test_only_the_columns_a_detector_has_are_written() -> None:
    class Judged(SimpleNamespace):
        node_values = {"ahp": "mean hops", "iv": "variance", "hav": "both"}  # noqa: RUF012

    assert node_columns(Judged(hav_=1, ahp_=2)) == {"ahp": 2, "hav": 1}
    assert node_columns(SimpleNamespace(ahp_=2)) == {}
