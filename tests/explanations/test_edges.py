"""Edges of a node, in the order in which an analyst looks at them."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopsight.explanations.edges import edge_reasons, unlikeness_places


def test_the_percentages_of_reasons_are_rounded_down(fitted: Any) -> None:
    fitted.edge_hop_, fitted.edge_dissimilarity_ = np.full(2000, 2.0), np.arange(2000.0)
    reasons = edge_reasons(fitted, np.arange(2000), unlikeness_places(fitted))
    assert reasons[1999] == "looks 2.0 hops apart; attributes farther apart than for 99.9% of edges"
    assert reasons[1997] == "looks 2.0 hops apart; attributes farther apart than for 99.8% of edges"
    assert reasons[1980] == "looks 2.0 hops apart; attributes farther apart than for 99% of edges"
    assert reasons[1] == "looks 2.0 hops apart; attributes closer than for 99.9% of edges"
    assert not any("00000" in reason for reason in reasons)
