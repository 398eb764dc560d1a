"""``detect --engine spark``: from files to the folder, and refusals in the words of one machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hopsight.cli import main
from hopsight.io import write
from hopsight.spark import run as on_spark
from hopsight.spark.session import missing_parts
from toys import two_groups

QUICK = (
    "n_epochs=8",
    "burn_in=4",
    "n_samples=4",
    "n_folds=2",
    "n_repeats=1",
    "n_units=8",
    "mlp_units=8",
    "min_class_pairs=20",
)
pytestmark = pytest.mark.timeout(900)
needs_spark = pytest.mark.skipif(missing_parts() is not None, reason=str(missing_parts()))


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    """Return an edge list and a node table as CSV."""
    write(two_groups(1), tmp_path / "g.csv")
    return tmp_path / "g.csv", tmp_path / "g.nodes.csv"


def detect(tables: tuple[Path, Path], out: Path, *options: str) -> int:
    settings = [part for setting in QUICK for part in ("--set", setting)]
    engine = ("--engine", "spark", "--master", "local[2]", "--quiet")
    return main(["detect", str(tables[0]), "--nodes", str(tables[1]), "--out", str(out), *engine, *settings, *options])


@needs_spark
def test_the_folder_has_the_tables_of_one_machine(
    tables: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    assert detect(tables, out, "--label", "hopsight_label", "--top", "3") == 0
    assert "The 3 most anomalous of 80 nodes" in capsys.readouterr().out
    scores = pl.read_csv(out / "scores.csv")
    assert scores.columns == ["node", "rank", "score", "flagged", "judged", "degree", "ahp", "iv", "hav"]
    assert scores["rank"].to_list() == list(range(1, 81))
    assert scores["node"].to_list() == pl.read_parquet(out / "scores.parquet/*.parquet").sort("rank")["node"].to_list()
    edges = pl.read_csv(out / "edges.csv")
    assert edges.columns == ["source", "target", "rank", "hop", "probability", "variance"]
    assert edges.height == two_groups(1).n_edges
    record = json.loads((out / "run.json").read_text())
    assert record["stages"]["judge"]["shuffle_bytes"] > 0
    assert record["graph"]["n_edges"] == edges.height
    assert record["n_flagged"] == scores["flagged"].sum() == 8
    asked: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(on_spark, "detect", lambda request, folder, **options: asked.append((request, folder, options)))
        assert main(["rerun", str(out / "run.json"), "--quiet"]) == 0
    ((request, folder, options),) = asked
    assert (folder, options["master"], request.engine) == (tmp_path / "out-rerun", "local[2]", "spark")
    assert request.source.path == str(tables[0]) and request.settings["n_epochs"] == "8"
    settings = [part for setting in QUICK for part in ("--set", setting)]
    here = [
        "--nodes",
        str(tables[1]),
        "--out",
        str(tmp_path / "here"),
        "--label",
        "hopsight_label",
        "--quiet",
        *settings,
    ]
    assert main(["detect", str(tables[0]), *here]) == 0
    alone = pl.read_csv(tmp_path / "here" / "scores.csv")
    both = scores.join(alone, on="node", suffix="_alone")
    assert both.height == 80
    for name in ("score", "ahp", "iv", "hav"):  # in one block even the rounding is that of one machine
        assert both[name].to_list() == pytest.approx(both[f"{name}_alone"].to_list(), rel=1e-4, abs=1e-4)


@needs_spark
def test_a_edge_to_nowhere_is_refused_in_the_words_of_one_machine(
    tables: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tables[0].open("a") as file:
        file.write("nobody,somebody\n")
    alone = main(["detect", str(tables[0]), "--nodes", str(tables[1]), "--out", str(tmp_path / "a"), "--quiet"])
    message = capsys.readouterr().err
    assert (alone, detect(tables, tmp_path / "b")) == (2, 2)
    assert capsys.readouterr().err == message
    assert "'nobody' is in an edge but has no row" in message
    assert not (tmp_path / "b").exists()


def test_what_the_engine_cannot_do_is_refused(
    tables: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert detect(tables, tmp_path / "out", "--directed") == 2
    assert "without direction" in capsys.readouterr().err
    assert detect(tables, tmp_path / "out", "--detector", "hcm") == 2
    assert "the spark engine runs cross_hcm" in capsys.readouterr().err
    assert main(["detect", "--engine", "spark", "--out", str(tmp_path / "out")]) == 2
    assert "give both" in capsys.readouterr().err
