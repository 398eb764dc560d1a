"""Every example runs as a user would run it, and prints what it promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples"
PROMISES = {
    "find_anomalies.py": "nodes are flagged",
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
