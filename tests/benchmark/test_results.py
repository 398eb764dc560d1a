"""Rows, CSV files and means."""

from __future__ import annotations

import csv
import json

import pytest

from benchmark.made import made_record, made_suite
from hopsight.benchmark.results import (
    COLUMNS,
    Summary,
    mean_of,
    page_row,
    record_rows,
    select,
    unique,
    write_curves,
    write_results,
)


def test_one_row_for_each_ranking_and_one_with_the_reason_of_a_failure():
    plan, _, rows = made_suite(experiments=["comparison"], repetitions=1)
    hcm = select(rows, row="HCM (paper)")
    assert [row["score"] for row in hcm] == ["ahp", "hav"]
    assert hcm[0]["memory"] == pytest.approx(300 / 1024, abs=0.1)
    failed = record_rows(made_record(plan[0].cell, status="died", reason="SIGKILL"))
    assert [(row["score"], row["status"], row["reason"]) for row in failed] == [(None, "died", "SIGKILL")]


def test_shared_cells_appear_in_both_experiments_and_second_rows_are_marked():
    _, _, rows = made_suite(repetitions=1)
    tuned = select(rows, experiment="optimizers", row="SGD, rate .01", score="ahp")
    assert {row["key"] for row in select(rows, experiment="tuning", row="0.01")} == {tuned[0]["key"]}
    assert {row["second"] for row in select(rows, row="LOF", view="raw", experiment="comparison")} == {True}
    assert {row["second"] for row in select(rows, row="HCM", experiment="comparison")} == {False}
    assert {row["second"] for row in select(rows, row="random", experiment="comparison")} == {False}


def test_results_csv_holds_every_column_and_says_what_is_current(tmp_path):
    plan, records, _ = made_suite(experiments=["comparison"], detectors=["lof", "hcm-paper"], repetitions=1)
    write_results(tmp_path / "results.csv", plan[:-1], records)
    with (tmp_path / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert [row["current"] for row in rows] == ["true"] * 5 + ["false"] * 2
    lof = next(row for row in rows if row["detector"] == "lof")
    assert lof["experiments"] == "comparison: LOF"
    assert json.loads(lof["parameters"])["n_neighbors"] == 20
    assert float(lof["auc"]) == pytest.approx(0.7)
    assert lof["auc_attribute"] == ""


def test_curves_csv_has_one_line_an_epoch(tmp_path):
    _, _, rows = made_suite(experiments=["curves"])
    write_curves(tmp_path / "curves.csv", rows)
    with (tmp_path / "curves.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 4 * 3 * 10  # optimizers, repetitions, epochs
    assert lines[0] | {"loss": "", "auc": ""} == {
        "network": "generated", "injection": "0", "row": "SGLD, preconditioned", "seed": "0", "epoch": "1", "loss": "",
        "auc": "",
    }  # fmt: skip


def test_means_over_repetitions():
    _, _, rows = made_suite(experiments=["comparison"], repetitions=2, seeds=2)
    summary = mean_of(select(rows, row="HCM (paper)", score="ahp"), "auc")  # .70 .71 .72 .73
    assert (summary.mean, summary.n) == (pytest.approx(0.715), 4)
    assert summary.sd == pytest.approx(0.0129099, abs=1e-6)
    assert Summary.of([None]) is None
    assert Summary.of([0.5]) == Summary(0.5, 0.0, 1)


def test_unique_takes_a_cell_once():
    _, _, rows = made_suite(experiments=["comparison"], repetitions=1)
    assert len(select(rows, detector="hcm")) == 6
    assert len(select(unique(rows, "comparison"), detector="hcm")) == 3


def test_a_row_for_the_page_is_plain():
    _, _, rows = made_suite(experiments=["comparison"], repetitions=1)
    row = page_row(rows[-1])
    assert row["experiment"] == "comparison"
    assert all(value is None or isinstance(value, str | int | float) for value in row.values())
