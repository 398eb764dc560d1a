"""``detect --engine spark``: from files to the run folder, and refusals in the words of the local engine."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy.stats import spearmanr

from hopsight.cli import main
from hopsight.detectors.storage import load_detector
from hopsight.graph import AttributedGraph
from hopsight.hcm.evidence import KINDS
from hopsight.io import write
from hopsight.spark import run as on_spark
from hopsight.spark.session import missing_requirement
from hopsight.system.cells import unguarded
from spark_stages import CommandRun, quick_options
from toys import two_groups

pytestmark = pytest.mark.timeout(900)
needs_spark = pytest.mark.skipif(missing_requirement() is not None, reason=str(missing_requirement()))


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, Path]:
    write(two_groups(1), tmp_path / "g.csv")
    return tmp_path / "g.csv", tmp_path / "g.nodes.csv"


def detect(small: tuple[Path, Path], out: Path, *options: str) -> int:
    engine = ("--engine", "spark", "--master", "local[1]", "--quiet")
    return main(["detect", str(small[0]), "--nodes", str(small[1]), "--out", str(out), *engine, *options])


def test_the_folder_has_the_tables_of_the_local_engine_and_what_it_learns_from_labels(
    run: CommandRun, tables: tuple[Path, Path], graph: AttributedGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = run.folder
    assert "The 3 most anomalous of 150 nodes" in run.printed
    scores = pl.read_csv(out / "scores.csv")
    own = ["ahp", "iv", "hav", *KINDS, "decided_by", "anomaly_probability", "rank_before"]
    assert scores.columns == ["node", "rank", "score", "flagged", "judged", "degree", *own]
    assert scores["rank"].to_list() == list(range(1, 151))
    nodes = pl.read_parquet(out / "scores.parquet/*.parquet").sort("rank")["node"].to_list()
    assert [unguarded(node) for node in scores["node"]] == nodes
    edges = pl.read_csv(out / "edges.csv")
    values = ["hop", "probability", "variance", "surprise", "score", "flagged", "reason"]
    assert edges.columns == ["source", "target", "rank", *values] and edges.height == graph.n_edges
    assert pl.read_csv(out / "groups.csv").columns == ["group", "kind", "members", "density", "score", "shared"]
    record = json.loads((out / "run.json").read_text())
    assert record["seconds"]["judge"] > 0 and record["graph"]["n_edges"] == edges.height
    assert record["n_flagged"] == scores["flagged"].sum()
    asked: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(
            on_spark, "detect_files", lambda request, folder, **options: asked.append((request, folder, options))
        )
        assert main(["rerun", str(out / "run.json"), "--quiet"]) == 0
    ((request, folder, options),) = asked
    assert (folder, options["master"], request.engine) == (out.with_name("out-rerun"), "local[1]", "spark")
    assert request.source.path == str(tables[0]) and request.settings["n_epochs"] == "40"
    local_out, again_out = tmp_path / "local", tmp_path / "again"
    assert main(["detect", str(tables[0]), "--nodes", str(tables[1]), "--out", str(local_out), *quick_options()]) == 0
    both = scores.join(pl.read_csv(local_out / "scores.csv"), on="node", suffix="_local")
    assert both.height == 150 and 2 * len(scores.columns) == len(both.columns) + 1
    for name in ("ahp", "iv", "hav", *KINDS):
        assert both[name].to_list() == pytest.approx(both[f"{name}_local"].to_list(), rel=1e-3, abs=1e-3)
    for name in ("score", "anomaly_probability"):
        assert both[name].to_list() == pytest.approx(both[f"{name}_local"].to_list(), rel=0.01, abs=0.01)
    assert record["learned"] == json.loads((local_out / "run.json").read_text())["learned"]
    for engine, folder in (("spark", out), ("local", local_out)):
        command = ["score", str(folder), str(tables[0]), "--nodes", str(tables[1]), "--out", str(again_out / engine)]
        assert main([*command, "--quiet"]) == 0
    again, other = (pl.read_csv(again_out / engine / "scores.csv").sort("node") for engine in ("spark", "local"))
    for name in ("ahp", "iv", "hav", *KINDS):
        assert again[name].to_list() == pytest.approx(scores.sort("node")[name].to_list(), rel=1e-3, abs=1e-3)
    local = scores.join(pl.read_csv(local_out / "scores.csv"), on="node", suffix="_local").sort("node")
    assert other["anomaly_probability"].to_list() == pytest.approx(local["anomaly_probability_local"].to_list())
    unaware = load_detector(local_out / "model")  # a model from Spark does not know whom its labels are about
    unaware.learned_ = unaware.learned_.without_labels()
    judged = dict(zip(graph.node_ids.tolist(), unaware.judge(graph).probability_.tolist(), strict=True))
    assert spearmanr(again["anomaly_probability"], [judged[unguarded(node)] for node in again["node"]])[0] > 0.999
    local = pl.read_csv(local_out / "edges.csv")
    assert edges.columns == local.columns
    both = edges.join(local, on=["source", "target"], suffix="_local")
    assert both.height == edges.height and both["reason"].to_list() == both["reason_local"].to_list()


def refusals(small: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Return the messages with which both engines refuse the small, leaving nothing behind."""
    local = ["--nodes", str(small[1]), "--out", str(tmp_path / "local"), "--quiet"]
    assert main(["detect", str(small[0]), *local]) == 2
    message = capsys.readouterr().err
    assert detect(small, tmp_path / "spark") == 2 and not (tmp_path / "spark").exists()
    return message, capsys.readouterr().err


