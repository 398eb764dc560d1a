"""What a figure was measured on."""

import os

from hopsight.benchmark.machine import machine


def test_a_figure_says_where_it_was_made(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    found = machine()
    assert (found["cores"], found["threads"]) == (os.cpu_count(), 3)
    assert 0.1 < found["memory_gb"] < 1e6
