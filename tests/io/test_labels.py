"""Labels from mappings, tables and files."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hopsight.graph import AttributedGraph
from hopsight.io.labels import Labels, read_labels, read_nodes


@pytest.fixture
def graph() -> AttributedGraph:
    return AttributedGraph.from_edges([0, 1], [1, 2], np.zeros((3, 1)), node_ids=["ann", "=bob", "7"])


def words(labels: Labels) -> dict[int, str]:
    known = zip(labels.positions.tolist(), labels.anomalous.tolist(), strict=True)
    return {place: "anomalous" if bad else "normal" for place, bad in known}


def test_a_mapping_a_series_a_table_and_a_file_say_the_same(graph: AttributedGraph, tmp_path: Path) -> None:
    columns = {"node": ["ann", "=bob", "7"], "verdict": ["Normal ", "anomalous", "unsure"]}
    mapping = dict(zip(*columns.values(), strict=True))
    file = tmp_path / "verdicts.csv"
    file.write_text('node,verdict,note\nann,normal,\n\'=bob,anomalous,"a, b"\n7,unsure,x\n')
    sources = (mapping, columns, pl.DataFrame(columns), pd.Series(mapping), pd.DataFrame(columns), file, str(file))
    for source in (*sources, columns["verdict"]):  # the last has one label per node
        found = read_labels(source, graph)
        assert words(found) == {0: "normal", 1: "anomalous"} and found.unsure.tolist() == [2]


def test_ids_of_labels_are_read_as_those_of_the_graph(graph: AttributedGraph, tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("node,verdict\n ann ,normal\n7.0,anomalous\n")
    for source in (tmp_path / "cases.csv", {" ann ": "normal", 7.0: "anomalous"}):
        assert words(read_labels(source, graph)) == {0: "normal", 2: "anomalous"}
    assert words(read_labels({"ANN": "normal", "007": "anomalous"}, graph, notices=(notices := []))) == {
        0: "normal",
        2: "anomalous",
    }
    assert notices == ["2 ids are written differently in the graph: 'ANN' is 'ann' there."]


@pytest.mark.parametrize(("bad", "good"), [
    ("yes", "no"), ("tak", "nie"), ("oui", "non"), (1, 0), (1.0, 0.0), (True, False), ("TRUE", "false"),
    ("fraud", "regular"), ("weird", "Legit"),
])  # fmt: skip
def test_two_values_of_many_kinds_are_understood(graph: AttributedGraph, bad: object, good: object) -> None:
    found = read_labels({"ann": bad, "7": good, "=bob": None}, graph, notices=(notices := []))
    assert words(found) == {0: "anomalous", 2: "normal"}
    guessed = [f"Labels: read '{bad}' (1) as anomalous; '{str(good).lower()}' (1) as normal."]
    assert notices == (guessed if good in ("regular", "Legit") else [])


def test_the_anomalous_value_can_be_named(graph: AttributedGraph) -> None:
    labels = {"ann": "red", "=bob": "green", "7": "blue"}
    assert words(read_labels(labels, graph, "green")) == {0: "normal", 1: "anomalous", 2: "normal"}
    with pytest.raises(ValueError, match=r"anomalous_value is 'gren', which no label is; did you mean green\?"):
        read_labels(labels, graph, "gren")
    notices: list[str] = []
    assert words(read_labels(labels, graph, ["red", "blue"], notices)) == {0: "anomalous", 1: "normal", 2: "anomalous"}
    assert notices == ["Labels: read 'blue' (1), 'red' (1) as anomalous; 'green' (1) as normal."]


def test_outcomes_of_several_words_are_understood_and_said(graph: AttributedGraph, tmp_path: Path) -> None:
    file, notices = tmp_path / "cases.csv", list[str]()
    file.write_text("case,outcome,closed\nann,kein Betrug,2024-01-02\n=bob,Betrug bestätigt,2024-01-03\n7,offen,\n")
    assert words(read_labels(file, graph, notices=notices)) == {0: "normal", 1: "anomalous"}
    read = "'betrug bestätigt' (1) as anomalous; 'kein betrug' (1) as normal; 'offen' (1) as unknown"
    assert notices == [f"Labels: read {read}."]
    for doubtful in ("suspected fraud", "cleared of fraud", "not cleared"):
        with pytest.raises(ValueError, match="labels have 3 kinds of values"):
            read_labels({"ann": doubtful, "7": "no fraud", "=bob": "fraud"}, graph)


def test_the_last_label_of_a_node_counts_and_conflicts_are_counted(graph: AttributedGraph) -> None:
    table = {"node": ["ann", "7", "ann", "7"], "verdict": ["normal", "normal", "anomalous", "normal"]}
    found = read_labels(table, graph)
    assert words(found) == {2: "normal", 0: "anomalous"} and found.conflicts == 1


def test_a_blank_row_takes_no_label_back(graph: AttributedGraph) -> None:
    table = {"node": ["ann", "ann", "7"], "verdict": ["yes", "", "no"]}
    assert words(read_labels(table, graph)) == {0: "anomalous", 2: "normal"}


def test_rows_of_labels_are_left_out_on_request(graph: AttributedGraph, tmp_path: Path) -> None:
    table = pl.DataFrame({"node": ["ann", "7", "=bob"], "verdict": ["yes", "no", "no"], "state": ["a", "a", "b"]})
    table.write_csv(tmp_path / "cases.csv")
    for source in (table, table.to_pandas(), tmp_path / "cases.csv"):
        assert words(read_labels(source, graph, ignore=["state=b"])) == {0: "anomalous", 2: "normal"}


def test_bad_labels_are_refused_in_one_sentence(graph: AttributedGraph, tmp_path: Path) -> None:
    for source, message in (
        ({"ann": "red", "7": "blue"}, "labels are 'blue' and 'red'; say which one means anomalous"),
        ({"ann": 1, "7": 2}, "labels are '1' and '2'; say which one means anomalous"),
        (
            {"ann": "a", "7": "fraud", "=bob": "c"},
            r"3 kinds of values \('a', 'c' unclear; 'fraud' anomalous\); say which",
        ),
        ({"zoe": 1, "ann": 0}, "1 labeled node of 2 is not in the graph, such as 'zoe'"),
        ([1, 0], "must have one entry per node"),
        (7, "got int"),
        (tmp_path / "none.csv", "there is no file"),
    ):
        with pytest.raises(ValueError, match=message):
            read_labels(source, graph)
    file = tmp_path / "verdicts.csv"
    file.write_text("name,verdict\nzoe,normal\n")
    with pytest.raises(ValueError, match=r"no column that is clearly one of node ids; call it node \(it has name, ver"):
        read_labels(file, graph)


def test_cases_that_are_not_in_the_graph_are_left_out(graph: AttributedGraph, caplog: pytest.LogCaptureFixture) -> None:
    assert words(read_labels({"zoe": 1, "ann": 0, "7": 1}, graph)) == {0: "normal", 2: "anomalous"}
    assert "1 labeled node of 3 is not in the graph, such as 'zoe': left out." in caplog.text


def test_columns_of_a_file_of_cases_are_recognized(graph: AttributedGraph, tmp_path: Path) -> None:
    file = tmp_path / "cases.csv"
    file.write_text("Konto;Ergebnis;Team\nann;Betrug;A\n7;kein Betrug;B\n", encoding="utf-8-sig")
    assert words(read_labels(file, graph)) == {0: "anomalous", 2: "normal"}
    file.write_text("ann,fraud\n7,ok\n'=bob,ok\n")
    assert words(read_labels(file, graph, notices=(notices := []))) == {0: "anomalous", 1: "normal", 2: "normal"}
    assert notices == [f"{file} has no header; its first line is read as a case."]


@pytest.mark.parametrize(("header", "address", "found"), [
    ("NR;WYNIK;PROWADZI", "", None), ("NR;STATUS;PROWADZI", "", "Read labels from column 'STATUS'."),
    ("NR;OPINIA;DATA", "", "Read labels from column 'OPINIA'."),
    ("NR;OPINIA;PROWADZI", "?column=OPINIA", "Read labels from column 'OPINIA'."),
    ("NR;OPINIA;PROWADZI", "?encoding=utf-8", "call it verdict, or name it, as in 'c.csv?encoding=utf-8&column=OPI"),
    ("NR;OPINIA;PROWADZI", "?column=OPINA", "has no column of labels 'OPINA'; did you mean OPINIA?"),
])  # fmt: skip
def test_the_column_of_labels_is_named_or_found(
    graph: AttributedGraph, tmp_path: Path, header: str, address: str, found: str | None
) -> None:
    third = ("2024-01-01", "2024-01-02") if "DATA" in header else ("Jan", "Ewa")
    words = [("zła", third[0]), ("dobra", third[1]), ("dobra", third[0])]
    rows = [f"{node};{';'.join(cells)}" for node, cells in zip(("ann", "7", "=bob"), words, strict=True)]
    (tmp_path / "c.csv").write_text("\n".join([header, *rows]))
    notices: list[str] = []
    with pytest.raises(ValueError, match=re.escape(found) if found and "Read" not in found else "'dobra' and 'zła'"):
        read_labels(f"{tmp_path}/c.csv{address}", graph, notices=notices)
    assert [each for each in notices if "Read" in each] == [found] * (found is not None and "Read" in found)


def test_a_list_of_nodes_has_a_column_or_one_node_per_line(graph: AttributedGraph, tmp_path: Path) -> None:
    file = tmp_path / "nodes.csv"
    for text in ("node,team\n7,a\nann,b\n", "7\nann\n", "node\nann\n7\n7\n"):
        file.write_text(text)
        assert read_nodes(file, graph).tolist() == [0, 2]
    file.write_text("id,team\n7,a\n")
    with pytest.raises(ValueError, match="no column node"):
        read_nodes(file, graph)
    file.write_text("node\n")
    with pytest.raises(ValueError, match="lists no nodes"):
        read_nodes(file, graph)


def test_words_of_closed_cases_are_known_and_blank_cells_are_not_unsure(graph: AttributedGraph) -> None:
    for good in ("cleared", "closed", "False_Positive"):
        assert words(read_labels({"ann": "Confirmed", "7": good}, graph)) == {0: "anomalous", 2: "normal"}
    found = read_labels({"ann": "confirmed", "=bob": "", "7": "pending"}, graph)
    assert words(found) == {0: "anomalous"} and found.unsure.tolist() == [2]
