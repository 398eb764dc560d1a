"""Run the same detection on Spark, as DataFrame operations, for graphs that outgrow one machine.

>>> import hopsight.spark
>>> callable(hopsight.spark.detect)  # doctest: +SKIP
True
"""

from __future__ import annotations

from typing import Any

__all__ = ["Detection", "detect", "open_session"]


def __getattr__(name: str) -> Any:
    """Import the public names on first use, after checking that pyspark and Java are installed."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hopsight.spark.session import check_requirements

    check_requirements()
    from hopsight.spark import detection, results, session

    homes = {"Detection": results, "detect": detection, "open_session": session}
    return getattr(homes[name], name)
