"""Store nodes in blocks and edges in cells, the layout that all stages share.

The hash of a node's id assigns it to one of q blocks, where it has a position. A matrix with one row per node is stored
as pieces ``(fold, block, piece, kind, payload)``; the payload holds up to ``PIECE`` rows as raw bytes, and the kind
decides their type. An edge belongs to the cell (i, j), i ≤ j, of its two blocks, so the edges of a hub are spread over
q cells. The edges of a cell are stored in order, as rows ``(cell, slice, …)`` of up to ``SLICE`` edges; a binary column
has one element per edge. In a directed graph the column ``way`` says where an arc leads; in an undirected graph it is
empty. Opposite arcs are neighbors in their cell.

A stage sends every block to the q cells that touch it, works there on whole arrays, and sums what the cells return for
each block. This is the join and the group-by of a row-wise plan, with the partial aggregation done first.

Order statistics are exact: Spark sorts the values, and some places are looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils import murmurhash3_32

from hopsight.hcm.splits import HALF_PRECISION_NODES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PIECE = 1 << 12  # rows; the widest matrix, of the search from 8,192 sources, has 4 KB per node
SLICE = 1 << 20  # edges of a cell in one row of a table, with up to 40 bytes each
SHORT = 1 << 16  # values of a column
NO_FOLD = -1
SPARK_SEED = 42  # of the Murmur3 hash by which Spark partitions

BACK = 1  # bit of ``way``: the arc leads from the second block to the first, or from the larger position to the smaller
LATE = 2  # the hash of the source is the larger one, so that the arc comes after the opposite one

BLOCK = "fold int, block int, piece int, kind string, payload binary"
SENT = "fold int, cell int, block int, piece int, kind string, payload binary"
EDGES = "cell int, slice int, u binary, v binary, hash binary, way binary"

VIEWS = ("own", "around")  # X and ÂX as the networks see them, in half precision in large graphs
TYPES: dict[str, Any] = {
    "u": np.int32, "v": np.int32, "hash": np.uint64, "way": np.uint8, "kept": np.uint8, "counts": np.int64,
    "degree": np.int32, "x": np.float32, "ax": np.float32, "reach": np.uint64, "newest": np.uint64,
    "source": np.int64, "target": np.int64, "learner": np.float32,
}  # of the kinds of blocks and the columns of cells that are not float64  # fmt: skip

Array = NDArray[Any]
FloatArray = NDArray[np.float64]
Row = dict[str, Any]
Kernel = Callable[[int, int, dict[str, Array], dict[str, Array]], Iterable[Row]]


@dataclass(frozen=True)
class Layout:
    """The number of nodes in each block, and the number of tasks of a shuffle."""

    sizes: tuple[int, ...]
    n_tasks: int

    @property
    def n_blocks(self) -> int:
        """Number of blocks, q."""
        return len(self.sizes)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return sum(self.sizes)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """The number of each block's first node in a numbering of all nodes, and the number of nodes.

        >>> Layout((5, 3), 1).offsets.tolist()
        [0, 5, 8]
        """
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The two blocks of each cell.

        >>> Layout((5, 5), 1).pairs
        [(0, 0), (0, 1), (1, 1)]
        """
        return [(i, j) for i in range(self.n_blocks) for j in range(i, self.n_blocks)]

    def cells_of(self, block: int) -> list[int]:
        """Return the cells that touch a block."""
        return [cell for cell, pair in enumerate(self.pairs) if block in pair]

    def rows(self, block: int, piece: int) -> int:
        """Return the number of nodes in a piece."""
        return min(PIECE, self.sizes[block] - piece * PIECE)

    def dtype(self, kind: str) -> Any:
        """Return the type of the numbers in blocks of a kind."""
        if kind in VIEWS:
            return np.float16 if self.n_nodes > HALF_PRECISION_NODES else np.float32
        return TYPES.get(kind, np.float64)

    def stacked(self, cell: int, blocks: dict[str, Array], kind: str) -> Array:
        """Return the rows of the nodes of a cell: those of its second block below those of its first."""
        i, j = self.pairs[cell]
        return blocks[f"{kind}0"] if i == j else np.concatenate([blocks[f"{kind}0"], blocks[f"{kind}1"]])

    def places(self, cell: int, edges: dict[str, Array]) -> NDArray[np.int64]:
        """Return the positions in :meth:`stacked` rows of both ends of the edges of a cell, (2, n_edges)."""
        i, j = self.pairs[cell]
        return np.stack([edges["u"], edges["v"] + (0 if i == j else self.sizes[i])]).astype(np.int64)

    def ends(self, row: Row) -> NDArray[np.int64]:
        """Return the numbers over all blocks of both ends of the edges in a slice, (2, n_edges)."""
        starts = self.offsets[list(self.pairs[row["cell"]])]
        return np.stack([column(row, "u").astype(np.int64), column(row, "v").astype(np.int64)]) + starts[:, None]


