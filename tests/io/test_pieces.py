"""Large text files in pieces: the cells, types and refusals of a whole read, wherever a piece ends."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from hopsight.io import pieces as module
from hopsight.io.frames import Table, open_table, write_frame
from hopsight.io.pieces import pieces
from hopsight.io.sources import resolve


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE", 700)


def in_blocks(table: Table, names: tuple[str, ...], text: tuple[str, ...] = ()) -> pl.DataFrame:
    blocks = list(table.blocks(names, 50, text=text))
    assert len(blocks) > 3
    assert all(block.height <= 50 for block in blocks)
    return pl.concat(blocks)  # refuses types that differ


def check_same(path: object, text: tuple[str, ...] = ()) -> pl.DataFrame:
    with open_table(resolve(path), notices=[], by_blocks=True) as table:
        found = in_blocks(table, table.names, text)
    with open_table(resolve(path), notices=[]) as table:
        assert found.equals(table.read(table.names, text=text))
        assert found.schema == table.read(table.names, text=text).schema
    return found


def table_of(n_rows: int = 400) -> pl.DataFrame:
    rows = range(n_rows)
    return pl.DataFrame(
        {"id": [f"n{n % 7}" for n in rows], "note": ['a "b"\nc, d' if n % 3 else "x" for n in rows], "paid": list(rows)}
    )


def test_pieces_end_with_a_record_and_make_up_the_text() -> None:
    text = b'a,"b\n\nc"\n' * 300
    found = list(pieces(text))
    assert b"".join(found) == text
    assert len(found) > 3
    assert all(piece.endswith(b'c"\n') for piece in found)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz"])
def test_blocks_are_the_whole_table(tmp_path: Path, name: str) -> None:
    write_frame(table_of(), tmp_path / name)
    assert check_same(tmp_path / name).equals(table_of())
    assert check_same(tmp_path / name, text=("paid",)).schema["paid"] == pl.String


def test_without_a_header_with_comments_empty_lines_and_short_rows(tmp_path: Path) -> None:
    lines = "".join(f"n{n},{n},{n / 4}\n# a note\n\n" + f"m{n},5\n" * (n % 20 == 0) for n in range(200))
    (tmp_path / "t.csv").write_text("# by hand\n" + lines)
    assert check_same(tmp_path / "t.csv").height == 210


@pytest.mark.parametrize("cell", ["1.5", "much", "99999999999999999999"])
def test_a_late_row_changes_the_type_as_in_a_whole_read(tmp_path: Path, cell: str) -> None:
    table_of().with_columns(pl.col("paid").cast(pl.String)).vstack(
        pl.DataFrame({"id": ["z"], "note": ["x"], "paid": [cell]})
    ).write_csv(tmp_path / "t.csv")
    assert check_same(tmp_path / "t.csv")["paid"][-1] == cell


def test_files_of_a_folder_have_the_types_of_all(tmp_path: Path) -> None:
    for year, shift in ((2023, 0), (2024, 0.5)):
        (tmp_path / "t" / f"year={year}").mkdir(parents=True)
        table_of().with_columns(pl.col("paid") + shift).write_csv(tmp_path / "t" / f"year={year}" / "t.csv")
    found = check_same(tmp_path / "t")
    assert found.schema["paid"] == pl.Float64
    assert found["year"].unique().sort().to_list() == ["2023", "2024"]


@pytest.mark.parametrize(
    ("row", "message"), [("a,x,1,2\n", "row 401 .*more cells than its header"), ('"a,x,1\n', "never closed")]
)
def test_a_bad_row_is_refused_in_the_words_of_a_whole_read(tmp_path: Path, row: str, message: str) -> None:
    table_of().with_columns(note=pl.lit("x")).write_csv(tmp_path / "t.csv")
    with (tmp_path / "t.csv").open("a") as file:
        file.write(row)
    with open_table(tmp_path / "t.csv") as table, pytest.raises(ValueError, match=message):
        list(table.blocks(table.names, 50, text=()))


@pytest.mark.parametrize("last", ['{"id": "z", "paid": "much"}', '{"id": 7, "more": true}', '{"id": "z", "paid": 0.5}'])
def test_json_lines_have_the_types_of_all_lines(tmp_path: Path, last: str) -> None:
    lines = "".join(f'{{"id": "n{n}", "note": "a \\"b\\" c", "paid": {n}}}\n' for n in range(300))
    (tmp_path / "t.jsonl").write_text(lines + last + "\n\n")
    assert check_same(tmp_path / "t.jsonl").height == 301


def test_nested_json_and_packed_json_are_read_as_a_whole(tmp_path: Path) -> None:
    lines = "".join(f'{{"from": {{"id": {n}}}, "to": 1}}\n' for n in range(300))
    (tmp_path / "t.jsonl").write_text(lines)
    (tmp_path / "p.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    for name in ("t.jsonl", "p.jsonl.gz"):
        assert check_same(tmp_path / name).columns == ["from.id", "to"]
