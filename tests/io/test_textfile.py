"""Text tables that other programs break on: quotes, NUL bytes, huge cells, ragged rows, odd names and ids."""

from __future__ import annotations

import os
import time
from pathlib import Path

import polars as pl
import pytest

from hopsight.io.frames import open_table, write_frame
from hopsight.loading import load

NODES = pl.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0]})


def cells(path: Path, content: bytes | str, **options: object) -> dict[str, list[object]]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    table = open_table(path, notices=[], **options)  # type: ignore[arg-type]
    return table.read(table.names, text=()).to_dict(as_series=False)


def test_names_with_quotes_and_separators_are_restored(tmp_path: Path) -> None:
    frame = pl.DataFrame({'say "hi"': [1, 2], "a,b": ["x", "y"], "two\nlines": [0.5, 1.5], "": ["p", "q"]})
    for name in ("t.csv", "t.tsv", "t.csv.gz"):
        write_frame(frame, tmp_path / name)
        table = open_table(tmp_path / name)
        assert table.names == tuple(frame.columns)
        assert table.read(table.names, text=()).equals(frame)
        assert table.read(['say "hi"'], text=['say "hi"']).to_series().to_list() == ["1", "2"]


def test_single_nul_bytes_stay_in_cells(tmp_path: Path) -> None:
    assert cells(tmp_path / "t.csv", "id,note\na\0b,plain text\n") == {"id": ["a\0b"], "note": ["plain text"]}


def test_short_rows_are_filled_and_long_ones_refused(tmp_path: Path) -> None:
    assert cells(tmp_path / "t.csv", "id,x,y\na,1\nb,2,3\n") == {"id": ["a", "b"], "x": [1, 2], "y": [None, 3]}
    with pytest.raises(ValueError, match="more cells than its header; put cells that contain the separator in quotes"):
        cells(tmp_path / "t.csv", "id,x\na,1\nb,2,3,4\n")


def test_a_quote_that_is_never_closed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one of its quotes is never closed"):
        cells(tmp_path / "t.csv", 'id,x\n"a,1\nb,2\n')


def test_a_huge_cell_is_read(tmp_path: Path) -> None:
    found = cells(tmp_path / "t.csv", "id,x\n" + "y" * 5_000_000 + ",1\n")
    assert found["x"] == [1]
    with pytest.raises(ValueError, match="more than 16 million characters"):
        cells(tmp_path / "t.csv", "id,x\n" + "y" * 20_000_000 + ",1\n")


def test_comments_between_rows_and_cells_with_a_hash(tmp_path: Path) -> None:
    assert cells(tmp_path / "t.csv", "# by hand\nid,x\na,1\n# later\n#b,2\n") == {"id": ["a"], "x": [1]}
    assert cells(tmp_path / "t.csv", "tag,x\n#a,1\n#b,2\n") == {"tag": ["#a", "#b"], "x": [1, 2]}


def test_quoted_cells_of_a_space_separated_table(tmp_path: Path) -> None:
    assert cells(tmp_path / "t.txt", 'id note\na "two words"\nb one\n') == {
        "id": ["a", "b"],
        "note": ["two words", "one"],
    }


def test_one_column_with_spaces_is_no_space_separated_table(tmp_path: Path) -> None:
    assert cells(tmp_path / "t.csv", "full name\nAnn Lee\nBo de Vries\n") == {"full name": ["Ann Lee", "Bo de Vries"]}
    (tmp_path / "t.csv").write_text("id\na\nb\n")
    with pytest.raises(ValueError, match="an edge list needs two columns, but there is only one"):
        load(tmp_path / "t.csv", nodes=NODES)


def test_a_comma_inside_quotes_does_not_decide_the_separator(tmp_path: Path) -> None:
    assert cells(tmp_path / "t.csv", '"a,b";c\n"x,y";1\n"z";2\n') == {"a,b": ["x,y", "z"], "c": [1, 2]}


def test_pipes_and_devices_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "edges.csv")
    start = time.monotonic()
    for source in (tmp_path / "edges.csv", f"{tmp_path}/edges.csv?header=no", "/dev/zero", "/dev/stdin"):
        with pytest.raises(ValueError, match=r"not a regular file|cannot tell the format|neither a file"):
            load(source, nodes=NODES)
    with pytest.raises(ValueError, match="not a regular file"):
        load(pl.DataFrame({"s": ["a"], "t": ["b"]}), nodes=tmp_path / "edges.csv")
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("content", ["", "source,target\n", "\n\n", "# only a remark\n", "source,target"])
def test_a_table_without_edges_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "e.csv").write_text(content)
    with pytest.raises(ValueError, match=r"cannot read .*e\.csv: it (is empty|has a header but no edges|has no rows)$"):
        load(tmp_path / "e.csv", nodes=NODES)


def test_ids_that_are_floats_dates_or_not_ascii(tmp_path: Path) -> None:
    nodes = pl.DataFrame({"id": ["2024-01-01", "1.5", "漢字 😀"], "x": [1, 2, 3]})
    (tmp_path / "e.csv").write_text("source,target\n2024-01-01,1.5\n1.5,漢字 😀\n", encoding="utf-8")
    assert load(tmp_path / "e.csv", nodes=nodes, notices=[]).edges.tolist() == [[0, 1], [1, 2]]


def test_all_nodes_alike_have_nothing_to_learn(tmp_path: Path) -> None:
    notices: list[str] = []
    edges = pl.DataFrame({"source": ["a"], "target": ["b"]})
    load(edges, nodes=pl.DataFrame({"id": ["a", "b"], "x": [1.0, 1.0]}), notices=notices)
    assert any("nothing to learn" in notice for notice in notices)
