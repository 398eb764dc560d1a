"""The script that runs the paper's experiments, for real."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "experiments" / "bench.py"


def test_the_quick_suite_writes_every_table_and_figure(tmp_path):
    """HCM, one baseline and a class of the experiments, which workers must import, on the generated graph."""
    out = tmp_path / "out"
    command = [sys.executable, str(SCRIPT), "--suite", "quick", "--out", str(out), "--repetitions", "1"]
    command += ["--workers", "1", "--detectors", "lof", "hcm-paper", "paper.oracle:MADANOracle"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    with (out / "results.csv").open(newline="") as file:
        found = {(row["detector"], row["status"]) for row in csv.DictReader(file)}
    assert found == {
        (name, "ok") for name in ("random", "degree", "attribute_norm", "lof", "hcm", "paper.oracle:MADANOracle")
    }
    names = {"comparison", "mean_scores", "sweeps", "optimizers", "epochs", "growth"}
    assert {path.name for path in (out / "figures").iterdir()} == {f"{n}.{e}" for n in names for e in ("png", "svg")}
    assert {path.name for path in out.iterdir()} == {
        "cells.jsonl", "curves.csv", "figures", "results.csv", "tables.md", "report.html", ".lock",
    }  # fmt: skip
    assert "Table 1: ROC-AUC" in done.stdout
    assert "SGD, rate tuned on the loss" in (out / "tables.md").read_text()
