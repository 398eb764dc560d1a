"""Dropped edges: those of the local engine, also where edges are equally similar."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.preprocess import drop_edges
from hopsight.spark import quantiles
from hopsight.spark.drops import drop_limit, kept_mask
from hopsight.spark.pairs import COMPARED

N_EDGES = 500


def frame_of(spark: Any, similarity: np.ndarray) -> tuple[Any, list[dict[str, Any]], list[np.ndarray]]:
    """Return edges in three slices, in no order, the slices themselves, and the positions of their edges."""
    rng = np.random.default_rng(1)
    keys = np.sort(rng.choice(10**6, N_EDGES, replace=False))
    places = np.array_split(rng.permutation(N_EDGES), 3)
    ends = np.zeros(N_EDGES, dtype=np.int32)
    hashes = rng.integers(0, 2**63, N_EDGES, dtype=np.uint64)
    words = quantiles.sortable(similarity)
    names = [field.split()[0] for field in COMPARED.split(", ")]
    rows = [
        (number, 0, *(part[mine].tobytes() for part in (ends, ends, hashes)), b"", keys[mine].tobytes(),
         words[mine].tobytes(), b"")
        for number, mine in enumerate(places)
    ]  # fmt: skip
    return spark.createDataFrame(rows, COMPARED), [dict(zip(names, row, strict=True)) for row in rows], places


@pytest.mark.parametrize("digits", [1, 2, 12])
@pytest.mark.parametrize("drop_ratio", [0.0, 0.4, 0.9])
def test_ties_are_broken_as_by_the_local_engine(spark: Any, digits: int, drop_ratio: float) -> None:
    similarity = np.random.default_rng(0).random(N_EDGES).round(digits)
    cells, rows, places = frame_of(spark, similarity)
    limit = drop_limit(cells, N_EDGES, drop_ratio, np.random.default_rng(7))
    wanted = drop_edges(similarity, drop_ratio, rng=np.random.default_rng(7))
    for row, mine in zip(rows, places, strict=True):
        np.testing.assert_array_equal(kept_mask(row, limit), wanted[mine])


def test_many_ties_are_broken_by_hashes(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantiles, "FEW", 0)
    similarity = np.repeat([0.2, 0.5], [100, 400])
    cells, rows, places = frame_of(spark, similarity)
    limit = drop_limit(cells, N_EDGES, 0.4, np.random.default_rng(7))
    kept = np.empty(N_EDGES, dtype=bool)
    for row, mine in zip(rows, places, strict=True):
        kept[mine] = kept_mask(row, limit)
    assert not kept[:100].any() and kept.sum() == 300
