"""Folders and patterns of text and Arrow files are read as one table, as Parquet files are."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from hopsight.io.sources import files
from hopsight.loading import files_of, load

EDGES = pl.DataFrame(
    {"source": ["ann", "bo", "cy", "di", "ann"], "target": ["bo", "cy", "di", "ann", "cy"], "amount": [1, 2, 3, 4, 5]}
)


def loaded(path: Path | str) -> tuple[dict[tuple[str, str], float], list[str]]:
    """Return the amount of each edge and the notices."""
    notices: list[str] = []
    graph = load(path, notices=notices)
    ends = [tuple(graph.node_ids[pair].tolist()) for pair in graph.edges.T]
    place = graph.edge_attribute_names.index("amount")
    return dict(zip(ends, graph.edge_attributes[:, place].tolist(), strict=True)), notices


AMOUNTS = {("ann", "bo"): 1.0, ("ann", "cy"): 5.0, ("ann", "di"): 4.0, ("bo", "cy"): 2.0, ("cy", "di"): 3.0}


def write_csv(folder: Path) -> None:
    EDGES.head(2).write_csv(folder / "2024-01.csv")
    EDGES.tail(3).with_columns(pl.col("amount") + 0.0).write_csv(folder / "2024-02.csv", separator=";")
    (folder / "_SUCCESS").touch()
    (folder / ".2024-02.csv.crc").write_bytes(b"crc")
    (folder / "README.txt").write_text("Exported on Monday.")


def write_jsonl(folder: Path) -> None:
    EDGES.head(2).write_ndjson(folder / "a.jsonl")
    EDGES.tail(3).with_columns(note=pl.lit("x")).write_ndjson(folder / "b.jsonl")


@pytest.mark.parametrize("write", [write_csv, write_jsonl])
def test_a_folder_of_text_files_is_one_table(write: object, tmp_path: Path) -> None:
    write(tmp_path)  # type: ignore[operator]
    assert loaded(tmp_path)[0] == AMOUNTS
    assert len(files_of(str(tmp_path))) == 2


def test_a_pattern_of_text_files_is_one_table(tmp_path: Path) -> None:
    write_csv(tmp_path)
    assert loaded(f"{tmp_path}/2024-*.csv")[0] == AMOUNTS
    assert [file.name for file in files(f"{tmp_path}/2024-*.csv")] == ["2024-01.csv", "2024-02.csv"]
    with pytest.raises(ValueError, match=r"no Parquet, Arrow or text file matches"):
        load(f"{tmp_path}/2025-*.csv")


def test_folders_may_name_a_column(tmp_path: Path) -> None:
    for year, rows in (("2023", EDGES.head(2)), ("2024", EDGES.tail(3))):
        (tmp_path / f"year={year}").mkdir()
        rows.write_csv(tmp_path / f"year={year}" / "part.csv")
    graph = load(tmp_path, notices=[], derive="sent", category=["year"])
    assert "year sent, share 2023" in graph.attribute_names


def test_what_all_files_have_in_common_is_said_once(tmp_path: Path) -> None:
    for number in range(3):
        EDGES.with_columns(pl.col("source") + "é").write_csv(tmp_path / f"{number}.csv", include_header=False)
    graph_notices: list[str] = []
    load(tmp_path, notices=graph_notices)
    assert sum("has no header" in notice for notice in graph_notices) == 1


def test_codes_with_leading_zeros_in_any_file_are_categories(tmp_path: Path) -> None:
    EDGES.with_columns(zip=pl.lit("1234")).write_csv(tmp_path / "a.csv")
    EDGES.with_columns(zip=pl.lit("0123")).write_csv(tmp_path / "b.csv")
    assert "zip sent, share 0123" not in load(tmp_path, notices=[], derive="structure").attribute_names
    notices: list[str] = []
    load(tmp_path, notices=notices)
    assert "Column 'zip' holds codes with leading zeros; they are read as categories." in notices


def test_files_with_other_columns_and_empty_folders_are_refused(tmp_path: Path) -> None:
    EDGES.write_csv(tmp_path / "edges.csv")
    EDGES.rename({"amount": "age"}).write_csv(tmp_path / "nodes.csv")
    with pytest.raises(ValueError, match=r"its parts differ: column 'age' is not in both edges\.csv and nodes\.csv"):
        load(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="is a folder without Parquet, Arrow, CSV or JSON Lines files"):
        load(tmp_path / "empty")


def test_a_folder_of_results_is_no_table_and_hides_no_name_of_the_catalog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "demo").mkdir()
    EDGES.write_csv(tmp_path / "demo" / "edges.csv")
    monkeypatch.chdir(tmp_path)
    assert load("demo").n_nodes > 4
    assert load("demo/", notices=[]).n_nodes == 4
    (tmp_path / "demo" / "run.json").write_text(json.dumps({}))
    with pytest.raises(ValueError, match="is a folder without"):
        load("./demo")


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_arrow_files_and_streams(compression: str, tmp_path: Path) -> None:
    EDGES.write_ipc(tmp_path / "edges.feather", compression=compression)  # type: ignore[arg-type]
    EDGES.write_ipc_stream(tmp_path / "stream.arrow", compression=compression)  # type: ignore[arg-type]
    assert loaded(tmp_path / "edges.feather")[0] == AMOUNTS
    assert loaded(tmp_path / "stream.arrow")[0] == AMOUNTS


def test_a_feather_file_of_pandas_with_its_index_and_categories(tmp_path: Path) -> None:
    frame = EDGES.to_pandas()
    frame["source"] = frame["source"].astype("category")
    frame.to_feather(tmp_path / "edges.feather")
    assert loaded(tmp_path / "edges.feather")[0] == AMOUNTS


def test_a_folder_of_arrow_files(tmp_path: Path) -> None:
    EDGES.head(2).write_ipc(tmp_path / "1.arrow")
    EDGES.tail(3).write_ipc(tmp_path / "2.arrow")
    assert loaded(tmp_path)[0] == AMOUNTS
    EDGES.tail(3).write_ipc_stream(tmp_path / "2.arrow")
    assert loaded(tmp_path)[0] == AMOUNTS
    EDGES.rename({"amount": "age"}).write_ipc(tmp_path / "3.arrow")
    with pytest.raises(ValueError, match=r"its parts differ: column 'age' is not in both 1\.arrow and 3\.arrow"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hello, world", "it is damaged, or not an Arrow or Feather file"),
        (b"ARROW1\0\0" + b"\xff" * 50, "it is damaged, or not an Arrow or Feather file"),
        (b"ARROW1\0\0" + b"\x7f" * 50 + b"ARROW1", "it is damaged"),
        (b"\xff\xff\xff\xff" + b"\x7f" * 50, "it is damaged"),
        (b"FEA1" + b"\0" * 50, "it is of the first version of Feather; write it again"),
    ],
)
def test_damaged_arrow_files_are_refused_in_one_sentence(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "edges.arrow").write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        load(tmp_path / "edges.arrow")
    assert "\n" not in str(caught.value)


def test_an_arrow_file_may_have_signs_of_patterns_in_its_name(tmp_path: Path) -> None:
    for name in ("a[1]*.arrow", "a1x.arrow"):
        rows = {"source": ["a", "b"], "target": ["b", "c" if "*" in name else "d"]}
        pl.DataFrame(rows).write_ipc(tmp_path / name)
    assert set(load(tmp_path / "a[1]*.arrow").node_ids) == {"a", "b", "c"}
