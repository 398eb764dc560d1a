"""Long tables are Parquet files, and every command reads either kind."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hopsight.io.npz import write_npz
from hopsight.runs import results as tables
from hopsight.runs.detect import detect, rerun, score
from hopsight.runs.finished import compare, explain
from hopsight.runs.request import Request, Source
from hopsight.runs.results import read_table, table_of, write_table

FAST = {"n_epochs": "6", "burn_in": "3", "min_class_pairs": "10"}
STRANGE = pl.DataFrame({"node": ["=1+1", "'tis", "-2"], "rank": [1, 2, 3], "name": ["@sum", None, "Ada"]})


@pytest.mark.parametrize("csv", [True, False])
def test_ids_are_read_back_as_they_are_in_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, csv: bool) -> None:
    monkeypatch.setattr(tables, "MOST_CSV_ROWS", 2)
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 2)
    path = write_table(tmp_path / "scores.csv", STRANGE, csv=csv)
    assert path.name == ("scores.csv" if csv else "scores.parquet")
    assert table_of(tmp_path, "scores") == path
    assert read_table(path).rows() == STRANGE.rows()
    if csv:
        assert path.read_text(encoding="utf-8").splitlines() == [
            "node,rank,name", "'=1+1,1,'@sum", "''tis,2,", "'-2,3,Ada",
        ]  # fmt: skip


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the folders of the same run with CSV tables and with Parquet tables."""
    import hopsight as hs

    folder = tmp_path_factory.mktemp("tables")
    write_npz(hs.make_graph(120, n_edges=400, n_attributes=4, seed=0), folder / "graph.npz")
    source = Source(path=str(folder / "graph.npz"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "MOST_CSV_ROWS", 50)
        for name in ("csv", "parquet"):
            request = Request(detector="cross_hcm", source=source, settings=FAST, repeat=2, csv=name == "csv", top=2)
            detect(request, folder / name)
    return folder / "csv", folder / "parquet"


def test_a_long_table_is_a_parquet_file_unless_csv_is_asked_for(both: tuple[Path, Path]) -> None:
    as_csv, as_parquet = both
    for name in ("scores", "edges"):
        assert (as_csv / f"{name}.csv").is_file() and not (as_csv / f"{name}.parquet").exists()
        assert (as_parquet / f"{name}.parquet").is_file() and not (as_parquet / f"{name}.csv").exists()
        read = pl.read_csv(as_csv / f"{name}.csv"), pl.read_parquet(as_parquet / f"{name}.parquet")
        assert read[0].columns == read[1].columns
        assert read[0]["rank"].to_list() == read[1]["rank"].to_list()
        assert read[0]["score"].to_list() == pytest.approx(read[1]["score"].to_list(), rel=1e-12)
    assert "scores.parquet" in (as_parquet / "report.html").read_text(encoding="utf-8")


def test_every_command_reads_both_kinds(both: tuple[Path, Path]) -> None:
    found = compare(*both)
    assert found.correlation == pytest.approx(1.0) and not found.moves
    first = read_table(table_of(both[0], "scores"))["node"][0]
    explained = [explain(folder, first).score for folder in both]  # repeated fits: scores come from the table
    assert explained[0] == pytest.approx(explained[1], rel=1e-12)


@pytest.mark.parametrize("csv", [True, False])
def test_a_long_table_of_scores_is_csv_if_asked_for(
    both: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, csv: bool
) -> None:
    monkeypatch.setattr(tables, "MOST_CSV_ROWS", 50)
    source = Source(path=str(both[0] / "graph.npz"))
    score(both[0], source, tmp_path / "scored", csv=csv)
    assert [(tmp_path / "scored" / f"{name}.csv").is_file() for name in ("scores", "edges")] == [csv, csv]
    rerun(tmp_path / "scored" / "run.json", tmp_path / "again")
    assert (tmp_path / "again" / "edges.csv").is_file() == csv


def test_a_new_run_replaces_the_tables_of_the_other_kind(saved_graph: Path, tmp_path: Path) -> None:
    source = Source(path=str(saved_graph))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "MOST_CSV_ROWS", 5)
        detect(Request(detector="lof", source=source), tmp_path / "run")
    assert (tmp_path / "run" / "scores.parquet").exists()
    detect(Request(detector="lof", source=source), tmp_path / "run")
    assert not (tmp_path / "run" / "scores.parquet").exists() and (tmp_path / "run" / "scores.csv").exists()


@pytest.mark.parametrize("name", ["scores.csv", "scores.parquet"])
def test_brackets_in_the_name_of_a_folder_are_no_pattern(tmp_path: Path, name: str) -> None:
    for folder, node in (("run[1]", "a"), ("run1", "b")):
        (tmp_path / folder).mkdir()
        table = pl.DataFrame({"node": [node], "rank": [1]})
        write = table.write_csv if name.endswith("csv") else table.write_parquet
        write(tmp_path / folder / name)
    assert read_table(tmp_path / "run[1]" / name)["node"].to_list() == ["a"]


@pytest.mark.parametrize("name", ["scores.csv", "scores.parquet"])
def test_a_damaged_table_is_one_sentence(tmp_path: Path, name: str) -> None:
    damaged = {"scores.csv": b"\0\xff" * 50, "scores.parquet": b"PAR1" + bytes(100) + b"\x10\0\0\0PAR1"}
    (tmp_path / name).write_bytes(damaged[name])
    with pytest.raises(ValueError, match=rf"^cannot read .*{name}: ") as caught:
        read_table(tmp_path / name)
    assert "\n" not in str(caught.value)
