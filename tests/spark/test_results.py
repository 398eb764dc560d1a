"""Tables of results: columns, order and ranks as the local engine writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.hcm.cross_hcm import CrossHCM


def test_nodes_are_ranked(detected: Any) -> None:
    assert detected.scores.columns == ["node", "rank", "score", "flagged", "judged", "degree", *CrossHCM.node_values]
    rows = detected.scores.orderBy("rank").collect()
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    scores = np.array([row["score"] for row in rows])
    assert (np.diff(scores) <= 0).all()
    assert [row["flagged"] for row in rows] == (scores > detected.threshold).astype(int).tolist()
    assert sum(row["flagged"] for row in rows) == 15  # a tenth of 150


def test_edges_are_ranked(detected: Any) -> None:
    assert detected.edges.columns == ["source", "target", "rank", "hop", "probability", "variance"]
    rows = detected.edges.orderBy("rank").collect()
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    assert (np.diff([row["hop"] for row in rows]) <= 0).all()


def test_the_old_name_of_the_graph_warns(detected: Any) -> None:
    with pytest.warns(DeprecationWarning, match=r"Detection\.graph"):
        assert detected.network == detected.graph
