"""Sum triangles of strangers and of lookalikes: adjacency lists directed by degree meet for two blocks at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hopsight.hcm.evidence import EdgeBaseline
from hopsight.spark.blocks import (
    BLOCK,
    NO_FOLD,
    SENT,
    Array,
    Layout,
    arrow_schema,
    each_row,
    one_row,
    piece_matrix,
    pieces,
    rows_of,
    send,
)
from hopsight.spark.cells import first_arcs, on_cells, slices
from hopsight.spark.judging import edge_readings
from hopsight.system.compiled import compiled
from hopsight.system.kernels import meet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


SIDES = ("strangeness", "alikeness")
WITH_SIDES = "cell int, slice int, u binary, v binary, strangeness binary, alikeness binary"
LISTS = "block int, cell int, source binary, target binary, strangeness binary, alikeness binary"
ROUTED = "first int, second int, cell int, source binary, target binary, strangeness binary, alikeness binary"
LIST_TYPES: dict[str, Any] = {"source": np.int64, "target": np.int64, **dict.fromkeys(SIDES, np.float64)}


def ring_blocks(judged: DataFrame, degrees: DataFrame, layout: Layout, laws: EdgeBaseline) -> DataFrame:
    """Return partial blocks ``ring``: for each node, two sums over its triangles.

    The first is that of the products of the sides' strangeness, the second that of their alikeness.

    A triangle u → v → w is found where the lists of u and v meet, in the task of their two blocks. No list is longer
    than √(2m), not even that of a hub.
    """
    lists = oriented(judged, degrees, layout, laws)
    n_blocks = layout.n_blocks

    def route(as_first: bool) -> Any:
        def copies(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
            for other in range(n_blocks):
                ends = (row["block"], other) if as_first else (other, row["block"])
                yield {**row, "first": ends[0], "second": ends[1]}

        return each_row(copies, ROUTED)

    names = arrow_schema(SENT)

    def close(key: Any, left: pa.Table, right: pa.Table) -> pa.Table:
        first, second = (part.as_py() for part in key)
        total = triangle_sums(_lists(left), _lists(right), layout.offsets, second, layout.n_nodes)
        batches = []
        for block, start in enumerate(layout.offsets[:-1]):
            part = total[start : start + layout.sizes[block]]
            if part.any():
                rows = pieces(NO_FOLD, block, "ring", part)
                batches += [one_row({**row, "cell": first * n_blocks + second}, names) for row in rows]
        return pa.Table.from_batches(batches, names)

    n_tasks = max(2, min(layout.n_tasks, n_blocks**2))
    left, right = (
        lists.mapInArrow(route(as_first), ROUTED).repartition(n_tasks, "first", "second").groupBy("first", "second")
        for as_first in (True, False)
    )
    return left.cogroup(right).applyInArrow(close, SENT)


def oriented(judged: DataFrame, degrees: DataFrame, layout: Layout, laws: EdgeBaseline) -> DataFrame:
    """Return the edges as lists that start at the end of smaller degree; nodes are numbered over all blocks."""
    first = layout.offsets

    def only_degree(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        column = np.ascontiguousarray(piece_matrix(row, layout, np.int32)[:, :1])
        yield {**row, "payload": column}

    def direct(
        layout: Layout, fold: int, cell: int, blocks: dict[str, Array], edges: dict[str, Array]
    ) -> Iterator[dict[str, Any]]:
        i, j = layout.pairs[cell]
        edges = _one_side(edges)
        u, v = edges["u"].astype(np.int64), edges["v"].astype(np.int64)
        a, b = blocks["degree0"][u, 0], blocks["degree1"][v, 0]
        forward = a <= b  # ties go to u, because blocks and positions are in order
        ends = np.stack([first[i] + u, first[j] + v])
        for block, mask, (source, target) in ((i, forward, ends), (j, ~forward, ends[::-1])):
            lists = {"source": source[mask], "target": target[mask], **{side: edges[side][mask] for side in SIDES}}
            yield from ({"block": block, **part} for part in slices(cell, lists))

    def with_sides(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        edges = edge_readings(row)
        yield {**row, "strangeness": laws.strangeness(edges), "alikeness": laws.alikeness(edges)}

    slim = degrees.mapInArrow(each_row(only_degree, BLOCK), BLOCK)
    edges = judged.mapInArrow(each_row(with_sides, WITH_SIDES), WITH_SIDES)
    types = {"degree": np.int32, "u": np.int32, "v": np.int32, **dict.fromkeys(SIDES, np.float64)}
    return on_cells(send(slim, layout), edges, layout, [NO_FOLD], direct, types, LISTS)


def _one_side(edges: dict[str, Array]) -> dict[str, Array]:
    """Replace two opposite arcs by one edge with the means of their numbers."""
    first = np.flatnonzero(first_arcs(edges["u"], edges["v"]))
    if first.size == edges["u"].size:
        return edges
    n_arcs = np.diff(first, append=edges["u"].size)
    means = {side: np.add.reduceat(edges[side], first) / n_arcs for side in SIDES}
    return {"u": edges["u"][first], "v": edges["v"][first], **means}


def triangle_sums(left: tuple[Array, ...], right: tuple[Array, ...], first: Array, second: int, n_nodes: int) -> Array:
    """Return each node's sums over triangles with u in the left lists and v in the right ones (block ``second``)."""
    total = np.zeros((n_nodes, len(SIDES)))
    _close(*left, *right, first[second], first[second + 1], total)
    return total


def _lists(table: pa.Table) -> tuple[Array, Array, Array, Array]:
    """Return the sorted sources, the start of each source's list, the targets and the sides toward them."""
    found = [[np.frombuffer(row[name], dtype=LIST_TYPES[name]) for name in LIST_TYPES] for row in rows_of(table)]
    if not found:
        empty = np.empty(0, dtype=np.int64)
        return empty, np.zeros(1, dtype=np.int64), empty, np.empty((0, len(SIDES)))
    source, target, *sides = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((target, source))
    nodes, start = np.unique(source[order], return_index=True)
    return nodes, np.append(start, source.size), target[order], np.stack(sides, axis=1)[order]


@compiled(nogil=True)
def _close(
    left_nodes: Any, left_start: Any, left_target: Any, left_value: Any,
    right_nodes: Any, right_start: Any, right_target: Any, right_value: Any,
    low: int, high: int, total: Any,
) -> None:  # fmt: skip
    for at in range(left_nodes.size):
        for edge in range(left_start[at], left_start[at + 1]):
            v = left_target[edge]
            if v < low or v >= high:
                continue
            where = np.searchsorted(right_nodes, v)
            if where == right_nodes.size or right_nodes[where] != v:
                continue
            meet(
                left_nodes[at], edge, left_start[at], left_start[at + 1], left_target, left_value,
                right_start[where], right_start[where + 1], right_target, right_value, total,
            )  # fmt: skip
