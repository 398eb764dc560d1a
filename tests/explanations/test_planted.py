"""Explanations name what was planted: the attribute, the edges, and the share of each neighbor."""

from __future__ import annotations

import numpy as np
import pytest

import hopsight as hs
from hopsight.explanations import Explainer

N, PLANTED = 400, range(0, 100, 10)  # nodes 0 to 199 are one community, the others another


def communities() -> hs.AttributedGraph:
    """Return two communities; each planted node has an odd attribute and three edges into the other community."""
    rng = np.random.default_rng(0)
    side = np.repeat([0, 1], N // 2)
    attributes = rng.normal(4.0 * side[:, None], 1.0, size=(N, 8))
    source = np.repeat(np.arange(N), 4)
    target = side[source] * (N // 2) + rng.integers(0, N // 2, source.size)
    across = [(node, N // 2 + (7 * node + step) % (N // 2)) for node in PLANTED for step in range(3)]
    for node in PLANTED:
        attributes[node, node // 10 % 8] = -12.0
    source, target = np.concatenate([source, [a for a, _ in across]]), np.concatenate([target, [b for _, b in across]])
    kept = source != target
    return hs.AttributedGraph.from_edges(source[kept], target[kept], attributes)


@pytest.fixture(scope="module")
def model() -> hs.CrossHCM:
    return hs.CrossHCM(seed=0, n_epochs=60, burn_in=30).fit(communities())


def test_the_planted_attribute_is_among_the_first_three(model: hs.CrossHCM) -> None:
    explainer, names = Explainer(model), model.graph_.attribute_names
    for node in PLANTED:
        named = [gap.name for gap in explainer.node(node, absent=0).attributes[:3]]
        assert names[node // 10 % 8] in named, (node, named)


def test_planted_edges_come_before_the_honest_ones(model: hs.CrossHCM) -> None:
    explainer = Explainer(model)
    for node in PLANTED:
        across = [int(each.node) >= N // 2 for each in explainer.node(node, absent=0).neighbors]
        assert sum(across) >= 3
        assert all(across[:3]), (node, across)


def test_contributions_sum_to_the_ahp_of_every_node(model: hs.CrossHCM) -> None:
    explainer = Explainer(model)
    for position in range(0, N, 40):
        total = sum(each.contribution or 0.0 for each in explainer.node(position, absent=0).neighbors)
        assert total == pytest.approx(model.ahp_[position], rel=1e-6)
