"""``python -m hopsight`` is the command line."""

from __future__ import annotations

import subprocess
import sys

import hopsight


def test_the_package_runs_as_a_module() -> None:
    answer = subprocess.run([sys.executable, "-m", "hopsight", "--version"], capture_output=True, text=True, check=True)
    assert answer.stdout == f"hopsight {hopsight.__version__}\n"


def test_errors_keep_their_exit_code() -> None:
    answer = subprocess.run([sys.executable, "-m", "hopsight", "detekt"], capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert answer.stderr.startswith("hopsight: ")
