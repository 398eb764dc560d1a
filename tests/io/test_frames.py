"""Table files: headers, separators, compression, quoting, and files that are not tables."""

from __future__ import annotations

import gzip
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import polars as pl
import pytest

from hopsight.io.frames import open_table, write_frame
from hopsight.io.sources import reading, resolve


def read(path: Path, text: tuple[str, ...] = ()) -> dict[str, list[object]]:
    with reading(path):
        table = open_table(path)
        return table.read(table.names, text=text).to_dict(as_series=False)


def write(folder: Path, content: bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        b"id,x\na,1\nb,2\n",
        b"id;x\na;1\nb;2",
        b"id\tx\r\na\t1\r\nb\t2\r\n",
        b"id|x\na|1\nb|2\n\n\n",
        b'\xef\xbb\xbf"id","x"\n"a",1\n"b",2\n',
    ],
)
def test_separators_line_ends_and_byte_order_marks_of_other_programs(tmp_path: Path, content: bytes) -> None:
    assert read(write(tmp_path, content)) == {"id": ["a", "b"], "x": [1, 2]}
    packed = write(tmp_path, gzip.compress(content), "t.csv.gz")
    assert read(packed) == {"id": ["a", "b"], "x": [1, 2]}
    assert read(write(tmp_path, gzip.compress(content), "misnamed.csv")) == {"id": ["a", "b"], "x": [1, 2]}


def test_a_first_line_of_numbers_is_not_a_header(tmp_path: Path) -> None:
    assert read(write(tmp_path, b"7,0.5\n8,1.5\n")) == {"column1": [7, 8], "column2": [0.5, 1.5]}


def test_text_columns_are_never_read_as_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, b"id,x\n007,1\n008,2\n")
    assert read(path, text=("id",)) == {"id": ["007", "008"], "x": [1, 2]}
    bare = write(tmp_path, b"007,1\n008,2\n")
    assert read(bare, text=("column1",)) == {"column1": ["007", "008"], "column2": [1, 2]}


def test_an_inferred_type_that_later_rows_contradict_is_dropped(tmp_path: Path) -> None:
    rows = "\n".join(f"{i},{i}" for i in range(500))
    frame = read(write(tmp_path, f"id,x\n{rows}\n500,oops\n".encode()))
    assert frame["x"][:2] == ["0", "1"]
    assert frame["x"][-1] == "oops"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"id,id\n1,2\n", "two of its columns are called 'id'"),
        (b"id,x\na,1,5\nb,2\n", "more cells than its header"),
        (b"id,x\n\xe9\x01,1\n", "not a text table"),
        (b"\x00\x01\x02\x03", "not a text table"),
        (b"\x28\xb5\x2f\xfd zstd", "damaged|truncated"),
        (b"\x78\x9c zlib", "unpack it first"),
        (b"\n\n \n", "no rows"),
        (b"# nothing else\n", "no rows"),
        (b",".join(b"c%d" % i for i in range(100_001)), "100,001 columns"),
        (b'"' + b"x" * 200_000 + b'",y\n1,2\n', "not the header"),
        (b"\x1f\x8b\x08\x00 no gzip", "damaged"),
    ],
)
def test_a_file_that_is_not_a_table_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read(write(tmp_path, content))


def test_a_gzip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hopsight.io.sources.UNPACKED_FREE", 2**20)
    bomb = gzip.compress(b"A" * 20 * 2**20)
    with pytest.raises(ValueError, match="unpack"):
        read(write(tmp_path, bomb, "bomb.csv.gz"))


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.parquet"])
def test_text_and_numbers_are_restored(tmp_path: Path, name: str) -> None:
    values = {"id": ["=1+1", '"a"', "b\nc", "d,\t;", "", "é"], "x": [0.1, 1e300, 5e-324, -1 / 3, 0.0, 7.0]}
    write_frame(pl.DataFrame(values), tmp_path / name)
    assert read(tmp_path / name, text=("id",)) == values
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_text_in_a_csv_file_is_never_a_formula_and_is_read_back(tmp_path: Path) -> None:
    values = {"=id": ["=1+1", "@x", "'tis", "\ufeff =1", "＝1", "-5", "a"], "＋x": [1.0, -2.0, 3.0, 4.0, 5.0, 6.0, 7.0]}
    notices: list[str] = []
    write_frame(pl.DataFrame(values), tmp_path / "t.csv", notices)
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines[:4] == ['"hopsight_guarded_=id","\'＋x"', '"\'=1+1",1.0', '"\'@x",-2.0', "\"''tis\",3.0"]
    assert all(line.startswith(("\"'", '"a"')) for line in lines[1:])
    assert read(tmp_path / "t.csv", text=("=id",)) == values
    assert len(notices) == 1 and "in t.csv" in notices[0]


