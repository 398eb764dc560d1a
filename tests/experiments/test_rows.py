"""Rows of results: chosen, averaged and written as people write numbers."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest

from benchmark.made import made_quick, made_record
from hopsight.benchmark.cells import Task
from hopsight.benchmark.results import task_rows
from paper.rows import Summary, difference, mean_of, mean_sd, number, seconds, select, size, unique, write_curves


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


def test_numbers_as_people_write_them():
    assert (number(0.12345), number(None), number(2.0, 1)) == ("0.123", "", "2.0")
    assert mean_sd(Summary(0.7512, 0.0284, 10)) == "0.751 ± 0.028"
    assert mean_sd(None) == ""
    assert difference(Summary(0.752, 0.0, 1), 0.808) == "−0.056"
    assert difference(Summary(0.852, 0.0, 1), 0.808) == "+0.044"
    assert (size(1536), size(80.4)) == ("1.5 GB", "80 MB")
    assert (seconds(0.01234), seconds(99.96)) == ("0.012", "100.0")
