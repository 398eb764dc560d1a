"""CrossHCM: nothing shows the model the edge it judges, strangers are found, other networks are judged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from hopsight.graph import AttributedGraph
from hopsight.hcm import cross_hcm
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.folds import Fold, pool_seed
from toys import quick, two_groups

CPU = torch.device("cpu")


def folds_of(graph: AttributedGraph, **settings: Any) -> list[Fold]:
    """Return what the model sees of a graph in every fold."""
    model: Any = quick("cross_hcm", **settings)
    model.split_seed_ = 0
    return model._folds(graph, model._fit_transform(graph, np.random.default_rng(0)), CPU)


@pytest.mark.parametrize("directed", [False, True])
def test_every_edge_is_judged_once_in_every_repeat(directed: bool) -> None:
    graph = two_groups(0, directed=directed)
    folds = folds_of(graph, n_folds=3, n_repeats=4)
    assert len(folds) == 12
    for repeat in range(4):
        judged = torch.cat([fold.judged for fold in folds[3 * repeat : 3 * repeat + 3]])
        assert sorted(judged.tolist()) == list(range(graph.n_edges))


def test_an_edge_leaves_no_trace_in_what_it_is_judged_by() -> None:
    """Take edges away that a fold hides: every view of that fold stays the same to the bit."""
    graph = two_groups(0)
    for edge in (0, 100, graph.n_edges - 1):
        kept = np.arange(graph.n_edges) != edge
        without = AttributedGraph.from_edges(
            graph.edges[0, kept],
            graph.edges[1, kept],
            graph.attributes,
            node_ids=graph.node_ids,
            attribute_names=graph.attribute_names,
        )
        changed = 0
        for before, after in zip(folds_of(graph), folds_of(without), strict=True):
            same = all(torch.equal(a, b) for a, b in zip(before.view, after.view, strict=True))
            if edge in before.judged.tolist():
                assert same
            else:
                changed += not same
        model = quick("cross_hcm")
        assert changed == model.n_repeats * (model.n_folds - 1)  # where the edge is shown, it matters


def test_pairs_of_one_hop_are_taken_from_hidden_edges() -> None:
    """What the model learns one hop from is hidden from it too, or it would learn to look for the edge."""
    graph = two_groups(0)
    model: Any = quick("cross_hcm").fit(graph)
    folds = model._folds(graph, model._transformed(graph), CPU)
    kept = np.ones(graph.n_edges, dtype=bool)
    pairs = model._pool(graph, kept, pool_seed(0))
    drawn = pairs.draw(5, 2 * len(folds), rng=np.random.default_rng(0))
    ends = {tuple(edge): number for number, edge in enumerate(graph.edges.T.tolist())}
    for step, (source, target) in enumerate(drawn):
        hidden = set(folds[(5 + step) % len(folds)].judged.tolist())
        close = [ends[s, t] for s, t in zip(source.tolist(), target.tolist(), strict=True) if (s, t) in ends]
        assert len(close) == pairs.n_pairs and set(close) <= hidden


def test_without_a_seed_every_fit_splits_anew_and_remembers_how() -> None:
    graph = two_groups(0)
    first, second = (quick("cross_hcm", seed=None).fit(graph) for _ in range(2))
    assert len({first.split_seed_, second.split_seed_, 0}) == 3
    masks = [model._hidden(graph)[0] for model in (first, second, quick("cross_hcm", seed=0).fit(graph))]
    assert not any(np.array_equal(masks[i], masks[j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    np.testing.assert_allclose(first.decision_function(graph), first.decision_score_, rtol=1e-9)


def test_own_attributes_keep_a_place_of_their_own() -> None:
    graph = two_groups(0)
    for fold in folds_of(graph, scaling="standard"):
        own, around = fold.view[:2]
        rows = graph.attributes - graph.attributes.mean(axis=0)
        rows /= graph.attributes.std(axis=0)
        np.testing.assert_allclose(own, rows / rows.std(), atol=1e-5)
        assert around.shape == own.shape and not torch.equal(around, own)


@pytest.mark.parametrize("misfits", ["bridges", "strangers"])
def test_misfits_are_found_over_several_seeds(misfits: str) -> None:
    found = []
    for seed in range(4):
        graph = two_groups(seed, misfits=misfits)
        found.append(roc_auc_score(graph.labels, quick("cross_hcm", seed=seed).fit(graph).decision_score_))
    assert np.mean(found) > 0.8


def test_strangers_among_new_nodes_rank_high() -> None:
    """Other nodes, other edges, same kind of attributes: two of forty have those of the other group."""
    model = quick("cross_hcm", n_epochs=48, burn_in=24).fit(two_groups(0))
    found = []
    for seed in range(20, 25):
        new = two_groups(seed, n_each=20, n_misfits=2, misfits="strangers")
        scores = model.decision_function(new)
        assert scores.shape == (40,) and np.isfinite(scores).all()
        found.append(roc_auc_score(new.labels, scores))
    assert np.mean(found) > 0.8


def test_a_ring_of_strangers_stands_out() -> None:
    """Ten nodes of all groups that are connected to one another: with rings they rank far higher than without."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 40)
    edges = np.triu(rng.random((160, 160)) < np.where(group[:, None] == group[None, :], 0.25, 0.02), k=1)
    ring = rng.choice(160, 10, replace=False)
    edges[np.ix_(ring, ring)] = True
    attributes = rng.normal(size=(160, 4)) + 1.5 * np.eye(4)[group]
    graph = AttributedGraph(edges, attributes)
    with_rings, without = (quick("cross_hcm", score=s).fit(graph).decision_score_ for s in ("cross", "far"))
    ranks = [np.argsort(np.argsort(scores))[ring].mean() for scores in (with_rings, without)]
    assert ranks[0] > ranks[1] + 20


