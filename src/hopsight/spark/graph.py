"""Build the graph on the cluster: from two tables to nodes with positions in blocks, and edges in cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hopsight.hcm.splits import Splits, mix, parts_of
from hopsight.preprocess import AttributeTransform
from hopsight.spark.attributes import matrix_of, transformed
from hopsight.spark.blocks import (
    BLOCK,
    NO_FOLD,
    PIECE,
    SENT,
    Array,
    Layout,
    arrow_schema,
    cell_of,
    one_row,
    pieces,
    sum_over_cells,
)
from hopsight.spark.cells import BACK, LATE, by_cell, first_arcs, slices
from hopsight.system.arrays import id_hashes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CELL = "cell int, slice int, u binary, v binary, hash binary, way binary, counts binary"
EDGE_TYPES: dict[str, Any] = {
    "u": np.int32, "v": np.int32, "hash": np.uint64, "way": np.uint8, "counts": np.int64
}  # fmt: skip
HUB_SHARE = 0.125  # share of a task's edges above which the edges of one node are spread over all tasks
FEW_EDGES = 10_000  # a node with fewer is never a hub


@dataclass(frozen=True)
class SparkGraph:
    """The graph as blocks of nodes and cells of edges.

    Attributes
    ----------
    nodes
        One row per node: ``id, row, hash, order, block, position, x``, where x are the transformed attributes before
        they are scaled to their unit.
    cells
        One row per slice of a cell: as bytes, the positions of both ends (``u`` in the first block, ``v`` in the
        second), the sum of their hashes, and in a directed graph the way of the arc. Each edge occurs once; the edges
        are sorted by (u, v), opposite arcs by the hashes of their sources.
    layout
        Blocks and tasks.
    n_edges, n_duplicates, n_self_loops
        Number of edges, of duplicates merged and of self-loops removed.
    directed
        Whether edges are arcs.
    """

    nodes: DataFrame
    cells: DataFrame
    layout: Layout
    n_edges: int
    n_duplicates: int
    n_self_loops: int
    directed: bool = False

    def sizes(self) -> dict[str, int]:
        """Return the numbers that describe the graph, and whether it is directed."""
        counts = {name: getattr(self, name) for name in ("n_edges", "n_duplicates", "n_self_loops", "directed")}
        return counts | {"n_nodes": self.layout.n_nodes, "n_blocks": self.layout.n_blocks}


def with_hashes(nodes: DataFrame) -> DataFrame:
    """Add a column ``hash``, the :func:`hopsight.system.arrays.id_hashes`."""
    from pyspark.sql.types import StructType

    schema = StructType(list(nodes.schema.fields)).add("hash", "long")

    def add(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ids = np.array(batch.column("id").to_pylist(), dtype=object)
            yield batch.append_column("hash", pa.array(id_hashes(ids).view(np.int64)))

    return nodes.mapInArrow(add, schema)


def with_positions(nodes: DataFrame, transform: AttributeTransform, n_blocks: int, seed: np.uint64) -> DataFrame:
    """Transform the attributes, and add each node's block, its position there and its order among the sources."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    kind = dict(nodes.dtypes)["id"]
    kind = "long" if kind == "bigint" else kind

    def place(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            hashes = batch.column("hash").to_numpy().view(np.uint64)
            order = (mix(hashes ^ seed) ^ np.uint64(1 << 63)).view(np.int64)  # signed numbers in the unsigned order
            block = parts_of(mix(hashes), n_blocks).astype(np.int32)
            x = transformed(matrix_of(batch).astype(np.float64, copy=False), transform)
            lists = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), x.shape[1]).cast(pa.list_(pa.float64()))
            columns = [batch.column("id"), batch.column("row"), batch.column("hash"), pa.array(order), pa.array(block)]
            yield pa.RecordBatch.from_arrays([*columns, lists], ["id", "row", "hash", "order", "block", "x"])

    located = nodes.mapInArrow(place, f"id {kind}, row long, hash long, order long, block int, x array<double>")
    inside = Window.partitionBy("block").orderBy("row")  # a single block rounds as the local engine, in table order
    return located.withColumn("position", F.row_number().over(inside) - 1)


