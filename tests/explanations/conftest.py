"""A hand-made fitted detector on a star with one far neighbor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from hopsight.graph import AttributedGraph


@dataclass
class HandMade:
    """Stands in for a fitted HCM with the values written down below."""

    node_values: ClassVar[Mapping[str, str]] = {
        "ahp": "mean number of hops",
        "iv": "mean variance of the hops",
        "attribute_error": "error of the reconstruction",
    }

    graph_: Any
    decision_score_: Any
    threshold_: float


@pytest.fixture
def star() -> AttributedGraph:
    """Hub connected to a, b, c, d; a and b connected; `lone` has no edge. Only `age` sets the hub apart."""
    age_and_income = np.array([[90.0, 10.0], [30.0, 11.0], [32.0, 9.0], [31.0, 12.0], [33.0, 8.0], [31.0, 10.0]])
    return AttributedGraph.from_edges(
        [0, 0, 0, 0, 1],
        [1, 2, 3, 4, 2],
        age_and_income,
        node_ids=["hub", "a", "b", "c", "d", "lone"],
        attribute_names=["age", "income"],
    )


@pytest.fixture
def fitted(star: AttributedGraph) -> Any:
    """Edges in the order of `star.edges`: hub–a, hub–b, hub–c, hub–d, a–b."""
    model = HandMade(star, np.array([2.0, 1.0, 0.9, 1.2, 0.8, 0.95]), 1.5)
    hops = {"edge_hop_": [3.0, 1.0, 4.0, 2.0, 1.0], "edge_variance_": [0.5, 0.1, 0.2, 0.3, 0.0]}
    arrays = hops | {
        "edge_probability_": [0.1, 0.9, 0.05, 0.4, 1.0],
        "ahp_": [2.5, 2.0, 1.0, 4.0, 2.0, 2.0],
        "iv_": [0.275, 0.25, 0.05, 0.2, 0.3, 0.2],
    }
    for name, values in arrays.items():
        setattr(model, name, np.array(values))
    model.edge_index_ = star.edges  # type: ignore[attr-defined]
    model.judged_ = star.degrees > 0  # type: ignore[attr-defined]
    return model
