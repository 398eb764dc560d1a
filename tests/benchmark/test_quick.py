"""The quick suite, for real: the fits, the files, the figures."""

from __future__ import annotations

import csv
import time

import pytest

from hopsight.benchmark import run


def statuses(folder):
    with (folder / "results.csv").open(newline="") as file:
        return {(row["detector"], row["status"], row["reason"]) for row in csv.DictReader(file)}


def test_quick_writes_every_table_and_figure(tmp_path):
    """Trimmed to HCM and one baseline on the generated network; `test_the_whole_quick_suite` has all."""
    report = run("quick", tmp_path, networks=["generated"], detectors=["lof", "hcm-paper"], repetitions=1, workers=2)
    assert {(detector, status) for detector, status, _ in statuses(tmp_path)} == {
        ("random", "ok"), ("degree", "ok"), ("attribute_norm", "ok"), ("lof", "ok"), ("hcm", "ok"),
    }  # fmt: skip
    assert [table.name for table in report.tables] == [
        "table1", "network_generated", "networks", "mean_scores", "sweep_R", "sweep_C", "sweep_S", "optimizers",
        "steadiness", "growth_nodes", "growth_edges", "claims",
    ]  # fmt: skip
    names = {"comparison", "mean_scores", "sweeps", "optimizers", "epochs", "growth"}
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"{n}.{e}" for n in names for e in ("png", "svg")
    }
    assert {path.name for path in tmp_path.iterdir()} == {
        "cells.jsonl", "curves.csv", "figures", "results.csv", "tables.md", ".lock",
    }  # fmt: skip
    tuned = next(
        line for table in report.tables if table.name == "optimizers" for line in table.rows if "tuned" in line[1]
    )
    assert float(tuned[3]) > 0


@pytest.mark.slow
def test_the_whole_quick_suite_takes_under_three_minutes_on_two_cores(tmp_path, data_dir):
    begin = time.monotonic()
    run("quick", tmp_path, workers=2, data_dir=data_dir)
    assert time.monotonic() - begin < 180
    assert {entry for entry in statuses(tmp_path) if entry[1] != "ok"} == set()
