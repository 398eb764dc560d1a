"""The command line: results on standard output, one sentence and exit code 2 for bad input, nothing left behind."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hopsight.cli import main
from hopsight.detectors import DETECTORS
from hopsight.detectors.storage import load_detector
from hopsight.io.npz import read_npz

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Return a function that runs the command line and gives exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOPSIGHT_DEBUG", raising=False)
    monkeypatch.setattr("signal.signal", lambda *_: None)

    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """Write two circles of twenty people with a few friends across, ages and cities that fit but for p5."""
    folder = tmp_path / "tables"
    folder.mkdir()
    edges = [
        (f"p{start + i}", f"p{start + (i + step) % 20}") for start in (0, 20) for step in (1, 2, 3) for i in range(20)
    ]
    edges += [("p5", "p30"), ("p5", "p33"), ("p9", "p25")]
    people = [(f"p{i}", 30 + i % 7, "Delft" if i < 20 else "Lyon") for i in range(40)]
    people[5] = ("p5", 99, "Lyon")
    write_csv(folder / "edges.csv", ("source", "target"), edges)
    write_csv(folder / "people.csv", ("id", "age", "city"), people)
    return folder


def write_csv(path: Path, header: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def detect(run: Run, folder: Path, *more: object) -> tuple[int, str, str]:
    return run("detect", folder / "edges.csv", "--nodes", folder / "people.csv", "--detector", "lof", *more)


def assert_refused(answer: tuple[int, str, str], *words: str) -> None:
    code, out, err = answer
    refusals = [line for line in err.splitlines() if line.startswith("hopsight: ")]
    assert code == 2
    assert out == ""
    assert len(refusals) == 1
    assert err.splitlines()[-1] == refusals[0]
    assert "Traceback" not in err
    for word in words:
        assert word in refusals[0]


def left_behind(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in tmp_path.iterdir() if path.name not in {"tables", "file"})


def test_detect_prints_a_table_and_writes_the_folder(run: Run, tables: Path, tmp_path: Path) -> None:
    code, out, err = detect(run, tables, "--out", "result", "--top", 3)
    assert code == 0, err
    assert "The 3 most anomalous of 40 nodes" in out
    assert str(Path("result") / "report.html") in out
    assert "Reading the graph took" in err
    assert "needs about" in err
    files = {path.name for path in (tmp_path / "result").iterdir()}
    assert files == {"scores.csv", "explanations.json", "report.html", "run.json", "model", "graph.npz"}


def test_quiet_says_nothing_on_standard_error(run: Run, tables: Path) -> None:
    assert detect(run, tables, "--quiet")[2] == ""


def test_known_anomalies_are_counted_when_there_are_labels(run: Run, tables: Path) -> None:
    header, *people = (line.split(",") for line in (tables / "people.csv").read_text().splitlines())
    write_csv(tables / "people.csv", (*header, "fraud"), [(*row, int(row[0] == "p5")) for row in people])
    code, out, err = detect(run, tables, "--label", "fraud")
    assert code == 0, err
    assert "Known anomalies: 1 of 1 are among the first 1, ROC-AUC 1.000 (labels are used only for this line)." in out
    assert "fraud" not in json.loads(Path("hopsight-out/explanations.json").read_text())[0]["attributes"][0]["name"]


def test_without_labels_nothing_is_said_about_them(run: Run, tables: Path) -> None:
    assert "Known anomalies" not in detect(run, tables)[1]


def test_hcm_writes_edges_and_its_own_columns(run: Run, tables: Path, tmp_path: Path) -> None:
    code, _, err = detect(
        run, tables, "--detector", "hcm", "--set", "n_epochs=6", "--set", "burn_in=3", "--set", "min_class_pairs=10"
    )
    assert code == 0, err
    with (tmp_path / "hopsight-out" / "scores.csv").open() as file:
        assert next(csv.reader(file)) == ["node", "rank", "score", "flagged", "judged", "degree", "ahp", "iv", "hav"]
    with (tmp_path / "hopsight-out" / "edges.csv").open() as file:
        edges = list(csv.DictReader(file))
    assert len(edges) == 123
    assert list(edges[0]) == ["source", "target", "rank", "hop", "probability", "variance", "surprise", "reason"]
    assert len(json.loads((tmp_path / "hopsight-out" / "run.json").read_text())["losses"]) == 6


QUICK = ("--detector", "cross_hcm", "--quiet", *(
    word for name, value in DETECTORS["cross_hcm"].quick.items() for word in ("--set", f"{name}={value}")
))  # fmt: skip


def test_evidence_decides_and_is_a_column(run: Run, tables: Path, tmp_path: Path) -> None:
    code, out, err = detect(run, tables, *QUICK, "--evidence", "outlier", "--evidence", "activity", "--top", 4)
    assert code == 0, err
    assert "decided by" in out
    with (tmp_path / "hopsight-out" / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    kinds = ["misfit", "ring", "outlier", "activity", "lockstep"]
    assert list(rows[0])[6:] == ["ahp", "iv", "hav", *kinds, "decided_by"]
    assert {row["decided_by"] for row in rows} <= {"outlier", "activity"}
    assert all(float(row["score"]) == float(row[row["decided_by"]]) for row in rows)
    with (tmp_path / "hopsight-out" / "edges.csv").open() as file:
        edges = list(csv.DictReader(file))
    assert list(edges[0])[-4:] == ["surprise", "score", "flagged", "reason"]
    scores = [float(row["score"]) for row in edges]
    assert scores == sorted(scores, reverse=True)
    assert (tmp_path / "hopsight-out" / "groups.csv").read_text().startswith("group,kind,members,density,score,shared")
    code, out, err = run("explain", "hopsight-out", rows[0]["node"])
    assert code == 0, err
    assert f"decided by {rows[0]['decided_by']}" in out


def test_repeated_fits_have_a_stability(run: Run, tables: Path, tmp_path: Path) -> None:
    code, out, err = detect(run, tables, *QUICK, "--repeat", 2)
    assert code == 0, err
    assert "stability" in out
    with (tmp_path / "hopsight-out" / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {float(row["stability"]) for row in rows} <= {0.0, 0.5, 1.0}
    code, out, err = run("explain", "hopsight-out", rows[0]["node"])
    assert code == 0, err
    assert "Ranks 1 of 40" in out and "of the seeds" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--contamination", "0.05"), "): 5% of all, as asked."),
        (("--false-alarms", "0.3"), "30%"),
        ((), "10%"),
    ],
)
def test_console_and_summary_say_which_rule_applied(
    run: Run, tables: Path, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    code, out, err = detect(run, tables, *options)
    assert code == 0, err
    assert words in out
    record = json.loads((tmp_path / "hopsight-out" / "run.json").read_text())
    assert words in record["flagged"] and record["flagged"] in out
    assert record["flagged"] in (tmp_path / "hopsight-out" / "report.html").read_text()


def test_a_group_is_explained_or_refused(run: Run, tables: Path) -> None:
    assert detect(run, tables, *QUICK, "--out", "result")[0] == 0
    assert_refused(run("explain", "result", "--group", 99), "group")
    assert_refused(run("explain", "result"), "--group NUMBER")
    assert_refused(run("explain", "result", "p5", "--group", 1), "--group NUMBER")
    model = load_detector("result/model")
    model.kind_thresholds_ = np.full(5, -1.0)  # every node may belong to a group
    model.save("result/model")
    code, out, err = run("explain", "result", "--group", 1)
    assert code == 0, err
    assert out.startswith("Group 1: a ring of ")
    assert json.loads(run("explain", "result", "--group", 1, "--json")[1])["group"] == 1


@pytest.mark.parametrize("preset", ["paper", "authors"])
def test_a_preset_is_recorded_with_its_parameters(run: Run, tables: Path, tmp_path: Path, preset: str) -> None:
    settings = ("--set", "n_epochs=4", "--set", "burn_in=2", "--set", "min_class_pairs=10")
    code, _, err = detect(run, tables, "--detector", "hcm", "--preset", preset, *settings)
    assert code == 0, err
    parameters = json.loads((tmp_path / "hopsight-out" / "run.json").read_text())["parameters"]
    assert parameters["n_epochs"] == 4
    assert parameters["prediction"] == "argmax"


def test_a_missing_file(run: Run, tables: Path, tmp_path: Path) -> None:
    assert_refused(run("detect", "nowhere.csv", "--nodes", tables / "people.csv"), "nowhere.csv")
    assert_refused(run("detect", tables / "edges.csv", "--nodes", "nowhere.csv"), "nowhere.csv")
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("name", ["network.mat", "network.npz", "network.graphml", "network.parquet", "network.docx"])
def test_a_wrong_format(run: Run, tables: Path, tmp_path: Path, name: str) -> None:
    (tables / name).write_bytes(b"this is not what the name says\n" * 20)
    assert_refused(run("detect", tables / name, "--detector", "lof"), name)
    assert left_behind(tmp_path) == []


def test_an_empty_graph(run: Run, tables: Path, tmp_path: Path) -> None:
    write_csv(tables / "edges.csv", ("source", "target"), [])
    write_csv(tables / "people.csv", ("id", "age"), [])
    assert_refused(detect(run, tables))
    assert left_behind(tmp_path) == []


def test_one_node(run: Run, tables: Path, tmp_path: Path) -> None:
    write_csv(tables / "edges.csv", ("source", "target"), [("a", "a")])
    write_csv(tables / "people.csv", ("id", "age"), [("a", 3)])
    assert_refused(detect(run, tables), "at least 2 nodes")
    assert left_behind(tmp_path) == []


def test_an_edge_to_an_unknown_node(run: Run, tables: Path, tmp_path: Path) -> None:
    write_csv(tables / "edges.csv", ("source", "target"), [("p1", "p2"), ("p1", "stranger")])
    assert_refused(detect(run, tables), "stranger")
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("value", ["inf", "-inf"])
def test_an_attribute_that_is_not_finite(run: Run, tables: Path, tmp_path: Path, value: str) -> None:
    rows = [(f"p{i}", value if i == 7 else i) for i in range(40)]
    write_csv(tables / "people.csv", ("id", "age"), rows)
    assert_refused(detect(run, tables), "age")
    assert left_behind(tmp_path) == []


def test_an_infinite_attribute_in_a_matrix(run: Run, tables: Path, tmp_path: Path) -> None:
    from scipy.io import savemat

    attributes = np.ones((4, 2))
    attributes[2, 1] = np.inf
    savemat(tables / "bad.mat", {"Network": np.ones((4, 4)), "Attributes": attributes})
    assert_refused(run("detect", tables / "bad.mat", "--detector", "lof"), "finite")
    assert left_behind(tmp_path) == []


def test_text_in_a_number_column(run: Run, tables: Path, tmp_path: Path) -> None:
    rows = [(f"p{i}", "unknown" if i == 7 else 1.5 * i) for i in range(40)]
    write_csv(tables / "people.csv", ("id", "income"), rows)
    assert_refused(detect(run, tables), "income", "unknown")
    assert left_behind(tmp_path) == []


def test_no_attributes_at_all(run: Run, tables: Path, tmp_path: Path) -> None:
    write_csv(tables / "people.csv", ("id",), [(f"p{i}",) for i in range(40)])
    assert_refused(detect(run, tables, "--derive", "none"), "attribute")
    assert_refused(run("detect", tables / "edges.csv", "--detector", "lof", "--derive", "none"), "--nodes")
    assert left_behind(tmp_path) == []


def test_two_rows_for_one_node(run: Run, tables: Path, tmp_path: Path) -> None:
    rows = [(f"p{i}", i) for i in range(40)] + [("p3", 1)]
    write_csv(tables / "people.csv", ("id", "age"), rows)
    assert_refused(detect(run, tables), "p3")
    assert left_behind(tmp_path) == []


def test_an_unwritable_output_folder(run: Run, tables: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert_refused(detect(run, tables, "--out", "file/result"), "file")
    assert_refused(detect(run, tables, "--out", "file"), "file")
    assert (tmp_path / "file").read_text() == "mine"
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--set", "contamination=0.9"), ("contamination", "0.9")),
        (("--set", "contaminaton=0.1"), ("did you mean contamination?",)),
        (("--set", "contamination"), ("name=value",)),
        (("--detector", "lofff"), ("did you mean lof?",)),
        (("--preset", "paper"), ("preset",)),
        (("--seed", "-1"), ("seed", "-1")),
        (("--seed", "x"), ("--seed", "integer")),
        (("--top", "0"), ("top", "0")),
        (("--missing", "median"), ("missing", "median")),
        (("--memory-limit", "lots"), ("memory limit", "lots")),
        (("--memory-limit", "1MB"), ("limit is 1 MB", "try")),
        (("--engine", "spark", "--detector", "lof"), ("spark", "lof")),
        (("--master", "local"), ("master", "--engine spark")),
        (("--engine", "spark", "--repeat", "2"), ("repeat", "--engine local")),
        (("--repeat", "0"), ("repeat", "0")),
        (("--repeat", "3"), ("lof gives the same scores with every seed",)),
        (("--false-alarms", "0.2", "--contamination", "0.1"), ("--false-alarms", "--contamination", "exclude")),
        (("--false-alarms", "1.5"), ("false_alarms", "1.5")),
        (("--contamination", "0.7"), ("contamination", "0.7")),
        (("--evidence", "ring"), ("LOF has no parameter 'evidence'",)),
        (("--detector", "cross_hcm", "--evidence", "rings"), ("evidence", "did you mean ring?")),
        (("--engine", "dask"), ("engine", "dask")),
        (("--no-such-option",), ("--no-such-option",)),
        (("--detector", "hcm", "--set", "drop_ratio=1.5"), ("drop_ratio", "1.5")),
        (("--detector", "hcm", "--set", "n_epochs=0"), ("n_epochs", "0")),
    ],
)
def test_a_parameter_out_of_range(
    run: Run, tables: Path, tmp_path: Path, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert_refused(detect(run, tables, *options), *words)
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("detector", ["lof", "hcm"])
def test_cuda_asked_for_and_absent(
    run: Run, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, detector: str
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert_refused(detect(run, tables, "--detector", detector, "--device", "cuda"), "CUDA")
    assert left_behind(tmp_path) == []


def test_an_unknown_command_is_refused(run: Run) -> None:
    assert_refused(run("detekt"), "detekt")


def test_ctrl_c_is_exit_code_130(run: Run, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hopsight.baselines.lof.LOF._fit", interrupted)
    code, _, err = detect(run, tables)
    assert code == 130
    assert err.splitlines()[-1] == "hopsight: stopped"
    assert left_behind(tmp_path) == []


def test_a_bug_is_one_sentence_too_and_a_traceback_only_on_request(
    run: Run, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("cogs\ncame loose")

    monkeypatch.setattr("hopsight.baselines.lof.LOF._fit", broken)
    code, _, err = detect(run, tables)
    assert code == 1
    assert err.splitlines()[-1] == ("hopsight: unexpected RuntimeError: cogs came loose (HOPSIGHT_DEBUG=1 shows where)")
    assert left_behind(tmp_path) == []
    monkeypatch.setenv("HOPSIGHT_DEBUG", "1")
    with pytest.raises(RuntimeError, match="cogs"):
        detect(run, tables)


def test_a_full_disk_is_one_sentence(run: Run, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "scores.csv")

    monkeypatch.setattr("hopsight.runs.results.write_scores", full)
    assert_refused(detect(run, tables), "No space left on device")
    assert left_behind(tmp_path) == []


def test_explain_answers_for_a_finished_run_and_refuses_anything_else(run: Run, tables: Path) -> None:
    detect(run, tables, "--out", "result")
    code, out, err = run("explain", "result", "p5")
    assert code == 0, err
    assert "p5" in out
    assert "age" in out
    code, out, _ = run("explain", "result", "p5", "--json")
    assert json.loads(out)["node"] == "p5"
    code, out, err = run("explain", "result", "p5", "p6")
    assert code == 0, err
    assert out.startswith("Edge p5 – p6, judged by LOF")
    assert json.loads(run("explain", "result", "p5", "p6", "--json")[1])["target"] == "p6"
    assert_refused(run("explain", "result", "p5", "p39"), "no edge between 'p5' and 'p39'")
    assert_refused(run("explain", "result", "nobody"), "nobody")
    assert_refused(run("explain", tables, "p5"), "no finished run")
    assert_refused(run("explain", "nowhere", "p5"), "nowhere")


def test_rerun_repeats_the_run_from_anywhere(
    run: Run, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tables)
    code, _, err = run(
        "detect", "edges.csv", "--nodes", "people.csv", "--detector", "lof", "--out", tmp_path / "result"
    )
    assert code == 0, err
    monkeypatch.chdir(tmp_path)
    code, _, err = run("rerun", "result/run.json", "--quiet")
    assert code == 0, err
    again = tmp_path / "result-rerun"
    assert (again / "scores.csv").read_bytes() == (tmp_path / "result" / "scores.csv").read_bytes()
    assert_refused(run("rerun", "nowhere.json"), "nowhere.json")


def test_score_writes_explanations_and_explain_reads_them(run: Run, tables: Path, tmp_path: Path) -> None:
    settings = ("--set", "n_epochs=6", "--set", "burn_in=3", "--set", "min_class_pairs=10")
    assert detect(run, tables, "--detector", "hcm", "--out", "result", *settings)[0] == 0
    source = (tables / "edges.csv", "--nodes", tables / "people.csv")
    code, out, err = run("score", "result", *source, "--out", "new", "--top", 3)
    assert code == 0, err
    assert "The 3 most anomalous of 40 nodes" in out
    written = {path.name for path in (tmp_path / "new").iterdir()}
    assert written == {
        "scores.csv", "edges.csv", "explanations.json", "report.html", "run.json", "model", "graph.npz"
    }  # fmt: skip
    assert len(json.loads((tmp_path / "new" / "explanations.json").read_text())) == 3
    code, out, err = run("explain", "new", "p5")
    assert code == 0, err
    assert "Node p5, judged by HCM" in out
    assert_refused(run("score", "result", *source, "--out", "new", "--top", 0), "top")


def test_score_applies_a_saved_model_to_a_new_graph(run: Run, tables: Path, tmp_path: Path) -> None:
    settings = ("--set", "n_epochs=6", "--set", "burn_in=3", "--set", "min_class_pairs=10")
    code, _, err = detect(run, tables, "--detector", "hcm", "--out", "result", *settings)
    assert code == 0, err
    code, out, err = run("score", "result", tables / "edges.csv", "--nodes", tables / "people.csv", "--out", "new")
    assert code == 0, err
    assert "of 40 nodes" in out
    first, second = (
        {
            row["node"]: float(row["score"])
            for row in csv.DictReader((tmp_path / name / "scores.csv").read_text().split())
        }
        for name in ("result", "new")
    )
    assert second == pytest.approx(first, abs=1e-4)


def test_convert_and_info(run: Run, tables: Path, tmp_path: Path) -> None:
    code, out, err = run("convert", tables / "edges.csv", "network.npz", "--nodes", tables / "people.csv")
    assert code == 0, err
    assert "40 nodes, 123 undirected edges" in out
    code, out, err = run("data", "info", "network.npz")
    assert code == 0, err
    assert "123" in out
    assert_refused(run("convert", "network.npz", "network.docx"), "docx")
    assert left_behind(tmp_path) == ["network.npz"]


def test_inject_plants_what_was_asked_for(run: Run, tables: Path, tmp_path: Path) -> None:
    run("convert", tables / "edges.csv", "network.npz", "--nodes", tables / "people.csv")
    counts = ("--cliques", 1, "--clique-size", 4, "--candidates", 5, "--seed", 1)
    planted = []
    for option in ("--attribute-anomalies", "--attributes"):  # the second is the old name
        code, out, err = run("inject", "network.npz", "planted.npz", *counts, option, 3)
        assert code == 0, err
        assert "7 planted anomalies" in out
        planted.append(read_npz(tmp_path / "planted.npz").labels.tolist())
    assert planted[0] == planted[1]
    help_text = run("inject", "--help")[1]
    assert "--attribute-anomalies" in help_text
    assert "--attributes " not in help_text
    assert_refused(run("inject", "network.npz", "more.npz", "--cliques", 100), "n_cliques")
    assert left_behind(tmp_path) == ["network.npz", "planted.npz"]


def test_the_catalog_is_listed(run: Run) -> None:
    code, out, err = run("data", "list")
    assert code == 0, err
    assert "blogcatalog" in out
    assert "5,196" in out
    assert_refused(run("data", "fetch", "blogcatalogue"), "did you mean")


def test_bench_writes_its_page_and_resumes(run: Run, tmp_path: Path) -> None:
    choice = ("--graphs", "generated", "--detectors", "lof", "--repetitions", 1)
    code, out, err = run("bench", "--suite", "quick", "--out", "bench", *choice)
    assert code == 0, err
    assert "0 of them from earlier runs" in out
    assert {"results.csv", "tables.md", "report.html"} <= {path.name for path in (tmp_path / "bench").iterdir()}
    old_name = ("--networks", *choice[1:])
    code, out, err = run("bench", "--suite", "quick", "--out", "bench", "--quiet", *old_name)
    assert (code, err) == (0, "")
    assert "0 of them from earlier runs" not in out
    assert_refused(run("bench", "--suite", "slow", "--out", "other"), "suite", "slow")
    assert_refused(run("bench", "--memory-limit", "much", "--out", "other"), "memory limit")
    assert left_behind(tmp_path) == ["bench"]


def test_names_cannot_control_the_terminal(run: Run, tables: Path) -> None:
    write_csv(tables / "people.csv", ("id", "age"), [("[red]x\x1b[2J", 99), *((f"p{i}", i) for i in range(40))])
    code, out, err = detect(run, tables, "--top", 40)
    assert code == 0, err
    assert "\x1b[2J" not in out + err
    assert "[red]x\\x1b[2J" in out


def test_json_for_a_terminal_has_no_control_characters(run: Run, tables: Path) -> None:
    """Neither C0 nor C1 (0x9b begins a command as well as escape does), nor marks that turn text around."""
    name = "x\x9b2J\u202ey\x85z"
    write_csv(tables / "people.csv", ("id", "age"), [(name, 99), *((f"p{i}", i) for i in range(40))])
    code, _, err = detect(run, tables, "--out", "result")
    assert code == 0, err
    code, out, err = run("explain", "result", name, "--json")
    assert code == 0, err
    assert all(character == "\n" or character.isprintable() for character in out)
    assert json.loads(out)["node"] == name
