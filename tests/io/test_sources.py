"""Wherever the two tables are, hopsight reads the same graph; every other place is refused in one sentence."""

import bz2
import gzip
import json
import lzma
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xlsxwriter
import zstandard

from hopsight.io.sources import files, resolve
from hopsight.loading import load

from .cases import PAIRS, ends_are, loaded, refuses, workbook

EDGES = pl.DataFrame({"source": [7, 8, 9], "target": [8, 9, 10]})
NODES = pl.DataFrame({"id": [7, 8, 9, 10], "age": [31.5, 42.0, 27.0, 50.0], "city": ["Oslo", "Bern", "Oslo", "Zürich"]})
CSV = "source,target\n7,8\n8,9\n9,10\n"


def check(edges: Any, nodes: Any) -> None:
    graph = load(edges, nodes=nodes, notices=[])
    assert graph.node_ids.tolist() == [7, 8, 9, 10]
    assert graph.edges.tolist() == [[0, 1, 2], [1, 2, 3]]
    assert graph.attribute_names[:4] == ("age", "city=Bern", "city=Oslo", "city=Zürich")
    assert graph.attributes[:, :4].tolist() == [[31.5, 0, 1, 0], [42, 1, 0, 0], [27, 0, 1, 0], [50, 0, 0, 1]]


