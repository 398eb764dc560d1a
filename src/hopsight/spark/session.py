"""Open a Spark session, after checking its requirements, and adapt its settings during a run.

As ``python -m hopsight.spark.session``, the module is the daemon of a session on this machine (setting
``spark.python.daemon.module``): it forks the Python workers from a process that has already imported torch and numba. A
stage has one worker per function and core; importing torch would take each of them seconds and hundreds of megabytes. A
worker collects garbage after every task; the imported modules are frozen, because scanning them would be most of the
work of a small task.
"""

from __future__ import annotations

import gc
import importlib
import logging
import os
import runpy
import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopsight.system.machine import available_memory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER = "local[*]"
LARGE_PARTITION = "16MB"  # of a join


def missing_requirement() -> str | None:
    """Return one sentence that says what to install, or None if nothing is missing."""
    absent = [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]
    if absent:
        return f"the Spark engine needs {' and '.join(absent)}: pip install 'hopsight[spark]'"
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        return "the Spark engine needs Java 17: install it, or set JAVA_HOME to its folder"
    return None


def check_requirements() -> None:
    """Refuse to continue without pyspark or Java."""
    absent = missing_requirement()
    if absent is not None:
        raise ValueError(absent)


def open_session(master: str | None = None) -> SparkSession:
    """Return the session of this process, or start one at ``master`` (default: all cores of this machine)."""
    check_requirements()
    from pyspark.sql import SparkSession

    memory = available_memory()
    share = f"{max(1, int((memory or 4e9) / 2.5e9))}g"
    builder = SparkSession.builder.appName("hopsight").master(master or DEFAULT_MASTER)
    settings: dict[str, Any] = {
        "spark.driver.memory": share,
        "spark.driver.maxResultSize": "0",  # no limit: the design bounds what the driver collects
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        # the functions of a group have full tracebacks anyway, and another setting is another daemon of Python workers
        "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    }
    if (master or DEFAULT_MASTER).startswith("local"):  # workers elsewhere may not find hopsight when they start
        settings["spark.python.daemon.module"] = "hopsight.spark.session"
    for name, value in settings.items():
        builder = builder.config(name, value)
    with _this_python():
        return builder.getOrCreate()


@contextmanager
def _this_python() -> Iterator[None]:
    """Make executors on this machine run this Python, unless ``PYSPARK_PYTHON`` names another."""
    if "PYSPARK_PYTHON" in os.environ:
        yield
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable  # a new session reads it once
    try:
        yield
    finally:
        del os.environ["PYSPARK_PYTHON"]


@contextmanager
def _settings(spark: SparkSession, wanted: dict[str, str]) -> Iterator[None]:
    """Apply some settings, and restore the old ones afterwards."""
    before = {name: spark.conf.get(name) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is not None:
                spark.conf.set(name, old)


def run_settings(spark: SparkSession) -> AbstractContextManager[None]:
    """Apply the settings that the stages rely on, and restore the old ones afterwards."""
    return _settings(spark, {
        "spark.sql.shuffle.partitions": str(max(2, 2 * spark.sparkContext.defaultParallelism)),
        "spark.sql.adaptive.enabled": "false",  # tasks are even by construction, so replanning only takes time
        "spark.sql.constraintPropagation.enabled": "false",  # with many columns it takes exponential time
        "spark.sql.requireAllClusterKeysForCoPartition": "false",  # cells are partitioned by one of several keys
    })  # fmt: skip


def splitting_hubs(spark: SparkSession) -> AbstractContextManager[None]:
    """Let Spark split the rows of a hub, which would meet in one task of a join, over several tasks."""
    return _settings(spark, {
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "2",
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": LARGE_PARTITION,
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": LARGE_PARTITION,
    })  # fmt: skip


@contextmanager
def ending_quietly() -> Iterator[None]:
    """Let an interrupt be the last word: py4j logs a trace of it, and Java may be gone before we have cleaned up.

    A session that was open before stays open.
    """
    ours = _open_context() is None
    silent = logging.NullHandler()  # without any handler, logging writes to standard error
    logging.getLogger().addHandler(silent)
    try:
        yield
    except BaseException as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__context__
        if cause is None:
            raise
        context = _open_context()
        if ours and context is not None:
            with suppress(Exception):  # Java writes traces about tasks whose Python is gone
                context.setLogLevel("OFF")
                context.stop()
        raise KeyboardInterrupt from None
    finally:
        logging.getLogger().removeHandler(silent)


def _open_context() -> Any:
    """Return the Spark context of this process, or None."""
    module = sys.modules.get("pyspark")
    return None if module is None else module.SparkContext._active_spark_context


if __name__ == "__main__":
    importlib.import_module("hopsight.spark.results")
    gc.freeze()
    runpy.run_module("pyspark.daemon", run_name="__main__")
