"""Training where Spark puts it: the same loop, started by pyspark's TorchDistributor instead of by the driver."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hops.pool import PairPool
from hopsight.spark.training import Trained, sampled, views_by_kind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def train_apart(
    spark: SparkSession,
    path: str,
    kind: Any,
    detector: CrossHCM,
    pool: PairPool,
    rngs: tuple[np.random.Generator, ...],
) -> Trained:
    """Train in a process that :class:`pyspark.ml.torch.distributor.TorchDistributor` starts.

    It is one process, on an executor of a cluster (which needs torch, and sees ``path``) or beside the driver with a
    local master: the driver is spared the sample and the training, which is not made faster. Several processes would
    add gradients up in another order, and the scores would no longer be those of one machine to the bit; the sample
    is bounded, so that one is enough whatever the size of the network.

    Parameters
    ----------
    path, kind
        Parquet files of the pool's views, and the type of their numbers.
    detector, pool, rngs
        As for :func:`hopsight.spark.training.train`.
    """
    from pyspark.ml.torch.distributor import TorchDistributor

    master = spark.sparkContext.master
    on_gpu = str(detector.device).startswith("cuda")
    distributor = TorchDistributor(
        num_processes=1, local_mode=master == "local" or master.startswith("local["), use_gpu=on_gpu
    )
    distributor.logger.setLevel(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves a pipe to its process open
        found = distributor.run(_train, path, np.dtype(kind).str, detector, pool, rngs)
    if not isinstance(found, Trained):
        raise RuntimeError("TorchDistributor returned no samples")
    return found


def _train(path: str, kind: str, detector: CrossHCM, pool: PairPool, rngs: tuple[np.random.Generator, ...]) -> Trained:
    """Read the sample without Spark, and train; this is what the new process does."""
    import pyarrow.parquet as pq

    rows = pq.read_table(path, columns=["fold", "block", "piece", "kind", "payload"]).to_pylist()
    return sampled(views_by_kind(rows, np.dtype(kind)), detector, pool, rngs)
