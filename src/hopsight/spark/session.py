"""The Spark session: what must be there, and settings of our own while a run lasts."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopsight.system.memory import available_memory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER = "local[*]"


def missing_parts() -> str | None:
    """Return one sentence that says what to install, or None."""
    absent = [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]
    if absent:
        return f"the spark engine needs {' and '.join(absent)}: pip install 'hopsight[spark]'"
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        return "the spark engine needs Java 17: install it, or let JAVA_HOME name its folder"
    return None


def check_parts() -> None:
    """Refuse to go on without pyspark or Java."""
    absent = missing_parts()
    if absent is not None:
        raise ValueError(absent)


def open_session(master: str | None = None) -> SparkSession:
    """Return the session of this process, or start one at ``master`` (default: all cores of this machine)."""
    check_parts()
    from pyspark.sql import SparkSession

    memory = available_memory()
    share = f"{max(1, int((memory or 4e9) / 2.5e9))}g"
    builder = SparkSession.builder.appName("hopsight").master(master or DEFAULT_MASTER)
    settings: dict[str, Any] = {
        "spark.driver.memory": share,
        "spark.driver.maxResultSize": "0",  # what comes back is bounded by design, not by a setting
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    if (master or DEFAULT_MASTER).startswith("local"):  # elsewhere the workers' Python may find hopsight only later
        settings["spark.python.daemon.module"] = "hopsight.spark.daemon"
    for name, value in settings.items():
        builder = builder.config(name, value)
    with _this_python():
        return builder.getOrCreate()


@contextmanager
def _this_python() -> Iterator[None]:
    """Have executors on this machine run this Python, unless ``PYSPARK_PYTHON`` names another."""
    if "PYSPARK_PYTHON" in os.environ:
        yield
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable  # a new session reads it once, and keeps it
    try:
        yield
    finally:
        del os.environ["PYSPARK_PYTHON"]


@contextmanager
def settings(spark: SparkSession) -> Iterator[None]:
    """Set what the stages count on, and put it back: shuffles of as many tasks as suit the cores, not more."""
    wanted = {
        "spark.sql.shuffle.partitions": str(max(2, 2 * spark.sparkContext.defaultParallelism)),
        "spark.sql.adaptive.enabled": "false",  # tasks are even by construction, and planning again takes time
        "spark.sql.requireAllClusterKeysForCoPartition": "false",  # the task of a cell is one of several keys
    }
    before = {name: spark.conf.get(name) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is not None:
                spark.conf.set(name, old)
