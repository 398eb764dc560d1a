"""Parquet in a process of its own: the same columns, and a file that kills its reader kills nothing else."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hopsight.io import parquet
from hopsight.io.parquet import ParquetFile

FRAME = pl.DataFrame(
    {"id": ["a", None, "é"], "x": [1.5, None, -2.0], "flag": [True, False, None], "v": [[1.0], [2.0, 3.0], []]}
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    FRAME.write_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_columns_come_as_they_are_in_the_order_asked_for(path: Path) -> None:
    with ParquetFile(path) as file:
        assert file.names() == ("id", "x", "flag", "v")
        assert file.read(["v", "id"]).equals(FRAME.select("v", "id"))
        assert file.read(["flag", "x"]).equals(FRAME.select("flag", "x"))


def test_columns_that_come_in_several_pieces_are_put_together(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "PIECE", 60)
    with ParquetFile(path) as file:
        assert file.read(FRAME.columns).equals(FRAME)


def test_more_rows_than_such_a_file_should_have_are_refused(tmp_path: Path) -> None:
    pl.DataFrame({"x": pl.repeat(0, 5_000_000, eager=True)}).write_parquet(tmp_path / "bomb.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 100_000
    with ParquetFile(tmp_path / "bomb.parquet") as file, pytest.raises(ValueError, match="claim a network of 360,000,"):
        file.read(["x"])  # 64 bytes a row and 8 a number


def test_no_parquet_is_refused_without_starting_anything(tmp_path: Path, path: Path) -> None:
    content = path.read_bytes()
    for damaged in (b"id,x\na,1\n", content[:-1], b"QAR1" + content[4:], b"PAR1", b"PAR1\xff\xff\xff\x7fPAR1"):
        (tmp_path / "bad.parquet").write_bytes(damaged)
        file = ParquetFile(tmp_path / "bad.parquet")
        with pytest.raises(ValueError, match="no Parquet"):
            file.__enter__()
        assert file._process is None


def test_a_damaged_footer_is_one_sentence(tmp_path: Path, path: Path) -> None:
    content = bytearray(path.read_bytes())
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[footer + 10 : footer + 50] = b"\xff" * 40
    (tmp_path / "bad.parquet").write_bytes(content)
    with ParquetFile(tmp_path / "bad.parquet") as file, pytest.raises(ValueError, match=r"^.+$"):
        file.read(["id", "x"])


def test_the_death_of_the_reader_is_a_damaged_file(path: Path) -> None:
    with ParquetFile(path) as file:
        file._process.kill()
        file._process.wait()
        with pytest.raises(ValueError, match="damaged"):
            file.names()


def test_a_reader_that_hangs_is_ended(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(parquet, "SECONDS", 0.2)
    sleeper = tmp_path / "sleeper.py"
    sleeper.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(parquet, "__file__", str(sleeper))
    with ParquetFile(path) as file, pytest.raises(ValueError, match="damaged"):
        file.names()


def test_the_reader_ends_with_its_file(path: Path) -> None:
    with ParquetFile(path) as file:
        process = file._process
        assert process.poll() is None
    assert process.poll() is not None
