"""What is flagged: hardly anything in noise, and what was planted."""

from __future__ import annotations

import numpy as np
import pytest

from hopsight.datasets.textbook import make_textbook
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from toys import quick


def noise(seed: int, n: int = 150) -> AttributedGraph:
    rng = np.random.default_rng(seed)
    return AttributedGraph.from_edges(*rng.integers(n, size=(2, 3 * n)), rng.normal(size=(n, 6)))


def complete_bipartite(seed: int) -> AttributedGraph:
    ends = np.stack(np.meshgrid(np.arange(10), 10 + np.arange(20))).reshape(2, -1)
    return AttributedGraph.from_edges(*ends, np.random.default_rng(seed).normal(size=(30, 4)))


@pytest.mark.parametrize("make", [noise, complete_bipartite])
def test_four_of_five_graphs_of_noise_have_no_flag_and_no_group(make: object) -> None:
    models = [CrossHCM(device="cpu").fit(make(seed)) for seed in range(5)]  # type: ignore[operator]
    assert sum(model.label_.any() for model in models) <= 1
    assert sum(model.edge_label_.mean() > 0.001 for model in models) <= 1
    assert sum(len(model.groups_) > 0 for model in models) <= 1


@pytest.mark.parametrize("score", ["hav", "ahp"])
def test_scores_of_the_paper_have_a_threshold_of_their_own(score: str) -> None:
    model = quick("cross_hcm", score=score).fit(noise(0))
    assert model.label_.sum() <= 1 and model.threshold_ < 3 * model.decision_score_.max()


@pytest.mark.parametrize("kind", ["ring", "outlier hub"])
def test_planted_anomalies_are_flagged(kind: str) -> None:
    graph = make_textbook(kind, 600, 1)
    model = quick("cross_hcm").fit(graph)
    planted = graph.labels == 1
    assert model.label_[planted].mean() > 0.6
    assert model.label_[~planted].sum() <= 3
