"""What the Python workers of a session on this machine are forked from: a process that has torch and numba already.

Spark starts it as ``python -m hopsight.spark.daemon`` (setting ``spark.python.daemon.module``). A stage has a worker
for each of its functions and cores; importing torch takes each of them seconds and hundreds of megabytes, which they
share here. A worker collects garbage after every task; what was imported is none and is left out, which would
otherwise be most of the work of a small task.
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
