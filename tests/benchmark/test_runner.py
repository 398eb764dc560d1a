"""A suite into a folder: rows for all cells whatever happens, and nothing done twice."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hopsight.benchmark import run
from hopsight.benchmark.journal import Journal
from hopsight.benchmark.measure import without_truth
from hopsight.datasets import inject, make_network
from hopsight.metrics import roc_auc

FAKE = "benchmark.fakes:Degree"
SMALL = {"networks": ["generated"], "experiments": ["comparison"], "figures": False, "device": "cpu"}


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """Tell the fake detector, here and in workers, where to leave its marks."""
    counter = tmp_path / "fits"
    counter.mkdir()
    monkeypatch.setenv("HOPSIGHT_TEST_COUNTER", str(counter))
    monkeypatch.delitem(sys.modules, "benchmark.fakes", raising=False)  # its defaults are read from the environment
    return counter


def test_every_way_to_fail_is_a_row_and_the_others_go_on(tmp_path):
    names = [f"benchmark.fakes:{name}" for name in ("Failing", "Dying", "Endless", "NotFinite", "Warns", "Degree")]
    names += ["benchmark.fakes:NoSuchDetector", "no.such.module:Detector"]
    report = run("quick", tmp_path, detectors=names, repetitions=1, time_limit=12, **SMALL)
    rows = {row["detector"]: row for row in read_csv(tmp_path / "results.csv")}
    ends = {name.partition(":")[2]: rows[name]["status"] for name in names[:-1]}
    assert ends == {
        "Failing": "failed",
        "Dying": "died",
        "Endless": "time limit",
        "NotFinite": "failed",
        "Warns": "ok",
        "Degree": "ok",
        "NoSuchDetector": "failed",
    }
    assert "the cell asked for it" in rows[names[0]]["reason"]
    assert "SIGKILL" in rows[names[1]]["reason"]
    assert "not finite" in rows[names[3]]["reason"]
    assert "no.such.module" not in ends
    assert "No module named 'no'" in rows["no.such.module:Detector"]["reason"]
    assert json.loads(rows["benchmark.fakes:Warns"]["warnings"]) == ["UserWarning: this network is odd"]
    assert {"random", "degree", "attribute_norm"} <= set(rows), "trivial scores belong in every table"
    assert report.n_failed == 6
    failures = next(table for table in report.tables if table.name == "failures")
    assert len(failures.rows) == 6


def test_a_row_says_everything_needed_to_repeat_it(tmp_path):
    run("quick", tmp_path, detectors=[FAKE], repetitions=2, **SMALL)
    rows = read_csv(tmp_path / "results.csv")
    mine = [row for row in rows if row["detector"] == FAKE]
    assert [row["injection"] for row in mine] == ["0", "1"]
    row = mine[0]
    assert json.loads(row["parameters"]) == {
        "contamination": 0.1, "counter": "", "device": "cpu", "seconds": 0.0, "weight": 1.0,
    }  # fmt: skip
    settings = json.loads(row["settings"])
    assert (settings["n_nodes"], settings["planting"]["n_cliques"], row["protocol"]) == (300, 2, "dominant")
    assert json.loads(row["versions"])["hopsight"]
    assert float(row["seconds"]) >= 0
    assert float(row["memory_peak_mb"]) > 10

    # the figures are those of the network that the row describes, and of a fit like this one
    planting = settings.pop("planting")
    graph = inject(make_network(**settings), protocol="dominant", seed=0, **planting)
    from benchmark.fakes import Degree  # here: other tests change what it reads when imported

    scores = Degree(seed=0).fit(without_truth(graph)).decision_score_
    assert float(row["auc"]) == pytest.approx(roc_auc(graph.labels, scores), abs=1e-5)
    assert float(row["auc_low"]) < float(row["auc"]) < float(row["auc_high"])
    assert (row["nodes"], row["anomalies"]) == ("300", "32")


def test_starting_again_continues_and_a_changed_parameter_is_a_new_cell(tmp_path, environment, monkeypatch):
    out = tmp_path / "out"
    first = run("quick", out, detectors=[FAKE], repetitions=2, **SMALL)
    assert (len(list(environment.iterdir())), first.n_reused) == (2, 0)

    again = run("quick", out, detectors=[FAKE], repetitions=2, **SMALL)
    assert (len(list(environment.iterdir())), again.n_reused) == (2, again.n_cells)
    assert [table.rows for table in again.tables] == [table.rows for table in first.tables]

    more = run("quick", out, detectors=[FAKE], repetitions=3, **SMALL)
    assert len(list(environment.iterdir())) == 3
    assert more.n_reused == more.n_cells - 4  # three trivial scores and the fake on the third injection

    monkeypatch.setenv("HOPSIGHT_TEST_WEIGHT", "-1.0")
    monkeypatch.delitem(sys.modules, "benchmark.fakes")
    changed = run("quick", out, detectors=[FAKE], repetitions=2, **SMALL)
    assert len(list(environment.iterdir())) == 5
    rows = read_csv(out / "results.csv")
    old = [row for row in rows if row["detector"] == FAKE and row["current"] == "false"]
    new = [row for row in rows if row["detector"] == FAKE and row["current"] == "true"]
    assert (len(old), len(new)) == (3, 2)
    assert float(new[0]["auc"]) == pytest.approx(1 - float(old[0]["auc"]), abs=0.02)
    shown = next(table for table in changed.tables if table.name == "table1")
    line = next(line for line in shown.rows if line[0] == FAKE)
    assert float(line[2].split(" ")[0]) < 0.5, "tables show the cells of this plan, not those of an earlier one"


def test_a_run_killed_at_any_moment_continues_where_it_was(tmp_path, environment, monkeypatch):
    monkeypatch.setenv("HOPSIGHT_TEST_SECONDS", "0.3")
    out, script = tmp_path / "out", tmp_path / "bench.py"
    script.write_text(
        "import sys\nfrom hopsight.benchmark import run\nif __name__ == '__main__':\n"
        f"    run('quick', sys.argv[1], detectors=[{FAKE!r}], repetitions=5, **{SMALL!r},\n"
        "        progress=lambda p: print(p.done, flush=True))\n"
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
        assert len(finished) >= wanted
        assert not (out / "results.csv").exists()
    assert kills == 2
    subprocess.run([sys.executable, str(script), str(out)], env=path, check=True, capture_output=True)
    _wait_until_quiet(environment)
    fits = len(list(environment.iterdir()))
    assert 5 <= fits <= 5 + kills, "only the cells at work during a kill may be fitted twice"

    rows = [row for row in read_csv(out / "results.csv") if row["detector"] == FAKE]
    monkeypatch.setenv("HOPSIGHT_TEST_SECONDS", "0.0")
    monkeypatch.delitem(sys.modules, "benchmark.fakes", raising=False)
    whole = run("quick", tmp_path / "whole", detectors=[FAKE], repetitions=5, **SMALL)
    expected = [row["auc"] for row in whole.rows if row["detector"] == FAKE]
    assert [float(row["auc"]) for row in rows] == pytest.approx(expected, abs=1e-5)


def test_failures_are_tried_again_only_when_that_makes_sense(tmp_path):
    endless = "benchmark.fakes:Endless"
    run("quick", tmp_path, detectors=[endless], repetitions=1, time_limit=1.0, **SMALL)
    assert _statuses(tmp_path, endless) == ["time limit"]
    begin = time.monotonic()
    same = run("quick", tmp_path, detectors=[endless], repetitions=1, time_limit=1.0, **SMALL)
    assert (same.n_reused, same.n_cells) == (4, 4)
    assert time.monotonic() - begin < 5
    higher = run("quick", tmp_path, detectors=[endless], repetitions=1, time_limit=1.5, **SMALL)
    assert higher.n_reused == 3
    retried = run("quick", tmp_path, detectors=[endless], repetitions=1, time_limit=1.0, retry=True, **SMALL)
    assert retried.n_reused == 3


def test_a_network_that_is_not_at_hand_is_a_row_that_says_so(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    report = run("paper", tmp_path / "out", data_dir=empty, **(SMALL | {"networks": ["acm"]}), detectors=["lof"])
    rows = read_csv(tmp_path / "out" / "results.csv")
    compared = [row for row in rows if row["network"] == "acm"]
    assert {row["detector"] for row in compared} == {"random", "degree", "attribute_norm", "lof"}
    assert {row["status"] for row in compared} == {"not at hand"}
    assert "data fetch acm" in compared[0]["reason"]
    assert "not at hand: acm" in report.summary
    table = next(table for table in report.tables if table.name == "table1")
    assert next(line for line in table.rows if line[0] == "LOF")[2] == "not at hand / 0.473"


def test_progress_hears_of_every_cell_and_a_report_makes_a_page(tmp_path):
    heard = []
    report = run("quick", tmp_path, detectors=[FAKE], repetitions=1, progress=heard.append, workers=2, **SMALL)
    assert sorted(p.done for p in heard if p.record is not None) == [1, 2, 3, 4]
    assert {p.total for p in heard} == {4}
    page = report.page()
    assert page["results"][0]["auc"] is not None
    from hopsight.report.bench_page import write_bench_page

    write_bench_page(tmp_path / "index.html", **page)
    assert "Table 1" in (tmp_path / "index.html").read_text()


def test_bad_options_are_refused_before_anything_is_written(tmp_path):
    for options, message in [
        ({"suite": "papers"}, "suite must be one of paper, quick, peers"),
        ({"detectors": ["radra"]}, "did you mean radar"),
        ({"networks": ["blogcatalogue"]}, "did you mean blogcatalog"),
        ({"experiments": ["sweep"]}, "did you mean sweeps"),
        ({"repetitions": 0}, "repetitions must be at least 1"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"time_limit": -1}, "time_limit must be above 0"),
        ({"memory_limit": 0}, "memory_limit must be above 0"),
        ({"device": "gpu"}, "device must be one of auto, cpu, cuda"),
    ]:
        with pytest.raises(ValueError, match=message):
            run(**({"suite": "quick", "out": tmp_path / "out"} | options))
        assert not (tmp_path / "out").exists()


def _statuses(folder, detector):
    return [row["status"] for row in read_csv(folder / "results.csv") if row["detector"] == detector]


def _wait_until_quiet(folder):
    """Wait for workers whose parent was killed: they end within moments, and their marks count."""
    time.sleep(0.5)
    assert folder.exists()
