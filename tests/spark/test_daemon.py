"""Workers of a local session are forked from a process that has imported what they need."""

from __future__ import annotations

from typing import Any


def test_workers_start_with_torch_and_hopsight_imported_and_frozen(spark: Any) -> None:
    def state(_: int) -> tuple[bool, bool, bool]:
        import gc
        import sys

        return "torch" in sys.modules, "hopsight.spark.judging" in sys.modules, gc.get_freeze_count() > 10_000

    assert spark.sparkContext.parallelize([0, 1], 2).map(state).collect() == [(True, True, True)] * 2
