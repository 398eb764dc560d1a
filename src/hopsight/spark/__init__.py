"""The same detection on Spark: stages as DataFrame operations, for networks that outgrow one machine.

>>> import hopsight.spark
>>> callable(hopsight.spark.detect)  # doctest: +SKIP
True
"""

from __future__ import annotations

from typing import Any

__all__ = ["Detection", "detect", "open_session"]


def __getattr__(name: str) -> Any:
    """Find the public names when they are asked for, once it is clear that pyspark and Java are there."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hopsight.spark.session import check_parts

    check_parts()
    from hopsight.spark import detection, results, session

    homes = {"Detection": results, "detect": detection, "open_session": session}
    return getattr(homes[name], name)
