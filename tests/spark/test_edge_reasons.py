"""Reasons of edges are word for word those of the local engine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hopsight.explanations.edges import Alike, edge_reasons
from hopsight.spark import quantiles
from hopsight.spark.edge_reasons import EdgeReasons, share_steps
from hopsight.spark.judging import VALUES


@pytest.mark.parametrize("few", [50, 10**6])
@pytest.mark.parametrize(
    "dissimilarity",
    [
        np.random.default_rng(0).random(2500),
        np.random.default_rng(1).random(1001).round(2),
        np.array([0.2, 0.2, 0.2, 0.9, 0.9, 0.1]),
        np.array([0.2, 0.2, 0.2, 0.1]),
        np.array([0.5, 0.5]),
        np.array([0.3]),
    ],
)
def test_reasons_are_those_of_the_local_engine(
    spark: Any, monkeypatch: pytest.MonkeyPatch, dissimilarity: np.ndarray, few: int
) -> None:
    monkeypatch.setattr(quantiles, "FEW", few)
    hop = np.random.default_rng(2).uniform(1.0, 4.0, dissimilarity.size)
    hop[: hop.size // 2] = hop[: hop.size // 2].round(2)  # halves of tenths, too
    table = np.zeros((len(VALUES), hop.size))
    table[VALUES.index("dissimilarity")] = dissimilarity
    judged = spark.createDataFrame([(part.tobytes(),) for part in np.array_split(table, 3, axis=1)], "values binary")
    reasons = EdgeReasons.of(judged, hop.size)
    rows = list(zip(hop.tolist(), reasons.numbers(dissimilarity).tolist(), strict=True))
    frame = spark.createDataFrame(rows, "hop double, about int").select(reasons.column("hop", "about").alias("reason"))
    local = SimpleNamespace(edge_hop_=hop, edge_dissimilarity_=dissimilarity)
    wanted = edge_reasons(local, np.arange(hop.size), Alike.of(local))
    assert [row["reason"] for row in frame.collect()] == wanted.to_list()


def test_every_percentage_begins_where_it_is_first_shown() -> None:
    counts, texts = share_steps(10**9)
    assert texts[:2] + texts[98:101] + texts[-1:] == ["0%", "1%", "98%", "99%", "99.1%", "99.9%"]
    assert counts[:2] + counts[98:101] + counts[-1:] == [0, 10**7, 98 * 10**7, 99 * 10**7, 991 * 10**6, 999 * 10**6]
