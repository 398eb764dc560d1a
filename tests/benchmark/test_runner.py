"""Run a suite into a folder: a row for every cell whatever happens, and nothing done twice."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hopsight.benchmark import Options, make_suite, run
from hopsight.benchmark.cells import execute, without_labels
from hopsight.benchmark.results import Journal
from hopsight.datasets import inject, make_graph
from hopsight.metrics import roc_auc
from run_tables import rows_of
from toys import refuses

FAKE = "benchmark.fakes:Degree"
SMALL = {"graphs": ["generated"], "device": "cpu"}


def quick(out, detectors, *, repetitions=1, **settings):
    return run(make_suite("quick", Options(detectors=detectors, repetitions=repetitions, **SMALL)), out, **settings)


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """Tell the fake detector, here and in workers, where to create its files."""
    counter = tmp_path / "fits"
    counter.mkdir()
    monkeypatch.setenv("HOPSIGHT_TEST_COUNTER", str(counter))
    monkeypatch.delitem(sys.modules, "benchmark.fakes", raising=False)  # its defaults are read from the environment
    return counter


def test_every_way_to_fail_is_a_row_and_other_cells_continue(tmp_path):
    names = [f"benchmark.fakes:{name}" for name in ("Failing", "Dying", "Endless", "NotFinite", "Warns", "Degree")]
    names += ["benchmark.fakes:NoSuchDetector", "no.such.module:Detector"]
    result = quick(tmp_path, names, time_limit=8, workers=2)  # one waits for the endless one
    rows = {row["detector"]: row for row in rows_of(tmp_path / "results.csv")}
    ends = {name.partition(":")[2]: rows[name]["status"] for name in names[:-1]}
    assert ends == {
        "Failing": "failed", "Dying": "died", "Endless": "time limit", "NotFinite": "failed", "Warns": "ok",
        "Degree": "ok", "NoSuchDetector": "failed",
    }  # fmt: skip
    assert "the job asked for it" in rows[names[0]]["reason"] and "SIGKILL" in rows[names[1]]["reason"]
    assert "not finite" in rows[names[3]]["reason"] and "no.such.module" not in ends
    assert "No module named 'no'" in rows["no.such.module:Detector"]["reason"]
    assert json.loads(rows["benchmark.fakes:Warns"]["warnings"]) == ["this graph is odd"]
    assert {"random", "degree", "attribute_norm"} <= set(rows), "trivial scores belong in every table"
    assert result.n_failed == 6
    failures = next(table for table in result.tables if table.name == "failures")
    assert len(failures.rows) == 6


def test_a_row_says_everything_needed_to_repeat_it(tmp_path):
    events = []
    quick(tmp_path, [FAKE], repetitions=2, on_cell=events.append)
    assert sorted(event.done for event in events if event.record is not None) == list(range(1, 9))
    assert {event.total for event in events} == {8} and "ROC-AUC" in (tmp_path / "report.html").read_text()
    rows = rows_of(tmp_path / "results.csv")
    mine = [row for row in rows if row["detector"] == FAKE]
    assert [row["injection"] for row in mine] == ["0", "1"]
    row = mine[0]
    assert json.loads(row["parameters"]) == {
        "contamination": "auto", "counter": "", "device": "cpu", "false_alarms": 0.1, "seconds": 0.0, "weight": 1.0,
    }  # fmt: skip
    settings = json.loads(row["settings"])
    assert (settings["generate"]["n_nodes"], settings["planting"]["n_cliques"], row["protocol"]) == (300, 2, "dominant")
    assert json.loads(row["versions"])["hopsight"] and float(row["seconds"]) >= 0
    assert float(row["memory_peak_mb"]) > 10

    # the measures are those of the graph that the row describes, and of a fit like this one
    graph = inject(make_graph(**settings["generate"]), protocol="dominant", seed=0, **settings["planting"])
    from benchmark.fakes import Degree  # here: other tests change what it reads when imported

    scores = Degree(seed=0).fit(without_labels(graph)).decision_score_
    assert float(row["auc"]) == pytest.approx(roc_auc(graph.labels, scores), abs=1e-5)
    assert float(row["auc_low"]) < float(row["auc"]) < float(row["auc_high"])
    assert (row["nodes"], row["anomalies"]) == ("300", "32")


def test_a_second_run_resumes_and_a_changed_parameter_is_a_new_cell(tmp_path, environment, monkeypatch):
    out = tmp_path / "out"
    first = quick(out, [FAKE], repetitions=2)
    assert (len(list(environment.iterdir())), first.n_reused) == (2, 0)

    again = quick(out, [FAKE], repetitions=2)
    assert (len(list(environment.iterdir())), again.n_reused) == (2, again.n_cells)
    assert [table.rows for table in again.tables] == [table.rows for table in first.tables]

    more = quick(out, [FAKE], repetitions=3)
    assert len(list(environment.iterdir())) == 3
    assert more.n_reused == more.n_cells - 4  # three trivial scores and the fake on the third injection

    monkeypatch.setenv("HOPSIGHT_TEST_WEIGHT", "-1.0")
    monkeypatch.delitem(sys.modules, "benchmark.fakes")
    changed = quick(out, [FAKE], repetitions=2)
    assert len(list(environment.iterdir())) == 5
    rows = rows_of(out / "results.csv")
    old = [row for row in rows if row["detector"] == FAKE and row["current"] == "false"]
    new = [row for row in rows if row["detector"] == FAKE and row["current"] == "true"]
    assert (len(old), len(new)) == (3, 2)
    assert float(new[0]["auc"]) == pytest.approx(1 - float(old[0]["auc"]), abs=0.02)
    shown = next(table for table in changed.tables if table.name == "overview")
    line = next(line for line in shown.rows if line[0] == FAKE)
    assert float(line[1].split(" ")[0]) < 0.5, "tables show the cells of this plan, not those of an earlier one"


def test_a_run_killed_at_any_moment_continues_where_it_was(tmp_path, environment, monkeypatch):
    monkeypatch.setenv("HOPSIGHT_TEST_SECONDS", "0.3")
    out, script = tmp_path / "out", tmp_path / "bench.py"
    script.write_text(
        "import sys\nfrom hopsight.benchmark import Options, make_suite, run\nif __name__ == '__main__':\n"
        f"    suite = make_suite('quick', Options(detectors=[{FAKE!r}], repetitions=5, **{SMALL!r}))\n"
        "    run(suite, sys.argv[1], on_cell=lambda event: print(event.done, flush=True))\n"
    )
    path = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    kills = 0
    for wanted in (16, 18):  # of 20 cells, 15 of which are trivial
        with subprocess.Popen([sys.executable, str(script), str(out)], stdout=subprocess.PIPE, env=path) as process:
            for line in process.stdout:
                if int(line) >= wanted:
                    process.kill()
                    kills += 1
                    break
        finished = Journal(out).read()
        assert len(finished) >= wanted and not (out / "results.csv").exists()
    assert kills == 2
    rest = quick(out, [FAKE], repetitions=5)
    assert rest.n_reused >= 18
    time.sleep(0.5)  # workers whose parent was killed end within moments, and their marks count
    fits = len(list(environment.iterdir()))
    assert 5 <= fits <= 5 + kills, "only the cells that were running during a kill may be fitted twice"

    rows = [row for row in rows_of(out / "results.csv") if row["detector"] == FAKE]
    suite = make_suite("quick", Options(detectors=[FAKE], repetitions=5, **SMALL))
    cells = [task.cell.as_dict() for task in suite.plan if task.cell.detector == FAKE]
    expected = [execute({"cell": cell})["scores"][0]["auc"] for cell in cells]
    assert [float(row["auc"]) for row in rows] == pytest.approx(expected, abs=1e-5)


def test_failures_are_retried_on_request_or_under_a_higher_limit(tmp_path):
    failing = "benchmark.fakes:Failing"
    assert quick(tmp_path, [failing], time_limit=40.0).n_failed == 1
    same = quick(tmp_path, [failing], time_limit=40.0)
    assert (same.n_reused, same.n_cells) == (4, 4)
    assert quick(tmp_path, [failing], time_limit=40.0, retry=True).n_reused == 3
    journal = Journal(tmp_path)
    record = next(each for each in journal.read().values() if each["status"] == "failed")
    journal.append(record | {"status": "time limit"})
    assert quick(tmp_path, [failing], time_limit=40.0).n_reused == 4
    assert quick(tmp_path, [failing], time_limit=50.0).n_reused == 3


def test_a_graph_without_a_copy_is_a_row_that_says_so(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    options = Options(graphs=["acm"], detectors=["lof"], data_dir=str(empty), device="cpu")
    result = run(make_suite("quick", options), tmp_path / "out")
    rows = rows_of(tmp_path / "out" / "results.csv")
    assert {row["detector"] for row in rows} == {"random", "degree", "attribute_norm", "lof"}
    assert {(row["graph"], row["status"]) for row in rows} == {("acm", "no copy")}
    assert "data fetch acm" in rows[0]["reason"]
    assert result.summary == "4 fits, 0 of them from earlier runs, 0 failed; no copy found of acm."
    table = next(table for table in result.tables if table.name == "overview")
    assert next(line for line in table.rows if line[0] == "LOF")[1] == "no copy"


def test_bad_options_are_refused_before_anything_is_written(tmp_path):
    def start(options, settings):
        run(make_suite("quick", Options(**(SMALL | options))), tmp_path / "out", **settings)

    for options, settings, message in [
        ({"detectors": ["radra"]}, {}, "did you mean radar"),
        ({"graphs": ["blogcatalogue"]}, {}, "did you mean blogcatalog"),
        ({"repetitions": 0}, {}, "repetitions must be at least 1"),
        ({"device": "gpu"}, {}, "device must be one of auto, cpu, cuda"),
        ({}, {"workers": 0}, "workers must be at least 1"),
        ({}, {"time_limit": -1}, "time_limit must be above 0"),
        ({}, {"memory_limit": 0}, "memory_limit must be above 0"),
    ]:
        refuses(message, start, options, settings)
        assert not (tmp_path / "out").exists()


def test_results_of_somebody_else_are_not_replaced(tmp_path):
    (tmp_path / "report.html").write_text("mine")
    refuses(r"already has report\.html, which no benchmark wrote: choose another folder", quick, tmp_path, [FAKE])
    assert (tmp_path / "report.html").read_text() == "mine"


def statuses(folder):
    return {(row["detector"], row["status"], row["reason"]) for row in rows_of(folder / "results.csv")}


def test_every_detector_runs_on_the_generated_graph(tmp_path):
    result = run(make_suite("quick", Options(graphs=["generated"], repetitions=1)), tmp_path)
    assert {entry for entry in statuses(tmp_path) if entry[1] != "ok"} == set()
    assert [table.name for table in result.tables] == ["overview", "details"]
    assert {path.name for path in tmp_path.iterdir()} == {"cells.jsonl", "results.csv", "report.html"}


@pytest.mark.slow
def test_the_quick_suite_takes_under_three_minutes_on_two_cores(tmp_path, data_dir):
    begin = time.monotonic()
    run(make_suite("quick", Options(data_dir=str(data_dir))), tmp_path, workers=2)
    assert time.monotonic() - begin < 180
    assert {entry for entry in statuses(tmp_path) if entry[1] != "ok"} == set()
