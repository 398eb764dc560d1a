"""Blocks and cells: nothing is lost on the way, and sums are sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.spark import blocks
from hopsight.spark.blocks import (
    PIECE,
    SENT,
    Layout,
    added,
    arrow_schema,
    cell_of,
    dealt,
    on_cells,
    one_row,
    pieces,
    rows_of,
    send,
    slices,
    task_words,
    whole,
    whole_cell,
)


def test_every_pair_of_blocks_has_one_cell() -> None:
    layout = Layout((3, 4, 5), 2)
    i, j = np.array(layout.pairs).T
    assert cell_of(i, j, 3).tolist() == list(range(6))
    assert [len(layout.cells_of(block)) for block in range(3)] == [3, 3, 3]


def test_a_matrix_comes_back_from_its_pieces() -> None:
    rows = np.arange(2 * (PIECE + 7), dtype=np.float32).reshape(-1, 2)
    cut = list(pieces(0, 1, "x", rows))
    assert [row["piece"] for row in cut] == [0, 1]
    parts = [(row["piece"], row["payload"].tobytes()) for row in reversed(cut)]
    np.testing.assert_array_equal(whole(parts, np.float32, PIECE + 7), rows)


def test_links_come_back_from_their_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "SLICE", 4)
    links = {"u": np.arange(10, dtype=np.int32), "hash": np.arange(10, dtype=np.uint64)}
    cut = list(slices(3, links))
    assert [(row["cell"], row["slice"], row["u"].size) for row in cut] == [(3, 0, 4), (3, 1, 4), (3, 2, 2)]
    types = {"u": np.int32, "hash": np.uint64}
    again = whole_cell(reversed(cut), types, ["u", "hash"])
    for name, values in links.items():
        np.testing.assert_array_equal(again[name], values)
    assert [row["u"].size for row in slices(3, {"u": np.empty(0)})] == [0]  # a cell without links has a row


def test_cells_of_all_folds_are_dealt_evenly(spark: Any) -> None:
    layout = Layout((3, 4, 5), 7)
    n_tasks, words = dealt(layout, 7)
    assert (n_tasks, len(words)) == (7, 42)
    links = [1 if i == j else 2 for i, j in layout.pairs] * 7
    work = [sum(n for n, word in zip(links, words, strict=True) if word == mine) for mine in set(words)]
    assert work == [9] * 7  # three cells of two blocks and three of one
    tasks = spark.createDataFrame([(word,) for word in task_words(7)], "word int").selectExpr("pmod(hash(word), 7) t")
    assert [row["t"] for row in tasks.collect()] == list(range(7))


def test_a_row_keeps_its_bytes() -> None:
    batch = one_row({"cell": 7, "payload": np.arange(3)}, arrow_schema("cell int, payload binary"))
    (row,) = rows_of(batch)
    assert row["cell"] == 7
    assert np.frombuffer(row["payload"], dtype=np.int64).tolist() == [0, 1, 2]


def test_cells_together_make_the_product_with_the_adjacency(spark: Any) -> None:
    layout = Layout((2, 3), 2)
    values = np.array([[1.0], [2.0], [4.0], [8.0], [16.0]])
    cut = [row for block, rows in enumerate((values[:2], values[2:])) for row in pieces(0, block, "x", rows)]
    rows = [tuple(bytes(v.tobytes()) if k == "payload" else v for k, v in row.items()) for row in cut]
    frame = spark.createDataFrame(rows, "fold int, block int, piece int, kind string, payload binary")
    ends = {0: ([0], [1]), 1: ([0, 1], [0, 2]), 2: ([0], [1])}  # links 0-1, 0-2, 1-4, 2-3
    packed = [(cell, 0, *(np.array(end, dtype=np.int32).tobytes() for end in pair)) for cell, pair in ends.items()]
    cells = spark.createDataFrame(packed, "cell int, slice int, u binary, v binary")

    def add(layout: Layout, fold: int, cell: int, blocks: dict[str, Any], links: dict[str, Any]) -> Any:
        for side, (end, other) in enumerate((("u", "v"), ("v", "u"))):
            total = np.zeros_like(blocks[f"x{side}"])
            np.add.at(total, links[end], blocks[f"x{1 - side}"][links[other]])
            for row in pieces(fold, layout.pairs[cell][side], "y", total):
                yield {**row, "cell": 2 * cell + side}

    types = {"x": np.float64, "u": np.int32, "v": np.int32}
    found = added(on_cells(send(frame, layout), cells, layout, [0], add, types, SENT), layout, np.float64).collect()
    parts = [np.frombuffer(row["payload"]) for row in sorted(found, key=lambda row: row["block"])]
    assert np.concatenate(parts).tolist() == [6.0, 17.0, 9.0, 4.0, 2.0]
