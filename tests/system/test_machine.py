"""What is said of the machine, and its memory."""

from __future__ import annotations

import os
import platform
import sys

import numpy as np
import pytest

from hopsight.system import machine as memory
from hopsight.system.machine import machine

MB = 2**20


def test_a_result_says_what_it_was_measured_on(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    found = machine()
    assert (found["cores"], found["threads"]) == (os.cpu_count(), 3)
    assert 0.1 < found["memory_gb"] < 1e6
    assert platform.node() not in [str(value) for value in found.values()]


linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can reset the peak")


@linux
def test_the_peak_is_counted_from_the_mark():
    memory.release_memory()
    memory.reset_peak()
    before = memory.peak_memory()
    block = np.ones(100 * MB // 8)
    assert block[-1] == 1
    during = memory.resident_memory()
    del block
    assert 90 * MB < memory.peak_memory() - before < 130 * MB
    assert during > before + 90 * MB
    memory.release_memory()
    memory.reset_peak()
    assert memory.peak_memory() < before + 50 * MB


def test_more_memory_than_there_is_gets_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 2_000_000_000)
    memory.check_memory("AMEN", 1.9e9)
    with pytest.raises(ValueError, match=r"AMEN would need about 3.0 GB .* only 2.0 GB"):
        memory.check_memory("AMEN", 3e9)
