"""Table files: headers, separators, compression, quoting, and files that are not tables."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from hopsight.io.files import reading
from hopsight.io.frames import open_table, write_frame


def read(path: Path, text: tuple[str, ...] = ()) -> dict[str, list[object]]:
    with reading(path), open_table(path) as table:
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
    monkeypatch.setattr("hopsight.io.files.UNPACKED_FREE", 2**20)
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
