"""Judging: each edge is judged by its own network, and the means and deviations of its folds are combined."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopsight.hcm.splits import Splits
from hopsight.spark.blocks import BLOCK, NO_FOLD, Layout
from hopsight.spark.judging import VALUES, _cell_views, _merged, edge_readings, edge_values, judging_folds, send_views


def test_folds_are_combined(spark: Any) -> None:
    rng = np.random.default_rng(0)
    hashes = rng.integers(0, 2**63, 30).astype(np.uint64)
    splits = Splits(0, 2, 4)
    samples: list[list[float]] = [[] for _ in range(30)]
    rows = []
    for turn in range(6):  # three folds of each network
        mine = np.flatnonzero(splits.of(hashes).part == turn // 3)
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
        rows.append((0, 2, turn, np.stack(means).tobytes()))
    unlike = rng.random(30)
    partial = spark.createDataFrame(rows, "cell int, slice int, fold int, payload binary")
    cells = spark.createDataFrame(
        [(0, 2, b"", b"", hashes.tobytes(), b"", unlike.tobytes())],
        "cell int, slice int, u binary, v binary, hash binary, way binary, dissimilarity binary",
    )
    merged = _merged(partial, cells, splits).first()
    found = edge_values(merged)
    assert tuple(found) == VALUES
    assert {len(values) for values in samples} == {12}
    np.testing.assert_allclose(found["hop"], np.mean(samples, axis=1))
    np.testing.assert_allclose(found["variance"], np.var(samples, axis=1))
    np.testing.assert_allclose(found["probability"], np.mean(samples, axis=1))
    np.testing.assert_allclose(found["surprise"], -np.mean(samples, axis=1))
    np.testing.assert_array_equal(edge_readings(merged).dissimilarity, unlike)


def test_views_that_were_set_aside_are_not_sent(spark: Any) -> None:
    splits = Splits(0, 2, 3)
    assert judging_folds(splits) == [1, 2, 4, 5]
    views = [(NO_FOLD, 0, 0, "x", b""), *((fold, 0, 0, "ax", b"") for fold in splits.folds)]
    sent = send_views(spark.createDataFrame(views, BLOCK), Layout((2,), 2), splits).collect()
    assert sorted(row["fold"] for row in sent if row["kind"] == "x") == [0, 1, 2, 3]
    assert sorted(row["fold"] for row in sent if row["kind"] == "ax") == [0, 1, 2, 3]


def test_nodes_of_the_second_block_come_below_those_of_the_first() -> None:
    blocks = {f"{kind}{side}": np.full((2, 1), side, dtype=np.float32) for kind in ("x", "ax") for side in (0, 1)}
    assert [view[:, 0].tolist() for view in _cell_views(blocks, same=False)] == [[0, 0, 1, 1]] * 2
    assert [view[:, 0].tolist() for view in _cell_views(blocks, same=True)] == [[0, 0]] * 2
