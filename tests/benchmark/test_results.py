"""Rows, CSV files and means."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest

from benchmark.made import made_quick, made_record
from hopsight.benchmark.cells import Task
from hopsight.benchmark.results import (
    COLUMNS,
    Summary,
    mean_of,
    record_rows,
    select,
    task_rows,
    unique,
    write_curves,
    write_results,
)


def test_one_row_for_each_ranking_and_one_with_the_reason_of_a_failure():
    plan, _, rows = made_quick(repetitions=1)
    hcm = select(rows, row="HCM (paper)")
    assert [row["score"] for row in hcm] == ["ahp", "hav"]
    assert hcm[0]["memory"] == pytest.approx(300 / 1024, abs=0.1)
    failed = record_rows(made_record(plan[0].cell, status="died", reason="SIGKILL"))
    assert [(row["score"], row["status"], row["reason"]) for row in failed] == [(None, "died", "SIGKILL")]


def test_shared_cells_appear_in_both_experiments_and_second_rows_are_marked():
    plan, records, _ = made_quick(detectors=["lof"], repetitions=1)
    lof = plan[-1].cell
    reduced = replace(lof, view="reduced")
    tasks = [*plan, Task("comparison", "LOF", reduced), Task("other", "again", lof)]
    rows = task_rows(tasks, records | {reduced.key: made_record(reduced)})
    assert {row["key"] for row in select(rows, experiment="other")} == {lof.key}
    assert {row["second"] for row in select(rows, row="LOF", view="raw", experiment="comparison")} == {True}
    assert {row["second"] for row in select(rows, row="LOF", view="reduced")} == {False}
    assert {row["second"] for row in select(rows, row="random")} == {False}


def test_results_csv_holds_every_column_and_marks_what_is_current(tmp_path):
    plan, records, _ = made_quick(detectors=["lof", "hcm-paper"], repetitions=1)
    assert (plan[-2].row, plan[-1].row) == ("HCM (paper)", "LOF")
    write_results(tmp_path / "results.csv", plan[:-1], records)
    with (tmp_path / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert [row["current"] for row in rows] == ["true"] * 5 + ["false"]
    assert {(row["graph"], row["experiments"]) for row in rows if row["detector"] == "hcm"} == {
        ("generated", "comparison: HCM (paper)")
    }
    lof = rows[-1]
    assert lof["experiments"] == ""
    assert json.loads(lof["parameters"])["n_neighbors"] == 20
    assert float(lof["auc"]) == pytest.approx(0.7)
    assert lof["auc_attribute"] == ""


def test_curves_csv_has_one_line_per_epoch(tmp_path):
    plan, _, _ = made_quick(detectors=["hcm-paper"], repetitions=1)
    cells = [replace(plan[-1].cell, curve=True, seed=seed) for seed in range(3)]
    tasks = [Task("curves", "HCM", cell) for cell in cells]
    write_curves(tmp_path / "curves.csv", task_rows(tasks, {cell.key: made_record(cell) for cell in cells}))
    with (tmp_path / "curves.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 3 * 10  # seeds, epochs
    assert lines[0] | {"loss": "", "auc": ""} == {
        "graph": "generated", "injection": "0", "row": "HCM", "seed": "0", "epoch": "1", "loss": "", "auc": "",
    }  # fmt: skip


def test_means_over_repetitions():
    _, _, rows = made_quick(repetitions=2, seeds=2)
    summary = mean_of(select(rows, row="HCM (paper)", score="ahp"), "auc")  # .70 .71 .72 .73
    assert (summary.mean, summary.n) == (pytest.approx(0.715), 4)
    assert summary.sd == pytest.approx(0.0129099, abs=1e-6)
    assert Summary.of([None]) is None
    assert Summary.of([0.5]) == Summary(0.5, 0.0, 1)


def test_unique_takes_each_cell_once():
    _, _, rows = made_quick(repetitions=1)
    assert len(select(rows, detector="hcm")) == 6
    assert len(select(unique(rows, "comparison"), detector="hcm")) == 3
