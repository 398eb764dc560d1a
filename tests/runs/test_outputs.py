"""scores.csv, edges.csv and groups.csv: right order, right columns, safe cells that can be read back."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hopsight.graph import AttributedGraph
from hopsight.hcm.groups import Group
from hopsight.runs.results import write_edges, write_groups, write_scores
from hopsight.system.cells import guarded, unguarded

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


class Scored(SimpleNamespace):
    """Stands in for a fitted detector."""

    node_values = {"ahp": "mean hops", "iv": "variance", "hav": "both"}  # noqa: RUF012


def scored(scores: Any, threshold: float, **values: Any) -> Scored:
    return Scored(decision_score_=scores, threshold_=threshold, **values)


@pytest.mark.parametrize("cell", STRANGE)
def test_a_guarded_cell_is_no_formula_and_can_be_restored(cell: str) -> None:
    assert not guarded(cell).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert unguarded(guarded(cell)) == cell


def test_scores_are_ranked_with_every_column(tmp_path: Path) -> None:
    graph = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(4), node_ids=["a", "b", "c", "d"])
    scores = np.array([0.1, 0.9, 1 / 3, 0.2])
    judged = np.array([True, True, True, False])
    model = scored(scores, 0.3, judged_=judged, ahp_=-scores)
    write_scores(tmp_path / "scores.csv", graph, model)
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
    write_scores(tmp_path / "scores.csv", graph, scored(np.arange(float(len(STRANGE))), 100.0))
    cells = [row["node"] for row in rows(tmp_path / "scores.csv")]
    assert [unguarded(cell) for cell in reversed(cells)] == STRANGE
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def test_integer_ids_are_written_as_numbers(tmp_path: Path) -> None:
    graph = AttributedGraph.from_edges([0], [1], np.eye(2), node_ids=[-7, 12])
    write_scores(tmp_path / "scores.csv", graph, scored(np.array([2.0, 1.0]), 5.0))
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
    assert list(table[0]) == ["source", "target", "rank", "hop", "probability", "variance", "reason"]
    assert table[0]["reason"] == "looks 2.5 hops apart"
    assert [(row["source"], row["target"]) for row in table] == [("c", "'=d"), ("b", "c"), ("a", "b")]
    assert [float(row["variance"]) for row in table] == [0.25, 0.5, 0.0]


def judged_edges(graph: AttributedGraph) -> SimpleNamespace:
    return SimpleNamespace(
        edge_index_=graph.edges,
        edge_hop_=np.array([1.04, 2.5, 3.44]),
        edge_probability_=np.array([0.9, 0.3, 0.2]),
        edge_variance_=np.array([0.0, 0.5, 0.25]),
        edge_surprise_=np.array([0.1, 1.2, 1.6]),
        edge_score_=np.array([0.5, 4.0, 2.0]),
        edge_label_=np.array([0, 1, 0]),
        edge_dissimilarity_=np.array([0.1, 0.9, 0.5]),
    )


def test_edges_with_scores_are_ranked_by_them_and_have_a_reason(tmp_path: Path) -> None:
    graph = AttributedGraph.from_edges([0, 1, 2], [1, 2, 3], np.eye(4), node_ids=["a", "b", "c", "d"])
    write_edges(tmp_path / "edges.csv", graph, judged_edges(graph))
    table = rows(tmp_path / "edges.csv")
    assert list(table[0]) == [
        "source", "target", "rank", "hop", "probability", "variance", "surprise", "score", "flagged", "reason",
    ]  # fmt: skip
    assert [(row["source"], row["rank"], row["score"], row["flagged"], row["surprise"]) for row in table] == [
        ("b", "1", "4.0", "1", "1.2"), ("c", "2", "2.0", "0", "1.6"), ("a", "3", "0.5", "0", "0.1"),
    ]  # fmt: skip
    assert [row["reason"] for row in table] == [
        "looks 2.5 hops apart; attributes farther apart than for 66% of edges",
        "looks 3.4 hops apart; attributes farther apart than for 33% of edges",
        "looks 1.0 hops apart; attributes closer than for 66% of edges",
    ]


def test_every_group_is_a_row_with_what_its_members_share(tmp_path: Path) -> None:
    ages = np.array([[30.0], [31.0], [30.0], [10.0], [90.0], [55.0]])
    graph = AttributedGraph.from_edges(
        [0, 1], [1, 2], ages, node_ids=["=a", "b", "c", "d", "e", "f"], attribute_names=["age"]
    )
    groups = [Group("ring", np.array([3, 4, 5]), 0.5, 3.5), Group("lockstep", np.array([0, 2, 1]), 1.0, 3.0)]
    write_groups(tmp_path / "groups.csv", graph, SimpleNamespace(groups_=groups))
    assert rows(tmp_path / "groups.csv") == [
        {"group": "1", "kind": "ring", "members": "d; e; f", "density": "0.5", "score": "3.5",
         "shared": "unlike in age 10 to 90"},
        {"group": "2", "kind": "lockstep", "members": "'=a; c; b", "density": "1.0", "score": "3.0",
         "shared": "alike in age 30 to 31"},
    ]  # fmt: skip
    write_groups(tmp_path / "groups.csv", graph, SimpleNamespace(groups_=[]))
    assert (tmp_path / "groups.csv").read_text() == "group,kind,members,density,score,shared\n"
