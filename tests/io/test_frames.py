"""Tables of every kind: text, Parquet, Arrow, databases, folders of files and data frames."""

import gzip
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hopsight.io.frames import frame_of, open_table, write_frame
from hopsight.io.sources import reading, resolve
from hopsight.loading import files_of, load
from hopsight.runs.request import Source
from postgres_server import postgres_server

from .cases import MANY, put, refuses


def read(path: Path, text: tuple[str, ...] = ()) -> dict[str, list[object]]:
    with reading(path):
        table = open_table(path)
        return table.read(table.names, text=text).to_dict(as_series=False)


def write(folder: Path, content: bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


TWO = {"id": ["a", "b"], "x": [1, 2]}
TEXTS = {
    "commas": (b"id,x\na,1\nb,2\n", TWO),
    "semicolons and no last line end": (b"id;x\na;1\nb;2", TWO),
    "tabs and line ends of Windows": (b"id\tx\r\na\t1\r\nb\t2\r\n", TWO),
    "bars and blank lines": (b"id|x\na|1\nb|2\n\n\n", TWO),
    "a byte order mark and quotes": (b'\xef\xbb\xbf"id","x"\n"a",1\n"b",2\n', TWO),
    "an apostrophe of somebody else": (b"id,x\n'=1,1\n'tis,2\n", {"id": ["'=1", "'tis"], "x": [1, 2]}),
    "two columns of one name, and two without": (
        b"id,x,x,,\na,1,2,,\n", {"id": ["a"], "x": [1], "x_2": [2], "": [None], "_2": [None]}),
    "cells that a spreadsheet keeps as they are": (
        b'id;x\n="01";="1.5"\n="02";7\n', {"id": ["01", "02"], "x": ["1.5", "7"]}),
    "a single NUL byte": (b"id,note\na\0b,plain text\n", {"id": ["a\0b"], "note": ["plain text"]}),
    "a short row": (b"id,x,y\na,1\nb,2,3\n", {"id": ["a", "b"], "x": [1, 2], "y": [None, 3]}),
    "quotes between spaces": (
        b'id note\na "two words"\nb one\n', {"id": ["a", "b"], "note": ["two words", "one"]}),
    "a huge cell": (b"id,x\n" + b"y" * 5_000_000 + b",1\n", {"id": ["y" * 5_000_000], "x": [1]}),
}  # fmt: skip


@pytest.mark.parametrize(("content", "cells"), TEXTS.values(), ids=TEXTS)
def test_text_of_other_programs_is_read(tmp_path: Path, content: bytes, cells: dict[str, object]) -> None:
    packed = gzip.compress(content)
    for name, written in (("t.csv", content), ("t.csv.gz", packed), ("misnamed.csv", packed)):
        assert read(write(tmp_path, written, name)) == cells


@pytest.mark.parametrize(("content", "words"), [
    (b"id,x\n\xe9\x01,1\n", "not a text table"),
    (b"\x00\x01\x02\x03", "not a text table"), (b"\x28\xb5\x2f\xfd zstd", "damaged|truncated"),
    (b"\x78\x9c zlib", "unpack it first"), (b"\n\n \n", "no rows"), (b"# nothing else\n", "no rows"),
    (b",".join(b"c%d" % i for i in range(100_001)), "100,001 columns"),
    (b'"' + b"x" * 200_000 + b'",y\n1,2\n', "not the header"), (b"\x1f\x8b\x08\x00 no gzip", "damaged"),
    (b"id,x\na,1\nb,2,3,4\n", "more cells than its header; put cells that contain the separator in quotes"),
    (b"id,x\n" + b"y" * 20_000_000 + b",1\n", "more than 16 million characters"),
], ids=range(11))  # fmt: skip
def test_a_file_that_is_not_a_table_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    refuses(words, write(tmp_path, content), by=read)


def test_text_in_a_csv_file_is_never_a_formula_and_is_read_back(tmp_path: Path) -> None:
    values = {"=id": ["=1+1", "@x", "'tis", "\ufeff =1", "＝1", "-5", "a"], "＋x": [1.0, -2.0, 3.0, 4.0, 5.0, 6.0, 7.0]}
    notices: list[str] = []
    write_frame(pl.DataFrame(values), tmp_path / "t.csv", notices)
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines[:4] == ['"hopsight_guarded_=id","\'＋x"', '"\'=1+1",1.0', '"\'@x",-2.0', "\"''tis\",3.0"]
    assert all(line.startswith(("\"'", '"a"')) for line in lines[1:])
    assert read(tmp_path / "t.csv", text=("=id",)) == values
    assert len(notices) == 1 and "in t.csv" in notices[0]


def test_a_name_with_a_wildcard_is_one_file(tmp_path: Path) -> None:
    write(tmp_path, b"id,x\na,1\n", "a.csv")
    assert read(write(tmp_path, b"id,x\nstar,1\n", "*.csv"))["id"] == ["star"]
    write_frame(pl.DataFrame({"id": ["star"]}), tmp_path / "[a].parquet")
    assert read(tmp_path / "[a].parquet") == {"id": ["star"]}


TYPED = pl.DataFrame(
    {"id": ["a", None, "é"], "x": [1.5, None, -2.0], "flag": [True, False, None], "v": [[1.0], [2.0, 3.0], []]}
)


def test_a_damaged_parquet_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    TYPED.write_parquet(tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    scribbled = content[: footer + 10] + b"\xff" * 40 + content[footer + 50 :]
    for bad in (b"id,x\na,1\n", content[:-1], b"PAR1", b"PAR1\xff\xff\xff\x7fPAR1", scribbled):
        refuses(r"damaged, or not a Parquet file.*$", write(tmp_path, bad, "bad.parquet"), by=read)


def test_a_view_of_a_hostile_database_reads_no_other_file_and_ends(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("password\nxyzzy\n")
    with duckdb.connect(str(tmp_path / "b.duckdb")) as connection:
        connection.execute(f"CREATE VIEW t AS SELECT * FROM read_csv('{tmp_path}/secret.csv')")
    with pytest.raises(ValueError, match="Permission") as caught:
        read(tmp_path / "b.duckdb")
    assert "xyzzy" not in str(caught.value)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS a, i AS b FROM n"
    with closing(sqlite3.connect(tmp_path / "b.db")) as connection:
        connection.execute(f"CREATE VIEW t AS {endless}")
    with duckdb.connect(str(tmp_path / "c.duckdb")) as connection:
        connection.execute("CREATE VIEW t AS SELECT range AS a FROM range(1000000000000)")
    for name in ("b.db", "c.duckdb"):
        refuses(r"more than \d+,000 rows|more than [\d,]+ rows", tmp_path / name, by=read)


def test_a_query_creates_no_file(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "b.db")) as connection:
        connection.execute("CREATE TABLE t (a, b)")
    refuses("too many attached databases", f"{tmp_path}/b.db?query=ATTACH '{tmp_path}/new.db' AS n")
    assert not (tmp_path / "new.db").exists()


def test_reading_a_database_with_a_log_writes_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "bank.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE t (a, b)")
        writer.execute("INSERT INTO t VALUES (1, 2)")
        writer.commit()
        assert read(path) == {"a": [1], "b": [2]}  # the row is in the log of the open connection only
    assert read(path) == {"a": [1], "b": [2]}
    assert [each.name for each in tmp_path.iterdir()] == ["bank.db"]


def test_a_missing_package_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pl.DataFrame({"source": [1], "target": [2]}).write_excel(tmp_path / "b.xlsx")
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    refuses(r"hopsight\[excel\]", tmp_path / "b.xlsx", by=read)


def rows_of(n_rows: int = 400) -> pl.DataFrame:
    rows = range(n_rows)
    return pl.DataFrame(
        {"id": [f"n{n % 7}" for n in rows], "note": ['a "b"\nc, d' if n % 3 else "x" for n in rows], "paid": list(rows)}
    )


def in_blocks(source: object, text: tuple[str, ...] = ()) -> pl.DataFrame:
    """Return the blocks of a table, which must be those of a whole read."""
    table = open_table(resolve(source), notices=[])
    blocks = list(table.blocks(table.names, 50, text=text))
    assert all(block.height <= 50 for block in blocks)
    found = pl.concat(blocks)  # refuses types that differ
    assert found.equals(table.read(table.names, text=text))
    return found


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.parquet"])
def test_blocks_are_the_whole_table(tmp_path: Path, name: str) -> None:
    write_frame(rows_of(), tmp_path / name)
    assert in_blocks(tmp_path / name).equals(rows_of())


@pytest.mark.parametrize("cell", ["1.5", "much", "99999999999999999999"])
def test_a_late_row_changes_the_type_as_in_a_whole_read(tmp_path: Path, cell: str) -> None:
    late = pl.DataFrame({"id": ["z"], "note": ["x"], "paid": [cell]})
    rows_of().with_columns(pl.col("paid").cast(pl.String)).vstack(late).write_csv(tmp_path / "t.csv")
    assert in_blocks(tmp_path / "t.csv")["paid"][-1] == cell


@pytest.mark.parametrize("last", ['{"id": "z", "paid": "much"}', '{"id": 7, "more": true}', '{"id": "z", "paid": 0.5}'])
def test_json_lines_have_the_types_of_all_lines(tmp_path: Path, last: str) -> None:
    lines = "".join(f'{{"id": "n{n}", "note": "a \\"b\\" c", "paid": {n}}}\n' for n in range(300))
    (tmp_path / "t.jsonl").write_text(lines + last + "\n\n")
    assert in_blocks(tmp_path / "t.jsonl").height == 301


def test_pandas_needs_no_pyarrow_and_is_not_imported_for_others() -> None:
    program = (
        "import sys; sys.modules['pyarrow'] = None; import pandas as pd; "
        "from hopsight.io.frames import frame_of; "
        "times = pd.to_datetime(['2024-01-01', None]); "
        "table = pd.DataFrame({'a': ['x', None], 'b': [1, 2], 't': times, 's': times.astype('datetime64[s]')}); "
        "frame = frame_of(table); assert frame['s'].equals(frame['t']), frame; "
        "print(frame.drop('s').rows())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[('x', 1, datetime.datetime(2024, 1, 1, 0, 0)), (None, 2, None)]"
    program = (
        "import sys, polars; from hopsight.io.frames import frame_of; frame_of(polars.DataFrame({'a': [1]}).lazy()); "
        "assert 'pandas' not in sys.modules and 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_without_narwhals_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(ValueError, match=r"needs the package narwhals; run pip install 'hopsight\[frames\]'"):
        frame_of(SimpleNamespace(columns=["a"], __dataframe__=None))
    monkeypatch.undo()
    refuses("cannot be read as a table", SimpleNamespace(columns=["a"], __dataframe__=None), by=frame_of)


def test_run_records_keep_no_password() -> None:
    address = "postgresql://ann:secret@host/bank?table="
    source = Source(path=f"{address}pay", nodes=f"{address}p")
    assert "secret" not in repr(source.repeatable())
    assert source.repeatable().path == "postgresql://ann@host/bank?table=pay"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with postgres_server(tmp_path_factory.mktemp("postgres")) as address:
        yield address


@pytest.fixture(scope="module")
def bank(server: str) -> str:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        for statement in (
            "CREATE SCHEMA bank",
            'CREATE TABLE bank."Payments" (payer bigint, payee bigint, amount numeric(10, 2), at timestamptz)',
            'INSERT INTO bank."Payments" VALUES (7, 8, 1.50, now()), (8, 9, 20, now()), (9, 10, 3.25, now())',
            "CREATE TABLE people (id bigint, age numeric(5, 1), city text, member boolean, born date)",
            "INSERT INTO people VALUES (7, 31.5, 'Oslo', true, '1990-01-02'), (8, 42, 'Bern', false, '1980-01-02'), "
            "(9, 27, 'Oslo', true, '1999-01-02'), (10, 50, 'Zürich', false, '1970-01-02')",
        ):
            cursor.execute(statement)
        connection.commit()
    return server


@pytest.mark.postgres
def test_tables_and_queries_of_a_server(bank: str) -> None:
    for edges, nodes in (
        (f"{bank}?table=bank.Payments", f"{bank}?table=people"),
        (f'{bank}?query=SELECT payer, payee FROM bank."Payments"', (bank, "SELECT * FROM people WHERE age > 0")),
        (f"{bank}?connect_timeout=5&table=bank.Payments", f"{bank}?table=public.people"),
    ):
        graph = load(edges, nodes=nodes, notices=[])
        assert graph.node_ids.tolist() == [7, 8, 9, 10]
        assert graph.edges.tolist() == [[0, 1, 2], [1, 2, 3]]
        assert {"age", "city=Zürich", "member"} <= set(graph.attribute_names)
        assert graph.attributes[:, graph.attribute_names.index("age")].tolist() == [31.5, 42, 27, 50]


@pytest.mark.postgres
def test_a_connection_to_a_server(bank: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(bank) as connection:
        edges, nodes = (connection, 'SELECT * FROM bank."Payments"'), (connection, "SELECT * FROM people")
        assert load(edges, nodes=nodes, notices=[]).n_edges == 3


@pytest.mark.postgres
@pytest.mark.parametrize(("options", "words"), [
    ("?table=nowhere", "nowhere"), ("?query=SELEKT 1", "syntax error"),
    ("?query=DROP TABLE people", "read-only transaction"),
])  # fmt: skip
def test_what_the_server_refuses_is_one_sentence(bank: str, options: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        load(f"{bank}{options}", nodes=f"{bank}?table=people")
    assert "secret" not in str(caught.value) and "\n" not in str(caught.value)
    assert str(caught.value).startswith("cannot read postgresql://ann@127.0.0.1")


@pytest.mark.postgres
def test_a_server_that_is_not_there(bank: str) -> None:
    with pytest.raises(ValueError, match="refused") as caught:
        load("postgresql://ann:secret@127.0.0.1:1/bank?table=x", nodes=f"{bank}?table=people")
    assert "secret" not in str(caught.value)


NODES = pl.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0]})


def test_pipes_and_devices_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "edges.csv")
    start = time.monotonic()
    for source in (tmp_path / "edges.csv", f"{tmp_path}/edges.csv?header=no", "/dev/zero", "/dev/stdin"):
        refuses(r"not a regular file|cannot tell the format|neither a file", source, nodes=NODES)
    refuses("not a regular file", pl.DataFrame({"s": ["a"], "t": ["b"]}), nodes=tmp_path / "edges.csv")
    assert time.monotonic() - start < 5


def test_all_nodes_alike_have_nothing_to_learn(tmp_path: Path) -> None:
    notices: list[str] = []
    edges = pl.DataFrame({"source": ["a"], "target": ["b"]})
    load(edges, nodes=pl.DataFrame({"id": ["a", "b"], "x": [1.0, 1.0]}), notices=notices)
    assert any("nothing to learn" in notice for notice in notices)
    refuses("nothing to learn from: no edge joins two different nodes", edges.with_columns(target="source"))
    refuses("a node table needs a column of ids", edges, nodes=pl.DataFrame())


EDGES = pl.DataFrame(
    {"source": ["ann", "bo", "cy", "di", "ann"], "target": ["bo", "cy", "di", "ann", "cy"], "amount": [1, 2, 3, 4, 5]}
)
AMOUNTS = {("ann", "bo"): 1.0, ("ann", "cy"): 5.0, ("ann", "di"): 4.0, ("bo", "cy"): 2.0, ("cy", "di"): 3.0}


def amounts(path: Path) -> dict[tuple[str, str], float]:
    """Return the amount of each edge."""
    graph = load(path, notices=[])
    ends = map(tuple, graph.node_ids[graph.edges.T].tolist())
    place = graph.edge_attribute_names.index("amount")
    return dict(zip(ends, graph.edge_attributes[:, place].tolist(), strict=True))


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_folder_of_text_files_is_one_table(kind: str, tmp_path: Path) -> None:
    first, others = EDGES.head(2), EDGES.tail(3)
    if kind == "csv":
        first.write_csv(tmp_path / "2024-01.csv")
        others.with_columns(pl.col("amount") + 0.0).write_csv(tmp_path / "2024-02.csv", separator=";")
        (tmp_path / "_SUCCESS").touch()
        (tmp_path / ".2024-02.csv.crc").write_bytes(b"crc")
        (tmp_path / "README.txt").write_text("Exported on Monday.")
    else:
        first.write_ndjson(tmp_path / "a.jsonl")
        others.with_columns(note=pl.lit("x")).write_ndjson(tmp_path / "b.jsonl")
    assert amounts(tmp_path) == AMOUNTS and len(files_of(str(tmp_path))) == 2


def test_folders_may_name_a_column(tmp_path: Path) -> None:
    for year, rows in (("2023", EDGES.head(2)), ("2024", EDGES.tail(3))):
        (tmp_path / f"year={year}").mkdir()
        rows.write_csv(tmp_path / f"year={year}" / "part.csv")
    graph = load(tmp_path, notices=[], derive="sent", category=["year"])
    assert "year sent, share 2023" in graph.attribute_names


def test_a_folder_of_results_hides_no_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "demo").mkdir()
    EDGES.write_csv(tmp_path / "demo" / "edges.csv")
    monkeypatch.chdir(tmp_path)
    assert load("demo").n_nodes > 4 and load("demo/", notices=[]).n_nodes == 4
    (tmp_path / "demo" / "run.json").write_text(json.dumps({}))
    refuses("is a folder without", "./demo")


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_arrow_files_and_streams(compression: str, tmp_path: Path) -> None:
    EDGES.write_ipc(tmp_path / "edges.feather", compression=compression)  # type: ignore[arg-type]
    EDGES.write_ipc_stream(tmp_path / "stream.arrow", compression=compression)  # type: ignore[arg-type]
    assert amounts(tmp_path / "edges.feather") == amounts(tmp_path / "stream.arrow") == AMOUNTS


