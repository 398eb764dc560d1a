"""Build the graph on the cluster: from two tables to nodes with positions in blocks, and edges in cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.splits import Splits, mix, parts_of
from hopsight.hcm.train import NO_EDGES
from hopsight.io.nodes import SPARSE_BELOW
from hopsight.preprocess import AttributeTransform
from hopsight.preprocess.transform import unit_of
from hopsight.spark.blocks import (
    BACK,
    EDGES,
    LATE,
    NO_FOLD,
    SENT,
    Array,
    FloatArray,
    Layout,
    Row,
    arrow_schema,
    by_cell,
    cached,
    cell_of,
    column,
    first_arcs,
    id_type,
    lists_of,
    matrix_of,
    one_row,
    pack_blocks,
    pieces,
    reduce_batches,
    slices,
    sum_over_cells,
    sum_to_driver,
)
from hopsight.spark.session import splitting_hubs
from hopsight.spark.tables import check_known
from hopsight.system.arrays import id_hashes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LARGEST_BLOCK = 1 << 28  # numbers in a view of one block; a task holds two views of two blocks
SMALLEST_BLOCK = 32
SAMPLED_VALUES = 1 << 23  # nonzero numbers that the driver collects to learn the transformation from
SAMPLE = {"row": np.int64, "length": np.int64, "columns": np.int32, "values": np.float64}
MANY_TASKS_NODES = 50_000  # from this size on, there are three tasks per core


@dataclass(frozen=True)
class PlacedNodes:
    """The nodes with their places, one row each: ``id, row, hash, order, block, position, number, x``.

    x are the transformed attributes before they are scaled to their unit, and number counts the nodes over all blocks.
    """

    rows: DataFrame
    layout: Layout
    unit: float  # the standard deviation of all x
    magnitude: float  # the power of two next to the largest x


@dataclass(frozen=True)
class Cells:
    """The edges: one row per slice of a cell, with the columns of ``EDGES`` and ``counts``.

    As bytes, a slice holds the positions of both ends (``u`` in the first block, ``v`` in the second), the sum of their
    hashes, and in a directed graph the way of the arc. Each edge occurs once; the edges are sorted by (u, v), opposite
    arcs by the hashes of their sources.
    """

    rows: DataFrame
    n_edges: int
    n_duplicates: int
    n_self_loops: int


def fit_transform(
    nodes: DataFrame, names: Sequence[str], detector: CrossHCM, rng: np.random.Generator
) -> tuple[AttributeTransform, int]:
    """Return the transformation of the local engine for a column ``features``, and the number of nodes.

    It is learned from a sample: the rows with the smallest hashes, which hold 2²³ nonzero numbers. In a graph that fits
    on one machine these are all rows.
    """
    n_nodes, n_filled, peak = _extent(nodes)
    if not np.isfinite(peak).all():
        odd = names[int(np.argmin(np.isfinite(peak)))]
        raise ValueError(f"attribute {odd!r}: a cell is not a finite number, unlike those before; correct or ignore it")
    sample = _sample(nodes, n_filled, len(names))
    dense = sample.nnz > SPARSE_BELOW * np.prod(sample.shape)
    rows = sample.toarray() if dense else sample
    scaling = detector.resolve_scaling(rows)
    return AttributeTransform.fit(rows, names, scaling=scaling, n_components=detector.n_components, rng=rng), n_nodes


def _extent(nodes: DataFrame) -> tuple[int, float, FloatArray]:
    """Return the number of rows, the number of nonzero values, and each column's largest magnitude."""

    def of(batch: pa.RecordBatch) -> FloatArray:
        values = matrix_of(batch)
        head = [float(batch.num_rows), float(np.count_nonzero(values))]
        return np.concatenate([head, abs(values).max(axis=0)])

    def combine(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.concatenate([a[:2] + b[:2], np.maximum(a[2:], b[2:])])

    found = reduce_batches(nodes.select("features"), of, combine)
    return int(found[0]), float(found[1]), found[2:]


def _sample(nodes: DataFrame, n_filled: float, n_columns: int) -> Any:
    """Collect a bounded sample of the rows on the driver, as a sparse matrix in the order of the table."""
    limit = np.uint64(min(1.0, SAMPLED_VALUES / max(n_filled, 1.0)) * (2**63 - 1024))
    schema = ", ".join(f"{name} binary" for name in SAMPLE)

    def chosen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            keep = (batch.column("hash").to_numpy().view(np.uint64) >> np.uint64(1)) <= limit
            rows = sp.csr_array(matrix_of(batch)[keep].astype(np.float64, copy=False))
            parts = (batch.column("row").to_numpy()[keep], np.diff(rows.indptr), rows.indices, rows.data)
            cast = (part.astype(kind) for part, kind in zip(parts, SAMPLE.values(), strict=True))
            yield one_row(dict(zip(SAMPLE, cast, strict=True)), arrow_schema(schema))

    found = nodes.select("row", "hash", "features").mapInArrow(chosen, schema).collect()
    row, length, columns, values = (
        np.concatenate([np.frombuffer(part[name], dtype=kind) for part in found]) for name, kind in SAMPLE.items()
    )
    start = np.concatenate([[0], np.cumsum(length)])
    return sp.csr_array((values, columns, start), shape=(row.size, n_columns))[np.argsort(row)]


def with_hashes(nodes: DataFrame) -> DataFrame:
    """Add a column ``hash``, the :func:`hopsight.system.arrays.id_hashes`."""
    from pyspark.sql.types import StructType

    schema = StructType(list(nodes.schema.fields)).add("hash", "long")

    def add(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ids = np.array(batch.column("id").to_pylist(), dtype=object)
            yield batch.append_column("hash", pa.array(id_hashes(ids).view(np.int64)))

    return nodes.mapInArrow(add, schema)


def place_nodes(
    nodes: DataFrame, transform: AttributeTransform, n_nodes: int, seed: np.uint64, n_blocks: int | None, n_folds: int
) -> PlacedNodes:
    """Transform the attributes of nodes ``id, row, hash, features`` and place them in blocks.

    None for ``n_blocks`` chooses their number, if each of ``n_folds`` is a task of its own.
    """
    from pyspark.sql import functions as F  # noqa: N812

    n_tasks = nodes.sparkSession.sparkContext.defaultParallelism * (1 if n_nodes < MANY_TASKS_NODES else 3)
    n_blocks = n_blocks or choose_blocks(n_nodes, transform.n_outputs, n_tasks, n_folds)
    placed = cached(_with_positions(nodes, transform, n_blocks, seed))

    def largest(batch: pa.RecordBatch) -> Array:
        return np.array([abs(matrix_of(batch, "x")).max(initial=0.0)])

    magnitude = unit_of(reduce_batches(placed.select("x"), largest, np.maximum))

    def moments(batch: pa.RecordBatch) -> Array:
        values = matrix_of(batch, "x") / magnitude
        return np.array([values.size, values.sum(), (values**2).sum()])

    size, total, squares = reduce_batches(placed.select("x"), moments, np.add)
    deviation = float(np.sqrt(max(squares / size - (total / size) ** 2, 0.0)))
    counts = {row["block"]: row["count"] for row in placed.groupBy("block").count().collect()}
    layout = Layout(tuple(counts.get(block, 0) for block in range(n_blocks)), n_tasks)
    first = F.element_at(F.array([F.lit(start) for start in layout.offsets.tolist()]), F.col("block") + 1)
    numbered = placed.withColumn("number", (first + F.col("position")).cast("long"))
    return PlacedNodes(numbered, layout, magnitude * (deviation or 1.0), magnitude)


def choose_blocks(n_nodes: int, width: int, n_tasks: int, n_folds: int) -> int:
    """Return the smallest number of blocks that fit into a task's memory and give work to every core."""
    n_blocks = max(1, -(-n_nodes * width // LARGEST_BLOCK))
    while n_folds * n_blocks * (n_blocks + 1) // 2 < n_tasks and n_nodes >= 2 * n_blocks * SMALLEST_BLOCK:
        n_blocks += 1
    return n_blocks


def _with_positions(nodes: DataFrame, transform: AttributeTransform, n_blocks: int, seed: np.uint64) -> DataFrame:
    """Transform the attributes, and add each node's block, its position there and its order among the sources."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    def place(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            hashes = batch.column("hash").to_numpy().view(np.uint64)
            order = (mix(hashes ^ seed) ^ np.uint64(1 << 63)).view(np.int64)  # signed numbers in the unsigned order
            block = parts_of(mix(hashes), n_blocks).astype(np.int32)
            x = transform.apply(matrix_of(batch).astype(np.float64, copy=False), transform.names)
            columns = [batch.column("id"), batch.column("row"), batch.column("hash"), pa.array(order), pa.array(block)]
            yield pa.RecordBatch.from_arrays([*columns, lists_of(x)], ["id", "row", "hash", "order", "block", "x"])

    schema = f"id {id_type(nodes)}, row long, hash long, order long, block int, x array<double>"
    inside = Window.partitionBy("block").orderBy("row")  # a single block rounds as the local engine, in table order
    return nodes.mapInArrow(place, schema).withColumn("position", F.row_number().over(inside) - 1)


def attribute_blocks(nodes: PlacedNodes) -> DataFrame:
    """Return blocks of three kinds: ``x``, ``hash`` and ``exact``.

    ``x`` are the attributes in their unit, as float32. ``exact`` are those that similarities are computed from: in
    float64, divided by the magnitude only.
    """
    unit, magnitude = nodes.unit, nodes.magnitude

    def make(rows: pa.RecordBatch) -> dict[str, Array]:
        x = matrix_of(rows, "x")
        exact = x if magnitude == 1.0 else x / magnitude
        scaled = (exact / (unit / magnitude)).astype(np.float32)
        return {"x": scaled, "hash": rows.column("hash").to_numpy().view(np.uint64), "exact": exact}

    return pack_blocks(nodes.rows.select("block", "position", "hash", "x"), make)


def place_edges(edges: DataFrame, nodes: PlacedNodes, *, directed: bool) -> Cells:
    """Check and clean edges ``source, target, row``, and put them into cells."""
    ends = cached(_edge_ends(edges, nodes.rows))
    with splitting_hubs(edges.sparkSession):
        check_known(ends)
    packed = cached(_packed_cells(ends, nodes.layout.n_blocks, directed=directed))
    counts = sum_to_driver(packed, lambda row: column(row, "counts"))
    n_self_loops, n_duplicates, n_edges = counts.astype(np.int64).tolist()
    ends.unpersist()
    if n_edges == 0:
        raise ValueError(NO_EDGES)
    return Cells(packed, n_edges, n_duplicates, n_self_loops)


def _edge_ends(edges: DataFrame, nodes: DataFrame) -> DataFrame:
    """Look up the block, position and hash of both ends of each edge; null for a node without a row."""
    from pyspark.sql import functions as F  # noqa: N812

    place = F.struct("block", "position", "hash")
    for end in ("source", "target"):
        edges = edges.join(nodes.select(F.col("id").alias(end), place.alias(f"{end}_place")), end, "left")
    return edges


def _packed_cells(ends: DataFrame, n_blocks: int, *, directed: bool) -> DataFrame:
    """Put the edges into cells without self-loops and duplicates; ``counts`` are self-loops, duplicates and edges.

    Two opposite edges are duplicates unless the graph is ``directed``.
    """
    from pyspark.sql import functions as F  # noqa: N812

    fields = [(end, name) for end in ("source", "target") for name in ("block", "position", "hash")]
    place = [F.col(f"{end}_place.{name}").alias(f"{end}_{name}") for end, name in fields]
    located_schema, packed_schema = "cell int, u int, v int, hash long, way int", f"{EDGES}, counts binary"
    names = arrow_schema(packed_schema)
    layout = Layout((0,) * n_blocks, 1)
    diagonal = {cell for cell, (i, j) in enumerate(layout.pairs) if i == j}

    def pack(key: Any, table: pa.Table) -> pa.Table:
        cell = key[0].as_py()
        u, v, hashes, way = (table.column(name).to_numpy() for name in ("u", "v", "hash", "way"))
        real = u >= 0
        proper = real & (u != v) if cell in diagonal else real
        n_loops = int(real.sum() - proper.sum())
        u, v, hashes, way = u[proper], v[proper], hashes[proper], way[proper]
        late = ((way & LATE) > 0).astype(np.int64) if directed else 0
        _, first = np.unique((u.astype(np.int64) << 32) | (v.astype(np.int64) << 1) | late, return_index=True)
        counts = np.array([n_loops, u.size - first.size, first.size], dtype=np.int64)
        way = way[first if directed else slice(0)].astype(np.uint8)
        cut = slices(cell, {"u": u[first], "v": v[first], "hash": hashes[first], "way": way})
        rows = (row | {"counts": counts if row["slice"] == 0 else np.zeros_like(counts)} for row in cut)
        return pa.Table.from_batches([one_row(row, names) for row in rows])

    located = ends.select(*place).mapInArrow(lambda batches: _locate(batches, n_blocks), located_schema)
    placeholders = [(cell, -1, -1, 0, 0) for cell in range(len(layout.pairs))]  # give a row to cells without edges
    with_all = located.unionAll(ends.sparkSession.createDataFrame(placeholders, located_schema))
    return with_all.groupBy("cell").applyInArrow(pack, packed_schema)


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

    def count(cell: int, edges: dict[str, Array]) -> Iterator[Row]:
        i, j = layout.pairs[cell]
        u, v, hashes = edges["u"], edges["v"], edges["hash"]
        blocks = {b: np.zeros((layout.sizes[b], len(splits.folds) + 1), dtype=np.int32) for b in (i, j)}
        for place, fold in enumerate([None, *splits.folds]):
            seen = slice(None) if fold is None else first_arcs(u, v) & ~splits.of(hashes).hidden(fold)
            blocks[i][:, place] += np.bincount(u[seen], minlength=layout.sizes[i]).astype(np.int32)
            blocks[j][:, place] += np.bincount(v[seen], minlength=layout.sizes[j]).astype(np.int32)
        for block, rows in blocks.items():
            yield from (piece | {"cell": cell} for piece in pieces(NO_FOLD, block, "degree", rows))

    return sum_over_cells(by_cell(cells, ("u", "v", "hash"), count, SENT), layout)
