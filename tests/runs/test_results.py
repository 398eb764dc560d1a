"""The files of a run: tables, records, CSV and Parquet."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from hopsight.graph import AttributedGraph
from hopsight.hcm.groups import Group
from hopsight.io.npz import write_npz
from hopsight.runs import results as tables
from hopsight.runs.detect import detect
from hopsight.runs.finished import compare, explain
from hopsight.runs.request import Request, Source
from hopsight.runs.results import read_table, table_of, write_edges, write_scores, write_table
from hopsight.system.cells import unguarded
from run_tables import FAST, rows_of
from toys import refuses

STRANGE_IDS = [
    "=1+1", "+1", "-2", "@sum", "'quoted", 'a "b", c', "two\nlines", "cr\rhere", "\ttab", "naïve 日本", "",
    "x" * 10_000,
]  # fmt: skip
STRANGE_TABLE = pl.DataFrame({"node": ["=1+1", "'tis", "-2"], "rank": [1, 2, 3], "name": ["@sum", None, "Ada"]})


def test_known_anomalies_are_counted(path_graph: AttributedGraph) -> None:
    graph = dataclasses.replace(path_graph, labels=[1, 0, 0, 0, 0, 1])
    # scores put node 5 first and node 0 fourth: 1 of 2 found; of the 8 pairs, 4 + 2 are in order
    truth = tables.compare_with_labels(graph, np.array([0.3, 0.9, 0.5, 0.2, 0.1, 1.0]))
    assert truth == {"n_anomalies": 2, "n_found": 1, "roc_auc": 0.75}
    assert tables.compare_with_labels(path_graph, np.arange(6.0)) is None


class Scored(SimpleNamespace):
    """Stands in for a fitted detector."""

    node_values = {"ahp": "mean hops", "iv": "variance", "hav": "both"}  # noqa: RUF012


def scored(scores: Any, threshold: float, **values: Any) -> Scored:
    return Scored(decision_score_=scores, threshold_=threshold, **values)


def test_scores_are_ranked_with_every_column(tmp_path: Path) -> None:
    graph = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(4), node_ids=["a", "b", "c", "d"])
    scores = np.array([0.1, 0.9, 1 / 3, 0.2])
    judged = np.array([True, True, True, False])
    model = scored(scores, 0.3, judged_=judged, ahp_=-scores)
    write_scores(tmp_path / "scores.csv", graph, model)
    table = rows_of(tmp_path / "scores.csv")
    assert list(table[0]) == ["node", "rank", "score", "flagged", "judged", "degree", "ahp"]
    assert [row["node"] for row in table] == ["b", "c", "d", "a"]
    assert [row["rank"] for row in table] == ["1", "2", "3", "4"]
    assert [float(row["score"]) for row in table] == [0.9, 1 / 3, 0.2, 0.1]
    assert [row["flagged"] for row in table] == ["1", "1", "0", "0"]
    assert [row["judged"] for row in table] == ["1", "1", "0", "1"]
    assert [row["degree"] for row in table] == ["2", "1", "0", "1"]
    assert [float(row["ahp"]) for row in table] == [-0.9, -1 / 3, -0.2, -0.1]


def test_strange_ids_survive_the_round_trip(tmp_path: Path) -> None:
    graph = AttributedGraph.from_edges([0], [1], np.eye(len(STRANGE_IDS)), node_ids=STRANGE_IDS)
    write_scores(tmp_path / "scores.csv", graph, scored(np.arange(float(len(STRANGE_IDS))), 100.0))
    cells = [row["node"] for row in rows_of(tmp_path / "scores.csv")]
    assert [unguarded(cell) for cell in reversed(cells)] == STRANGE_IDS
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def test_edges_come_farthest_first(tmp_path: Path) -> None:
    graph = AttributedGraph.from_edges([0, 1, 2], [1, 2, 3], np.eye(4), node_ids=["a", "b", "c", "=d"])
    model = SimpleNamespace(
        edge_index_=graph.edges, edge_hop_=np.array([1.0, 2.5, 2.5]), edge_probability_=np.array([0.9, 0.3, 0.2]),
        edge_variance_=np.array([0.0, 0.5, 0.25]),
    )  # fmt: skip
    write_edges(tmp_path / "edges.csv", graph, model)
    table = rows_of(tmp_path / "edges.csv")
    assert list(table[0]) == ["source", "target", "rank", "hop", "probability", "variance", "reason"]
    assert table[0]["reason"] == "looks 2.5 hops apart"
    assert [(row["source"], row["target"]) for row in table] == [("'=d", "c"), ("b", "c"), ("a", "b")]
    assert [float(row["variance"]) for row in table] == [0.25, 0.5, 0.0]


def judged_edges(graph: AttributedGraph) -> SimpleNamespace:
    return SimpleNamespace(
        edge_index_=graph.edges, edge_hop_=np.array([1.04, 2.5, 3.44]), edge_probability_=np.array([0.9, 0.3, 0.2]),
        edge_variance_=np.array([0.0, 0.5, 0.25]), edge_surprise_=np.array([0.1, 1.2, 1.6]),
        edge_score_=np.array([0.5, 4.0, 2.0]), edge_label_=np.array([0, 1, 0]),
        edge_dissimilarity_=np.array([0.1, 0.9, 0.5]),
    )  # fmt: skip


def test_edges_with_scores_are_ranked_by_them_and_have_a_reason(tmp_path: Path) -> None:
    graph = AttributedGraph.from_edges([0, 1, 2], [1, 2, 3], np.eye(4), node_ids=["a", "b", "c", "d"])
    write_edges(tmp_path / "edges.csv", graph, judged_edges(graph))
    table = rows_of(tmp_path / "edges.csv")
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
    tables.write_groups(tmp_path / "groups.csv", graph, SimpleNamespace(groups_=groups))
    assert rows_of(tmp_path / "groups.csv") == [
        {"group": "1", "kind": "ring", "members": "d; e; f", "density": "0.5", "score": "3.5",
         "shared": "unlike in age 10 to 90"},
        {"group": "2", "kind": "lockstep", "members": "'=a; c; b", "density": "1.0", "score": "3.0",
         "shared": "alike in age 30 to 31"},
    ]  # fmt: skip
    tables.write_groups(tmp_path / "groups.csv", graph, SimpleNamespace(groups_=[]))
    assert (tmp_path / "groups.csv").read_text() == "group,kind,members,density,score,shared\n"


@pytest.mark.parametrize("csv", [True, False])
def test_ids_are_read_back_as_they_are_in_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, csv: bool) -> None:
    monkeypatch.setattr(tables, "MOST_CSV_ROWS", 2)
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 2)
    path = write_table(tmp_path / "scores.csv", STRANGE_TABLE, csv=csv)
    assert path.name == ("scores.csv" if csv else "scores.parquet") and table_of(tmp_path, "scores") == path
    assert read_table(path).rows() == STRANGE_TABLE.rows()
    if csv:
        assert path.read_text(encoding="utf-8").splitlines() == [
            "node,rank,name", "'=1+1,1,'@sum", "''tis,2,", "'-2,3,Ada",
        ]  # fmt: skip


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the folders of the same run with CSV tables and with Parquet tables."""
    import hopsight as hs

    folder = tmp_path_factory.mktemp("tables")
    write_npz(hs.make_graph(120, n_edges=400, n_attributes=4, seed=0), folder / "graph.npz")
    source = Source(path=str(folder / "graph.npz"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "MOST_CSV_ROWS", 50)
        for name in ("csv", "parquet"):
            request = Request(detector="cross_hcm", source=source, settings=FAST, repeat=2, csv=name == "csv", top=2)
            detect(request, folder / name)
    return folder / "csv", folder / "parquet"


def test_a_long_table_is_a_parquet_file_unless_csv_is_asked_for(both: tuple[Path, Path]) -> None:
    as_csv, as_parquet = both
    for name in ("scores", "edges"):
        assert (as_csv / f"{name}.csv").is_file() and not (as_csv / f"{name}.parquet").exists()
        assert (as_parquet / f"{name}.parquet").is_file() and not (as_parquet / f"{name}.csv").exists()
        read = pl.read_csv(as_csv / f"{name}.csv"), pl.read_parquet(as_parquet / f"{name}.parquet")
        assert read[0].columns == read[1].columns and read[0]["rank"].to_list() == read[1]["rank"].to_list()
        assert read[0]["score"].to_list() == pytest.approx(read[1]["score"].to_list(), rel=1e-12)
    assert "scores.parquet" in (as_parquet / "report.html").read_text(encoding="utf-8")


def test_every_command_reads_both_kinds(both: tuple[Path, Path]) -> None:
    found = compare(*both)
    assert found.correlation == pytest.approx(1.0) and not found.moves
    first = read_table(table_of(both[0], "scores"))["node"][0]
    explained = [explain(folder, first).score for folder in both]
    assert explained[0] == pytest.approx(explained[1], rel=1e-12)


def test_a_new_run_replaces_the_tables_of_the_other_kind(saved_graph: Path, tmp_path: Path) -> None:
    source = Source(path=str(saved_graph))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "MOST_CSV_ROWS", 5)
        detect(Request(detector="lof", source=source), tmp_path / "run")
    assert (tmp_path / "run" / "scores.parquet").exists()
    detect(Request(detector="lof", source=source), tmp_path / "run")
    assert not (tmp_path / "run" / "scores.parquet").exists() and (tmp_path / "run" / "scores.csv").exists()


@pytest.mark.parametrize("name", ["scores.csv", "scores.parquet"])
def test_brackets_in_the_name_of_a_folder_are_no_pattern(tmp_path: Path, name: str) -> None:
    for folder, node in (("run[1]", "a"), ("run1", "b")):
        (tmp_path / folder).mkdir()
        table = pl.DataFrame({"node": [node], "rank": [1]})
        write = table.write_csv if name.endswith("csv") else table.write_parquet
        write(tmp_path / folder / name)
    assert read_table(tmp_path / "run[1]" / name)["node"].to_list() == ["a"]


@pytest.mark.parametrize("name", ["scores.csv", "scores.parquet"])
def test_a_damaged_table_is_one_sentence(tmp_path: Path, name: str) -> None:
    damaged = {"scores.csv": b"\0\xff" * 50, "scores.parquet": b"PAR1" + bytes(100) + b"\x10\0\0\0PAR1"}
    (tmp_path / name).write_bytes(damaged[name])
    refuses(rf"^cannot read .*{name}: ", read_table, tmp_path / name)
