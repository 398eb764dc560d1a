"""Cells: edges survive slicing, tasks are even, and the cells together compute a product."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.spark import cells as module
from hopsight.spark.blocks import SENT, Layout, pieces, send, sum_over_cells
from hopsight.spark.cells import assign_tasks, join_slices, on_cells, slices, task_keys


def test_edges_survive_slicing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE", 4)
    edges = {"u": np.arange(10, dtype=np.int32), "hash": np.arange(10, dtype=np.uint64)}
    cut = list(slices(3, edges))
    assert [(row["cell"], row["slice"], row["u"].size) for row in cut] == [(3, 0, 4), (3, 1, 4), (3, 2, 2)]
    types = {"u": np.int32, "hash": np.uint64}
    again = join_slices(reversed(cut), types, ["u", "hash"])
    for name, values in edges.items():
        np.testing.assert_array_equal(again[name], values)
    assert [row["u"].size for row in slices(3, {"u": np.empty(0)})] == [0]  # a cell without edges has a row


def test_cells_of_all_folds_are_assigned_evenly(spark: Any) -> None:
    layout = Layout((3, 4, 5), 7)
    n_tasks, keys = assign_tasks(layout, 7)
    assert (n_tasks, len(keys)) == (7, 42)
    edges = [1 if i == j else 2 for i, j in layout.pairs] * 7
    work = [sum(n for n, key in zip(edges, keys, strict=True) if key == mine) for mine in set(keys)]
    assert work == [9] * 7  # three cells of two blocks and three of one
    tasks = spark.createDataFrame([(key,) for key in task_keys(7)], "key int").selectExpr("pmod(hash(key), 7) t")
    assert [row["t"] for row in tasks.collect()] == list(range(7))


def test_cells_together_compute_the_product_with_the_adjacency(spark: Any) -> None:
    layout = Layout((2, 3), 2)
    values = np.array([[1.0], [2.0], [4.0], [8.0], [16.0]])
    cut = [row for block, rows in enumerate((values[:2], values[2:])) for row in pieces(0, block, "x", rows)]
    rows = [tuple(bytes(v.tobytes()) if k == "payload" else v for k, v in row.items()) for row in cut]
    frame = spark.createDataFrame(rows, "fold int, block int, piece int, kind string, payload binary")
    ends = {0: ([0], [1]), 1: ([0, 1], [0, 2]), 2: ([0], [1])}  # edges 0-1, 0-2, 1-4, 2-3
    packed = [(cell, 0, *(np.array(end, dtype=np.int32).tobytes() for end in pair)) for cell, pair in ends.items()]
    cells = spark.createDataFrame(packed, "cell int, slice int, u binary, v binary")

    def add(layout: Layout, fold: int, cell: int, blocks: dict[str, Any], edges: dict[str, Any]) -> Any:
        for side, (end, other) in enumerate((("u", "v"), ("v", "u"))):
            total = np.zeros_like(blocks[f"x{side}"])
            np.add.at(total, edges[end], blocks[f"x{1 - side}"][edges[other]])
            for row in pieces(fold, layout.pairs[cell][side], "y", total):
                yield {**row, "cell": 2 * cell + side}

    types = {"x": np.float64, "u": np.int32, "v": np.int32}
    partial = on_cells(send(frame, layout), cells, layout, [0], add, types, SENT)
    found = sum_over_cells(partial, layout, np.float64).collect()
    parts = [np.frombuffer(row["payload"]) for row in sorted(found, key=lambda row: row["block"])]
    assert np.concatenate(parts).tolist() == [6.0, 17.0, 9.0, 4.0, 2.0]
