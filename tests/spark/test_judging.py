"""Judging: the combined means and deviations of the folds are those of all samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopsight.spark.folds import Splits
from hopsight.spark.judging import _cell_views, _merged


def test_folds_are_combined(spark: Any) -> None:
    rng = np.random.default_rng(0)
    hashes = rng.integers(0, 2**63, 30).astype(np.uint64)
    splits = Splits(0, 2, 3)
    samples: list[list[float]] = [[] for _ in range(30)]
    rows = []
    for fold in splits.folds:
        mine = np.flatnonzero(splits.hidden(hashes, fold))
        hops = rng.normal(size=(4, mine.size))
        for edge, values in zip(mine, hops.T, strict=True):
            samples[edge] += values.tolist()
        means = [
            np.full(mine.size, 4.0),
            hops.mean(axis=0),
            4 * hops.var(axis=0),
            hops.mean(axis=0),
            -hops.mean(axis=0),
        ]
        rows.append((0, 2, fold, np.stack(means).tobytes()))
    partial = spark.createDataFrame(rows, "cell int, slice int, fold int, payload binary")
    cells = spark.createDataFrame(
        [(0, 2, b"", b"", hashes.tobytes())], "cell int, slice int, u binary, v binary, hash binary"
    )
    hop, variance, probability, surprise = np.frombuffer(_merged(partial, cells, splits).first()["values"]).reshape(
        4, -1
    )
    assert {len(values) for values in samples} == {12}
    np.testing.assert_allclose(hop, np.mean(samples, axis=1))
    np.testing.assert_allclose(variance, np.var(samples, axis=1))
    np.testing.assert_allclose(probability, np.mean(samples, axis=1))
    np.testing.assert_allclose(surprise, -np.mean(samples, axis=1))


def test_nodes_of_the_second_block_come_below_those_of_the_first() -> None:
    blocks = {f"{kind}{side}": np.full((2, 1), side, dtype=np.float32) for kind in ("x", "ax") for side in (0, 1)}
    assert [view[:, 0].tolist() for view in _cell_views(blocks, same=False)] == [[0, 0, 1, 1]] * 2
    assert [view[:, 0].tolist() for view in _cell_views(blocks, same=True)] == [[0, 0]] * 2
