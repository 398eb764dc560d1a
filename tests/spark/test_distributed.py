"""Training in a process of TorchDistributor: the samples of the driver, to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hops.pool import PairPool
from hopsight.spark.distributed import train_apart
from hopsight.spark.training import sampled, views_by_kind
from spark_stages import QUICK


def test_samples_are_those_of_the_driver(spark: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pools = [[rng.permutation(30).reshape(2, 15) for _ in range(2)] for _ in range(4)]  # every node is in every fold
    pool = PairPool(np.ones(2), np.zeros(2), np.array([0, 1]), 2, 12, pools)
    views = [(-1, "x"), *((fold, "ax") for fold in range(4))]
    rows = [
        {"fold": fold, "block": 0, "piece": 0, "kind": kind, "payload": rng.normal(size=(30, 5)).astype("f4").tobytes()}
        for fold, kind in views
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "part.parquet")
    model = CrossHCM(**QUICK)
    apart = train_apart(spark, str(tmp_path), np.float32, model, pool, tuple(np.random.default_rng(1).spawn(4)))
    here = sampled(views_by_kind(rows, np.float32), model, pool, tuple(np.random.default_rng(1).spawn(4)))
    np.testing.assert_array_equal(apart.samples, here.samples)
    np.testing.assert_array_equal(apart.losses, here.losses)
    assert (apart.n_inputs, apart.n_classes) == (5, 2)
    assert np.isfinite(here.losses).all() and len(np.unique(here.losses)) > 30