def attribute_blocks(nodes: DataFrame, layout: Layout, unit: float, magnitude: float) -> DataFrame:
    """Return blocks of three kinds: ``x``, ``hash`` and ``exact``.

    ``x`` are the attributes in their unit, as float32. ``exact`` are those that similarities are computed from: in
    float64, divided by the magnitude only.
    """
    from pyspark.sql import functions as F  # noqa: N812

    names = arrow_schema(BLOCK)

    def pack(key: Any, table: pa.Table) -> pa.Table:
        block, piece = (part.as_py() for part in key)
        order = np.argsort(table.column("position").to_numpy())
        x = matrix_of(table.combine_chunks().to_batches()[0], "x")[order]
        hashes = table.column("hash").to_numpy()[order]
        exact = x if magnitude == 1.0 else x / magnitude
        scaled = (exact / (unit / magnitude)).astype(np.float32)
        kinds = {"x": scaled, "hash": hashes.view(np.uint64), "exact": exact}
        rows = ({"fold": NO_FOLD, "block": block, "piece": piece, "kind": k, "payload": v} for k, v in kinds.items())
        return pa.Table.from_batches([one_row(row, names) for row in rows])

    piece = F.floor(F.col("position") / PIECE).cast("int").alias("piece")
    with_piece = nodes.select("block", "position", "hash", "x", piece)
    return with_piece.groupBy("block", "piece").applyInArrow(pack, BLOCK)


def edge_ends(edges: DataFrame, nodes: DataFrame, n_tasks: int) -> DataFrame:
    """Look up the block, position and hash of both ends of each edge; null for a node without a row."""
    from pyspark.sql import functions as F  # noqa: N812

    table = nodes.select("id", F.struct("block", "position", "hash").alias("place"))
    hubs = _hubs(edges, n_tasks)
    for end in ("source", "target"):
        found = table.select(F.col("id").alias(end), F.col("place").alias(f"{end}_place"))
        edges = salted_join(edges, found, end, "row", hubs, n_tasks)
    return edges


def salted_join(
    rows: DataFrame, table: DataFrame, key: str, other: str, hubs: Sequence[Any], n_tasks: int
) -> DataFrame:
    """Left-join rows with a table that has one row per key.

    All rows of a hub would meet in one task. Its row in the table is therefore copied ``n_tasks`` times, and a hash of
    the column ``other`` decides which copy a row is joined with.
    """
    from pyspark.sql import functions as F  # noqa: N812

    if not hubs:
        return rows.join(table, key, "left")
    is_hub, nothing = F.col(key).isin(list(hubs)), F.lit(0)
    salted = rows.withColumn("_salt", F.when(is_hub, F.pmod(F.hash(other), F.lit(n_tasks))).otherwise(nothing))
    copies = F.when(is_hub, F.sequence(nothing, F.lit(n_tasks - 1))).otherwise(F.array(nothing))
    return salted.join(table.withColumn("_salt", F.explode(copies)), [key, "_salt"], "left").drop("_salt")


def hub_degree(n_edges: int, n_tasks: int) -> float:
    """Return the degree above which a node is a hub, because its edges would fill much of a task."""
    return max(FEW_EDGES, HUB_SHARE * 2 * n_edges / n_tasks)


def _hubs(edges: DataFrame, n_tasks: int) -> list[Any]:
    """Return the ids of the hubs."""
    from pyspark.sql import functions as F  # noqa: N812

    n_edges = edges.count()
    most = hub_degree(n_edges, n_tasks)
    if most >= n_edges:
        return []
    ends = edges.select(F.col("source").alias("id")).unionAll(edges.select(F.col("target").alias("id")))
    return [row["id"] for row in ends.groupBy("id").count().filter(F.col("count") > most).select("id").collect()]


