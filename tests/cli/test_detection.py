"""Detect, score and rerun: results on standard output and in the folder."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from commands import Run, assert_refused, detect, worked, write_csv
from hopsight.detectors import DETECTORS
from hopsight.runs.folder import read_record
from run_tables import explained, rows_of
from toys import set_options

QUICK = ("--detector", "cross_hcm", "--quiet", *set_options(DETECTORS["cross_hcm"].quick))
FEW = ("--detector", "hcm", "--set", "n_epochs=6", "--set", "burn_in=3", "--set", "min_class_pairs=10")


def test_detect_prints_a_table_and_writes_the_folder(run: Run, tables: Path, tmp_path: Path) -> None:
    out, err = worked(detect(run, tables, "--out", "result", "--top", 3))
    assert "The 3 most anomalous of 40 nodes" in out
    assert re.search(r"Written in .* s: result/report\.html, result/scores\.csv", out)
    assert "Read 40 nodes, 123 undirected edges and 3 attributes." in err
    assert "needs about" not in err  # a second and little memory
    assert max(map(len, (out + err).splitlines())) <= 80
    files = {path.name for path in (tmp_path / "result").iterdir()}
    assert files == {"scores.csv", "explanations.json", "report.html", "run.json", "model", "graph.npz"}


def test_json_is_all_that_standard_output_holds(run: Run, tables: Path) -> None:
    out, err = worked(detect(run, tables, "--out", "result", "--top", 3, "--json"))
    found = json.loads(out)
    assert "Read 40 nodes" in err
    assert found["nodes"] == 40 and [each["rank"] for each in found["top"]] == [1, 2, 3]
    assert found["top"][0]["node"] == "p5" and found["top"][0]["reason"]


def test_known_anomalies_are_counted_when_there_are_labels(run: Run, tables: Path) -> None:
    header, *people = (line.split(",") for line in (tables / "people.csv").read_text().splitlines())
    write_csv(tables / "people.csv", (*header, "fraud"), [(*row, int(row[0] == "p5")) for row in people])
    out, _ = worked(detect(run, tables, "--label", "fraud"))
    assert "Known anomalies: 1 of 1 are among the first 1 labeled node, ROC-AUC 1.000." in out
    assert "fraud" not in explained(Path("hopsight-out"))[0]["attributes"][0]["name"]


def test_hcm_writes_edges_and_its_own_columns(run: Run, tables: Path, tmp_path: Path) -> None:
    worked(detect(run, tables, *FEW))
    scores, edges = (rows_of(tmp_path / "hopsight-out" / f"{name}.csv") for name in ("scores", "edges"))
    assert list(scores[0]) == ["node", "rank", "score", "flagged", "judged", "degree", "ahp", "iv", "hav"]
    assert len(edges) == 123
    assert list(edges[0]) == ["source", "target", "rank", "hop", "probability", "variance", "surprise", "reason"]
    assert len(read_record(tmp_path / "hopsight-out")["losses"]) == 6


def test_evidence_decides_and_is_a_column(run: Run, tables: Path, tmp_path: Path) -> None:
    out, _ = worked(detect(run, tables, *QUICK, "--evidence", "outlier", "--evidence", "activity", "--top", 4))
    assert "what is special" in out
    rows, edges = (rows_of(tmp_path / "hopsight-out" / f"{name}.csv") for name in ("scores", "edges"))
    kinds = ["misfit", "ring", "outlier", "activity", "lockstep"]
    assert list(rows[0])[6:] == ["ahp", "iv", "hav", *kinds, "decided_by"]
    assert {row["decided_by"] for row in rows} <= {"outlier", "activity"}
    both = [np.hypot(0.4 * float(row["outlier"]), 0.5 * float(row["activity"])) for row in rows]  # by their weights
    np.testing.assert_allclose([float(row["score"]) for row in rows], both)
    assert list(edges[0])[-4:] == ["surprise", "score", "flagged", "reason"]
    scores = [float(row["score"]) for row in edges]
    assert scores == sorted(scores, reverse=True)
    assert (tmp_path / "hopsight-out" / "groups.csv").read_text().startswith("group,kind,members,density,score,shared")
    out, _ = worked(run("explain", "hopsight-out", rows[0]["node"]))
    assert f"decided by {rows[0]['decided_by']}" in out


@pytest.mark.parametrize(("options", "words"), [
    (("--contamination", "0.05"), "2.5% of all, where 5% were asked for"),
    (("--false-alarms", "0.3"), " out"), ((), " out"),
])  # fmt: skip
def test_console_and_summary_say_which_rule_applied(
    run: Run, tables: Path, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    out, _ = worked(detect(run, tables, *options))
    assert words in out
    record = read_record(tmp_path / "hopsight-out")
    assert words in record["flagged"] and record["flagged"] in " ".join(out.split())
    assert record["flagged"] in (tmp_path / "hopsight-out" / "report.html").read_text()


@pytest.mark.parametrize("preset", ["paper", "authors"])
def test_a_preset_is_recorded_with_its_parameters(run: Run, tables: Path, tmp_path: Path, preset: str) -> None:
    worked(detect(run, tables, *FEW, "--preset", preset))
    parameters = read_record(tmp_path / "hopsight-out")["parameters"]
    assert parameters["n_epochs"] == 6 and parameters["prediction"] == "argmax"


def test_an_unwritable_output_folder(run: Run, tables: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for out in ("file/result", "file"):
        assert_refused(detect(run, tables, "--out", out), "file")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(("options", "words"), [
    (("--set", "contamination=0.9"), ("contamination", "0.9")),
    (("--set", "contaminaton=0.1"), ("did you mean contamination?",)),
    (("--set", "contamination"), ("name=value",)), (("--detector", "lofff"), ("did you mean lof?",)),
    (("--preset", "paper"), ("preset",)), (("--seed", "-1"), ("seed", "-1")),
    (("--seed", "x"), ("--seed", "integer")), (("--top", "0"), ("top", "0")),
    (("--missing", "median"), ("missing", "median")),
    (("--memory-limit", "lots"), ("--memory-limit must be a size", "lots")),
    (("--memory-limit", "1MB"), ("1 MB", "try")),
    (("--engine", "spark", "--detector", "lof"), ("spark", "lof")),
    (("--master", "local"), ("master", "--engine spark")), (("--repeat", "0"), ("--repeat must be at least 1, got 0",)),
    (("--repeat", "3"), ("lof gives the same scores with every seed: leave out --repeat",)),
    (("--false-alarms", "0.2", "--contamination", "0.1"), ("--false-alarms", "--contamination", "exclude")),
    (("--false-alarms", "1.5"), ("--false-alarms", "1.5")), (("--contamination", "0.7"), ("contamination", "0.7")),
    (("--evidence", "ring"), ("LOF has no parameter 'evidence'",)),
    (("--detector", "cross_hcm", "--evidence", "rings"), ("evidence", "did you mean ring?")),
    (("--engine", "dask"), ("engine", "dask")), (("--no-such-option",), ("--no-such-option",)),
    (("--detector", "hcm", "--set", "drop_ratio=1.5"), ("drop_ratio", "1.5")),
    (("--detector", "hcm", "--set", "n_epochs=0"), ("n_epochs", "0")), (("--device", "cuda"), ("CUDA",)),
    (("--detector", "hcm", "--device", "cuda"), ("CUDA",)),
])  # fmt: skip
def test_a_parameter_out_of_range(
    run: Run, tables: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert_refused(detect(run, tables, *options), *words)


def test_rerun_repeats_the_run_from_anywhere(
    run: Run, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tables)
    worked(run("detect", "edges.csv", "--nodes", "people.csv", "--detector", "lof", "--out", tmp_path / "result"))
    monkeypatch.chdir(tmp_path)
    worked(run("rerun", "result/run.json", "--quiet"))
    again = tmp_path / "result-rerun"
    assert (again / "scores.csv").read_bytes() == (tmp_path / "result" / "scores.csv").read_bytes()
    assert_refused(run("rerun", "nowhere.json"), "nowhere.json")


def test_score_writes_explanations_and_explain_reads_them(run: Run, tables: Path, tmp_path: Path) -> None:
    worked(detect(run, tables, *FEW, "--out", "result"))
    source = (tables / "edges.csv", "--nodes", tables / "people.csv")
    out, _ = worked(run("score", "result", *source, "--out", "new", "--top", 3))
    assert "The 3 most anomalous of 40 nodes" in out
    written = {path.name for path in (tmp_path / "new").iterdir()}
    assert written == {
        "scores.csv", "edges.csv", "explanations.json", "report.html", "run.json", "model", "graph.npz"
    }  # fmt: skip
    assert len(explained(tmp_path / "new")) == 3
    out, _ = worked(run("explain", "new", "p5"))
    assert "Node p5, judged by HCM" in out
    assert_refused(run("score", "result", *source, "--out", "new", "--top", 0), "top")


def test_payments_with_times_have_a_row_each_in_edges_csv(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [(f"a{s}", f"a{(s + d) % 60}", 40 + s % 7, f"{1 + s % 27:02}.03.2024") for s in range(60) for d in (1, 2, 3)]
    rows += [("a1", "a2", 40, "05.03.2024"), ("a1", "a2", 9_000, "28.03.2024"), ("a3", "a3", 5, "28.03.2024")]
    order = rng.permutation(len(rows))
    write_csv(tmp_path / "paid.csv", ("from", "to", "amount", "day"), [rows[k] for k in order])
    worked(run("detect", "paid.csv", "--preset", "untrained", "--quiet", "--out", "result"))
    found = rows_of(tmp_path / "result" / "edges.csv")
    written = sorted((row["source"], row["target"], float(row["amount"]), row["time"]) for row in found)
    assert written == sorted(row for row in rows if row[0] != row[1])  # no node pays itself in a graph
    assert [int(row["rank"]) for row in found] == list(range(1, len(rows)))
    scores = [float(row["score"]) for row in found]
    assert scores == sorted(scores, reverse=True)
    assert len({row["score"] for row in found if (row["source"], row["target"]) == ("a1", "a2")}) > 1


def test_score_reads_tables_like_the_run_of_its_model(run: Run, tables: Path, tmp_path: Path) -> None:
    """Columns that no name tells, and one that only the first table had, need not be named again."""
    edges = (tables / "edges.csv").read_text().splitlines()
    people = (tables / "people.csv").read_text().splitlines()
    for name, more in (("old", ",note"), ("new", "")):
        rows = [f"k{i % 3},{row},9,{i % 2}{more and ',Łódź'}" for i, row in enumerate(edges[1:])]
        (tmp_path / f"{name}.csv").write_text("\n".join([f"kind,one,two,zip,Ńr{more}", *rows]), encoding="cp1250")
    cases = ["yes", *["no", ""] * 19, "yes"]
    known = [f"{row},{case}" for row, case in zip(people[1:], cases, strict=True)]
    (tmp_path / "people.csv").write_text("\n".join([f"{people[0]},handled", *known]))
    options = ("--source-column", "one", "--target-column", "two", "--ignore", "note", "--category", "zip")
    quick = ("--preset", "untrained", "--directed", "--learn-from", "handled")
    worked(run("detect", "old.csv", "--nodes", "people.csv", *options, *quick, "--out", "result"))
    read = "new.csv?encoding=cp1250, --directed, --ignore handled, --source-column one, --target-column two"
    table = ("new.csv", "--nodes", "people.csv", "--out", "next")
    for model in ("result", "result/model"):
        _, err = worked(run("score", model, *table))
        assert f"Read as in the run of this model: {read}, --category zip." in err
    err = run("score", "result", *table, "--source-column", "kind")[2]
    assert "--source-column" not in err and "there is no" not in err
    (tmp_path / "result" / "run.json").unlink()
    assert "Read as in the run" not in run("score", "result/model", *table)[2]


def test_score_reads_directions_like_a_file_that_has_them(run: Run, tables: Path) -> None:
    table = (tables / "edges.csv", "--nodes", tables / "people.csv")
    worked(run("convert", table[0], "graph.npz", *table[1:], "--directed"))
    worked(run("detect", "graph.npz", "--preset", "untrained", "--out", "result"))
    _, err = worked(run("score", "result", *table, "--out", "next"))
    assert "Read as in the run of this model: --directed." in err


def test_nothing_flagged_says_what_to_do(run: Run, tables: Path) -> None:
    out, _ = worked(detect(run, tables, "--false-alarms", "0"))
    assert "where to look first, and --contamination 0.01 flags the first one." in " ".join(out.split())
    (tables / "cases.csv").write_text("node,verdict\n" + "\n".join(f"p{i},{i % 2}" for i in range(40)))
    learn = ("--preset", "untrained", "--detector", "cross_hcm", "--learn-from", str(tables / "cases.csv"))
    out, _ = worked(detect(run, tables, "--false-alarms", "0", *learn))
    out = " ".join(out.split())
    assert "No node is probable enough to be flagged (the largest probability is " in out
    assert "where to look first, and --contamination 0.01 flags the first one." in out


@pytest.mark.parametrize("place", ["cases.csv?column=WYNIK", "WYNIK"])
def test_undecided_cases_teach_nothing(run: Run, tables: Path, place: str) -> None:
    people = (tables / "people.csv").read_text().splitlines()
    words = ("potwierdzone", "oddalone", "do wyjaśnienia", "oddalone")
    rows = [f"{row},{words[i % 4]},{'Jan' if i % 3 else 'Ewa'}" for i, row in enumerate(people[1:])]
    (tables / "cases.csv").write_text("\n".join([f"{people[0]},WYNIK,PROWADZI", *rows]))
    nodes, place = ("cases.csv", place) if place == "WYNIK" else ("people.csv", f"{tables}/{place}")
    options = ("--learn-from", place, "--anomalous-value", "potwierdzone", "--preset", "untrained", "--out", "result")
    options += ("--ignore", "PROWADZI") if nodes == "cases.csv" else ()
    pair = (tables / "edges.csv", "--nodes", tables / nodes)
    for more, n_normal in (((), 30), (("--ignore", "WYNIK=do wyjaśnienia"), 20)):
        out, err = worked(run("detect", *pair, *options, *more))
        assert f"10 anomalous and {n_normal} normal" in " ".join((out + err).split())
    worked(run("rerun", "result/run.json"))
    worked(run("score", "result", *pair, "--out", "next"))


def test_several_tables_beside_each_other_are_told_of_their_file(run: Run, tables: Path) -> None:
    said = "several tables are named in a file such as graph.toml"
    assert_refused(run("detect", tables / "edges.csv", tables / "people.csv"), said)
