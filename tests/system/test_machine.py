"""The machine that a result was measured on."""

from __future__ import annotations

import os
import platform

from hopsight.system.machine import machine


def test_a_result_says_what_it_was_measured_on(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    found = machine()
    assert (found["cores"], found["threads"]) == (os.cpu_count(), 3)
    assert 0.1 < found["memory_gb"] < 1e6
    assert platform.node() not in [str(value) for value in found.values()]