@pytest.mark.parametrize(("content", "message"), [
    (b"hello, world", "it is damaged, or not an Arrow or Feather file"),
    (b"ARROW1\0\0" + b"\xff" * 50, "it is damaged, or not an Arrow or Feather file"),
    (b"ARROW1\0\0" + b"\x7f" * 50 + b"ARROW1", "it is damaged"), (b"\xff\xff\xff\xff" + b"\x7f" * 50, "it is damaged"),
    (b"FEA1" + b"\0" * 50, "it is of the first version of Feather; write it again"),
])  # fmt: skip
def test_damaged_arrow_files_are_refused_in_one_sentence(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "edges.arrow").write_bytes(content)
    refuses(message, tmp_path / "edges.arrow")


def test_what_a_folder_holds_besides_is_named_and_an_empty_file_of_it_too(tmp_path: Path) -> None:
    put(tmp_path / "may.csv", "from,to,amount", "{a},{b},{i}")
    EDGES.write_ndjson(tmp_path / "june.json")
    (tmp_path / "old").mkdir()
    EDGES.write_parquet(tmp_path / "old" / "april.parquet")
    notices: list[str] = []
    assert load(tmp_path, notices=notices).n_nodes == 6
    assert f"Read 1 file of {tmp_path}; not read: june.json, old/april.parquet." in notices
    (tmp_path / "july.csv").touch()
    refuses(r"july\.csv", tmp_path)


