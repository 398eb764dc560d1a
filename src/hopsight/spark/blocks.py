"""Store nodes in blocks and edges in cells, the layout that all stages share.

The hash of a node's id assigns it to one of q blocks, where it has a position. An edge belongs to the cell (i, j),
i ≤ j, of its two blocks, so the edges of a hub are spread over q cells. A matrix with one row per node is stored as
pieces ``(fold, block, piece, kind, payload)``; the payload holds up to ``PIECE`` rows as raw bytes. A stage sends every
block to the q cells that touch it, works there on whole arrays, and sums what the cells return for each block. This is
the join and the group-by of a row-wise plan, with the partial aggregation done first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PIECE = 1 << 12  # rows; the widest matrix, of the search from 8,192 sources, has 4 KB per node
NO_FOLD = -1

BLOCK = "fold int, block int, piece int, kind string, payload binary"
SENT = "fold int, cell int, block int, piece int, kind string, payload binary"

Array = NDArray[Any]


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


def cell_of(i: Array, j: Array, n_blocks: int) -> Array:
    """Return the number of the cell (i, j), i ≤ j, in the order of :attr:`Layout.pairs`.

    >>> cell_of(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).tolist()
    [0, 1, 2]
    """
    return i * n_blocks - i * (i - 1) // 2 + j - i


def pieces(fold: int, block: int, kind: str, rows: Array) -> Iterator[dict[str, Any]]:
    """Cut the matrix of a block into pieces."""
    for start in range(0, max(1, len(rows)), PIECE):
        part = np.ascontiguousarray(rows[start : start + PIECE])
        yield {"fold": fold, "block": block, "piece": start // PIECE, "kind": kind, "payload": part}


def join_pieces(parts: Sequence[tuple[int, Any]], dtype: Any, n_rows: int) -> Array:
    """Return the matrix of a block, (n_rows, width), from its pieces."""
    flat = [np.frombuffer(payload, dtype=dtype) for _, payload in sorted(parts, key=lambda part: part[0])]
    joined = flat[0] if len(flat) == 1 else np.concatenate(flat)
    return joined.reshape(n_rows, -1 if n_rows else 0)


def rows_of(table: pa.Table | pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Yield the rows of an Arrow table; a binary value is a buffer, not a copy."""
    columns = {name: table.column(name) for name in table.schema.names}
    for row in range(table.num_rows):
        cells = {name: column[row] for name, column in columns.items()}
        yield {name: c.as_buffer() if pa.types.is_binary(c.type) else c.as_py() for name, c in cells.items()}


def each_row(function: Callable[[dict[str, Any]], Iterable[dict[str, Any]]], schema: str) -> Any:
    """Return the Arrow function that replaces each row with the rows that ``function`` yields."""
    names = arrow_schema(schema)

    def apply(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in rows_of(batch):
                for made in function(row):
                    yield one_row(made, names)

    return apply


def one_row(row: dict[str, Any], schema: pa.Schema) -> pa.RecordBatch:
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


def send(blocks: DataFrame, layout: Layout, folds: Sequence[int] | None = None) -> DataFrame:
    """Send every piece to the cells that touch its block, once for each of ``folds`` where these are given."""

    def copies(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for fold in folds if folds is not None else (row["fold"],):
            for cell in layout.cells_of(row["block"]):
                yield row | {"fold": fold, "cell": cell}

    return blocks.mapInArrow(each_row(copies, SENT), SENT)


def sum_over_cells(partial: DataFrame, layout: Layout, dtype: Any, *, op: Any = np.add) -> DataFrame:
    """Sum what the cells returned for each piece of a block, in the order of the cells.

    ``partial`` has the columns of a block and ``cell``; ``op`` replaces the addition.
    """
    if layout.n_blocks == 1:
        return partial.drop("cell")  # with one cell there is nothing to sum
    names = arrow_schema(BLOCK)

    def total(key: Any, table: pa.Table) -> pa.Table:
        fold, block, piece, kind = (part.as_py() for part in key)
        result = sum_parts(rows_of(table), dtype, op)
        row = {"fold": fold, "block": block, "piece": piece, "kind": kind, "payload": result}
        return pa.Table.from_batches([one_row(row, names)])

    keys = ("fold", "block", "piece", "kind")
    return partial.repartition(layout.n_tasks, *keys).groupBy(*keys).applyInArrow(total, BLOCK)


def sum_parts(rows: Iterable[dict[str, Any]], dtype: Any, op: Any = np.add) -> Array:
    """Sum the payloads of some rows in the order of their cells, so that the rounding is always the same."""
    ordered = sorted(rows, key=lambda row: row["cell"])
    return reduce(op, [np.frombuffer(row["payload"], dtype=dtype) for row in ordered])


def sum_to_driver(
    frame: DataFrame, function: Callable[[dict[str, Any]], Iterable[tuple[int, Array]]], *, op: Any = np.add
) -> dict[int, Array]:
    """Sum small float64 arrays by key on the driver; a partition sends one array per key, never its rows."""
    schema = "key int, payload binary"
    names = arrow_schema(schema)

    def partial(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sums: dict[int, Array] = {}
        for batch in batches:
            for row in rows_of(batch):
                for key, value in function(row):
                    sums[key] = op(sums[key], value) if key in sums else value
        for key, value in sums.items():
            yield one_row({"key": key, "payload": value.tobytes()}, names)

    totals: dict[int, Array] = {}
    for row in frame.mapInArrow(partial, schema).collect():
        value = np.frombuffer(row["payload"], dtype=np.float64)
        totals[row["key"]] = op(totals[row["key"]], value) if row["key"] in totals else value
    return totals


def cached(frame: DataFrame, *, large: bool = False) -> DataFrame:
    """Persist a table that later stages read again: in memory, or on disk if it is large or does not fit."""
    from pyspark import StorageLevel

    return frame.persist(StorageLevel.DISK_ONLY if large else StorageLevel.MEMORY_AND_DISK)


def computed(frame: DataFrame, *, large: bool = False) -> DataFrame:
    """Persist a table and compute it now, so that the work is measured in the stage it belongs to."""
    table = cached(frame, large=large)
    table.count()
    return table


def chosen_rows(row: dict[str, Any], layout: Layout, dtype: Any, nodes: NDArray[np.int64]) -> Array:
    """Return the rows of a piece that belong to some nodes, whose numbers are given in ascending order."""
    start = layout.offsets[row["block"]] + row["piece"] * PIECE
    end = start + layout.rows(row["block"], row["piece"])
    here = nodes[np.searchsorted(nodes, start) : np.searchsorted(nodes, end)] - start
    return piece_matrix(row, layout, dtype)[here]


def gather_rows(blocks: DataFrame, layout: Layout, dtype: Any, nodes: NDArray[np.int64]) -> Array:
    """Collect the rows of some nodes on the driver, in the order of their numbers in ``nodes``."""
    order = np.argsort(nodes)
    ascending = nodes[order]

    def choose(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield row | {"payload": chosen_rows(row, layout, dtype, ascending)}

    rows = blocks.mapInArrow(each_row(choose, BLOCK), BLOCK).collect()
    rows.sort(key=lambda row: (row["block"], row["piece"]))
    found = np.concatenate([np.frombuffer(row["payload"], dtype=dtype) for row in rows]).reshape(nodes.size, -1)
    return found[np.argsort(order)]


def piece_matrix(row: dict[str, Any], layout: Layout, dtype: Any) -> Array:
    """Return a piece as a matrix with one row per node."""
    return np.frombuffer(row["payload"], dtype=dtype).reshape(layout.rows(row["block"], row["piece"]), -1)
