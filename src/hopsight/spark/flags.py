"""Decide on the cluster how many nodes or edges to flag, as :func:`hopsight.detectors.predict.threshold` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.spark import quantiles
from hopsight.spark.blocks import Array, each_row, sum_to_driver

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Columns = Callable[[dict[str, Any]], Sequence[tuple[Array, Array]]]


def flag_limits(frame: DataFrame, columns: Columns, n_values: int, false_alarms: float) -> NDArray[np.float64]:
    """Return, for each column, the score above which values are flagged.

    Parameters
    ----------
    frame
        Rows that hold the values in any form.
    columns
        Function that returns for each column the scores and the p-values in a row.
    n_values, false_alarms
        Number of values per column, and the share of flagged ones that may be ordinary.
    """
    flagged = count_flagged(frame, lambda row: [p_values for _, p_values in columns(row)], n_values, false_alarms)
    wanted = [(column, n_values - 1 - min(count, n_values - 1)) for column, count in enumerate(flagged)]

    def words(row: dict[str, Any]) -> list[tuple[int, Any]]:
        return [(column, quantiles.sortable(scores)) for column, (scores, _) in enumerate(columns(row))]

    return quantiles.from_sortable(np.array(quantiles.nth(frame, words, wanted, n_values), dtype=np.uint64))


def count_flagged(
    frame: DataFrame, columns: Callable[[dict[str, Any]], Sequence[Array]], n_values: int, false_alarms: float
) -> list[int]:
    """Return :func:`hopsight.detectors.tails.count_flagged` of each column of p-values.

    The number k of flagged values is the largest with k = #{p ≤ false_alarms · k / n}. Starting from n, each count
    gives a smaller k until it stays the same, or until so few are left that the driver can sort them.
    """
    most = np.array(float(n_values))
    while True:
        limits = false_alarms * most / n_values

        def counts(row: dict[str, Any], limits: Array = limits) -> Iterator[tuple[int, Array]]:
            values = columns(row)
            pairs = zip(values, np.broadcast_to(limits, len(values)), strict=True)
            yield 0, np.array([(p <= limit).sum() for p, limit in pairs], dtype=np.float64)

        found = sum_to_driver(frame, counts)[0]
        few = found <= quantiles.FEW
        if (few | (found == most)).all():
            break
        most = found
    flagged = found.astype(np.int64)
    smallest = _smallest(frame, columns, np.where(few, false_alarms * found / n_values, -1.0))
    for column in np.flatnonzero(few).tolist():
        ordered = np.sort(smallest[column])
        passing = np.flatnonzero(ordered <= false_alarms * np.arange(1, ordered.size + 1) / n_values)
        flagged[column] = passing[-1] + 1 if passing.size else 0
    return [int(count) for count in flagged]


def _smallest(
    frame: DataFrame, columns: Callable[[dict[str, Any]], Sequence[Array]], limits: Array
) -> dict[int, NDArray[np.float64]]:
    """Collect the p-values of each column up to its limit."""
    schema = "column int, payload binary"

    def choose(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for column, (p_values, limit) in enumerate(zip(columns(row), limits, strict=True)):
            yield {"column": column, "payload": p_values[p_values <= limit]}

    parts: dict[int, list[Array]] = {column: [] for column in range(limits.size)}
    for row in frame.mapInArrow(each_row(choose, schema), schema).collect():
        parts[row["column"]].append(np.frombuffer(row["payload"]))
    return {column: np.concatenate(found) for column, found in parts.items()}
