"""The script that runs the paper's experiments, for real."""

import subprocess
import sys
from pathlib import Path

import pytest

from run_tables import rows_of

SCRIPT = Path(__file__).resolve().parents[2] / "experiments" / "bench.py"


def run_quick(out: Path, *options: str) -> tuple[str, set[tuple[str, str]]]:
    """Run the quick suite and return what it printed, and how each detector ended."""
    command = [sys.executable, str(SCRIPT), "--suite", "quick", "--out", str(out), "--repetitions", "1", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=out.parent, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, {(row["detector"], row["status"]) for row in rows_of(out / "results.csv")}


@pytest.mark.slow
def test_the_quick_suite_writes_every_table_and_figure(tmp_path):
    """HCM, one baseline and a class that is on the path of the script only, with all studies of HCM."""
    out = tmp_path / "out"
    printed, found = run_quick(out, "--workers", "2", "--detectors", "lof", "hcm-paper", "paper.oracle:MADANOracle")
    assert found == {
        (name, "ok") for name in ("random", "degree", "attribute_norm", "lof", "hcm", "paper.oracle:MADANOracle")
    }
    names = {"comparison", "mean_scores", "sweeps", "optimizers", "epochs", "growth"}
    assert {path.name for path in (out / "figures").iterdir()} == {f"{n}.{e}" for n in names for e in ("png", "svg")}
    assert {path.name for path in out.iterdir()} == {
        "cells.jsonl", "curves.csv", "figures", "results.csv", "report.html",
    }  # fmt: skip
    assert "Table 1: ROC-AUC" in printed and "SGD, rate tuned on the loss" in (out / "report.html").read_text()