def test_an_apostrophe_of_somebody_elses_table_is_kept(tmp_path: Path) -> None:
    assert read(write(tmp_path, b"id,x\n'=1,1\n'tis,2\n", "t.csv"))["id"] == ["'=1", "'tis"]


def test_a_name_with_a_wildcard_is_one_file(tmp_path: Path) -> None:
    write(tmp_path, b"id,x\na,1\n", "a.csv")
    assert read(write(tmp_path, b"id,x\nstar,1\n", "*.csv"))["id"] == ["star"]
    write_frame(pl.DataFrame({"id": ["star"]}), tmp_path / "[a].parquet")
    assert read(tmp_path / "[a].parquet") == {"id": ["star"]}


TYPED = pl.DataFrame(
    {"id": ["a", None, "é"], "x": [1.5, None, -2.0], "flag": [True, False, None], "v": [[1.0], [2.0, 3.0], []]}
)


def test_columns_of_parquet_come_unchanged_in_the_requested_order(tmp_path: Path) -> None:
    TYPED.write_parquet(tmp_path / "t.parquet")
    table = open_table(tmp_path / "t.parquet")
    assert table.names == ("id", "x", "flag", "v")
    assert table.read(["v", "id"], text=()).equals(TYPED.select("v", "id"))


def test_an_implausible_number_of_rows_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"x": pl.repeat(0, 5_000_000, eager=True)}).write_parquet(tmp_path / "bomb.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 100_000
    with pytest.raises(ValueError, match="claim a graph of 360,000,"):  # 64 bytes a row and 8 a number
        read(tmp_path / "bomb.parquet")


def test_a_damaged_parquet_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    TYPED.write_parquet(tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    scribbled = content[: footer + 10] + b"\xff" * 40 + content[footer + 50 :]
    for bad in (b"id,x\na,1\n", content[:-1], b"QAR1" + content[4:], b"PAR1", b"PAR1\xff\xff\xff\x7fPAR1", scribbled):
        with pytest.raises(ValueError, match=r"damaged, or not a Parquet file.*$"):
            read(write(tmp_path, bad, "bad.parquet"))


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
        with pytest.raises(ValueError, match=r"more than \d+,000 rows|more than [\d,]+ rows"):
            read(tmp_path / name)


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
    with pytest.raises(ValueError, match=r"hopsight\[excel\]"):
        read(tmp_path / "b.xlsx")


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


def test_files_of_a_folder_have_the_types_of_all(tmp_path: Path) -> None:
    for year, shift in ((2023, 0), (2024, 0.5)):
        (tmp_path / "t" / f"year={year}").mkdir(parents=True)
        rows_of().with_columns(pl.col("paid") + shift).write_csv(tmp_path / "t" / f"year={year}" / "t.csv")
    found = in_blocks(tmp_path / "t")
    assert found.schema["paid"] == pl.Float64
    assert found["year"].unique().sort().to_list() == ["2023", "2024"]


@pytest.mark.parametrize("last", ['{"id": "z", "paid": "much"}', '{"id": 7, "more": true}', '{"id": "z", "paid": 0.5}'])
def test_json_lines_have_the_types_of_all_lines(tmp_path: Path, last: str) -> None:
    lines = "".join(f'{{"id": "n{n}", "note": "a \\"b\\" c", "paid": {n}}}\n' for n in range(300))
    (tmp_path / "t.jsonl").write_text(lines + last + "\n\n")
    assert in_blocks(tmp_path / "t.jsonl").height == 301


def test_nested_json_becomes_columns(tmp_path: Path) -> None:
    lines = "".join(f'{{"from": {{"id": {n}}}, "to": 1}}\n' for n in range(300))
    (tmp_path / "p.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    assert in_blocks(tmp_path / "p.jsonl.gz").columns == ["from.id", "to"]
