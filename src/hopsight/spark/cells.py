"""Edges in cells: where the blocks of both ends and the edges between them meet, and what is done with them there.

The edges of a cell are stored as rows ``(cell, slice, …)`` of up to ``SLICE`` edges each, in their order; a binary
column has an element an edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hopsight.spark.blocks import Array, Layout, arrow_schema, one_row, rows_of, whole

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SLICE = 1 << 20  # edges of a cell in one row of a table, with up to 40 bytes each

Kernel = Callable[[Layout, int, int, dict[str, Array], dict[str, Array]], Iterable[dict[str, Any]]]


def slices(cell: int, edges: dict[str, Array]) -> Iterator[dict[str, Any]]:
    """Cut the edges of a cell into slices; the last axis of every array is the edges'."""
    n_edges = next(iter(edges.values())).shape[-1]
    for number, start in enumerate(range(0, max(1, n_edges), SLICE)):
        part = {name: values[..., start : start + SLICE] for name, values in edges.items()}
        yield {"cell": cell, "slice": number, **part}


def whole_cell(rows: Iterable[dict[str, Any]], types: dict[str, Any], names: Iterable[str]) -> dict[str, Array]:
    """Put the slices of a cell together again; arrays are flat."""
    ordered = sorted(rows, key=lambda row: row["slice"])
    if len(ordered) == 1:
        return {name: np.frombuffer(ordered[0][name], dtype=types[name]) for name in names}
    empty = {name: np.empty(0, dtype=types[name]) for name in names}
    return {
        name: np.concatenate([none, *(np.frombuffer(row[name], dtype=types[name]) for row in ordered)])
        for name, none in empty.items()
    }


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
        What :func:`send` returned; several may be united.
    cells
        ``cell``, ``slice`` and binary columns with an element an edge.
    folds
        The folds that need the edges.
    kernel
        ``kernel(layout, fold, cell, blocks, edges)`` yields rows; ``blocks["kind0"]`` and ``blocks["kind1"]`` are the
        matrices of the cell's first and second block, ``edges`` the arrays of the cell.
    types
        Element type of every kind of block, and of every column of the cells.
    schema
        Of the rows that the kernel yields.
    """
    from pyspark.sql import functions as F  # noqa: N812

    copies = cells.withColumn("fold", F.explode(F.array([F.lit(fold) for fold in folds])))
    n_tasks, tasks = dealt(layout, len(folds))
    number = F.greatest("fold", F.lit(0)) * len(layout.pairs) + F.col("cell")
    task = F.element_at(F.split(F.lit(" ".join(map(str, tasks))), " "), number + 1).cast("int").alias("task")
    names = arrow_schema(schema)
    columns = [name for name in cells.columns if name in types]

    def apply(key: Any, left: pa.Table, right: pa.Table) -> pa.Table:
        _, fold, cell = (part.as_py() for part in key)
        blocks = _matrices(left, layout, layout.pairs[cell], types)
        edges = whole_cell(rows_of(right), types, columns)
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
    """Turn the edges of every cell, its slices put together, into some rows: ``function(cell, edges)``."""
    names = arrow_schema(schema)

    def apply(key: Any, table: pa.Table) -> pa.Table:
        made = function(key[0].as_py(), whole_cell(rows_of(table), types, columns))
        return pa.Table.from_batches([one_row(row, names) for row in made], names)

    return cells.select("cell", "slice", *columns).groupBy("cell").applyInArrow(apply, schema)


def dealt(layout: Layout, n_folds: int) -> tuple[int, list[int]]:
    """Return how many tasks there are for the cells of all folds, and for each cell the word that leads to its task.

    Cells of two blocks, which have twice the edges of the others, are dealt first: no task gets many more than another.
    """
    n_cells = len(layout.pairs)
    n_tasks = max(2, min(layout.n_tasks, n_folds * n_cells))  # Spark would shuffle once more after a single task
    words = task_words(n_tasks)
    keys = [(i == j, fold * n_cells + cell) for fold in range(n_folds) for cell, (i, j) in enumerate(layout.pairs)]
    task = {key: turn % n_tasks for turn, (_, key) in enumerate(sorted(keys))}
    return n_tasks, [words[task[key]] for key in range(n_folds * n_cells)]


def task_words(n_tasks: int) -> list[int]:
    """Return, for every task, a whole number that Spark's hash partitioning sends there.

    >>> len(set(task_words(5)))
    5
    """
    words: dict[int, int] = {}
    word = 0
    while len(words) < n_tasks:
        words.setdefault(_spark_hash(word) % n_tasks, word)
        word += 1
    return [words[task] for task in range(n_tasks)]


def _spark_hash(value: int) -> int:
    """Return Spark's ``hash`` of an int: Murmur3 with the seed 42."""
    full = 0xFFFFFFFF

    def turned(word: int, bits: int) -> int:
        return ((word << bits) | (word >> (32 - bits))) & full

    mixed = turned((value & full) * 0xCC9E2D51 & full, 15) * 0x1B873593 & full
    word = (turned(42 ^ mixed, 13) * 5 + 0xE6546B64) & full ^ 4
    word = (word ^ (word >> 16)) * 0x85EBCA6B & full
    word = (word ^ (word >> 13)) * 0xC2B2AE35 & full
    word ^= word >> 16
    return word - (1 << 32) if word >> 31 else word


def _matrices(table: pa.Table, layout: Layout, pair: tuple[int, int], types: dict[str, Any]) -> dict[str, Array]:
    found: dict[tuple[str, int], list[tuple[int, Any]]] = {}
    for row in rows_of(table):
        found.setdefault((row["kind"], row["block"]), []).append((row["piece"], row["payload"]))
    kinds = {kind for kind, _ in found}
    made = {key: whole(parts, types[key[0]], layout.sizes[key[1]]) for key, parts in found.items()}
    return {f"{kind}{side}": made[kind, block] for kind in kinds for side, block in enumerate(pair)}