def zipped(path: Path, content: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside.csv", content)


@pytest.mark.parametrize(("packing", "pack"), [
    (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstandard.compress),
])  # fmt: skip
def test_compressed_text(tmp_path: Path, packing: str, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / f"edges.csv{packing}").write_bytes(pack(CSV[:9].encode()) + pack(CSV[9:].encode()))  # in two parts
    (tmp_path / f"people.jsonl{packing}").write_bytes(pack(NODES.write_ndjson().encode()))
    check(tmp_path / f"edges.csv{packing}", tmp_path / f"people.jsonl{packing}")
    damaged = tmp_path / f"damaged.csv{packing}"
    damaged.write_bytes(pack(CSV.encode() * 50)[:-9])
    refuses(r"cannot read .*damaged.csv.*: it is (damaged|truncated)", damaged, nodes=NODES)


def test_zip_archives_hold_one_table(tmp_path: Path) -> None:
    zipped(tmp_path / "edges.zip", CSV.encode())
    zipped(tmp_path / "edges.csv.zip", CSV.encode())
    check(tmp_path / "edges.zip", NODES)
    check(str(tmp_path / "edges.csv.zip"), NODES)
    with zipfile.ZipFile(tmp_path / "edges.zip", "a") as archive:
        archive.writestr("other.csv", "x")
    refuses("it holds 2 files instead of one; unpack it", tmp_path / "edges.zip", nodes=NODES)


@pytest.mark.parametrize(
    ("encoding", "says"), [("utf-8", 0), ("utf-8-sig", 0), ("utf-16", 0), ("utf-32", 0), ("cp1252", 1), ("latin-1", 1)]
)
def test_encodings(tmp_path: Path, encoding: str, says: int) -> None:
    (tmp_path / "people.csv").write_bytes(NODES.write_csv().encode(encoding))
    check(EDGES, tmp_path / "people.csv")
    load(EDGES, nodes=tmp_path / "people.csv", notices=(notices := []))
    assert sum("as Windows-1252" in notice for notice in notices) == says


def test_an_encoding_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes("id,age,town\n7,1,Москва\n8,2,Тверь\n".encode("cp1251"))
    edges = pl.DataFrame({"source": [7], "target": [8]})
    graph = load(edges, nodes=f"{tmp_path}/people.csv?encoding=cp1251")
    assert graph.attribute_names[1:3] == ("town=Москва", "town=Тверь")
    for name, message in (
        ("klingon", "no encoding 'klingon'; try utf-8"), ("zip", "no encoding 'zip'"),
        ("ascii", "its text is not ASCII; name the encoding"),
    ):  # fmt: skip
        refuses(message, edges, nodes=f"{tmp_path}/people.csv?encoding={name}")


PUBLISHED = {
    "spaces": "7 8\n8 9\n9 10\n",
    "padded": "  7   8\n  8   9\n  9  10  \n",
    "tabs": "7\t8\r\n8\t9\r\n9\t10\r\n",
    "snap": "# Directed graph\n# Nodes: 4 Edges: 3\n# FromNodeId\tToNodeId\n7\t8\n8\t9\n9\t10\n",
    "konect": "% sym unweighted\n% 3 4 4\n7 8\n8 9\n9 10\n",
    "bars": "7|8\n8|9\n9|10",
    "trailing": "source;target;\n7;8;\n8;9;\n9;10;\n",
    "old mac": "source,target\r7,8\r8,9\r9,10\r",
    "blank lines": "\n\nsource,target\n7,8\n\n8,9\n9,10\n",
    "commented header": "#source,target\n7,8\n8,9\n9,10\n",
}


@pytest.mark.parametrize("text", PUBLISHED.values(), ids=PUBLISHED)
def test_edge_lists_as_people_publish_them(tmp_path: Path, text: str) -> None:
    (tmp_path / "edges.txt").write_bytes(text.encode())
    check(tmp_path / "edges.txt", NODES)


def test_a_list_of_names_without_a_header_is_recognized(tmp_path: Path) -> None:
    people = pl.DataFrame({"id": ["ann", "bo", "cy"], "age": [1, 2, 3]})
    (tmp_path / "edges.csv").write_text("ann,bo\nbo,cy\n")
    graph = load(tmp_path / "edges.csv", nodes=people, notices=(notices := []))
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert "edges.csv has no header; its columns are called column1, column2." in notices
    (tmp_path / "edges.csv").write_text("ann,bo\ncy,dee\n")  # could be a header
    load(tmp_path / "edges.csv", nodes=people, notices=notices)
    assert any("('dee')" in each for each in notices)
    (tmp_path / "edges.csv").write_text("ann,bo\ncy,ann\n")
    assert load(tmp_path / "edges.csv", nodes=people, header=False).n_edges == 2
    (tmp_path / "people.csv").write_text("ann,1\nbo,2\ncy,3\n")
    graph = load(f"{tmp_path}/edges.csv?header=no", nodes=f"{tmp_path}/people.csv?header=no")
    assert (graph.n_edges, graph.node_ids.tolist()) == (2, ["ann", "bo", "cy"])


def test_data_frames_of_every_library() -> None:
    for edges, nodes in (
        (EDGES, NODES.lazy()),
        (EDGES.to_arrow(), NODES.to_arrow()),
        (EDGES.to_pandas(), NODES.to_pandas()),
        (EDGES.to_arrow().to_batches()[0], pa.RecordBatchReader.from_stream(NODES.to_arrow())),
    ):
        check(edges, nodes)
    with duckdb.connect() as connection:
        connection.register("people", NODES.to_arrow())
        check(EDGES, connection.sql("SELECT * FROM people"))
        rows = connection.sql("SELECT i AS f, 9 - i AS t, to_hours(i) AS h, [h] AS l FROM range(4) t(i)")
        assert load(rows, derive="sent", notices=[]).edge_attributes.tolist() == [[0.0], [3600.0], [7200.0], [10800.0]]


def test_a_table_of_another_schema(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "bank.duckdb")) as connection:
        connection.execute("CREATE SCHEMA s")
        connection.execute("CREATE TABLE s.payments AS SELECT range AS source, range + 1 AS target FROM range(5)")
    assert load(f"{tmp_path}/bank.duckdb?table=s.payments", notices=[]).n_edges == 5


def test_a_frame_that_only_narwhals_knows() -> None:
    class Frame:
        """Follows the protocol of narwhals; stands for Modin, cuDF and others."""

        columns = NODES.columns

        def __narwhals_dataframe__(self) -> Any:
            import narwhals

            return narwhals.from_native(NODES)._compliant_frame

        def __narwhals_namespace__(self) -> Any:
            return self.__narwhals_dataframe__().__narwhals_namespace__()

    check(EDGES, Frame())


