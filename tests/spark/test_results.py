"""Tables of results: columns, order and ranks as the local engine writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import KINDS


def test_nodes_are_ranked(detected: Any) -> None:
    own = [*CrossHCM.node_values, *KINDS, "decided_by"]
    assert detected.scores.columns == ["node", "rank", "score", "flagged", "judged", "degree", *own]
    rows = detected.scores.orderBy("rank").collect()
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    scores = np.array([row["score"] for row in rows])
    assert (np.diff(scores) <= 0).all()
    assert [row["flagged"] for row in rows] == (scores > detected.threshold).astype(int).tolist()


def test_edges_are_ranked(detected: Any) -> None:
    values = ["hop", "probability", "variance", "surprise", "score", "flagged", "reason"]
    assert detected.edges.columns == ["source", "target", "rank", *values]
    rows = detected.edges.orderBy("rank").collect()
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    scores = np.array([row["score"] for row in rows])
    assert (np.diff(scores) <= 0).all()
    flagged = scores > detected.fitted["edge_threshold_"]
    assert [row["flagged"] for row in rows] == flagged.astype(int).tolist()


def test_the_old_name_of_the_graph_warns(detected: Any) -> None:
    with pytest.warns(DeprecationWarning, match=r"Detection\.graph"):
        assert detected.network == detected.graph
