"""Repeated fits on Spark: means over several seeds, and how stable each node's place is, as in :mod:`runs.repeats`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import KINDS
from hopsight.spark.blocks import (
    BLOCK,
    Array,
    Layout,
    arrow_schema,
    cached,
    one_row,
    piece_matrix,
    rows_of,
    sum_to_driver,
)
from hopsight.spark.graph import SparkGraph
from hopsight.spark.inputs import with_row_numbers
from hopsight.spark.ranking import SCORES, score_rows, score_thresholds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

AVERAGED = [SCORES.index(name) for name in (*KINDS, "score", "p_value")]  # the other columns are those of the first fit


def averaged(
    fits: Sequence[DataFrame], graph: SparkGraph, detector: CrossHCM, top: int
) -> tuple[DataFrame, DataFrame, float]:
    """Return the means of several fits as blocks ``scores`` and as rows with the stability, and the threshold.

    ``top`` nodes count as the first ones where none is flagged.
    """
    layout = graph.layout
    means = mean_blocks(fits, layout, detector.evidence)
    limit, _ = score_thresholds(means, layout, detector)
    n_first = _count_above(means, layout, limit) or min(top, layout.n_nodes)
    rows, *by_fit = (score_rows(each, layout, detector.score, detector.evidence) for each in (means, *fits))
    return means, with_stability(rows, by_fit, graph.nodes, n_first), limit


def mean_blocks(fits: Sequence[DataFrame], layout: Layout, evidence: Sequence[str]) -> DataFrame:
    """Return blocks ``scores`` with the mean score, p-value and evidence of several fits, and what decides them."""
    from pyspark.sql import functions as F  # noqa: N812

    names, chosen = arrow_schema(BLOCK), [SCORES.index(kind) for kind in evidence]

    def average(key: Any, table: pa.Table) -> pa.Table:
        rows = sorted(rows_of(table), key=lambda row: row["fold"])
        parts = [piece_matrix(row, layout, np.float64) for row in rows]
        shown = parts[0].copy()
        shown[:, AVERAGED] = np.mean([part[:, AVERAGED] for part in parts], axis=0)
        shown[:, SCORES.index("decided_by")] = shown[:, chosen].argmax(axis=1)
        return pa.Table.from_batches([one_row({**rows[0], "payload": shown}, names)])

    numbered = (fit.withColumn("fold", F.lit(number)) for number, fit in enumerate(fits))
    together = reduce(lambda one, other: one.unionAll(other), numbered)
    return cached(together.groupBy("block", "piece").applyInArrow(average, BLOCK))


def with_stability(rows: DataFrame, fits: Sequence[DataFrame], nodes: DataFrame, n_first: int) -> DataFrame:
    """Add ``stability``: the share of fits in which a node is among the first, ties in the order of the node table.

    Parameters
    ----------
    rows
        What :func:`hopsight.spark.ranking.score_rows` returned for the means.
    fits
        The same for each fit.
    nodes
        The nodes with their rows in the table.
    n_first
        How many nodes are the first ones.
    """
    from pyspark.sql import functions as F  # noqa: N812

    place, first = ["block", "position"], []
    for fit in fits:
        named = fit.select(*place, "score").join(nodes.select(*place, "row"), place)
        ordered = cached(named.orderBy("score", "row", ascending=[False, True]).select(*place))
        first.append(with_row_numbers(ordered).filter(f"row < {n_first}").select(*place))
    times = reduce(lambda one, other: one.unionAll(other), first).groupBy(*place).agg(F.count("*").alias("times"))
    share = F.coalesce("times", F.lit(0)) / len(fits)
    return rows.join(times, place, "left").withColumn("stability", share).drop("times")


def _count_above(scores: DataFrame, layout: Layout, threshold: float) -> int:
    """Return the number of nodes with a score above the threshold."""

    def count(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        values = piece_matrix(row, layout, np.float64)[:, SCORES.index("score")]
        yield 0, np.array([(values > threshold).sum()], dtype=np.float64)

    return int(sum_to_driver(scores, count)[0][0])