def packed_cells(ends: DataFrame, n_blocks: int, *, directed: bool = False) -> DataFrame:
    """Put the edges into cells without self-loops and duplicates; ``counts`` are self-loops, duplicates and edges.

    Two opposite edges are duplicates unless the graph is ``directed``.
    """
    from pyspark.sql import functions as F  # noqa: N812

    fields = [(end, name) for end in ("source", "target") for name in ("block", "position", "hash")]
    place = [F.col(f"{end}_place.{name}").alias(f"{end}_{name}") for end, name in fields]
    schema = "cell int, u int, v int, hash long, way int"

    names = arrow_schema(CELL)
    layout = Layout((0,) * n_blocks, 1)
    diagonal = {cell for cell, (i, j) in enumerate(layout.pairs) if i == j}

    def pack(key: Any, table: pa.Table) -> pa.Table:
        cell = key[0].as_py()
        u, v, hashes, way = (table.column(name).to_numpy() for name in ("u", "v", "hash", "way"))
        real = u >= 0
        proper = real & (u != v) if cell in diagonal else real
        n_loops = int(real.sum() - proper.sum())
        u, v, hashes, way = u[proper], v[proper], hashes[proper], way[proper] if directed else way[:0]
        late = ((way & LATE) > 0).astype(np.int64) if directed else 0
        _, first = np.unique((u.astype(np.int64) << 32) | (v.astype(np.int64) << 1) | late, return_index=True)
        counts = np.array([n_loops, u.size - first.size, first.size], dtype=np.int64)
        way = way[first].astype(np.uint8) if directed else way.astype(np.uint8)
        cut = slices(cell, {"u": u[first], "v": v[first], "hash": hashes[first], "way": way})
        rows = (row | {"counts": counts if row["slice"] == 0 else np.zeros_like(counts)} for row in cut)
        return pa.Table.from_batches([one_row(row, names) for row in rows])

    located = ends.select(*place).mapInArrow(lambda batches: _locate(batches, n_blocks), schema)
    placeholders = [(cell, -1, -1, 0, 0) for cell in range(len(layout.pairs))]  # give a row to cells without edges, too
    with_all = located.unionAll(ends.sparkSession.createDataFrame(placeholders, schema))
    return with_all.groupBy("cell").applyInArrow(pack, CELL)


def _locate(batches: Iterator[pa.RecordBatch], n_blocks: int) -> Iterator[pa.RecordBatch]:
    """Replace the places of both ends by the cell, the positions in it, the sum of the hashes, and the way."""
    for batch in batches:
        block, position, hashes = (
            np.stack([batch.column(f"{end}_{field}").to_numpy() for end in ("source", "target")])
            for field in ("block", "position", "hash")
        )
        swap = (block[0] > block[1]) | ((block[0] == block[1]) & (position[0] > position[1]))
        block, position = (np.where(swap, ends[::-1], ends) for ends in (block, position))
        cell = cell_of(block[0], block[1], n_blocks).astype(np.int32)
        source, target = hashes.view(np.uint64)
        total, way = (source + target).view(np.int64), BACK * swap + LATE * (source > target)
        columns = [cell, position[0].astype(np.int32), position[1].astype(np.int32), total, way.astype(np.int32)]
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], ["cell", "u", "v", "hash", "way"])


def degree_blocks(cells: DataFrame, layout: Layout, splits: Splits) -> DataFrame:
    """Return blocks ``degree``: for each node its number of edges, and how many neighbors are visible in each fold."""
    names = ("u", "v", "hash")

    def count(cell: int, edges: dict[str, Array]) -> Iterator[dict[str, Any]]:
        i, j = layout.pairs[cell]
        u, v, hashes = (edges[name] for name in names)
        blocks = {b: np.zeros((layout.sizes[b], len(splits.folds) + 1), dtype=np.int32) for b in (i, j)}
        for column, fold in enumerate([None, *splits.folds]):
            seen = slice(None) if fold is None else first_arcs(u, v) & ~splits.of(hashes).hidden(fold)
            blocks[i][:, column] += np.bincount(u[seen], minlength=layout.sizes[i]).astype(np.int32)
            blocks[j][:, column] += np.bincount(v[seen], minlength=layout.sizes[j]).astype(np.int32)
        for block, rows in blocks.items():
            yield from (piece | {"cell": cell} for piece in pieces(NO_FOLD, block, "degree", rows))

    return sum_over_cells(by_cell(cells, names, count, EDGE_TYPES, SENT), layout, np.int32)
