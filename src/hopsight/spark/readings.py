"""Collect what is known of each node: means over its edges, sums over its triangles, and its own attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hopsight.hcm.evidence import N_FOLDS, AttributeBaseline, NodeFeatures
from hopsight.hcm.splits import mix, parts_of
from hopsight.spark.attributes import matrix_of
from hopsight.spark.blocks import (
    BLOCK,
    NO_FOLD,
    PIECE,
    SENT,
    Array,
    Layout,
    arrow_schema,
    each_row,
    one_row,
    piece_matrix,
    pieces,
    rows_of,
    sum_parts,
    sum_to_driver,
)
from hopsight.spark.cells import by_cell
from hopsight.spark.judging import edge_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MEANS = ("hop", "variance", "surprise", "dissimilarity")  # over the edges of a node
READINGS = ("degree", *MEANS, "strangers", "lookalikes", "deviation", "residual")  # columns of the blocks "readings"
WIDTHS = {"sums": 1 + len(MEANS), "ring": 2, "own": 2}  # of the blocks that readings are made from


def node_readings(rows: Array) -> NodeFeatures:
    """Return rows of the blocks ``readings`` in the form that evidence is computed from."""
    known = dict(zip(READINGS, rows.T, strict=True))
    means = np.stack([known[name] for name in ("hop", "surprise", "dissimilarity")])
    others = (known[name] for name in ("strangers", "lookalikes", "deviation", "residual"))
    return NodeFeatures(known["degree"].astype(np.int64), means, *others)


def have_triangles(readings: DataFrame, layout: Layout) -> bool:
    """Return whether any edges close a triangle, as :meth:`NodeFeatures.have_triangles` does."""
    columns = [READINGS.index(name) for name in ("strangers", "lookalikes")]

    def largest(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        yield 0, piece_matrix(row, layout, np.float64)[:, columns].max(axis=0, initial=0.0)

    return bool(sum_to_driver(readings, largest, op=np.maximum)[0].any())


def own_blocks(nodes: DataFrame, laws: AttributeBaseline, magnitude: float) -> DataFrame:
    """Return blocks ``own``: the deviation of each node's attributes, and the residual that a node of degree 0 has."""
    from pyspark.sql import functions as F  # noqa: N812

    schema = "block int, position int, deviation double, residual double"
    columns = [part.split()[0] for part in schema.split(", ")]
    names = arrow_schema(BLOCK)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                hashes = batch.column("hash").to_numpy().view(np.uint64)
                x = matrix_of(batch, "x") / magnitude
                residual = laws.residual(x, np.zeros(hashes.size, dtype=np.int64), parts_of(mix(hashes), N_FOLDS))
                values = [pa.array(laws.deviation(x)), pa.array(residual)]
                yield pa.RecordBatch.from_arrays([batch.column("block"), batch.column("position"), *values], columns)

    def pack(key: Any, table: pa.Table) -> pa.Table:
        block, piece = (part.as_py() for part in key)
        order = np.argsort(table.column("position").to_numpy())
        own = np.column_stack([table.column(name).to_numpy()[order] for name in columns[2:]])
        row = {"fold": NO_FOLD, "block": block, "piece": piece, "kind": "own", "payload": own}
        return pa.Table.from_batches([one_row(row, names)])

    small = nodes.select("block", "position", "hash", "x").mapInArrow(read, schema)
    with_piece = small.withColumn("piece", F.floor(F.col("position") / PIECE).cast("int"))
    return with_piece.groupBy("block", "piece").applyInArrow(pack, BLOCK)


def reading_blocks(judged: DataFrame, rings: DataFrame, own: DataFrame, layout: Layout, deviation: str) -> DataFrame:
    """Return blocks ``readings`` with the columns of :data:`READINGS`; a mean over no edges is NaN."""
    from pyspark.sql import functions as F  # noqa: N812

    names = arrow_schema(BLOCK)

    def gather(key: Any, table: pa.Table) -> pa.Table:
        block, piece = (part.as_py() for part in key)
        n_rows = layout.rows(block, piece)
        rows = list(rows_of(table))
        found = {}
        for kind, width in WIDTHS.items():
            parts = [row for row in rows if row["kind"] == kind]
            found[kind] = sum_parts(parts, np.float64).reshape(n_rows, width) if parts else np.zeros((n_rows, width))
        degree, sums = found["sums"][:, :1], found["sums"][:, 1:]
        means = sums / np.where(degree > 0, degree, np.nan)
        residual = np.log1p(degree) + found["own"][:, 1:]
        readings = np.hstack([degree, means, found["ring"], found["own"][:, :1], residual])
        row = {"fold": NO_FOLD, "block": block, "piece": piece, "kind": "readings", "payload": readings}
        return pa.Table.from_batches([one_row(row, names)])

    partial = _edge_sums(judged, layout, deviation).unionAll(rings)
    partial = partial.unionByName(own.withColumn("cell", F.lit(0)))
    return partial.repartition(layout.n_tasks, "block", "piece").groupBy("block", "piece").applyInArrow(gather, BLOCK)


def _edge_sums(judged: DataFrame, layout: Layout, deviation: str) -> DataFrame:
    """Return partial blocks ``sums``: each node's number of edges, and the sums of :data:`MEANS` over them."""

    def unpack(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        values = edge_values(row)
        spread = np.sqrt(values["variance"]) if deviation == "std" else values["variance"]
        yield {**row, **values, "variance": spread}

    def sums(cell: int, edges: dict[str, Array]) -> Iterator[dict[str, Any]]:
        i, j = layout.pairs[cell]
        values = (np.ones(edges["u"].size), *(edges[name] for name in MEANS))
        blocks = {block: np.zeros((layout.sizes[block], len(values))) for block in (i, j)}
        for block, end in ((i, edges["u"]), (j, edges["v"])):
            for column, value in enumerate(values):
                blocks[block][:, column] += np.bincount(end, value, layout.sizes[block])
        for block, total in blocks.items():
            yield from ({**piece, "cell": cell} for piece in pieces(NO_FOLD, block, "sums", total))

    unpacked = f"cell int, slice int, u binary, v binary, {', '.join(f'{name} binary' for name in MEANS)}"
    types = {"u": np.int32, "v": np.int32, **dict.fromkeys(MEANS, np.float64)}
    return by_cell(judged.mapInArrow(each_row(unpack, unpacked), unpacked), list(types), sums, types, SENT)
