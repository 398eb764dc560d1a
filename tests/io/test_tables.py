"""An edge list and a node table: recognized columns, ids, writing and reading back, and every refusal."""

import csv
import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hopsight.graph import AttributedGraph
from hopsight.io import read
from hopsight.io.tables import node_path, read_tables, write_tables
from hopsight.system.cells import guarded, unguarded

from .cases import ends_are, refuses

EDGES = "source,target\nann,bo\nbo,cy\n"
NODES = "id,age\nann,31\nbo,42\ncy,27\n"


def load(folder: Path, edges: str = EDGES, nodes: str = NODES, **options: Any) -> AttributedGraph:
    (folder / "edges.csv").write_text(edges, encoding="utf-8")
    (folder / "people.csv").write_text(nodes, encoding="utf-8")
    return read_tables(folder / "edges.csv", folder / "people.csv", **options)


def test_two_small_tables_by_hand(tmp_path: Path) -> None:
    graph = load(tmp_path)
    assert graph.node_ids.tolist() == ["ann", "bo", "cy"]
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.attributes.tolist() == [[31], [42], [27]] and graph.attribute_names == ("age",)
    assert (graph.name, graph.labels, graph.directed) == ("edges", None, False)


@pytest.mark.parametrize(("header", "options"), [
    ("weight,source,target", {}), ("weight,SRC,Dst", {}), ("weight,From ID,To-ID", {}), ("weight,u,v", {}),
    ("weight,payer,payee", {}), ("amount,Buyer,Seller", {}), ("amount,sender_id,recipient_id", {}),
    ("amount,FromNodeId,ToNodeId", {}),
    ("source,payer,payee", {"source_column": "payer", "target_column": "payee"}),
    ("source,target,payee", {"source_column": "target", "target_column": "payee"}),
    ("target,other,source", {"source_column": "other", "target_column": "source"}), ("target,from,to", {}),
])  # fmt: skip
def test_the_ends_of_an_edge_are_found_by_name(tmp_path: Path, header: str, options: dict[str, str]) -> None:
    graph = load(tmp_path, f"{header}\n9.5,ann,bo\n8.5,cy,bo\n", directed=True, notices=(notices := []), **options)
    assert graph.edges.tolist() == [[0, 2], [1, 1]]
    first, *ends = header.split(",")
    assert f"{first} sent, median" in graph.attribute_names
    assert (ends_are(*ends) in notices) == (not options and ends != ["source", "target"])


def test_otherwise_the_ends_are_the_first_two_columns(tmp_path: Path) -> None:
    assert load(tmp_path, "a,b,c\nann,bo,5\n", notices=[]).edges.tolist() == [[0], [1]]
    assert load(tmp_path, "0,1\n1,2\n", "0,5\n1,6\n2,7\n").node_ids.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("header", "options"), [("age,Node ID", {}), ("age,name", {}), ("node,key", {"id_column": "key"}), ("age,id", {})]
)
def test_the_id_of_a_node_is_found_by_name(tmp_path: Path, header: str, options: dict[str, str]) -> None:
    graph = load(tmp_path, nodes=f"{header}\n31,ann\n42,bo\n27,cy\n", **options)
    assert graph.node_ids.tolist() == ["ann", "bo", "cy"]
    assert graph.attributes.tolist() == [[31], [42], [27]]


def test_duplicates_and_loops_are_counted(tmp_path: Path) -> None:
    graph = load(tmp_path, EDGES + "bo,ann\nann,ann\nann,bo\n")
    assert (graph.n_edges, graph.n_duplicates, graph.n_self_loops) == (2, 2, 1)


@pytest.mark.parametrize(("edges", "nodes", "expected"), [
    ("s,t\n1,2\n", "id,x\n1,0\n2,0\n", [1, 2]), ("s,t\n1,2\n", "id,x\n1,0\n2,0\nx,0\n", ["1", "2", "x"]),
    ("s,t\n01,2\n", "id,x\n01,0\n2,0\n", ["01", "2"]), ("s,t\n1,-3\n", "id,x\n-3,0\n1,0\n99,0\n", [-3, 1, 99]),
])  # fmt: skip
def test_ids_are_numbers_only_if_all_are(tmp_path: Path, edges: str, nodes: str, expected: list[Any]) -> None:
    graph = load(tmp_path, edges, nodes)
    assert graph.node_ids.tolist() == expected and graph.n_edges == 1


