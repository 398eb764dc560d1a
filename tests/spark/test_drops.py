"""Dropped edges: those of the local engine, also where edges are equally similar."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.hcm.splits import drop_chances
from hopsight.preprocess import drop_edges
from hopsight.spark import quantiles
from hopsight.spark.cells import LATE
from hopsight.spark.drops import drop_limit, kept_mask
from hopsight.spark.pairs import COMPARED

N_EDGES = 500


def frame_of(
    spark: Any, similarity: np.ndarray, hashes: np.ndarray, way: np.ndarray
) -> tuple[Any, list[dict[str, Any]], list[np.ndarray]]:
    """Return edges in three slices, in no order, the slices themselves, and the positions of their edges."""
    rng = np.random.default_rng(1)
    places = np.array_split(rng.permutation(N_EDGES), 3)
    ends = np.zeros(N_EDGES, dtype=np.int32)
    words = quantiles.sortable(similarity)
    names = [field.split()[0] for field in COMPARED.split(", ")]
    rows = [
        (number, 0, *(part[mine].tobytes() for part in (ends, ends, hashes, way, words)), b"")
        for number, mine in enumerate(places)
    ]  # fmt: skip
    return spark.createDataFrame(rows, COMPARED), [dict(zip(names, row, strict=True)) for row in rows], places


@pytest.mark.parametrize("digits", [1, 2, 12])
@pytest.mark.parametrize("drop_ratio", [0.0, 0.4, 0.9])
def test_ties_are_broken_as_by_the_local_engine(spark: Any, digits: int, drop_ratio: float) -> None:
    """Every edge is one of two opposite arcs, which have the same similarity and the same hash."""
    rng, seed = np.random.default_rng(0), np.uint64(7)
    similarity = np.tile(rng.random(N_EDGES // 2).round(digits), 2)
    hashes = np.tile(rng.integers(0, 2**63, N_EDGES // 2, dtype=np.uint64), 2)
    way = np.repeat([0, LATE], N_EDGES // 2).astype(np.uint8)
    cells, rows, places = frame_of(spark, similarity, hashes, way)
    limit = drop_limit(cells, N_EDGES, drop_ratio, seed)
    wanted = drop_edges(similarity, drop_ratio, rng=rng, chances=drop_chances(hashes, way > 0, seed).__getitem__)
    assert wanted.sum() == N_EDGES - int(N_EDGES * drop_ratio)
    for row, mine in zip(rows, places, strict=True):
        np.testing.assert_array_equal(kept_mask(row, limit), wanted[mine])
