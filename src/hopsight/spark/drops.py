"""Drop the edges whose ends are least similar, those that :func:`hopsight.preprocess.drop_edges` drops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.hops.kernels import scramble
from hopsight.spark import quantiles
from hopsight.spark.blocks import Array, each_row, sum_to_driver
from hopsight.spark.cells import LATE
from hopsight.spark.graph import EDGE_TYPES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

IntArray = NDArray[np.int64]

ZERO = np.uint64(0)
NO_KEYS: IntArray = np.empty(0, dtype=np.int64)
TYPES: dict[str, Any] = {"similarity": np.uint64, "key": np.int64, **EDGE_TYPES}


@dataclass(frozen=True)
class DropLimit:
    """Which edges are kept.

    Attributes
    ----------
    similarity
        The word of the similarity above which all edges are kept.
    keys
        Those that are kept of the edges with just this similarity, in ascending order; None where there are too many to
        be listed.
    chance
        The word above which these are kept, then.
    """

    similarity: np.uint64
    keys: IntArray | None
    chance: np.uint64 = ZERO


def drop_limit(cells: DataFrame, n_edges: int, drop_ratio: float, rng: np.random.Generator) -> DropLimit:
    """Return the limit below which the share ``drop_ratio`` of the edges is dropped.

    The local engine breaks ties by random numbers in the order of the edges. A few tied edges get the same numbers
    here. Where there are many, as between bags of words, hashes decide.
    """
    n_drop = int(np.floor(drop_ratio * n_edges + 1e-9))
    if n_drop == 0:
        return DropLimit(ZERO, NO_KEYS)
    limit = quantiles.nth(cells, lambda row: [(0, column(row, "similarity"))], [(0, n_drop - 1)], n_edges)[0]

    def counts(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        similarity = column(row, "similarity")
        yield 0, np.array([(similarity < limit).sum(), (similarity == limit).sum()], dtype=np.float64)

    n_less, n_equal = sum_to_driver(cells, counts)[0].astype(np.int64).tolist()
    n_more = n_drop - n_less
    if n_more == n_equal:
        return DropLimit(limit, NO_KEYS)
    if n_equal <= quantiles.FEW:
        keys = _tied(cells, limit)
        return DropLimit(limit, np.sort(keys[np.argsort(_numbers(rng, _positions(cells, keys)))[n_more:]]))

    def ties(row: dict[str, Any]) -> list[tuple[int, Array]]:
        return [(0, _chances(row)[column(row, "similarity") == limit])]

    return DropLimit(limit, None, quantiles.nth(cells, ties, [(0, n_more - 1)], n_equal)[0])


def kept_mask(row: dict[str, Any], limit: DropLimit) -> NDArray[np.bool_]:
    """Return which edges of a slice are kept."""
    similarity = column(row, "similarity")
    kept, tied = similarity > limit.similarity, similarity == limit.similarity
    if limit.keys is None:
        return kept | (tied & (_chances(row) > limit.chance))
    places = np.flatnonzero(tied) if limit.keys.size else NO_KEYS
    kept[places] = np.isin(column(row, "key")[places], limit.keys)
    return kept


def column(row: dict[str, Any], name: str) -> NDArray[Any]:
    """Return what a slice holds of its edges."""
    return np.frombuffer(row[name], dtype=TYPES[name])


def _chances(row: dict[str, Any]) -> NDArray[np.uint64]:
    """Return a word for each edge of a slice, by which ties are broken; two opposite arcs have different ones."""
    hashes, way = column(row, "hash"), column(row, "way")
    chances: NDArray[np.uint64] = scramble(hashes + (way & LATE) if way.size else hashes)
    return chances


def _tied(cells: DataFrame, limit: np.uint64) -> IntArray:
    """Return the keys of the edges with a similarity, in ascending order, which is that of the local engine."""
    schema = "payload binary"

    def find(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield {"payload": column(row, "key")[column(row, "similarity") == limit]}

    rows = cells.mapInArrow(each_row(find, schema), schema).collect()
    return np.sort(np.concatenate([np.frombuffer(row["payload"], dtype=np.int64) for row in rows]))


def _positions(cells: DataFrame, keys: IntArray) -> IntArray:
    """Return the positions of some edges among all edges, in the order of their keys."""

    def count(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        place = np.searchsorted(keys, column(row, "key"), side="right")
        yield 0, np.bincount(place, minlength=keys.size + 1).astype(np.float64)

    return np.cumsum(sum_to_driver(cells, count)[0]).astype(np.int64)[:-1]


def _numbers(rng: np.random.Generator, positions: IntArray) -> NDArray[np.float64]:
    """Return what ``rng.random`` would return at some positions, in ascending order, without the numbers between them.

    >>> wanted = np.random.default_rng(0).random(9)[[2, 3, 8]]
    >>> bool((_numbers(np.random.default_rng(0), np.array([2, 3, 8])) == wanted).all())
    True
    """
    source: Any = rng.bit_generator
    found = np.empty(positions.size)
    for place, step in enumerate(np.diff(positions, prepend=-1).tolist()):
        source.advance(step - 1)
        found[place] = rng.random()
    return found
