"""Compute what the model sees of each node's neighborhood: ÂX in every fold, on the edges visible in that fold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch

from hopsight.hcm.splits import HALF_PRECISION_NODES, Splits
from hopsight.nn.gcn import smoothed
from hopsight.spark.blocks import BLOCK, SENT, Array, Layout, each_row, pieces, send, sum_over_cells
from hopsight.spark.cells import first_arcs, on_cells
from hopsight.spark.graph import EDGE_TYPES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


TYPES: dict[str, Any] = {"x": np.float32, "degree": np.int32, **EDGE_TYPES}


def view_dtype(layout: Layout) -> Any:
    """Return the type of the views: half precision in large graphs, as in the local engine."""
    return np.float16 if layout.n_nodes > HALF_PRECISION_NODES else np.float32


def compress_views(blocks: DataFrame, layout: Layout) -> DataFrame:
    """Convert blocks of float32 to the type of the views."""
    if view_dtype(layout) == np.float32:
        return blocks

    def halve(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield {**row, "payload": np.frombuffer(row["payload"], dtype=np.float32).astype(np.float16)}

    return blocks.mapInArrow(each_row(halve, BLOCK), BLOCK)


def neighborhoods(blocks: DataFrame, cells: DataFrame, layout: Layout, splits: Splits) -> DataFrame:
    """Return blocks ``ax``, ÂX in every fold, from blocks ``x`` and ``degree``: join with edges, group by node.

    A task computes the views of all folds of a network, so X is shuffled once per network.
    """
    networks = list(range(splits.n_folds))
    alone = layout.n_blocks == 1

    def multiply(
        layout: Layout, network: int, cell: int, blocks: dict[str, Array], edges: dict[str, Array]
    ) -> Iterator[dict[str, Any]]:
        for fold in splits.folds[network * splits.n_inner : (network + 1) * splits.n_inner]:
            for block, rows in product(layout, fold, cell, blocks, edges):
                parts = pieces(fold, block, "ax", rows.astype(view_dtype(layout), copy=False) if alone else rows)
                yield from ({**row, "cell": cell} for row in parts)

    def product(
        layout: Layout, fold: int, cell: int, blocks: dict[str, Array], edges: dict[str, Array]
    ) -> Iterator[tuple[int, Array]]:
        i, j = layout.pairs[cell]
        visible = first_arcs(edges["u"], edges["v"]) & ~splits.of(edges["hash"]).hidden(fold)
        u, v = edges["u"][visible], edges["v"][visible]
        if alone:  # bit for bit as in the local engine
            yield 0, _smoothed(u, v, blocks["x0"])
            return
        operator = sp.csr_array((np.ones(u.size, dtype=np.float32), (u, v)), shape=(layout.sizes[i], layout.sizes[j]))
        roots = [_inverse_roots(blocks[f"degree{side}"], fold) for side in (0, 1)]
        scaled = [blocks[f"x{side}"] * roots[side] for side in ((0,) if i == j else (0, 1))]
        into_second = operator.T @ scaled[0]
        if i == j:
            into_second += operator @ scaled[0] + scaled[0]
        else:
            into_first = (operator @ scaled[1]) * roots[0]
            yield i, into_first
        into_second *= roots[1]
        yield j, into_second

    sent = send(blocks, layout, networks)
    partial = on_cells(sent, cells.select("cell", "slice", "u", "v", "hash"), layout, networks, multiply, TYPES, SENT)
    return partial.drop("cell") if alone else compress_views(sum_over_cells(partial, layout, np.float32), layout)


def _smoothed(u: Array, v: Array, x: Array) -> Array:
    """Return ÂX of a graph in one block."""
    ends = np.concatenate([u, v]), np.concatenate([v, u])
    ones = np.ones(2 * u.size, dtype=np.float32)
    adjacency = sp.coo_array((ones, ends), shape=(len(x), len(x))).tocsr()
    return np.asarray(smoothed(adjacency, torch.from_numpy(np.array(x))).numpy())


def _inverse_roots(degrees: Array, fold: int) -> Array:
    """Return D̃^{-1/2} of a fold as a column; the first column of the degrees is that of the whole graph."""
    return (1.0 / np.sqrt(degrees[:, fold + 1] + 1.0)).astype(np.float32)[:, None]