def test_text_and_number_ids_of_two_typed_files_match(tmp_path: Path) -> None:
    pl.DataFrame({"source": ["1"], "target": ["2"]}).write_parquet(tmp_path / "e.parquet")
    pl.DataFrame({"id": [1.0, 2.0], "x": [0, 1]}).write_parquet(tmp_path / "n.parquet")
    assert read_tables(tmp_path / "e.parquet", tmp_path / "n.parquet").node_ids.tolist() == ["1", "2"]


IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda text: text == text.strip() and not re.fullmatch(r"[+-]?\d+\.0*|nan", text.lower())
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(IDS, min_size=2, max_size=6, unique=True))
def test_any_text_id_is_restored(tmp_path: Path, node_ids: list[str]) -> None:
    n_nodes = len(node_ids)
    graph = AttributedGraph.from_edges(range(n_nodes - 1), range(1, n_nodes), np.ones((n_nodes, 1)), node_ids=node_ids)
    write_tables(graph, tmp_path / "g.csv")
    again = read_tables(tmp_path / "g.csv")
    assert [str(node) for node in again.node_ids.tolist()] == node_ids
    assert np.array_equal(again.edges, graph.edges)


def test_what_we_write_is_read_by_other_programs(tmp_path: Path) -> None:
    graph = AttributedGraph.from_edges([0], [1], [[0.1], [2.0]], node_ids=['say "hi"', "b\nc"], labels=[0, 1])
    write_tables(graph, tmp_path / "g.csv")
    with node_path(tmp_path / "g.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows == [["id", "x0", "hopsight_label"], ['say "hi"', "0.1", "0"], ["b\nc", "2.0", "1"]]


@pytest.mark.parametrize(("edges", "nodes", "options", "words"), [
    ("source,target\nx,y\n", NODES, {}, r"edges.csv: 2 of 2 node ids in the edges have no row"),
    (EDGES, NODES + "ann,1\n", {}, r"people.csv: node 'ann' has two rows, 1 and 4"),
    (EDGES, NODES.replace("42", "many"), {}, r"people.csv: column 'age', row 2: 'many' is not a number"),
    (EDGES, NODES.replace("42", ""), {"missing": "refuse"}, r"column 'age', row 2 is empty"),
    (EDGES, NODES.replace("42", "nan"), {"missing": "refuse"}, r"column 'age', row 2 is empty or NaN"),
    (EDGES, NODES.replace("42", "inf"), {}, r"column 'age', row 2 is infinite"),
    (EDGES, "id\nann\nbo\ncy\n", {"derive": "none"}, r"people.csv: there is no attribute column"),
    (EDGES, NODES, {"ignore": ["age"], "derive": "none"}, r"no attribute column"),
    (EDGES, NODES, {"derive": "shape"}, r"derive must be 'none' or some of structure, sent, received"),
    (EDGES, NODES, {"duplicates": "mean"}, r"duplicates must be one of sum, count, last"),
    (EDGES, NODES, {"weight_column": "amount"}, r"edges.csv: weight_column: there is no column 'amount'"),
    (EDGES, NODES, {"type_column": "kind"}, r"people.csv: type_column: there is no column 'kind'"),
    (EDGES, NODES, {"category": ["zip"]}, r"^category names the column 'zip', which neither table has$"),
    (EDGES, NODES, {"ignore": ["aje"]}, r"did you mean age\?"),
    (EDGES, NODES, {"label": "fraud"}, r"label: there is no column 'fraud'"),
    (EDGES, NODES, {"label": "age"}, r"column 'age', row 1: .* is not 0 or 1"),
    (EDGES, NODES, {"id_column": "key"}, r"id_column: there is no column 'key'"),
    (EDGES, NODES, {"source_column": "payer"}, r"source_column: there is no column 'payer'"),
    (EDGES, NODES, {"source_column": "source", "target_column": "source"}, r"must differ"),
    (EDGES, NODES, {"missing": "median"}, r"missing must be one of"),
    ("source\nann\n", NODES, {}, r"needs two columns"),
    ("source,target\n", NODES, {}, r"edges.csv: it has a header but no edges"),
    (EDGES, "id,age\n", {}, r"people.csv: it has a header but no rows"), ("", NODES, {}, r"edges.csv: it is empty"),
    (EDGES, "", {}, r"people.csv: it is empty"),
])  # fmt: skip
def test_each_bad_table_has_its_message(tmp_path: Path, edges: str, nodes: str, options: Any, words: str) -> None:
    (tmp_path / "edges.csv").write_text(edges)
    (tmp_path / "people.csv").write_text(nodes)
    refuses(words, tmp_path / "edges.csv", tmp_path / "people.csv", **options, by=read)


def test_missing_files_are_named(tables: Path) -> None:
    for edges, nodes in (("nowhere.csv", "people.csv"), ("edges.csv", "nowhere.csv")):
        refuses(r"nowhere.csv: there is no such file", tables / edges, tables / nodes, by=read_tables)
    with pytest.raises(ValueError, match=r"^label names a column of the node table, and there is none"):
        read_tables(tables / "edges.csv", label="fraud")
    refuses(r"no attribute column.*give a node table \(nodes\)", tables / "edges.csv", derive="none", by=read_tables)


def test_the_node_table_beside_the_edge_list_is_found(tables: Path) -> None:
    (tables / "people.csv").rename(tables / "edges.nodes.csv")
    said = "Read 'edges.nodes.csv', beside the edge list, as the node table."
    read_tables(tables / "edges.csv", notices=(notices := []))
    assert said in notices
    pl.read_csv(tables / "edges.nodes.csv").write_parquet(tables / "edges.nodes.parquet")
    (tables / "edges.nodes.csv").unlink()
    read_tables(tables / "edges.csv", notices=(notices := []))  # which belongs to edges.parquet
    assert not any("as the node table" in each for each in notices)


@pytest.mark.parametrize(("name", "n_nodes", "n_edges", "expected", "left_out"), [
    ("bitcoin_alpha", 3_783, 14_124, "rating sent, share negative", ["label_source", "label_target"]),
    ("uci_messages", 1_899, 13_838, "chars received, median", []),
    ("enron_email", 156, 1_843, "t sent, burstiness for its count", ["mid"]),
])  # fmt: skip
def test_real_edge_lists_are_read_as_they_are(
    data_dir: Path, name: str, n_nodes: int, n_edges: int, expected: str, left_out: list[str]
) -> None:
    nodes = data_dir / "links" / "enron_employees.tsv" if name == "enron_email" else None
    graph = read_tables(data_dir / "links" / f"{name}.parquet", nodes, notices=(notices := []))
    assert (graph.n_nodes, graph.n_edges) == (n_nodes, n_edges) and graph.edge_time is not None
    assert expected in graph.attribute_names
    assert ("clustering" in graph.attribute_names) == (nodes is None)
    for column in left_out:
        assert any(f"Column {column!r}" in notice and "left out" in notice for notice in notices)
        assert not any(column in attribute for attribute in graph.attribute_names)
    if nodes is not None:
        assert graph.node_names[0] == "John Arnold"


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz"])
def test_a_graph_with_formulas_is_written_without_them_and_restored(tmp_path: Path, suffix: str) -> None:
    risky = ["=HYPERLINK(A1)", "+1", "\ufeff@x", "－1", "'=1"]
    stripped = ["=1", "@b", "'c", "+d", "=1"]
    graph = AttributedGraph.from_edges(
        [0, 1, 2, 3], [1, 2, 3, 4], np.arange(10.0).reshape(5, 2) - 3, node_ids=risky, node_names=stripped,
        node_types=stripped, attribute_names=["=a", "b"], edge_attributes=[[-1.0], [0.5], [2.0], [1.0]],
        edge_attribute_names=["@speed"],
    )  # fmt: skip
    path = tmp_path / f"g{suffix}"
    write_tables(graph, path, [])
    for file in (path, node_path(path)):
        text = gzip.decompress(file.read_bytes()).decode() if suffix.endswith("gz") else file.read_text()
        for row in csv.reader(text.splitlines(), delimiter="\t" if suffix == ".tsv" else ","):
            assert all(unguarded(cell) != cell or guarded(cell) == cell or float(cell) for cell in row)
    again = read_tables(path, derive="none", notices=[])
    assert again.attribute_names == graph.attribute_names and again.edge_attribute_names == ("@speed",)
    for field in ("node_ids", "node_names", "node_types", "attributes", "edge_attributes", "edges"):
        assert getattr(again, field).tolist() == getattr(graph, field).tolist()


def test_a_row_that_is_repeated_in_a_node_table_counts_once(tmp_path: Path) -> None:
    graph = load(tmp_path, "source,target\na,b\nb,c\n", "id,age\na,30\nb,40\nb,40\nc,50\n", notices=(notices := []))
    assert (graph.node_ids.tolist(), graph.attributes[:, 0].tolist()) == (["a", "b", "c"], [30, 40, 50])
    assert "Left out repeated rows of nodes: 1." in notices


def test_a_last_row_of_totals_is_no_node() -> None:
    edges, notices = pl.DataFrame({"source": ["a", "b", "c"], "target": ["b", "c", "a"]}), list[str]()
    nodes = pl.DataFrame({"id": ["a", "b", "c", "TOTAL"], "paid": [1, 2, 4, 7]})
    assert read_tables(edges, nodes, notices=notices).node_ids.tolist() == ["a", "b", "c"]
    assert "Left out the last row, 'TOTAL', which adds up others." in notices


def test_rows_of_an_edge_list_can_be_left_out_by_a_value(tmp_path: Path) -> None:
    rows = "payer,payee,amount,Status\nann,bo,10,booked\nbo,cy,20,Cancelled\nann,cy,30,cancelled\ncy,bo,40,\n"
    graph = load(tmp_path, rows, ignore=("Status=cancelled", "age"), notices=(notices := []))
    assert graph.edges.tolist() == [[0, 1], [1, 2]] and "Left out 2 rows with Status=cancelled." in notices
    assert graph.events.amount.tolist() == [10.0, 40.0] and "age" not in graph.attribute_names
    notices.clear()
    assert load(tmp_path, rows, ignore=("Status", "Status=Booked", "Status="), notices=notices).n_edges == 2
    assert not any("take place" in notice for notice in notices)
    assert load(tmp_path, rows, ignore=("Status=canceled",), notices=notices).n_edges == 2
    assert "No row has Status=canceled: look up how the table writes that value." in notices
    assert load(tmp_path, rows, ignore=("Status",), notices=[]).events.amount.tolist() == [10.0, 20.0, 30.0, 40.0]
    assert load(tmp_path, rows, category=("Status",), notices=[]).n_edges == 3
    assert load(tmp_path, rows, notices=notices).events.amount.tolist() == [10.0, 40.0]
    advice = "as these did not take place; to count them, pass ignore=['Status']"
    assert f"Left out 2 rows whose Status is 'Cancelled', {advice}." in notices
    refuses("'state=cancelled', which neither table has", tmp_path, rows, ignore=("state=cancelled",), by=load)
    codes = "payer,payee,amount,code\nann,bo,5.50,7\nbo,cy,0.00,007\nann,cy,7.25,7\n"
    for entry, n_edges in (("amount=0.00", 2), ("amount=5.50", 2), ("code=007", 2), ("code=7", 1)):
        assert load(tmp_path, codes, ignore=(entry,), notices=[]).n_edges == n_edges
    frame = pl.DataFrame({"a": ["x", "y", "z"], "b": ["y", "z", "x"], "level": [5.0, 5.0, 7.0]})
    assert read_tables(frame, ignore=("level=5",), notices=[]).n_edges == 1
    with pytest.raises(ValueError, match="ignore: 'payer' is an end of the edges"):
        read_tables(tmp_path / "edges.csv", ignore=("payer",), notices=[])


def test_an_id_with_three_zeros_may_be_a_thousand(tmp_path: Path) -> None:
    graph = load(tmp_path, "a;b\n1.000;2.000\n2.000;3.0\n", "id;age\n1.000;3\n2.000;4\n3;5\n")
    assert graph.node_ids.tolist() == ["1.000", "2.000", "3"]
