"""Training: the views of the nodes in the pool are enough, and another process draws the same samples."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hops.pool import PairPool
from hopsight.spark.blocks import Layout
from hopsight.spark.detection import Engine
from hopsight.spark.training import _renumbered, train_on_views, views_by_kind
from spark_stages import QUICK


def test_each_fold_gets_the_views_of_its_own_nodes() -> None:
    pools = [[np.array([[4], [9]]), np.array([[7], [4]])], [np.array([[2], [7]]), np.array([[9], [2]])]]
    pool = PairPool(np.ones(2), np.zeros(2), np.array([0, 1]), 2, 1, pools, 1)
    assert pool.nodes(0).tolist() == [4, 7, 9]
    x = np.array([2, 4, 7, 9], dtype=np.float32)  # every node's row is its number
    rows = {
        (-1, "x"): x,
        (0, "ax"): np.array([4, 7, 9], dtype=np.float32),
        (1, "ax"): np.array([2, 7, 9], dtype=np.float32),
    }
    local, folds = _renumbered(rows, pool, torch.device("cpu"))
    for fold, (old, new) in enumerate(zip(pools, local.pools, strict=True)):
        for view in folds[fold].view:
            for pairs, same in zip(old, new, strict=True):
                np.testing.assert_array_equal(view.numpy()[same][..., 0], pairs)


def test_another_process_draws_the_samples_of_the_driver(spark: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pools = [[rng.permutation(30).reshape(2, 15) for _ in range(2)] for _ in range(6)]  # every node is in every fold
    pool = PairPool(np.ones(2), np.zeros(2), np.array([0, 1]), 2, 12, pools, 2)
    views = [(-1, "x"), *((fold, "ax") for fold in range(6))]
    rows = [
        {"fold": fold, "block": 0, "piece": 0, "kind": kind, "payload": rng.normal(size=(30, 5)).astype("f4").tobytes()}
        for fold, kind in views
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "part.parquet")
    model = CrossHCM(**QUICK)
    engine = Engine(model, lambda name: nullcontext(), None, "", distributed=True)
    apart = engine._train(spark, str(tmp_path), Layout((30,), 1), pool, tuple(np.random.default_rng(1).spawn(4)))
    here = train_on_views(views_by_kind(rows, np.float32), model, pool, tuple(np.random.default_rng(1).spawn(4)))
    np.testing.assert_array_equal(apart.samples, here.samples)
    np.testing.assert_array_equal(apart.losses, here.losses)
    np.testing.assert_array_equal(apart.calibrations, here.calibrations)
    assert here.samples.shape[:2] == (8, 2) and len(here.calibrations) == 2
    assert (apart.n_inputs, apart.n_classes) == (5, 2)
    assert np.isfinite(here.losses).all() and len(np.unique(here.losses)) > 30
