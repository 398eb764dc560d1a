"""Compute the scores of nodes from judged edges: means over a node's edges, compared with nodes of similar degree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hopsight.checks import check_choice
from hopsight.hcm.scores import beyond_degree
from hopsight.spark.blocks import (
    BLOCK,
    NO_FOLD,
    PIECE,
    SENT,
    Array,
    Layout,
    arrow_schema,
    cached,
    each_row,
    one_row,
    piece_matrix,
    pieces,
    rows_of,
    sum_parts,
    sum_to_driver,
)
from hopsight.spark.cells import by_cell
from hopsight.spark.quantiles import quantiles, sortable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


SCORES = ("degree", "ahp", "iv", "hav", "far", "cross")  # columns of the blocks "scores"


def mean_blocks(judged: DataFrame, rings: DataFrame, layout: Layout, deviation: str) -> DataFrame:
    """Return blocks ``means``: degree, mean hop, deviation and surprise, root mean ring; NaN if there are no edges."""

    def unpack(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        hop, variance, _, surprise = np.frombuffer(row["values"]).reshape(4, -1)
        yield {**row, "hop": hop, "variance": variance, "surprise": surprise}

    def sums(cell: int, edges: dict[str, Array]) -> Iterator[dict[str, Any]]:
        i, j = layout.pairs[cell]
        ends = edges["u"], edges["v"]
        hop, variance, surprise = (edges[name] for name in _SUMMED)
        values = (np.ones_like(hop), hop, np.sqrt(variance) if deviation == "std" else variance, surprise)
        blocks = {block: np.zeros((layout.sizes[block], len(values))) for block in (i, j)}
        for block, end in zip((i, j), ends, strict=True):
            for column, value in enumerate(values):
                blocks[block][:, column] += np.bincount(end, value, layout.sizes[block])
        for block, total in blocks.items():
            yield from ({**piece, "cell": cell} for piece in pieces(NO_FOLD, block, "sums", total))

    names = arrow_schema(BLOCK)

    def average(key: Any, table: pa.Table) -> pa.Table:
        block, piece = (part.as_py() for part in key)
        n_rows = layout.rows(block, piece)
        rows = list(rows_of(table))
        total, ring = (
            sum_parts(parts, np.float64).reshape(n_rows, -1) if parts else np.zeros((n_rows, 1))
            for parts in ([row for row in rows if row["kind"] == kind] for kind in ("sums", "ring"))
        )
        count = np.where(total[:, :1] > 0, total[:, :1], np.nan)
        means = np.hstack([total[:, :1], total[:, 1:] / count, np.sqrt(2.0 * ring / count)])
        row = {"fold": NO_FOLD, "block": block, "piece": piece, "kind": "means", "payload": means}
        return pa.Table.from_batches([one_row(row, names)])

    unpacked = f"cell int, slice int, u binary, v binary, {', '.join(f'{name} binary' for name in _SUMMED)}"
    types = {"u": np.int32, "v": np.int32, **dict.fromkeys(_SUMMED, np.float64)}
    summed = by_cell(judged.mapInArrow(each_row(unpack, unpacked), unpacked), list(types), sums, types, SENT)
    partial = summed.unionAll(rings)
    return partial.repartition(layout.n_tasks, "block", "piece").groupBy("block", "piece").applyInArrow(average, BLOCK)


def degree_trends(means: DataFrame, layout: Layout) -> tuple[Array, int]:
    """Return :func:`hopsight.hcm.scores.degree_trend` of hop, surprise and ring, and the number of nodes with edges."""
    n_judged, mean, spread = _log_degrees(means, layout)

    def products(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        rows = _judged(row, layout)
        powers = np.vander((np.log(rows[:, 0]) - mean) / spread, 3)
        yield 0, np.concatenate([(powers.T @ powers).ravel(), (powers.T @ rows[:, _WITH_TREND]).ravel()])

    found = sum_to_driver(means, products)[0]
    parabolas = np.linalg.lstsq(found[:9].reshape(3, 3), found[9:].reshape(3, 3), rcond=1e-10)[0].T
    plain = [np.array([mean, spread, *parabola, 0.0, 1.0]) for parabola in parabolas]

    def residuals(row: dict[str, Any]) -> Array:
        rows = _judged(row, layout)
        return np.stack([beyond_degree(rows[:, c], rows[:, 0], t) for c, t in zip(_WITH_TREND, plain, strict=True)])

    low_middle_high = quantiles(
        means,
        lambda row: [(column, sortable(values)) for column, values in enumerate(residuals(row))],
        [(column, level) for column in range(3) for level in (0.25, 0.5, 0.75)],
        n_judged,
    ).reshape(3, 3)
    widths = (low_middle_high[:, 2] - low_middle_high[:, 0]) / 1.349
    if (widths <= 1e-12).any():

        def moments(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
            values = residuals(row)
            yield 0, np.stack([values, values**2]).sum(axis=2).ravel()

        first, second = sum_to_driver(means, moments)[0].reshape(2, 3) / n_judged
        widths = np.where(widths > 1e-12, widths, np.sqrt(np.maximum(second - first**2, 0.0)))
    widths = np.where(widths > 1e-12, widths, 1.0)
    trends = [[*t[:5], m, w] for t, m, w in zip(plain, low_middle_high[:, 1], widths, strict=True)]
    return np.array(trends), n_judged


def _log_degrees(means: DataFrame, layout: Layout) -> tuple[int, float, float]:
    """Return the number of nodes with edges, and the mean and standard deviation of their log degree."""

    def moments(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        level = np.log(_judged(row, layout)[:, 0])
        yield 0, np.array([level.size, level.sum(), (level**2).sum()])

    n_judged, total, squares = sum_to_driver(means, moments)[0].tolist()
    mean = total / n_judged
    spread = float(np.sqrt(max(squares / n_judged - mean**2, 0.0)))
    return int(n_judged), mean, spread if spread > 1e-7 else 1.0  # all degrees may be equal, up to rounding


def score_blocks(means: DataFrame, layout: Layout, trends: Array, n_judged: int) -> DataFrame:
    """Return blocks ``scores``: degree, ahp, iv, hav, far, cross; nodes without edges get the median of the others."""

    def largest(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        yield 0, _judged(row, layout)[:, 1:3].max(axis=0, initial=0.0)

    highest = sum_to_driver(means, largest, op=np.maximum)[0]

    def combine(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        degree, hop, deviation, surprise, ring = piece_matrix(row, layout, np.float64).T
        level = np.maximum(degree, 1.0)
        far_hop, far_surprise, far_ring = (
            beyond_degree(value, level, trend) for value, trend in zip((hop, surprise, ring), trends, strict=True)
        )
        far = (far_hop + far_surprise) / 2
        parts = [
            values / top if top > 0 else np.zeros_like(values)
            for values, top in zip((hop, deviation), highest, strict=True)
        ]
        columns = [degree, hop, deviation, parts[0] + parts[1], far, np.maximum(far, far_ring)]
        yield {**row, "kind": "scores", "payload": np.column_stack(columns)}

    scores = means.mapInArrow(each_row(combine, BLOCK), BLOCK)
    if n_judged == layout.n_nodes:
        return scores
    columns = range(1, len(SCORES))
    medians = quantiles(
        cached(scores),
        lambda row: [(column, sortable(_judged(row, layout)[:, column])) for column in columns],
        [(column, 0.5) for column in columns],
        n_judged,
    )

    def fill(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        rows = piece_matrix(row, layout, np.float64).copy()
        rows[rows[:, 0] == 0, 1:] = medians
        yield {**row, "payload": rows}

    return scores.mapInArrow(each_row(fill, BLOCK), BLOCK)


def score_threshold(scores: DataFrame, layout: Layout, score: str, contamination: float | str) -> float:
    """Return the score above which a node is flagged, that of :func:`hopsight.detectors.predict.threshold`."""
    column = SCORES.index(score)

    def keys(row: dict[str, Any]) -> list[tuple[int, Any]]:
        return [(0, sortable(piece_matrix(row, layout, np.float64)[:, column]))]

    if contamination != "auto":
        return float(quantiles(scores, keys, [(0, 1.0 - float(contamination))], layout.n_nodes)[0])
    center = float(quantiles(scores, keys, [(0, 0.5)], layout.n_nodes)[0])

    def above(row: dict[str, Any]) -> Array:
        values = piece_matrix(row, layout, np.float64)[:, column]
        return values[values >= center] - center

    n_above = int(sum_to_driver(scores, lambda row: [(0, np.array([float(above(row).size)]))])[0][0])
    median = quantiles(scores, lambda row: [(0, sortable(above(row)))], [(0, 0.5)], n_above)[0]
    return float(center + 3.5 * 1.4826 * median)


def score_rows(scores: DataFrame, layout: Layout, score: str) -> DataFrame:
    """Return one row per node: block, position, score, judged, degree, ahp, iv, hav."""
    check_choice("score", score, SCORES[1:])
    schema = "block int, position int, score double, judged int, degree long, ahp double, iv double, hav double"
    column = SCORES.index(score)

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in rows_of(batch):
                rows = piece_matrix(row, layout, np.float64)
                position = np.arange(len(rows), dtype=np.int32) + row["piece"] * PIECE
                block = np.full(len(rows), row["block"], dtype=np.int32)
                judged, degree = (rows[:, 0] > 0).astype(np.int32), rows[:, 0].astype(np.int64)
                columns: Sequence[Array] = [block, position, rows[:, column], judged, degree, *rows[:, 1:4].T]
                yield pa.RecordBatch.from_arrays(
                    [pa.array(np.ascontiguousarray(values)) for values in columns],
                    [field.split()[0] for field in schema.split(", ")],
                )

    return scores.mapInArrow(unpack, schema)


_SUMMED = ("hop", "variance", "surprise")  # summed over the edges of a node
_WITH_TREND = [1, 3, 4]  # columns of the means that are compared with nodes of similar degree: hop, surprise, ring


def _judged(row: dict[str, Any], layout: Layout) -> Array:
    rows = piece_matrix(row, layout, np.float64)
    return rows[rows[:, 0] > 0]