def test_pandas_index_gaps_categories_and_mixed_columns() -> None:
    nodes = NODES.to_pandas().set_index("id")
    check(EDGES, nodes)
    named = pd.DataFrame({"age": [1.0, 2.0]}, index=["ann", "bo"])
    edges = pd.DataFrame({"a": ["ann"], "b": ["bo"]})
    assert load(edges, nodes=named, notices=[]).node_ids.tolist() == ["ann", "bo"]
    filtered = NODES.to_pandas().query("age > 30")  # its index is no id
    assert load(EDGES.head(1), nodes=filtered, notices=[]).node_ids.tolist() == [7, 8, 10]
    rich = pd.DataFrame(
        {"id": pd.array([7, 8, 9, 10], dtype="Int64"), "age": pd.array([1, None, 3, 4], dtype="Int64"),
         "kind": pd.Categorical(["x", "y", "x", "y"]), "mixed": ["a", 1, "a", "b"], 3: [0.5, 1.5, 2.5, 3.5],
         "member": pd.array([True, False, True, True], dtype="boolean")})  # fmt: skip
    graph = load(EDGES, nodes=rich, missing="mean", notices=[])
    assert graph.node_ids.tolist() == [7, 8, 9, 10]
    assert {"kind=x", "member", "mixed=a", "3"} <= set(graph.attribute_names)
    refuses("two columns of the DataFrame are called 'x'", EDGES, nodes=pd.DataFrame([[1, 2]], columns=["x", "x"]))
    refuses("several levels", EDGES, nodes=pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])))


def test_folders_and_patterns_of_parquet_files(tmp_path: Path) -> None:
    folder = tmp_path / "edges"
    (folder / "year=2024").mkdir(parents=True)
    (folder / "year=2025").mkdir()
    EDGES.head(1).write_parquet(folder / "year=2024" / "part-0.parquet")
    EDGES.tail(2).write_parquet(folder / "year=2025" / "part-0.parquet")
    (folder / "_SUCCESS").touch()
    NODES.head(2).write_parquet(tmp_path / "people-1.parquet")
    NODES.tail(2).write_parquet(tmp_path / "people-2.parquet")
    check(folder, f"{tmp_path}/people-*.parquet")
    check(f"{folder}/**/*.parquet", tmp_path / "people-*.parquet")
    assert [file.name for file in files(str(tmp_path / "people-*.parquet"))] == ["people-1.parquet", "people-2.parquet"]
    EDGES.rename({"target": "to"}).write_parquet(folder / "year=2025" / "part-1.parquet")
    refuses(r"its parts differ: column '(target|to)' is not in both", folder, nodes=NODES)
    (folder / "part-0.parquet").write_text("source,target")
    refuses(r"edges/part-0\.parquet: it is damaged, or not a Parquet file", folder, nodes=NODES)
    (tmp_path / "empty").mkdir()
    refuses("a folder without Parquet, Arrow, CSV or JSON Lines files", tmp_path / "empty", nodes=NODES)
    refuses("there is no file", f"{tmp_path}/none-*.parquet", nodes=NODES)


def test_workbooks(tmp_path: Path) -> None:

    with xlsxwriter.Workbook(tmp_path / "book.xlsx") as book:
        EDGES.write_excel(book, worksheet="payments")
        NODES.write_excel(book, worksheet="people & co")
        book.add_worksheet("Sheet3")
    EDGES.write_excel(tmp_path / "edges.xlsx")
    where = f"{tmp_path}/book.xlsx"
    check(f"{where}?table=payments", f"{where}?table=people %26 co")
    check(tmp_path / "edges.xlsx", f"{where}?table=people+%26+co")
    refuses(r"it has 2 sheets \(payments, people & co\); name one.*book.xlsx\?table=pay", where, nodes=NODES)
    refuses("it has no sheet 'x', only payments", f"{where}?table=x", nodes=NODES)
    with pytest.raises(ValueError, match="query=SELECT 1 is not an option of this kind of file, which has only table"):
        load(f"{where}?query=SELECT 1", nodes=NODES)


def test_a_sheet_with_a_title_is_read_from_its_header_on(tmp_path: Path) -> None:
    lines = [[a, b, i + 0.5] for i, (a, b) in enumerate(PAIRS)]
    path = workbook(tmp_path / "book.xlsx", ["Payments of 2024"], [], ["payer", "payee", "amount"], *lines)
    graph, notices = loaded(path)
    assert graph.edge_attribute_names == ("amount",) and ends_are("payer", "payee") in notices
    assert "Left out 1 row above the table in book.xlsx: 'Payments of 2024'." in notices