def cell_of(i: Array, j: Array, n_blocks: int) -> Array:
    """Return the number of the cell (i, j), i ≤ j, in the order of :attr:`Layout.pairs`.

    >>> cell_of(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).tolist()
    [0, 1, 2]
    """
    return i * n_blocks - i * (i - 1) // 2 + j - i


def column(row: Row, name: str) -> Array:
    """Return one number per edge of a slice."""
    return np.frombuffer(row[name], dtype=TYPES.get(name, np.float64))


def pieces(fold: int, block: int, kind: str, rows: Array) -> Iterator[Row]:
    """Cut the matrix of a block into pieces."""
    for start in range(0, max(1, len(rows)), PIECE):
        part = np.ascontiguousarray(rows[start : start + PIECE])
        yield {"fold": fold, "block": block, "piece": start // PIECE, "kind": kind, "payload": part}


def piece_matrix(row: Row, layout: Layout) -> Array:
    """Return a piece as a matrix with one row per node."""
    values = np.frombuffer(row["payload"], dtype=layout.dtype(row["kind"]))
    return values.reshape(layout.rows(row["block"], row["piece"]), -1)


def slices(cell: int, edges: dict[str, Array]) -> Iterator[Row]:
    """Cut the edges of a cell into slices; the last axis of each array runs over the edges."""
    n_edges = next(iter(edges.values())).shape[-1]
    for number, start in enumerate(range(0, max(1, n_edges), SLICE)):
        part = {name: values[..., start : start + SLICE] for name, values in edges.items()}
        yield {"cell": cell, "slice": number, **part}


def join_slices(rows: Iterable[Row], names: Iterable[str]) -> dict[str, Array]:
    """Return the edges of a cell, as flat arrays, from its slices."""
    ordered = sorted(rows, key=lambda row: row["slice"])
    empty: dict[str, Row] = {name: {name: b""} for name in names}
    return {name: np.concatenate([column(row, name) for row in (empty[name], *ordered)]) for name in empty}


def arc_ends(ends: Array, way: Array) -> Array:
    """Return sources and targets, given the ends in both blocks, (2, n); edges without direction stay as they are.

    >>> arc_ends(np.array([[4, 5], [7, 8]]), np.array([0, BACK], dtype=np.uint8)).tolist()
    [[4, 8], [7, 5]]
    """
    return np.where((way & BACK) > 0, ends[::-1], ends) if way.size else ends


def first_arcs(u: Array, v: Array) -> NDArray[np.bool_]:
    """Return which edges of a cell do not lead back along the edge before: two opposite arcs are one neighbor.

    >>> first_arcs(np.array([0, 0, 1]), np.array([2, 2, 2])).tolist()
    [True, False, True]
    """
    return np.append(True, (u[1:] != u[:-1]) | (v[1:] != v[:-1]))[: u.size]


def rows_of(table: pa.Table | pa.RecordBatch) -> Iterator[Row]:
    """Yield the rows of an Arrow table; a binary value is a buffer, not a copy."""
    columns = {name: table.column(name) for name in table.schema.names}
    for row in range(table.num_rows):
        cells = {name: column[row] for name, column in columns.items()}
        yield {name: c.as_buffer() if pa.types.is_binary(c.type) else c.as_py() for name, c in cells.items()}


def one_row(row: Row, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with a single row, without copying its payload."""
    return pa.RecordBatch.from_arrays([_one_value(row[f.name], f.type) for f in schema], schema=schema)


def _one_value(value: Any, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_binary(kind):
        return pa.array([value], kind)
    content = pa.py_buffer(np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value)
    ends = pa.py_buffer(np.array([0, content.size], dtype=np.int32))
    return pa.Array.from_buffers(kind, 1, [None, ends, content])


def arrow_schema(ddl: str) -> pa.Schema:
    """Return the Arrow form of a Spark schema of numbers, text and bytes.

    >>> arrow_schema("cell int, payload binary").names
    ['cell', 'payload']
    """
    kinds = {
        "int": pa.int32(),
        "long": pa.int64(),
        "string": pa.string(),
        "binary": pa.binary(),
        "double": pa.float64(),
    }
    return pa.schema([(name, kinds[kind]) for name, kind in (field.split() for field in ddl.split(", "))])


def map_rows(frame: DataFrame, function: Callable[[Row], Iterable[Row]], schema: str) -> DataFrame:
    """Replace each row with the rows that ``function`` yields."""
    names = arrow_schema(schema)

    def apply(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in rows_of(batch):
                for made in function(row):
                    yield one_row(made, names)

    return frame.mapInArrow(apply, schema)


def map_columns(frame: DataFrame, function: Callable[[Row], Iterable[Array]], schema: str) -> DataFrame:
    """Replace each row with many: those whose columns ``function`` returns as arrays."""
    names = arrow_schema(schema)

    def apply(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in rows_of(batch):
                arrays = [pa.array(values, field.type) for values, field in zip(function(row), names, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=names)

    return frame.mapInArrow(apply, schema)


def group_rows(
    frame: DataFrame, keys: Sequence[str], function: Callable[[list[Row]], Iterable[Row]], schema: str
) -> DataFrame:
    """Replace the rows that agree in ``keys`` with the rows that ``function`` yields for them."""
    names = arrow_schema(schema)

    def apply(table: pa.Table) -> pa.Table:
        return pa.Table.from_batches([one_row(row, names) for row in function(list(rows_of(table)))], names)

    return frame.groupBy(*keys).applyInArrow(apply, schema)


def pack_blocks(rows: DataFrame, make: Callable[[pa.RecordBatch], dict[str, Array]]) -> DataFrame:
    """Return blocks of rows with the columns ``block`` and ``position``.

    ``make`` returns a matrix for each kind of block, given the rows of a piece in their order.
    """
    from pyspark.sql import functions as F  # noqa: N812

    names = arrow_schema(BLOCK)

    def pack(key: Any, table: pa.Table) -> pa.Table:
        place = {"fold": NO_FOLD, "block": key[0].as_py(), "piece": key[1].as_py()}
        found = make(table.sort_by("position").combine_chunks().to_batches()[0])
        return pa.Table.from_batches([one_row(place | {"kind": k, "payload": v}, names) for k, v in found.items()])

    with_piece = rows.withColumn("piece", F.floor(F.col("position") / PIECE).cast("int"))
    return with_piece.groupBy("block", "piece").applyInArrow(pack, BLOCK)


def collect_arrays(frame: DataFrame, function: Callable[[Row], Array], dtype: Any = np.float64) -> Array:
    """Collect the matrices that ``function`` returns for each row, side by side; all have the same height."""

    def pack(row: Row) -> Iterator[Row]:
        found = np.asarray(function(row), dtype=dtype)
        yield {"height": len(found), "payload": found}

    rows = map_rows(frame, pack, "height int, payload binary").collect()
    return np.concatenate([np.frombuffer(row["payload"], dtype=dtype).reshape(row["height"], -1) for row in rows], 1)


def send(blocks: DataFrame, layout: Layout, folds: Sequence[int] | None = None) -> DataFrame:
    """Send every piece to the cells that touch its block, once for each of ``folds`` where these are given."""

    def copies(row: Row) -> Iterator[Row]:
        for fold in folds if folds is not None else (row["fold"],):
            for cell in layout.cells_of(row["block"]):
                yield row | {"fold": fold, "cell": cell}

    return map_rows(blocks, copies, SENT)


def sum_over_cells(partial: DataFrame, layout: Layout, *, op: Any = np.add) -> DataFrame:
    """Sum what the cells returned for each piece of a block, in the order of the cells.

    ``partial`` has the columns of a block and ``cell``; ``op`` replaces the addition.
    """
    if layout.n_blocks == 1:
        return partial.drop("cell")  # with one cell there is nothing to sum

    def total(rows: list[Row]) -> Iterator[Row]:
        yield rows[0] | {"payload": sum_parts(rows, layout, op)}

    keys = ("fold", "block", "piece", "kind")
    return group_rows(partial.repartition(layout.n_tasks, *keys), keys, total, BLOCK)


def sum_parts(rows: Iterable[Row], layout: Layout, op: Any = np.add) -> Array:
    """Sum the payloads of some rows in the order of their cells, so that the rounding is always the same."""
    ordered = sorted(rows, key=lambda row: row["cell"])
    return reduce(op, [np.frombuffer(row["payload"], dtype=layout.dtype(row["kind"])) for row in ordered])


def sum_to_driver(frame: DataFrame, function: Callable[[Row], Any], *, op: Any = np.add) -> NDArray[np.float64]:
    """Sum a small array of numbers per row on the driver; a partition sends one array, never its rows."""
    return reduce_batches(frame, lambda batch: reduce(op, map(np.asarray, map(function, rows_of(batch)))), op)


def reduce_batches(
    frame: DataFrame, function: Callable[[pa.RecordBatch], Any], op: Callable[[Any, Any], Any]
) -> NDArray[np.float64]:
    """Compute one array of numbers per batch, and combine them first in each partition and then on the driver."""

    def partial(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrays = (np.asarray(function(batch), dtype=np.float64) for batch in batches if batch.num_rows)
        first = next(arrays, None)
        if first is not None:
            yield one_row({"payload": reduce(op, arrays, first)}, arrow_schema("payload binary"))

    rows = frame.mapInArrow(partial, "payload binary").collect()
    return np.asarray(reduce(op, [np.frombuffer(row["payload"]) for row in rows]))


def cached(frame: DataFrame, *, large: bool = False) -> DataFrame:
    """Persist a table that later stages read again: in memory, or on disk if it is large or does not fit.

    It becomes a table of its own: otherwise Spark would analyze the plan of all earlier stages in every later one. A
    lost part is still computed again.
    """
    from pyspark import StorageLevel

    session = frame.sparkSession
    rows = session._jsparkSession.createDataFrame(frame._jdf.toJavaRDD(), frame._jdf.schema())
    own: DataFrame = type(frame)(rows, session)
    return own.persist(StorageLevel.DISK_ONLY if large else StorageLevel.MEMORY_AND_DISK)


def computed(frame: DataFrame, *, large: bool = False) -> DataFrame:
    """Persist a table and compute it now, so that the work is measured in the stage it belongs to."""
    table = cached(frame, large=large)
    table.count()
    return table


def chosen_rows(row: Row, layout: Layout, nodes: NDArray[np.int64]) -> Array:
    """Return the rows of a piece that belong to some nodes, whose numbers are given in ascending order."""
    start = layout.offsets[row["block"]] + row["piece"] * PIECE
    end = start + layout.rows(row["block"], row["piece"])
    here = nodes[np.searchsorted(nodes, start) : np.searchsorted(nodes, end)] - start
    return piece_matrix(row, layout)[here]


def gather_rows(blocks: DataFrame, layout: Layout, nodes: NDArray[np.int64]) -> Array:
    """Collect the rows of some nodes on the driver, in the order of their numbers in ``nodes``."""
    order = np.argsort(nodes)
    ascending = nodes[order]

    def choose(row: Row) -> Iterator[Row]:
        yield row | {"payload": chosen_rows(row, layout, ascending)}

    rows = map_rows(blocks, choose, BLOCK).collect()
    rows.sort(key=lambda row: (row["block"], row["piece"]))
    dtype = layout.dtype(rows[0]["kind"])
    found = np.concatenate([np.frombuffer(row["payload"], dtype=dtype) for row in rows]).reshape(nodes.size, -1)
    return found[np.argsort(order)]


def on_cells(
    sent: DataFrame, cells: DataFrame, layout: Layout, folds: Sequence[int], kernel: Kernel, schema: str
) -> DataFrame:
    """Bring the blocks and the edges of each (fold, cell) together and apply a kernel.

    ``kernel(fold, cell, blocks, edges)`` yields rows of the schema; ``blocks["kind0"]`` and ``blocks["kind1"]`` are the
    matrices of the cell's first and second block, ``edges`` the arrays of the cell. ``sent`` is what :func:`send`
    returned, and ``folds`` are those that need the edges.
    """
    from pyspark.sql import functions as F  # noqa: N812

    copies = cells.withColumn("fold", F.explode(F.array([F.lit(fold) for fold in folds])))
    n_tasks, tasks = assign_tasks(layout, len(folds))
    number = F.greatest("fold", F.lit(0)) * len(layout.pairs) + F.col("cell")
    task = F.element_at(F.split(F.lit(" ".join(map(str, tasks))), " "), number + 1).cast("int").alias("task")
    names, columns = arrow_schema(schema), cells.columns[2:]

    def apply(key: Any, left: pa.Table, right: pa.Table) -> pa.Table:
        _, fold, cell = (part.as_py() for part in key)
        blocks = _matrices(left, layout, layout.pairs[cell])
        edges = join_slices(rows_of(right), columns)
        return pa.Table.from_batches([one_row(row, names) for row in kernel(fold, cell, blocks, edges)], names)

    left, right = (
        side.select(task, "*").repartition(n_tasks, "task").groupBy("task", "fold", "cell") for side in (sent, copies)
    )
    return left.cogroup(right).applyInArrow(apply, schema)


def by_cell(
    cells: DataFrame, columns: Sequence[str], function: Callable[[int, dict[str, Array]], Iterable[Row]], schema: str
) -> DataFrame:
    """Replace the edges of each cell, its slices joined, with the rows that ``function(cell, edges)`` yields."""
    whole = cells.select("cell", "slice", *columns)
    return group_rows(whole, ["cell"], lambda rows: function(rows[0]["cell"], join_slices(rows, columns)), schema)


def assign_tasks(layout: Layout, n_folds: int) -> tuple[int, list[int]]:
    """Return the number of tasks for the cells of all folds, and for each cell the key that leads to its task.

    Cells of two blocks have twice as many edges as the others and are assigned first, so that the tasks are even. A key
    leads to a task by Spark's hash partitioning.
    """
    n_cells = len(layout.pairs)
    n_tasks = max(2, min(layout.n_tasks, n_folds * n_cells))  # Spark would shuffle once more after a single task
    keys: dict[int, int] = {}
    key = 0
    while len(keys) < n_tasks:
        keys.setdefault(murmurhash3_32(key, seed=SPARK_SEED) % n_tasks, key)
        key += 1
    numbers = [(i == j, fold * n_cells + cell) for fold in range(n_folds) for cell, (i, j) in enumerate(layout.pairs)]
    task = {number: turn % n_tasks for turn, (_, number) in enumerate(sorted(numbers))}
    return n_tasks, [keys[task[number]] for number in range(n_folds * n_cells)]


def _matrices(table: pa.Table, layout: Layout, pair: tuple[int, int]) -> dict[str, Array]:
    """Return the matrices of both blocks of a cell by kind and side."""
    found: dict[tuple[str, int], list[Row]] = {}
    for row in rows_of(table):
        found.setdefault((row["kind"], row["block"]), []).append(row)
    joined = {}
    for (kind, block), rows in found.items():
        flat = [np.frombuffer(r["payload"], dtype=layout.dtype(kind)) for r in sorted(rows, key=lambda r: r["piece"])]
        whole = flat[0] if len(flat) == 1 else np.concatenate(flat)
        joined[kind, block] = whole.reshape(layout.sizes[block], -1 if layout.sizes[block] else 0)
    return {f"{kind}{side}": joined[kind, block] for kind, _ in found for side, block in enumerate(pair)}


def with_row_numbers(frame: DataFrame) -> DataFrame:
    """Add a column ``row`` that numbers the rows 0, 1, … in the order of the table."""
    from pyspark.sql import functions as F  # noqa: N812

    with_place = frame.withColumn("_place", F.monotonically_increasing_id())
    partition = F.shiftright("_place", 33).cast("int")
    sizes = {row["part"]: row["count"] for row in with_place.groupBy(partition.alias("part")).count().collect()}
    starts, total = [], 0
    for part in range(max(sizes, default=0) + 1):
        starts.append(total)
        total += sizes.get(part, 0)
    start = F.element_at(F.array([F.lit(value).cast("long") for value in starts]), partition + 1)
    inside = F.col("_place").bitwiseAND(F.lit((1 << 33) - 1))
    return with_place.withColumn("row", start + inside).drop("_place")


def in_order(frame: DataFrame, **keys: bool) -> DataFrame:
    """Sort a table by columns, each ascending or not, and number its rows in a column ``row``."""
    return with_row_numbers(cached(frame.orderBy(*keys, ascending=list(keys.values()))))


def double(value: float) -> str:
    """Return a number as SQL, infinite ones included."""
    return f"cast('{float(value)!r}' as double)"


def rows_at(ordered: DataFrame, places: Iterable[int]) -> dict[int, Any]:
    """Return the rows with some numbers of a table that :func:`in_order` returned."""
    from pyspark.sql import functions as F  # noqa: N812

    return {row["row"]: row for row in ordered.filter(F.col("row").isin(sorted(set(places)))).collect()}


def ordered_columns(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return ``column, value, row``: the numbers of some columns below each other, each column sorted."""
    pairs = ", ".join(f"{number}, {name}" for number, name in enumerate(names))
    return in_order(rows.selectExpr(f"stack({len(names)}, {pairs}) as (column, value)"), column=True, value=True)


def quantiles(ordered: DataFrame, levels: Sequence[float], n_values: int) -> FloatArray:
    """Return the quantiles of each column of :func:`ordered_columns`, as ``np.quantile`` does: one level per column."""
    places = [(n_values - 1) * level for level in levels]
    ends = [[column * n_values + int(end(place)) for end in (np.floor, np.ceil)] for column, place in enumerate(places)]
    found = rows_at(ordered, np.ravel(ends).tolist())
    low, high = np.array([[found[place]["value"] for place in pair] for pair in ends]).T
    return np.asarray(low + (places - np.floor(places)) * (high - low))


@dataclass(frozen=True)
class OrderedColumn:
    """One column of :func:`ordered_columns` as an order (:class:`hopsight.detectors.tails.Order`)."""

    ordered: DataFrame
    n_values: int
    column: int = 0

    @cached_property
    def _short(self) -> FloatArray | None:
        """All values of a short column, which the driver reads at once: every question would be a job of its own."""
        if self.n_values > SHORT:
            return None
        rows = self.ordered.filter(f"column = {self.column}").select("value").toArrow()
        return np.sort(rows.column("value").to_numpy())

    def at(self, places: NDArray[np.int64]) -> FloatArray:
        """Return the values at some places, 0 for the smallest."""
        if self._short is not None:
            return self._short[places]
        rows = (self.column * self.n_values + places).tolist()
        found = rows_at(self.ordered, rows)
        return np.array([found[row]["value"] for row in rows])

    def n_above(self, value: float) -> int:
        """Return how many values are larger."""
        if self._short is not None:
            return int((self._short > value).sum())
        return self.ordered.filter(f"column = {self.column} and value > {double(value)}").count()


def hash_limit(n_wanted: int, n_hashes: float) -> np.uint64:
    """Return a limit below which at least ``n_wanted`` of so many random hashes lie, or all, and hardly more."""
    share = (n_wanted + 8 * np.sqrt(n_wanted)) / max(n_hashes, 1)
    return np.uint64(min(share * 2.0**64, 2.0**64 - 2048))


def id_type(nodes: DataFrame) -> str:
    """Return the type of the ids, which are whole numbers or text."""
    return {"bigint": "long"}.get(dict(nodes.dtypes)["id"], "string")


def matrix_of(batch: pa.RecordBatch, name: str = "features") -> FloatArray:
    """Return the matrix whose rows are the equally long lists of a column."""
    return batch.column(name).flatten().to_numpy(zero_copy_only=False).reshape(batch.num_rows, -1)


def lists_of(matrix: FloatArray) -> pa.Array:
    """Return the rows of a matrix as a column of lists."""
    flat = pa.array(np.asarray(matrix, dtype=np.float64).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1]).cast(pa.list_(pa.float64()))
