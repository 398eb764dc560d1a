"""Parquet in a separate process: the same columns, and a file that crashes the reader does no other harm."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hopsight.io import reader
from hopsight.io.reader import TableReader

FRAME = pl.DataFrame(
    {"id": ["a", None, "é"], "x": [1.5, None, -2.0], "flag": [True, False, None], "v": [[1.0], [2.0, 3.0], []]}
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    FRAME.write_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_columns_come_unchanged_in_the_requested_order(path: Path) -> None:
    with TableReader("parquet", [path]) as file:
        assert file.names() == ("id", "x", "flag", "v")
        assert file.read(["v", "id"]).equals(FRAME.select("v", "id"))
        assert file.read(["flag", "x"]).equals(FRAME.select("flag", "x"))


def test_columns_that_come_in_several_pieces_are_put_together(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "PIECE", 60)
    with TableReader("parquet", [path]) as file:
        assert file.read(FRAME.columns).equals(FRAME)


def test_an_implausible_number_of_rows_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"x": pl.repeat(0, 5_000_000, eager=True)}).write_parquet(tmp_path / "bomb.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 100_000
    with (
        TableReader("parquet", [tmp_path / "bomb.parquet"]) as file,
        pytest.raises(ValueError, match="claim a graph of 360,000,"),
    ):
        file.read(["x"])  # 64 bytes a row and 8 a number


def test_other_files_are_refused_without_starting_a_process(tmp_path: Path, path: Path) -> None:
    content = path.read_bytes()
    for damaged in (b"id,x\na,1\n", content[:-1], b"QAR1" + content[4:], b"PAR1", b"PAR1\xff\xff\xff\x7fPAR1"):
        (tmp_path / "bad.parquet").write_bytes(damaged)
        file = TableReader("parquet", [tmp_path / "bad.parquet"])
        with pytest.raises(ValueError, match="not a Parquet"):
            file.__enter__()
        assert file._process is None


def test_a_damaged_footer_is_reported_in_one_sentence(tmp_path: Path, path: Path) -> None:
    content = bytearray(path.read_bytes())
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[footer + 10 : footer + 50] = b"\xff" * 40
    (tmp_path / "bad.parquet").write_bytes(content)
    with TableReader("parquet", [tmp_path / "bad.parquet"]) as file, pytest.raises(ValueError, match=r"^.+$"):
        file.read(["id", "x"])


def test_a_reader_that_dies_means_a_damaged_file(path: Path) -> None:
    with TableReader("parquet", [path]) as file:
        file._process.kill()
        file._process.wait()
        with pytest.raises(ValueError, match="damaged"):
            file.names()


def test_a_reader_that_hangs_is_killed(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reader, "SECONDS", 0.2)
    sleeper = tmp_path / "sleeper.py"
    sleeper.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(reader, "__file__", str(sleeper))
    with TableReader("parquet", [path]) as file, pytest.raises(ValueError, match="damaged"):
        file.names()


def test_a_workbook_that_claims_a_huge_sheet_does_no_harm(tmp_path: Path) -> None:
    import zipfile

    pl.DataFrame({"source": [1], "target": [2]}).write_excel(tmp_path / "good.xlsx")
    with zipfile.ZipFile(tmp_path / "good.xlsx") as good, zipfile.ZipFile(tmp_path / "bomb.xlsx", "w") as bomb:
        for member in good.namelist():
            content = good.read(member)
            if member.endswith("sheet1.xml"):  # cells in opposite corners of the largest sheet
                cell = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
                content = content.replace(b"</sheetData>", cell)
            bomb.writestr(member, content)
    with TableReader("excel", [tmp_path / "bomb.xlsx"]) as file, pytest.raises(ValueError, match=r"^it (is|needs) .+$"):
        file.names()


def test_a_view_of_a_hostile_database_reads_no_other_file_and_ends(tmp_path: Path) -> None:
    import sqlite3

    import duckdb

    (tmp_path / "secret.csv").write_text("password\nxyzzy\n")
    with duckdb.connect(str(tmp_path / "b.duckdb")) as connection:
        connection.execute(f"CREATE VIEW t AS SELECT * FROM read_csv('{tmp_path}/secret.csv')")
    with (
        TableReader("duckdb", [tmp_path / "b.duckdb"]) as file,
        pytest.raises(ValueError, match="Permission") as caught,
    ):
        file.names()
    assert "xyzzy" not in str(caught.value)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS a, i AS b FROM n"
    connection_ = sqlite3.connect(tmp_path / "b.db")
    connection_.execute(f"CREATE VIEW t AS {endless}")
    connection_.close()
    with TableReader("sqlite", [tmp_path / "b.db"]) as file, pytest.raises(ValueError, match="200,000 rows"):
        file.names()


def test_reading_a_database_with_a_log_writes_nothing_beside_it(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "bank.db"
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("CREATE TABLE t (a, b)")
    writer.execute("INSERT INTO t VALUES (1, 2)")
    writer.commit()
    with TableReader("sqlite", [path]) as file:  # the row is in the log of the open connection only
        assert file.read(["a", "b"]).rows() == [(1, 2)]
    writer.close()
    with TableReader("sqlite", [path]) as file:
        assert file.read(["a", "b"]).rows() == [(1, 2)]
    assert [each.name for each in tmp_path.iterdir()] == ["bank.db"]


def test_a_missing_package_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pl.DataFrame({"source": [1], "target": [2]}).write_excel(tmp_path / "b.xlsx")
    (tmp_path / "fastexcel.py").write_text("raise ModuleNotFoundError('No module', name='fastexcel')")
    monkeypatch.syspath_prepend(tmp_path)
    with TableReader("excel", [tmp_path / "b.xlsx"]) as file, pytest.raises(ValueError, match=r"hopsight\[excel\]"):
        file.names()


def test_the_reader_ends_with_its_file(path: Path) -> None:
    with TableReader("parquet", [path]) as file:
        process = file._process
        assert process.poll() is None
    assert process.poll() is not None
