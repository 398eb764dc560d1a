"""What a figure was measured on."""

import os
import platform

import numpy as np

from hopsight.benchmark.machine import machine, versions


def test_a_figure_says_where_it_was_made(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    found = machine()
    assert (found["cores"], found["threads"]) == (os.cpu_count(), 3)
    assert 0.1 < found["memory_gb"] < 1e6


def test_packages_that_are_not_there_are_left_out(monkeypatch):
    monkeypatch.setattr("hopsight.benchmark.machine._PACKAGES", ("numpy", "no-such-package"))
    assert versions() == {"python": platform.python_version(), "numpy": np.__version__}
