"""Every example runs as a user would run it, and the README names commands and columns that exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from hopsight.cli import app
from hopsight.detectors.table import KINDS

FOLDER = Path(__file__).resolve().parents[1] / "examples"
PROMISES = {
    "find_anomalies.py": ", decided by misfit",
    "own_tables.py": "stands out: p3",
    "compare_detectors.py": "hcm  ROC-AUC",
}


def test_every_example_is_listed() -> None:
    assert sorted(path.name for path in FOLDER.glob("*.py")) == sorted(PROMISES)


@pytest.mark.parametrize("name", PROMISES)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / name)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert PROMISES[name] in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_readme_names_commands_and_options_that_exist() -> None:
    readme = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    called = re.findall(r"^hopsight (\w+)(.*)$", readme, flags=re.MULTILINE)
    assert {"detect", "explain", "score", "rerun"} <= {name for name, _ in called}
    for name, rest in called:
        options = {option for each in commands[name].params for option in each.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= options, name
    assert {"--false-alarms", "--contamination", "--evidence", "--repeat", "--group"} <= set(
        re.findall(r"--[a-z-]+", readme)
    )


def test_the_readme_explains_the_evidence_and_what_is_hidden_from_what() -> None:
    readme = " ".join((FOLDER.parent / "README.md").read_text(encoding="utf-8").split())
    assert all(f"`{kind}`" in readme for kind in KINDS)
    assert "an edge is judged only by networks that never trained on it and whose views leave it out" in readme
    assert "Default HCM and CrossHCM use Adam iterates, not a Langevin sampler, as their samples" in readme
    assert "Results are the same on the same kind of processor" in readme
    assert "rank node score degree flagged decided by" in readme
