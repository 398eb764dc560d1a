"""Every table and figure of the paper, and the same for other networks and detectors: :func:`run` a suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hopsight.benchmark.runner import Progress, Report, run

__all__ = ["Progress", "Report", "run"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("hopsight.benchmark.runner"), name)
