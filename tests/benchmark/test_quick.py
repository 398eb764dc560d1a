"""The quick suite, for real."""

from __future__ import annotations

import csv
import time

import pytest

from hopsight.benchmark import Options, make_suite, run


def statuses(folder):
    with (folder / "results.csv").open(newline="") as file:
        return {(row["detector"], row["status"], row["reason"]) for row in csv.DictReader(file)}


def test_every_detector_runs_on_the_generated_graph(tmp_path):
    result = run(make_suite("quick", Options(graphs=["generated"], repetitions=1)), tmp_path, workers=2)
    assert {entry for entry in statuses(tmp_path) if entry[1] != "ok"} == set()
    assert [table.name for table in result.tables] == ["overview", "graph_generated", "graphs"]
    assert {path.name for path in tmp_path.iterdir()} == {
        "cells.jsonl", "results.csv", "tables.md", "report.html", ".lock",
    }  # fmt: skip


@pytest.mark.slow
def test_the_quick_suite_takes_under_three_minutes_on_two_cores(tmp_path, data_dir):
    begin = time.monotonic()
    run(make_suite("quick", Options(data_dir=str(data_dir))), tmp_path, workers=2)
    assert time.monotonic() - begin < 180
    assert {entry for entry in statuses(tmp_path) if entry[1] != "ok"} == set()
