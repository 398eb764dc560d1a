"""Labels from mappings, tables and files."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hopsight.graph import AttributedGraph
from hopsight.io.labels import Labels, read_labels, read_nodes

from .cases import refuses

BAD, GOOD, UNSURE = "anomalous", "normal", "unsure"


@pytest.fixture
def graph() -> AttributedGraph:
    return AttributedGraph.from_edges([0, 1], [1, 2], np.zeros((3, 1)), node_ids=["ann", "=bob", "7"])


def words(labels: Labels) -> dict[str, str]:
    """Return what is said of ``ann``, ``bob`` and ``7``."""
    known = {at: BAD if bad else GOOD for at, bad in zip(labels.positions, labels.anomalous, strict=True)}
    known |= dict.fromkeys(labels.unsure.tolist(), UNSURE)
    return {["ann", "bob", "7"][at]: word for at, word in known.items()}


def test_a_mapping_a_series_a_table_and_a_file_say_the_same(graph: AttributedGraph, tmp_path: Path) -> None:
    columns = {"node": ["ann", "=bob", "7"], "verdict": ["Normal ", "anomalous", "unsure"]}
    mapping = dict(zip(*columns.values(), strict=True))
    file = tmp_path / "verdicts.csv"
    file.write_text('node,verdict,note\nann,normal,\n\'=bob,anomalous,"a, b"\n7,unsure,x\n')
    sources = (mapping, columns, pl.DataFrame(columns), pd.Series(mapping), pd.DataFrame(columns), file, str(file))
    for source in (*sources, columns["verdict"]):  # the last has one label per node
        assert words(read_labels(source, graph)) == {"ann": GOOD, "bob": BAD, "7": UNSURE}


READ: dict[str, tuple[Any, dict[str, str], list[str]]] = {
    "spaces and decimals in a file": ("node,verdict\n ann ,normal\n7.0,anomalous\n", {"ann": GOOD, "7": BAD}, []),
    "spaces and decimals in a mapping": ({" ann ": "normal", 7.0: "anomalous"}, {"ann": GOOD, "7": BAD}, []),
    "ids in another form": ({"ANN": "normal", "007": "anomalous"}, {"ann": GOOD, "7": BAD}, [
        "2 ids are written differently in the graph: 'ANN' is 'ann' there."]),
    "outcomes of several words": (
        "case,outcome,closed\nann,kein Betrug,2024-01-02\n=bob,Betrug bestätigt,2024-01-03\n7,offen,\n",
        {"ann": GOOD, "bob": BAD, "7": UNSURE}, [
            "Labels: read 'betrug bestätigt' (1) as anomalous; 'kein betrug' (1) as normal; 'offen' (1) as unknown."]),
    "a blank row takes no label back": (
        {"node": ["ann", "ann", "7"], "verdict": ["yes", "", "no"]}, {"ann": BAD, "7": GOOD}, []),
    "a case that is not in the graph": ({"zoe": 1, "ann": 0, "7": 1}, {"ann": GOOD, "7": BAD}, [
        "1 labeled node of 3 is not in the graph, such as 'zoe': left out."]),
    "columns in another language": (
        "\ufeffKonto;Ergebnis;Team\nann;Betrug;A\n7;kein Betrug;B\n", {"ann": BAD, "7": GOOD}, []),
    "a file without a header": ("ann,fraud\n7,ok\n'=bob,ok\n", {"ann": BAD, "bob": GOOD, "7": GOOD}, [
        "{} has no header; its first line is read as a case."]),
    "a blank cell is not unsure": (
        {"ann": "confirmed", "=bob": "", "7": "pending"}, {"ann": BAD, "7": UNSURE}, []),
} | {
    f"{bad!r} and {good!r}": ({"ann": bad, "7": good, "=bob": None}, {"ann": BAD, "7": GOOD}, [
        f"Labels: read '{bad}' (1) as anomalous; '{str(good).lower()}' (1) as normal."]
        if good in ("regular", "Legit") else [])
    for bad, good in (
        ("yes", "no"), ("tak", "nie"), ("oui", "non"), (1, 0), (1.0, 0.0), (True, False), ("TRUE", "false"),
        ("fraud", "regular"), ("weird", "Legit"), ("Confirmed", "cleared"), ("Confirmed", "closed"),
        ("Confirmed", "False_Positive"))
}  # fmt: skip


@pytest.mark.parametrize(("source", "expected", "said"), READ.values(), ids=READ)
def test_labels_are_read_as_they_are_meant(
    graph: AttributedGraph, tmp_path: Path, source: Any, expected: dict[str, str], said: list[str]
) -> None:
    if isinstance(source, str):
        (tmp_path / "cases.csv").write_text(source)
        source = tmp_path / "cases.csv"
    assert words(read_labels(source, graph, notices=(notices := []))) == expected
    assert notices == [sentence.format(source) for sentence in said]


def test_the_anomalous_value_can_be_named(graph: AttributedGraph) -> None:
    labels = {"ann": "red", "=bob": "green", "7": "blue"}
    assert words(read_labels(labels, graph, "green")) == {"ann": GOOD, "bob": BAD, "7": GOOD}
    with pytest.raises(ValueError, match=r"anomalous_value is 'gren', which no label is; did you mean green\?"):
        read_labels(labels, graph, "gren")
    found = read_labels(labels, graph, ["red", "blue"], notices := [])
    assert words(found) == {"ann": BAD, "bob": GOOD, "7": BAD}
    assert notices == ["Labels: read 'blue' (1), 'red' (1) as anomalous; 'green' (1) as normal."]


def test_the_last_label_of_a_node_counts_and_conflicts_are_counted(graph: AttributedGraph) -> None:
    table = {"node": ["ann", "7", "ann", "7"], "verdict": ["normal", "normal", "anomalous", "normal"]}
    found = read_labels(table, graph)
    assert words(found) == {"7": GOOD, "ann": BAD} and found.conflicts == 1


def test_rows_of_labels_are_left_out_on_request(graph: AttributedGraph, tmp_path: Path) -> None:
    table = pl.DataFrame({"node": ["ann", "7", "=bob"], "verdict": ["yes", "no", "no"], "state": ["a", "a", "b"]})
    table.write_csv(tmp_path / "cases.csv")
    for source in (table, table.to_pandas(), tmp_path / "cases.csv"):
        assert words(read_labels(source, graph, ignore=["state=b"])) == {"ann": BAD, "7": GOOD}


@pytest.mark.parametrize(("source", "message"), [
    ({"ann": "red", "7": "blue"}, "labels are 'blue' and 'red'; say which one means anomalous"),
    ({"ann": 1, "7": 2}, "labels are '1' and '2'; say which one means anomalous"),
    ({"ann": "a", "7": "fraud", "=bob": "c"}, "3 kinds of values ('a', 'c' unclear; 'fraud' anomalous); say which"),
    *(({"ann": doubtful, "7": "no fraud", "=bob": "fraud"}, "labels have 3 kinds of values")
      for doubtful in ("suspected fraud", "cleared of fraud", "not cleared")),
    ({"zoe": 1, "ann": 0}, "1 labeled node of 2 is not in the graph, such as 'zoe'"),
    (pl.DataFrame({"name": ["zoe"], "verdict": ["normal"]}),
     "no column that is clearly one of node ids; call it node (it has name, ver"),
    ([1, 0], "must have one entry per node"), (7, "got int"), (Path("none.csv"), "there is no file"),
])  # fmt: skip
def test_bad_labels_are_refused_in_one_sentence(graph: AttributedGraph, source: Any, message: str) -> None:
    refuses(re.escape(message), source, graph, by=read_labels)


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
    rows = [f"ann;zła;{third[0]}", f"7;dobra;{third[1]}", f"=bob;dobra;{third[0]}"]
    (tmp_path / "c.csv").write_text("\n".join([header, *rows]))
    notices: list[str] = []
    with pytest.raises(ValueError, match=re.escape(found) if found and "Read" not in found else "'dobra' and 'zła'"):
        read_labels(f"{tmp_path}/c.csv{address}", graph, notices=notices)
    assert [each for each in notices if "Read" in each] == [found] * (found is not None and "Read" in found)


def test_a_list_of_nodes_has_a_column_or_one_node_per_line(graph: AttributedGraph, tmp_path: Path) -> None:
    file = tmp_path / "nodes.csv"
    for text in ("node,team\n7,a\nann,b\n", "7\nann\n", "node\nann\n7\n7\n", "account,team\n7,a\nann,b\n"):
        file.write_text(text)
        assert read_nodes(file, graph).tolist() == [0, 2]
    for text, message in (
        ("id,team\nx,a\n", "no column that is clearly one of node ids"),
        ("node\n", "lists no nodes"),
    ):
        file.write_text(text)
        refuses(message, file, graph, by=read_nodes)


def test_each_unknown_case_counts_once() -> None:
    nodes = [f"n{number}" for number in range(24)]
    graph = AttributedGraph.from_edges(range(23), range(1, 24), np.zeros((24, 1)), node_ids=nodes)
    cases = pl.DataFrame({"node": [*nodes, *["lost"] * 24, ""], "verdict": ["fraud", "ok"] * 24 + ["ok"]})
    found = read_labels(cases, graph, notices=(notices := []))
    assert found.positions.size == 24
    assert "1 labeled node of 25 is not in the graph, such as 'lost': left out." in notices


@pytest.mark.parametrize(("name", "words"), [
    ("is_legit", "yes no"), ("genuine", "1 0"), ("fraud_free", "true false"), ("not_fraud", "1 0"),
    ("trusted", "sì no"), ("kein Betrug", "ja nein"), ("false_positive", "yes no"),
])  # fmt: skip
def test_yes_may_mean_normal(name: str, words: str) -> None:
    graph = AttributedGraph.from_edges([0, 1], [1, 2], np.zeros((3, 1)), node_ids=["a", "b", "c"])
    cases = pl.DataFrame({"node": ["a", "b"], name: words.split()})
    with pytest.raises(
        ValueError, match=f"anomalous_value is needed: column '{name}' seems to say which cases are normal"
    ):
        read_labels(cases, graph, notices=[])
    assert read_labels(cases, graph, words.split()[1], notices=[]).anomalous.tolist() == [False, True]
    edges, nodes = pl.DataFrame({"from": ["a"], "to": ["b"]}), cases.rename({"node": "id"}).with_columns(age=pl.lit(1))
    refuses(f"column '{name}' seems to say which nodes are normal", edges, nodes=nodes, label=name)
    whole = nodes.with_columns(pl.Series(name, [1.0, 0.0]))  # as pandas writes them beside blank cells
    refuses(f"column '{name}' seems to say which nodes are normal", edges, nodes=whole, label=name)
