"""Memory of a process."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from hopsight.benchmark import memory

MB = 2**20
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can reset the peak")


@linux
def test_the_peak_is_counted_from_the_mark():
    memory.release()
    memory.mark_peak()
    before = memory.peak()
    block = np.ones(100 * MB // 8)
    assert block[-1] == 1
    during = memory.resident(os.getpid())
    del block
    assert 90 * MB < memory.peak() - before < 130 * MB
    assert during > before + 90 * MB
    memory.release()
    memory.mark_peak()
    assert memory.peak() < before + 50 * MB


def test_a_process_that_is_gone_holds_nothing():
    assert memory.resident(2**22 + 1) == 0


def test_the_machine_has_memory():
    assert memory.total() > 100 * MB
