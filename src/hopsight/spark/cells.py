"""Bring the edges of each cell together with the blocks of both their ends, and apply a function there.

The edges of a cell are stored in order, as rows ``(cell, slice, …)`` of up to ``SLICE`` edges; a binary column has one
element per edge. In a directed graph the column ``way`` says where an arc leads; in an undirected graph it is empty.
Opposite arcs are neighbors in their cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils import murmurhash3_32

from hopsight.spark.blocks import Array, Layout, arrow_schema, join_pieces, one_row, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SPARK_SEED = 42  # of the Murmur3 hash by which Spark partitions
SLICE = 1 << 20  # edges of a cell in one row of a table, with up to 40 bytes each

BACK = 1  # bit of ``way``: the arc leads from the second block to the first, or from the larger position to the smaller
LATE = 2  # the hash of the source is the larger one, so that the arc comes after the opposite one

Kernel = Callable[[Layout, int, int, dict[str, Array], dict[str, Array]], Iterable[dict[str, Any]]]


def slices(cell: int, edges: dict[str, Array]) -> Iterator[dict[str, Any]]:
    """Cut the edges of a cell into slices; the last axis of each array runs over the edges."""
    n_edges = next(iter(edges.values())).shape[-1]
    for number, start in enumerate(range(0, max(1, n_edges), SLICE)):
        part = {name: values[..., start : start + SLICE] for name, values in edges.items()}
        yield {"cell": cell, "slice": number, **part}


def join_slices(rows: Iterable[dict[str, Any]], types: dict[str, Any], names: Iterable[str]) -> dict[str, Array]:
    """Return the edges of a cell, as flat arrays, from its slices."""
    ordered = sorted(rows, key=lambda row: row["slice"])
    if len(ordered) == 1:
        return {name: np.frombuffer(ordered[0][name], dtype=types[name]) for name in names}
    empty = {name: np.empty(0, dtype=types[name]) for name in names}
    return {
        name: np.concatenate([none, *(np.frombuffer(row[name], dtype=types[name]) for row in ordered)])
        for name, none in empty.items()
    }


def arc_ends(first: Array, second: Array, way: Array) -> tuple[Array, Array]:
    """Return the sources and the targets, given the ends in both blocks; edges without direction stay as they are.

    >>> [ends.tolist() for ends in arc_ends(np.array([4, 5]), np.array([7, 8]), np.array([0, BACK], dtype=np.uint8))]
    [[4, 8], [7, 5]]
    """
    if not way.size:
        return first, second
    back = (way & BACK) > 0
    return np.where(back, second, first), np.where(back, first, second)


def first_arcs(u: Array, v: Array) -> NDArray[np.bool_]:
    """Return which edges of a cell do not lead back along the edge before: two opposite arcs are one neighbor.

    >>> first_arcs(np.array([0, 0, 1]), np.array([2, 2, 2])).tolist()
    [True, False, True]
    """
    return np.append(True, (u[1:] != u[:-1]) | (v[1:] != v[:-1]))[: u.size]


def on_cells(
    sent: DataFrame,
    cells: DataFrame,
    layout: Layout,
    folds: Sequence[int],
    kernel: Kernel,
    types: dict[str, Any],
    schema: str,
) -> DataFrame:
    """Bring the blocks and the edges of each (fold, cell) together and apply a kernel.

    Parameters
    ----------
    sent
        What :func:`send` returned, or the union of several of these.
    cells
        ``cell``, ``slice`` and binary columns with one element per edge.
    folds
        The folds that need the edges.
    kernel
        ``kernel(layout, fold, cell, blocks, edges)`` yields rows; ``blocks["kind0"]`` and ``blocks["kind1"]`` are the
        matrices of the cell's first and second block, ``edges`` the arrays of the cell.
    types
        Element type of each kind of block and of each column of the cells.
    schema
        Schema of the rows that the kernel yields.
    """
    from pyspark.sql import functions as F  # noqa: N812

    copies = cells.withColumn("fold", F.explode(F.array([F.lit(fold) for fold in folds])))
    n_tasks, tasks = assign_tasks(layout, len(folds))
    number = F.greatest("fold", F.lit(0)) * len(layout.pairs) + F.col("cell")
    task = F.element_at(F.split(F.lit(" ".join(map(str, tasks))), " "), number + 1).cast("int").alias("task")
    names = arrow_schema(schema)
    columns = [name for name in cells.columns if name in types]

    def apply(key: Any, left: pa.Table, right: pa.Table) -> pa.Table:
        _, fold, cell = (part.as_py() for part in key)
        blocks = _matrices(left, layout, layout.pairs[cell], types)
        edges = join_slices(rows_of(right), types, columns)
        made = [one_row(row, names) for row in kernel(layout, fold, cell, blocks, edges)]
        return pa.Table.from_batches(made, names)

    left, right = (
        side.select(task, "*").repartition(n_tasks, "task").groupBy("task", "fold", "cell") for side in (sent, copies)
    )
    return left.cogroup(right).applyInArrow(apply, schema)


def by_cell(
    cells: DataFrame,
    columns: Sequence[str],
    function: Callable[[int, dict[str, Array]], Iterable[dict[str, Any]]],
    types: dict[str, Any],
    schema: str,
) -> DataFrame:
    """Replace the edges of each cell, its slices joined, with the rows that ``function(cell, edges)`` yields."""
    names = arrow_schema(schema)

    def apply(key: Any, table: pa.Table) -> pa.Table:
        made = function(key[0].as_py(), join_slices(rows_of(table), types, columns))
        return pa.Table.from_batches([one_row(row, names) for row in made], names)

    return cells.select("cell", "slice", *columns).groupBy("cell").applyInArrow(apply, schema)


def assign_tasks(layout: Layout, n_folds: int) -> tuple[int, list[int]]:
    """Return the number of tasks for the cells of all folds, and for each cell the key that leads to its task.

    Cells of two blocks have twice as many edges as the others and are assigned first, so that the tasks are even.
    """
    n_cells = len(layout.pairs)
    n_tasks = max(2, min(layout.n_tasks, n_folds * n_cells))  # Spark would shuffle once more after a single task
    keys = task_keys(n_tasks)
    numbers = [(i == j, fold * n_cells + cell) for fold in range(n_folds) for cell, (i, j) in enumerate(layout.pairs)]
    task = {number: turn % n_tasks for turn, (_, number) in enumerate(sorted(numbers))}
    return n_tasks, [keys[task[number]] for number in range(n_folds * n_cells)]


def task_keys(n_tasks: int) -> list[int]:
    """Return, for each task, an integer that Spark's hash partitioning sends there.

    >>> len(set(task_keys(5)))
    5
    """
    keys: dict[int, int] = {}
    key = 0
    while len(keys) < n_tasks:
        keys.setdefault(murmurhash3_32(key, seed=SPARK_SEED) % n_tasks, key)
        key += 1
    return [keys[task] for task in range(n_tasks)]


def _matrices(table: pa.Table, layout: Layout, pair: tuple[int, int], types: dict[str, Any]) -> dict[str, Array]:
    found: dict[tuple[str, int], list[tuple[int, Any]]] = {}
    for row in rows_of(table):
        found.setdefault((row["kind"], row["block"]), []).append((row["piece"], row["payload"]))
    kinds = {kind for kind, _ in found}
    made = {key: join_pieces(parts, types[key[0]], layout.sizes[key[1]]) for key, parts in found.items()}
    return {f"{kind}{side}": made[kind, block] for kind in kinds for side, block in enumerate(pair)}