def test_parts_of_a_folder_whose_types_differ_are_one_table(tmp_path: Path) -> None:
    days = ["2024-01-01", "2024-01-02"]
    for name, amounts in (("jan", [10, 20]), ("feb", [10.5, 20.25])):
        frame = pl.DataFrame({"from": ["A", "B"], "to": ["B", "C"], "amount": amounts, "on": days})
        frame.write_parquet(tmp_path / f"{name}.parquet")
    assert sorted(load(tmp_path, notices=[]).events.amount.tolist()) == [10, 10.5, 20, 20.25]
    pl.DataFrame({"from": ["A"], "to": ["C"], "amount": [[1]], "on": ["x"]}).write_parquet(tmp_path / "mar.parquet")
    refuses(r"its parts differ: column 'amount' holds .* in feb.parquet and .* in ", tmp_path)


SOURCES, TARGETS = [[pair[end] for pair in MANY] for end in (0, 1)]
COUNT = range(len(MANY))
FRAMES = {
    "pandas categories, nullable numbers and time zones": pd.DataFrame(
        {"payer": pd.Categorical(map(str, SOURCES)), "payee": pd.Categorical(map(str, TARGETS)),
         "amount": pd.array([None if i % 9 == 0 else i for i in COUNT], dtype="Int64"),
         "when": pd.date_range("2024-01-01", periods=48, freq="7h", tz="Europe/Oslo")}),
    "pandas decimals": pd.DataFrame(
        {"sender": SOURCES, "receiver": TARGETS, "amount": [Decimal(i) / 7 for i in COUNT],
         "when": [pd.Timestamp("2024-01-01") + pd.Timedelta(days=i) for i in COUNT]}),
    "pandas levels": pd.DataFrame(
        {"amount": [i + 0.5 for i in COUNT], "when": pd.date_range("2024-01-01", periods=48)},
        index=pd.MultiIndex.from_arrays([SOURCES, TARGETS], names=["source", "target"])),
    "polars decimals, lists and structs": pl.DataFrame(
        {"src": SOURCES, "dst": TARGETS, "amount": [Decimal(f"{i}.25") for i in COUNT],
         "when": [date(2024, 1, 1) + timedelta(days=i) for i in COUNT], "tags": [["a"]] * 48,
         "place": [{"lat": 1.0, "lon": 2.0}] * 48}),
    "arrow dictionaries": pa.table(
        {"from": pa.array(map(str, SOURCES)).dictionary_encode(), "to": pa.array(map(str, TARGETS)).dictionary_encode(),
         "amount": pa.array([i % 7 for i in COUNT], pa.uint8()), "raw": pa.array([b"z"] * 48),
         "when": pa.array([i * 10**12 for i in COUNT], pa.timestamp("ns", "UTC"))}),
    "arrow decimals of 256 bits": pa.table(
        {"from": SOURCES, "to": TARGETS, "amount": pa.array([Decimal(i) / 4 for i in COUNT], pa.decimal256(50, 2)),
         "when": pa.array([i * 10**12 for i in COUNT], pa.timestamp("ns"))}),
}  # fmt: skip


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames_with_every_kind_of_column(frame: object) -> None:
    graph = load(frame, notices=[])
    found = {frozenset(map(int, pair)) for pair in graph.node_ids[graph.edges.T].tolist()}
    assert found == {frozenset(pair) for pair in MANY if pair[0] != pair[1]}
    assert graph.edge_attribute_names == ("amount",) and graph.edge_time is not None


def test_a_duration_is_an_amount_and_no_time() -> None:
    frame = pl.DataFrame({"src": SOURCES, "dst": TARGETS, "took": [timedelta(seconds=i * 2) for i in COUNT]})
    graph = load(frame, notices=[])
    assert graph.edge_time is None and graph.edge_attribute_names == ("took",)
    assert set(graph.edge_attributes.ravel() % 1) <= {0.0, 0.5}


def test_bytes_that_are_no_text_are_hexadecimal_digits(tmp_path: Path) -> None:
    frame = pl.DataFrame(MANY, schema=["from", "to"], orient="row")
    frame = frame.with_columns(amount=pl.Series(COUNT), hash=pl.Series([bytes([255, i % 2]) for i in COUNT]))
    frame.write_parquet(tmp_path / "a.parquet")
    for source in (frame, tmp_path / "a.parquet"):
        load(source, notices=(notices := []))
        assert "Other columns describe edges: 'hash' ('ff00', 'ff01')." in notices
