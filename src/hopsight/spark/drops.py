"""Drop the edges whose ends are least similar, those that :func:`hopsight.preprocess.drop_edges` drops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.hcm.splits import drop_chances
from hopsight.spark import quantiles
from hopsight.spark.blocks import Array, sum_to_driver
from hopsight.spark.cells import LATE
from hopsight.spark.graph import EDGE_TYPES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ZERO = np.uint64(0)
TYPES: dict[str, Any] = {"similarity": np.uint64, **EDGE_TYPES}


@dataclass(frozen=True)
class DropLimit:
    """Which edges are kept.

    Attributes
    ----------
    similarity
        The word of the similarity above which all edges are kept.
    chance, seed
        Of the edges with just this similarity those are kept whose chance is above this one; the seed of the pool
        decides the chances.
    """

    similarity: np.uint64
    chance: np.uint64 = ZERO
    seed: np.uint64 = ZERO


def drop_limit(cells: DataFrame, n_edges: int, drop_ratio: float, seed: np.uint64) -> DropLimit:
    """Return the limit below which the share ``drop_ratio`` of the edges is dropped."""
    n_drop = int(np.floor(drop_ratio * n_edges + 1e-9))
    if n_drop == 0:
        return DropLimit(ZERO)
    limit = quantiles.nth(cells, lambda row: [(0, column(row, "similarity"))], [(0, n_drop - 1)], n_edges)[0]

    def counts(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        similarity = column(row, "similarity")
        yield 0, np.array([(similarity < limit).sum(), (similarity == limit).sum()], dtype=np.float64)

    def ties(row: dict[str, Any]) -> list[tuple[int, Array]]:
        return [(0, _chances(row, seed)[column(row, "similarity") == limit])]

    n_less, n_equal = sum_to_driver(cells, counts)[0].astype(np.int64).tolist()
    return DropLimit(limit, quantiles.nth(cells, ties, [(0, n_drop - n_less - 1)], n_equal)[0], seed)


def kept_mask(row: dict[str, Any], limit: DropLimit) -> NDArray[np.bool_]:
    """Return which edges of a slice are kept."""
    similarity = column(row, "similarity")
    kept: NDArray[np.bool_] = similarity > limit.similarity
    tied = np.flatnonzero(similarity == limit.similarity)
    if tied.size:
        kept[tied] = _chances(row, limit.seed)[tied] > limit.chance
    return kept


def column(row: dict[str, Any], name: str) -> NDArray[Any]:
    """Return what a slice holds of its edges."""
    return np.frombuffer(row[name], dtype=TYPES[name])


def _chances(row: dict[str, Any], seed: np.uint64) -> NDArray[np.uint64]:
    """Return the word of each edge of a slice by which ties are broken."""
    hashes, way = column(row, "hash"), column(row, "way")
    return drop_chances(hashes, (way & LATE) > 0 if way.size else np.zeros(hashes.size, dtype=np.bool_), seed)
