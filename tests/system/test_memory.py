"""Memory of a process."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from hopsight.system import machine as memory

MB = 2**20
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


def test_a_process_that_is_gone_holds_nothing():
    assert memory.resident_memory(2**22 + 1) == 0


def test_the_machine_has_memory():
    assert memory.total_memory() > 100 * MB


def test_more_memory_than_there_is_gets_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 2_000_000_000)
    memory.check_memory("AMEN", 1.9e9)
    with pytest.raises(ValueError, match=r"AMEN would need about 3.0 GB .* only 2.0 GB"):
        memory.check_memory("AMEN", 3e9)


def test_the_memory_of_this_machine_is_plausible() -> None:
    free = memory.available_memory()
    assert 10_000_000 < free < 2**50


def test_the_peak_is_no_less_than_what_is_held_now() -> None:
    assert 10e6 < memory.resident_memory() <= memory.peak_memory() < 100e9
