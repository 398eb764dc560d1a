"""Exact order statistics of values on the cluster: Spark sorts them, and some places are looked up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.spark.blocks import cached

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FloatArray = NDArray[np.float64]


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

    def at(self, places: NDArray[np.int64]) -> FloatArray:
        """Return the values at some places, 0 for the smallest."""
        rows = (self.column * self.n_values + places).tolist()
        found = rows_at(self.ordered, rows)
        return np.array([found[row]["value"] for row in rows])

    def n_above(self, value: float) -> int:
        """Return how many values are larger."""
        return self.ordered.filter(f"column = {self.column} and value > {double(value)}").count()


def hash_limit(n_wanted: int, n_hashes: float) -> np.uint64:
    """Return a limit below which at least ``n_wanted`` of so many random hashes lie, or all, and hardly more."""
    share = (n_wanted + 8 * np.sqrt(n_wanted)) / max(n_hashes, 1)
    return np.uint64(min(share * 2.0**64, 2.0**64 - 2048))