@needs_spark
def test_the_engine_refuses_an_edge_to_an_unknown_node(
    small: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The local engine ranks such graphs without the unknown node."""
    edges = pl.read_csv(small[0]).select("source", "target", pl.lit("ok").alias("state"))
    more = pl.DataFrame([("noone", "1-16", "Void"), ("nobody", "1-16", "ok")], schema=edges.schema, orient="row")
    edges.vstack(more).write_csv(small[0])
    assert detect(small, tmp_path / "spark", "--ignore", "state", "--ignore", "state=void") == 2
    assert "'nobody' is in an edge but has no row" in capsys.readouterr().err
    assert not (tmp_path / "spark").exists()


@needs_spark
def test_both_engines_refuse_a_doubtful_comma_in_the_same_words(
    small: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = pl.read_csv(small[1])
    nodes.with_columns(price=pl.Series([f"{number},500" for number in range(nodes.height)])).write_csv(small[1])
    local, spark = refusals(small, tmp_path, capsys)
    assert spark == local and "column 'price', row 1: '0,500' has a comma" in local


@pytest.mark.parametrize(("option", "message"), [
    (("--detector", "hcm"), "the Spark engine runs cross_hcm only, got 'hcm'"),
    (("--resume",), "--resume is for the local engine"),
    (("--repeat", "2"), "--repeat is for the local engine: run the Spark engine with several seeds"),
    (("--learn-from", __file__), "--learn-from names a file: the Spark engine learns from a column"),
    (("--weight-column", "amount"), "the Spark engine has no weights, times, names or types"),
    (("--derive", "sent"), "the Spark engine derives no attributes; pass --derive none"),
    (("--memory-limit", "8GB"), "--memory-limit is for the local engine"),
])  # fmt: skip
def test_options_that_the_engine_does_not_support_are_refused(
    small: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], option: tuple[str, ...], message: str
) -> None:
    small[0].unlink()  # nothing is read before the refusal
    assert detect(small, tmp_path / "out", *option) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_an_edge_list_without_a_node_table_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", "--engine", "spark", "--out", str(tmp_path / "out")]) == 2
    assert "needs an edge list and a node table" in capsys.readouterr().err


def test_any_table_that_the_local_engine_reads_becomes_a_frame(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    (folder / "1.csv").write_bytes("id;Größe\nä;1,5\n\n".encode("cp1252"))
    (folder / "2.csv").write_bytes("id;Größe\nö;2,5\n".encode("cp1252"))
    table = on_spark._open(str(folder))
    assert table is not None and not table.typed
    frame = on_spark._frame(spark, str(folder), table, table.names, tmp_path / "people.parquet")
    assert [tuple(row) for row in frame.collect()] == [("ä", "1,5"), ("ö", "2,5")]