def test_automatic_scaling_and_similarity(rng: np.random.Generator) -> None:
    graph = two_groups(0)
    assert quick("cross_hcm").fit(graph).transform_.scaling == "mixed"
    words = sp.csr_array((rng.random((80, 50)) < 0.05).astype(float))
    model: Any = quick("cross_hcm").fit(AttributedGraph(graph.adjacency, words))
    assert model.transform_.scaling == "none" and model.resolve_similarity("none") == "cosine"
    assert model.resolve_similarity("mixed") == "euclidean"
    assert quick("cross_hcm", similarity="jaccard").resolve_similarity("mixed") == "jaccard"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_folds": 1}, "n_folds must be at least 2, got 1"),
        ({"n_repeats": 0}, "n_repeats must be at least 1, got 0"),
        ({"precision": "half"}, "precision must be one of"),
        ({"n_epochs": 1, "burn_in": 0}, "n_epochs must be at least"),
    ],
)
def test_bad_settings_are_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CrossHCM(**setting).fit(two_groups(0))


@pytest.mark.parametrize("n_epochs", [3, 5, 13])
def test_few_epochs_judge_every_edge(n_epochs: int) -> None:
    graph = two_groups(0)
    model = quick("cross_hcm", n_epochs=n_epochs, burn_in=n_epochs - 1).fit(graph)
    assert (model.edge_hop_ >= 1).all()
    np.testing.assert_allclose(model.decision_function(graph), model.decision_score_, atol=1e-4)


def test_views_of_many_nodes_are_kept_in_half_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """It saves half the memory and the ranking does not notice."""
    graph = two_groups(0)
    whole = quick("cross_hcm").fit(graph).decision_score_
    monkeypatch.setattr(cross_hcm, "HALF_PRECISION_NODES", 10)
    assert {view.dtype for fold in folds_of(graph) for view in fold.view} == {torch.float16}
    assert spearmanr(quick("cross_hcm").fit(graph).decision_score_, whole).statistic > 0.99
