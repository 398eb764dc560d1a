"""Rows, CSV files and means."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from benchmark.made import made_quick, made_record
from hopsight.benchmark.cells import Task
from hopsight.benchmark.results import (
    COLUMNS,
    Journal,
    comparison_tables,
    only_run,
    record_rows,
    task_rows,
    write_results,
)


def select(rows, **values):
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


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


def test_tables_have_means_and_say_why_there_is_none():
    def change(cell):
        if cell.detector == "hcm" and cell.injection == 1:
            return {"status": "memory limit", "reason": "9 GiB in use"}
        return {"status": "failed", "reason": "ValueError: no"} if cell.detector == "radar" else {}

    overview, details = comparison_tables(made_quick(repetitions=2, seeds=2)[2])
    assert dict(overview.rows)["HCM (paper), AHP"] == "0.715 ± 0.013"
    hcm = next(line for line in details.rows if line[1] == "HCM (paper), AHP")
    assert (hcm[0], hcm[3], hcm[-1]) == ("generated", "0.665 to 0.765", "4")
    overview, details, failures = comparison_tables(made_quick(change=change, repetitions=2)[2])
    assert dict(overview.rows)["Radar"] == "failed"
    assert dict(overview.rows)["HCM (paper), AHP"] == "0.700"
    assert next(line for line in details.rows if line[1] == "HCM (paper), AHP")[-1] == "1 of 2"
    assert ["generated", "Radar", "failed", "ValueError: no"] in failures.rows


def test_records_come_back_and_the_later_of_two_counts(tmp_path):
    journal = Journal(tmp_path / "new" / "folder")
    journal.append({"key": "a", "auc": 0.5})
    journal.append({"key": "b", "auc": 0.6})
    journal.append({"key": "a", "auc": 0.7})
    assert Journal(tmp_path / "new" / "folder").read() == {
        "a": {"key": "a", "auc": 0.7},
        "b": {"key": "b", "auc": 0.6},
    }


@pytest.mark.parametrize("torn", [b'{"key": "b", "au', b'{"key": "b"\n'])
def test_an_incomplete_last_line_does_not_count(tmp_path, torn):
    journal = Journal(tmp_path)
    journal.append({"key": "a"})
    with journal.path.open("ab") as file:
        file.write(torn)
    reopened = Journal(tmp_path)
    assert reopened.read() == {"a": {"key": "a"}}
    reopened.append({"key": "c"})
    assert list(Journal(tmp_path).read()) == ["a", "c"]


def test_a_foreign_line_in_the_middle_is_refused(tmp_path):
    (tmp_path / "cells.jsonl").write_text('{"key": "a"}\nnot ours\n{"key": "b"}\n')
    with pytest.raises(ValueError, match="line 2"):
        Journal(tmp_path).read()


@pytest.mark.parametrize("own", ['{"a": 1}\n{"b": 2}\n', "first\nlast line without an end", '{"a": 1}'])
def test_a_file_of_somebody_else_keeps_its_last_line(tmp_path, own):
    (tmp_path / "cells.jsonl").write_text(own)
    with pytest.raises(ValueError, match="line 1: this is not a benchmark record; choose another folder"):
        Journal(tmp_path).read()
    assert (tmp_path / "cells.jsonl").read_text() == own


def test_a_journal_that_was_killed_in_its_first_line_starts_anew(tmp_path):
    (tmp_path / "cells.jsonl").write_text('{"key": "a", "cell": {"gra')
    assert Journal(tmp_path).read() == {}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_neither_the_journal_nor_the_lock_is_a_link_or_a_pipe(tmp_path):
    mine, out = tmp_path / "letter", tmp_path / "out"
    mine.write_text('{"key": "a"}\ndear')
    out.mkdir()
    for name, begin in (
        ("cells.jsonl", lambda folder: Journal(folder).read()),
        (".lock", lambda folder: only_run(folder).__enter__()),
    ):
        for make in (lambda path: path.symlink_to(mine), lambda path: path.symlink_to(tmp_path / "new"), os.mkfifo):
            make(out / name)
            with pytest.raises(ValueError, match="is a symbolic link, folder, pipe or device: move it away"):
                begin(out)
            (out / name).unlink()
    assert mine.read_text() == '{"key": "a"}\ndear' and not (tmp_path / "new").exists()


def test_every_record_reported_before_a_kill_is_there_after_it(tmp_path):
    """Kill a process that writes: all records that it has reported must be in the journal."""
    script = (
        "import sys; from pathlib import Path; from hopsight.benchmark.results import Journal\n"
        "journal = Journal(Path(sys.argv[1]))\n"
        "for i in range(10**9):\n"
        "    journal.append({'key': f'cell {i}', 'text': 'x' * 5000})\n"
        "    print(i, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE) as process:
        for _ in range(5):
            process.stdout.readline()
        time.sleep(0.05)
        process.kill()
        reported = 4 + len(process.stdout.read().splitlines())
    kept = Journal(tmp_path).read()
    assert len(kept) in (reported + 1, reported + 2)  # the last one may have been written but not reported
    assert list(kept)[:5] == [f"cell {i}" for i in range(5)]


def test_a_second_run_into_the_folder_is_refused(tmp_path):
    with only_run(tmp_path), pytest.raises(ValueError, match="another benchmark"), only_run(tmp_path):
        pass
    with only_run(tmp_path):
        pass