def test_cells_of_another_type_far_down_a_sheet_are_read(tmp_path: Path) -> None:
    lines = [[row, row + 1, 5.5] for row in range(1500)]
    graph, _ = loaded(workbook(tmp_path / "book.xlsx", ["payer", "payee", "amount"], *lines, ["K-7", 3, 5.5]))
    assert "K-7" in graph.node_ids.tolist() and graph.n_edges == 1501


def fill(connection: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE payments (source INTEGER, target INTEGER)")
    cursor.execute("CREATE TABLE people (id INTEGER, age REAL, city TEXT)")
    cursor.executemany("INSERT INTO payments VALUES (?, ?)", EDGES.rows())
    cursor.executemany("INSERT INTO people VALUES (?, ?, ?)", NODES.rows())
    connection.commit()


@pytest.fixture(params=["sqlite", "duckdb"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / ("bank.db" if request.param == "sqlite" else "bank.duckdb")
    with closing(sqlite3.connect(path) if request.param == "sqlite" else duckdb.connect(str(path))) as connection:
        fill(connection)
    return path


def test_embedded_databases(database: Path) -> None:
    scheme = "sqlite" if database.suffix == ".db" else "duckdb"
    before = database.read_bytes()
    check(f"{database}?table=payments", f"{scheme}:///{database}?table=people")
    check(f"{database}?query=SELECT * FROM payments WHERE source >= 7", (str(database), "SELECT * FROM people"))
    refuses(r"it has 2 tables \(payments, people\); name one, such as 'bank", database, nodes=NODES)
    refuses("it has no table 'x', only payments, people", f"{database}?table=x", nodes=NODES)
    for query in ("DELETE FROM people", "SELEKT 1"):
        refuses(r"^cannot read .*bank.*: .+$", f"{database}?query={query}", nodes=NODES)
    assert database.read_bytes() == before


def test_connections(tmp_path: Path) -> None:
    for connection in (sqlite3.connect(":memory:"), duckdb.connect()):
        with closing(connection):
            fill(connection)
            check((connection, "SELECT * FROM payments"), nodes=(connection, "SELECT * FROM people"))
            refuses("nowhere", (connection, "SELECT * FROM nowhere"), nodes=NODES)


def test_what_has_no_table_is_named(database: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(tmp_path / "empty.zip", "w").close()
    (tmp_path / "object.json").write_text("{}")
    is_sqlite = database.suffix == ".db"
    with closing(sqlite3.connect(database) if is_sqlite else duckdb.connect(str(database))) as connection:
        connection.execute("CREATE TABLE gone (a)" if is_sqlite else "CREATE TABLE gone (a INT)")
        connection.execute("CREATE VIEW broken AS SELECT * FROM gone")
        connection.execute("DROP TABLE gone")
        connection.commit()
    for source, words in (
        (tmp_path / "empty.zip", "it is an archive without files"),
        (tmp_path / "object.json", "an edge list needs two columns, but there is none"),
        (f"{database}?table=broken", r"its view 'broken' cannot be evaluated \(.*gone"),
    ):
        refuses(rf"cannot read .*: {words}", source)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_a_refusal_of_the_graph_names_the_file_it_is_read_from(tmp_path: Path) -> None:
    frame = pl.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "x": [1e308, 1e308]})
    frame.write_parquet(tmp_path / "e.parquet")
    refuses(r"cannot read .*e\.parquet: attributes must be finite", tmp_path / "e.parquet", derive="sent,received")


def test_values_of_several_types_in_one_sqlite_column_become_text(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "bank.db")) as connection:
        connection.execute("CREATE TABLE pay (a, b, c)")
        connection.executemany("INSERT INTO pay VALUES (?, ?, ?)", [(1, "x", None), ("x", 2, 1.5), (2, "y", 3)])
        connection.commit()
    nodes = pl.DataFrame({"id": ["1", "2", "x", "y"], "age": [1, 2, 3, 4]})
    assert load(tmp_path / "bank.db", nodes=nodes, notices=[]).n_edges == 3


@pytest.mark.parametrize(("source", "words"), [
    ("mysql://ann:secret@host/bank?table=t", r"sqlite, duckdb and postgresql addresses, got mysql://ann@host/bank"),
    ("postgresql://ann:secret@host/bank", r"postgresql://ann@host/bank needs a table: append '\?table=NAME'"),
    ("sqlite://bank.db?table=t", "write sqlite:///bank.db with three slashes"),
    ("sqlite:///nowhere.db?table=t", "there is no such file"), ("nowhere.csv?header=no", "there is no such file"),
    ("https://host/edges.csv", "sqlite, duckdb and postgresql addresses, got https://host"),
])  # fmt: skip
def test_a_place_that_cannot_be_opened_is_refused_in_one_sentence(source: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        load(source, nodes=NODES)
    assert "secret" not in str(caught.value)


def test_options_that_a_file_does_not_have_are_refused(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text(CSV)
    EDGES.write_parquet(tmp_path / "edges.parquet")
    for source, words in (
        ("edges.csv?table=x", "table=x is not an option of this kind of file, which has only header and encoding"),
        ("edges.parquet?header=no", "header=no is not an option of this kind of file, which has no options"),
        ("edges.csv?header=maybe", "header must be yes or no, got 'maybe'"),
    ):
        refuses(words, f"{tmp_path}/{source}", nodes=NODES)


def test_a_file_with_a_question_mark_in_its_name_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "edges.csv?header=no").write_text("x")
    assert resolve(str(tmp_path / "edges.csv?header=no")) == tmp_path / "edges.csv?header=no"


def test_the_command_line_reads_them_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from hopsight.cli import main

    (tmp_path / "edges.txt").write_text("ann bo\ncy dee\n")
    (tmp_path / "people.csv").write_bytes("id;age\nann;1\nbo;2\ncy;3\ndee;5\n".encode("utf-16"))
    source, out = str(tmp_path / "edges.txt"), str(tmp_path / "g.npz")
    options = ["--nodes", str(tmp_path / "people.csv"), "--no-header"]
    assert main(["convert", source, out, *options]) == 0
    assert "4 nodes, 2 undirected edges" in capsys.readouterr().out
    assert main(["convert", f"{source}?table=x", out, "--force"]) == 2
    assert capsys.readouterr().err.startswith("hopsight: cannot read ")


def test_json_lines(tmp_path: Path) -> None:
    (tmp_path / "edges.jsonl").write_text("\n".join(json.dumps(row) for row in EDGES.to_dicts()))
    (tmp_path / "people.ndjson").write_text("\n".join(json.dumps(row) for row in NODES.to_dicts()) + "\n\n")
    check(tmp_path / "edges.jsonl", tmp_path / "people.ndjson")
    for text in ("{", "[1, 2]\n", "7\n", '{"a": 1}\n{"b"\n', '{"a":' + "[" * 100_000):
        (tmp_path / "edges.jsonl").write_text(text)
        refuses("it is not JSON Lines: every line must be one JSON object", tmp_path / "edges.jsonl", nodes=NODES)


def test_hidden_folders_are_not_searched(tmp_path: Path) -> None:
    """A virtual environment beside the data has Parquet files of its own."""
    frame = pl.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    for folder in (tmp_path, tmp_path / "part=1", tmp_path / ".venv" / "lib", tmp_path / "_delta_log"):
        folder.mkdir(parents=True, exist_ok=True)
        frame.write_parquet(folder / "edges.parquet")
    found = [file.relative_to(tmp_path).as_posix() for file in files(str(tmp_path))]
    assert found == ["edges.parquet", "part=1/edges.parquet"]


def test_cells_with_an_error_of_a_spreadsheet_count_as_empty_after_a_notice(tmp_path: Path) -> None:
    """Four of twelve amounts are an error, and one is #N/A, which is how spreadsheets say that there is none."""
    path = tmp_path / "errors.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["payer", "payee", "amount"])
        for row, (payer, payee) in enumerate(PAIRS, 1):
            sheet.write_row(row, 0, [payer, payee, row])
            if row < 6:
                sheet.write_formula(row, 2, "=1/0", None, "#DIV/0!" if row < 5 else "#N/A")
    graph, notices = loaded(path)
    assert "4 cells of errors.xlsx with an error, such as #DIV/0! in C2, count as empty." in notices
    assert np.nansum(graph.events.amount) == sum(range(6, 13))
