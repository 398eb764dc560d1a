"""How a worker answers a job; test_worker_pool has its life as a process."""

from __future__ import annotations

from hopsight.benchmark.worker import attempt


def test_a_failure_is_one_line_with_its_place():
    def fail(cell):
        raise KeyError("first line\n  second line")

    status, reason = attempt(fail, None)
    assert status == "failed"
    assert reason.startswith("KeyError: 'first line\\n second line' (test_worker.py:")
    assert "\n" not in reason


def test_memory_that_the_system_refuses_has_a_status_of_its_own():
    def fail(cell):
        raise MemoryError

    assert attempt(fail, None) == ("memory", "the system refused to allocate more memory")
    assert attempt(lambda cell: cell + 1, 1) == ("ok", 2)
