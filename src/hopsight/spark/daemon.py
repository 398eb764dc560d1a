"""What the Python workers of a session on this machine are forked from: a process that has torch and numba already.

Spark starts it as ``python -m hopsight.spark.daemon`` (setting ``spark.python.daemon.module``). A stage has a worker
for each of its functions and cores; importing torch takes each of them seconds and hundreds of megabytes, which they
share here.
"""

from __future__ import annotations

import importlib
import runpy

NEEDED = ("hopsight.spark.judging", "hopsight.spark.rings", "hopsight.spark.ranking", "hopsight.spark.columns")

if __name__ == "__main__":
    for name in NEEDED:
        importlib.import_module(name)
    runpy.run_module("pyspark.daemon", run_name="__main__")
