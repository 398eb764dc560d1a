"""Blocks: matrices and rows survive being cut and sent."""

from __future__ import annotations

import numpy as np

from hopsight.spark.blocks import (
    PIECE,
    Layout,
    arrow_schema,
    cell_of,
    join_pieces,
    one_row,
    pieces,
    rows_of,
)


def test_every_pair_of_blocks_has_one_cell() -> None:
    layout = Layout((3, 4, 5), 2)
    i, j = np.array(layout.pairs).T
    assert cell_of(i, j, 3).tolist() == list(range(6))
    assert [len(layout.cells_of(block)) for block in range(3)] == [3, 3, 3]


def test_a_matrix_survives_being_cut_into_pieces() -> None:
    rows = np.arange(2 * (PIECE + 7), dtype=np.float32).reshape(-1, 2)
    cut = list(pieces(0, 1, "x", rows))
    assert [row["piece"] for row in cut] == [0, 1]
    parts = [(row["piece"], row["payload"].tobytes()) for row in reversed(cut)]
    np.testing.assert_array_equal(join_pieces(parts, np.float32, PIECE + 7), rows)


def test_a_row_keeps_its_bytes() -> None:
    batch = one_row({"cell": 7, "payload": np.arange(3)}, arrow_schema("cell int, payload binary"))
    (row,) = rows_of(batch)
    assert row["cell"] == 7
    assert np.frombuffer(row["payload"], dtype=np.int64).tolist() == [0, 1, 2]
