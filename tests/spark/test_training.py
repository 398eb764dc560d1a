"""Training: the views of the pool's nodes are all that it needs."""

from __future__ import annotations

import numpy as np
import torch

from hopsight.hops.pool import PairPool
from hopsight.spark.training import _local, _members


def test_every_fold_gets_the_rows_of_its_own_nodes() -> None:
    pools = [[np.array([[4], [9]]), np.array([[7], [4]])], [np.array([[2], [7]]), np.array([[9], [2]])]]
    pool = PairPool(np.ones(2), np.zeros(2), np.array([0, 1]), 2, 1, pools)
    assert _members(pool, 0).tolist() == [4, 7, 9]
    x = np.array([2, 4, 7, 9], dtype=np.float32)  # every node's row is its number
    rows = {
        (-1, "x"): x,
        (0, "ax"): np.array([4, 7, 9], dtype=np.float32),
        (1, "ax"): np.array([2, 7, 9], dtype=np.float32),
    }
    local, folds = _local(rows, pool, torch.device("cpu"))
    for fold, (old, new) in enumerate(zip(pools, local.pools, strict=True)):
        for view in folds[fold].view:
            for pairs, same in zip(old, new, strict=True):
                np.testing.assert_array_equal(view.numpy()[same][..., 0], pairs)
