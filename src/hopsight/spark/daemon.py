"""Fork the Python workers of a session on this machine from a process that has already imported torch and numba.

Spark starts this module as ``python -m hopsight.spark.daemon`` (setting ``spark.python.daemon.module``). A stage has
one worker per function and core; importing torch would take each of them seconds and hundreds of megabytes. A worker
collects garbage after every task; the imported modules are frozen, because scanning them would be most of the work of
a small task.
"""

from __future__ import annotations

import gc
import importlib
import runpy

NEEDED = ("hopsight.spark.judging", "hopsight.spark.rings", "hopsight.spark.ranking", "hopsight.spark.columns")

if __name__ == "__main__":
    for name in NEEDED:
        importlib.import_module(name)
    gc.freeze()
    runpy.run_module("pyspark.daemon", run_name="__main__")
