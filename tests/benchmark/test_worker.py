"""What a worker makes of a cell (its life as a process is in test_pool)."""

from __future__ import annotations

from hopsight.benchmark.worker import _attempt, load_object


def test_objects_by_address():
    import hopsight.graph

    assert load_object("hopsight.graph:AttributedGraph") is hopsight.graph.AttributedGraph


def test_a_failure_is_one_line_with_its_place():
    def fail(cell):
        raise KeyError("first line\n  second line")

    status, reason = _attempt(fail, None)
    assert status == "failed"
    assert reason.startswith("KeyError: 'first line\\n second line' (test_worker.py:")
    assert "\n" not in reason


def test_memory_that_the_system_refuses_is_no_ordinary_failure():
    def fail(cell):
        raise MemoryError

    assert _attempt(fail, None) == ("memory", "the system refused more memory")
    assert _attempt(lambda cell: cell + 1, 1) == ("ok", 2)
