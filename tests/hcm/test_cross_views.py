"""What CrossHCM's networks see: made once in a small graph, for one network at a time in a large one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import hopsight as hs
from hopsight.graph import AttributedGraph
from hopsight.hcm import cross_hcm
from hopsight.hcm import views as cross_views
from hopsight.hcm.splits import Splits, edge_hashes
from hopsight.hcm.views import CrossViews, OneAtATime

SETTINGS = {**hs.CrossHCM.quick, "n_samples": None}


def graph_of_groups(rng: np.random.Generator) -> AttributedGraph:
    group = np.repeat([0, 1], 60)
    chance = np.where(group[:, None] == group, 0.15, 0.02)
    source, target = np.nonzero(np.triu(rng.random(chance.shape) < chance, 1))
    return AttributedGraph.from_edges(source, target, group[:, None] + rng.normal(0, 0.5, (120, 3)))


@pytest.mark.parametrize("directed", [False, True])
def test_views_made_one_network_at_a_time_give_the_same_scores(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, directed: bool
) -> None:
    """To the bit: in training, calibration, judging, in the scores of another graph and of a graph without an edge."""
    graph = graph_of_groups(rng)
    if directed:
        graph = AttributedGraph.from_edges(*graph.edges, graph.attributes, directed=True)
    kept = hs.CrossHCM(**SETTINGS, seed=0).fit(graph)
    made: list[int] = []
    smooth = CrossViews._folds_of
    monkeypatch.setattr(CrossViews, "_folds_of", lambda self, k: made.append(k) or smooth(self, k))
    monkeypatch.setattr(cross_views, "KEPT_BYTES", 0)
    one = hs.CrossHCM(**SETTINGS, seed=0).fit(graph)
    assert made == [0, 1, 2]  # each network's once
    for name in ("decision_score_", "edge_hop_", "edge_surprise_", "calibrations_", "samples_", "loss_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(kept, name), err_msg=name)
    other = graph_of_groups(np.random.default_rng(1))
    if directed:
        other = AttributedGraph.from_edges(*other.edges, other.attributes, directed=True)
    np.testing.assert_array_equal(one.decision_function(other), kept.decision_function(other))


def test_what_a_network_trains_on_is_what_it_judges_with(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Renumbered, on the nodes of the pool, and in temporary files: the rows are the same."""
    graph = graph_of_groups(rng)
    splits = Splits(5, 3, 4)
    pool = hs.CrossHCM(**SETTINGS, n_folds=3, n_inner=4, seed=5)
    found = {}

    def remember(self: CrossViews, pairs: object) -> object:
        found["pool"] = pairs
        raise InterruptedError

    monkeypatch.setattr(CrossViews, "training", remember)
    with pytest.raises(InterruptedError):
        pool.fit(graph)
    monkeypatch.undo()
    values = rng.normal(size=(graph.n_nodes, 3)).astype(np.float32)
    monkeypatch.setattr(cross_views, "KEPT_BYTES", 0)
    views = CrossViews(graph, values, splits, splits.of(edge_hashes(graph)), torch.device("cpu"), tmp_path)
    seen, local = views.training(found["pool"])
    for k in range(3):
        for turn, (part, whole) in enumerate(zip(seen[k], views.judging()[k], strict=True)):
            fold = k * 4 + 1 + turn
            for old, new in zip(found["pool"].pools[fold], local.pools[fold], strict=True):
                for rows, all_rows in zip(part.view, whole.view, strict=True):
                    torch.testing.assert_close(rows[new], all_rows[old], rtol=0, atol=0)
    assert list(tmp_path.iterdir()) == []  # temporary files have no name


def test_large_graphs_are_judged_by_one_round_of_samples(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = graph_of_groups(rng)
    few = {**SETTINGS, "n_epochs": 40, "burn_in": 20, "n_units": 4}
    assert len(hs.CrossHCM(**few, seed=0).fit(graph).samples_) == 15
    monkeypatch.setattr(cross_hcm, "MANY_EDGES", int(0.6 * graph.n_edges) - 1)
    large = hs.CrossHCM(**few, seed=0).fit(graph)
    assert len(large.samples_) == 5 and large.n_samples is None
    np.testing.assert_array_equal(large.decision_function(graph), large.decision_score_)
    assert len(hs.CrossHCM(**{**few, "n_samples": 10}, seed=0).fit(graph).samples_) == 10
    assert large.expected_need(graph)[1] < hs.CrossHCM(**{**few, "n_samples": 15}).expected_need(graph)[1]


def test_items_exist_one_at_a_time() -> None:
    made = []

    def make(number: int) -> int:
        made.append(number)
        return 10 * number

    items = OneAtATime(3, make)
    assert [items[0], items[0], items[2], items[0]] == [0, 0, 20, 0] and made == [0, 2, 0]
    assert len(items) == 3 and list(items) == [0, 10, 20]
    with pytest.raises(IndexError):
        items[3]
    with pytest.raises(TypeError, match="one at a time"):
        items[:2]
