"""On the demo graph the explanations name what was planted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.datasets import demo_truth, make_demo
from hopsight.detectors import get_detector
from hopsight.explanations import Explainer


@pytest.fixture(scope="module")
def demo_model() -> Any:
    """Return HCM with little training, for what does not depend on training."""
    return get_detector("hcm")(seed=0, n_epochs=4, burn_in=2).fit(make_demo())


def test_the_planted_attribute_is_among_the_first_three(demo_model: Any) -> None:
    explainer, planted = Explainer(demo_model), demo_truth().columns
    assert len(planted) > 10
    for node, columns in planted.items():
        named = [gap.name for gap in explainer.node(node, absent=0).attributes[:3]]
        assert set(named) & set(columns), (node, columns, named)


def test_planted_edges_come_before_the_honest_ones() -> None:
    explainer, planted = Explainer(get_detector("cross_hcm")(seed=0).fit(make_demo())), demo_truth().edges
    assert len(planted) > 10
    for node, friends in planted.items():
        is_planted = np.array([each.node in friends for each in explainer.node(node, absent=0).neighbors])
        assert is_planted.sum() == len(friends)
        honest_below = np.cumsum(~is_planted[::-1])[::-1]  # from the end: honest edges at or below each place
        n_honest = (~is_planted).sum()
        assert (honest_below[is_planted] >= 0.9 * n_honest).all(), (node, is_planted.tolist())


def test_contributions_sum_to_the_ahp_of_every_node(demo_model: Any) -> None:
    explainer = Explainer(demo_model)
    for position in range(0, 2400, 40):
        reasons = explainer.node(demo_model.graph_.node_ids[position], absent=0)
        total = sum(each.contribution or 0.0 for each in reasons.neighbors)
        assert total == pytest.approx(demo_model.ahp_[position], rel=1e-6)
