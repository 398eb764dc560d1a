"""Say what is known of each edge in one clause, as :func:`hopsight.explanations.edges.edge_reasons` does.

A reason compares the ends of an edge with those of all edges. Percentages are rounded down, so that about a hundred
exact order statistics decide them, and no edge has to be brought to the driver or sorted once more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.explanations.text import percent
from hopsight.spark.blocks import Array, sum_to_driver
from hopsight.spark.judging import edge_values
from hopsight.spark.quantiles import HashArray, nth, sortable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LEVELS = (*range(99), *(99 + tenth / 10 for tenth in range(10)))  # percentages that texts distinguish


@dataclass(frozen=True)
class EdgeReasons:
    """What is needed to give a reason for any edge.

    Attributes
    ----------
    shares
        The percentages, as text, in ascending order.
    lower, higher
        Words of dissimilarities in ascending order: a percentage of lower values grows above each of ``lower``, and one
        of higher values below each of ``higher``.
    middle
        The first word with at least as many lower values as higher ones.
    """

    shares: tuple[str, ...]
    lower: HashArray
    higher: HashArray
    middle: np.uint64

    @classmethod
    def of(cls, judged: DataFrame, n_edges: int) -> EdgeReasons:
        """Find the order statistics of the dissimilarities of judged edges."""
        counts, shares = share_steps(n_edges)
        ranks = [count - 1 for count in counts[1:]] + [n_edges - count for count in counts[:0:-1]]
        ranks += [(n_edges - 1) // 2, n_edges // 2]
        found = nth(judged, lambda row: [(0, _words(row))], [(0, rank) for rank in ranks], n_edges)
        *steps, low, high = np.array(found, dtype=np.uint64)
        lower, higher = np.array(steps, dtype=np.uint64).reshape(2, -1)
        return cls(tuple(shares), lower, higher, high if low < high else _first_above(judged, low))

    def numbers(self, dissimilarity: Array) -> NDArray[np.int32]:
        """Return the number of the clause about each of some edges, as :meth:`column` expects it."""
        words = sortable(dissimilarity)
        n_lower = np.searchsorted(self.lower, words, side="left")
        n_higher = self.higher.size - np.searchsorted(self.higher, words, side="right")
        return np.where(words >= self.middle, n_lower, len(self.shares) + n_higher).astype(np.int32)

    def column(self, hop: str, number: str) -> Column:
        """Return the column of texts, given the columns with expected hop counts and with :meth:`numbers`."""
        from pyspark.sql import functions as F  # noqa: N812

        farther = [f"; attributes farther apart than for {share} of edges" for share in self.shares]
        closer = [f"; attributes closer than for {share} of edges" for share in self.shares]
        clauses = F.array([F.lit(clause) for clause in farther + closer])
        rounded = (F.rint(F.col(hop) * 10) / 10).cast("string")
        about = F.element_at(clauses, F.col(number) + 1)
        return F.concat(F.lit("looks "), rounded, F.lit(" hops apart"), about)


def share_steps(n_values: int) -> tuple[list[int], list[str]]:
    """Return the numbers of values, from 0 to all but one, at which their percentage changes as text, and the texts.

    >>> share_steps(4)
    ([0, 1, 2, 3], ['0%', '25%', '50%', '75%'])
    """
    near = {math.ceil(level * n_values / 100) + step for level in LEVELS for step in (-1, 0, 1)}
    counts = sorted(count for count in near if 0 <= count < n_values)
    texts = [percent(100 * count / n_values) for count in counts]
    new = [place for place in range(len(texts)) if place == 0 or texts[place] != texts[place - 1]]
    return [counts[place] for place in new], [texts[place] for place in new]


def _first_above(judged: DataFrame, median: np.uint64) -> np.uint64:
    """Return the median if at least as many values are lower as are higher, else the word after it."""

    def count(row: dict[str, Any]) -> Iterator[tuple[int, NDArray[np.float64]]]:
        words = _words(row)
        yield 0, np.array([(words < median).sum(), (words > median).sum()], dtype=np.float64)

    n_lower, n_higher = sum_to_driver(judged, count)[0]
    return median if n_lower >= n_higher else median + np.uint64(1)


def _words(row: dict[str, Any]) -> HashArray:
    return sortable(edge_values(row)["dissimilarity"])
