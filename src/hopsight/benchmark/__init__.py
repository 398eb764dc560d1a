"""Benchmarks: fit many detectors to many graphs, resumably, and write what was measured.

>>> from hopsight.benchmark import Options, make_suite
>>> suite = make_suite("quick", Options(graphs=["generated"], detectors=["lof"], repetitions=1))
>>> [task.row for task in suite.plan]
['random', 'degree', 'attribute norm', 'LOF']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hopsight.benchmark.runner import BenchmarkResult, CellEvent, run
    from hopsight.benchmark.suites import Options, Suite, make_suite

__all__ = ["BenchmarkResult", "CellEvent", "Options", "Suite", "make_suite", "run"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "suites" if name in ("Options", "Suite", "make_suite") else "runner"
    return getattr(import_module(f"hopsight.benchmark.{module}"), name)
