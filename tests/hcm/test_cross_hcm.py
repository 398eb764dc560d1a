"""CrossHCM: no network meets the edge it judges, evidence is found and named, other graphs are judged."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.metrics import roc_auc_score

from hopsight.datasets import bank_tables
from hopsight.detectors.table import WEIGHTS
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import DEFAULT_EVIDENCE, KINDS
from hopsight.hcm.splits import edge_hashes
from hopsight.hcm.views import Neighborhoods, Views, in_unit, inputs_of
from hopsight.hops.pool import PairPool
from hopsight.io.derive import COUNTS, STRUCTURE
from hopsight.loading import load
from toys import quick, renumbered, two_groups, without_edges

CPU = torch.device("cpu")


def prepared(graph: AttributedGraph, **settings: Any) -> Any:
    """Return a model that knows its splits and how to transform attributes, but is not trained."""
    model: Any = quick("cross_hcm", **settings)
    model.split_seed_ = 0
    model._fit_transform(graph, np.random.default_rng(0))
    return model


def views_of(model: Any, graph: AttributedGraph) -> Views:
    attributes = inputs_of(graph, model.transform_, model.magnitude_)
    index = model.splits.of(edge_hashes(graph))
    return Views(Neighborhoods.of(graph, CPU), in_unit(attributes, model.unit_), index)


def seen_by_each(graph: AttributedGraph, **settings: Any) -> list[list[list[torch.Tensor]]]:
    """Return what each network sees of a graph in each of its folds."""
    model = prepared(graph, **settings)
    views = views_of(model, graph)
    return [views.of(views.index.trained(network)) for network in range(model.n_folds)]


def pool_of(graph: AttributedGraph, kept: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> PairPool:
    model = prepared(graph)
    monkeypatch.setattr("hopsight.hcm.cross_hcm.drop_edges", lambda *_, **__: kept)
    attributes, index = inputs_of(graph, model.transform_, model.magnitude_), model.splits.of(edge_hashes(graph))
    return model._hop_pairs(graph, attributes, index, np.random.default_rng(0))


def keys(graph: AttributedGraph, pairs: np.ndarray) -> set[int]:
    """Return one number per pair, whatever the order of its ends."""
    return set((pairs.min(axis=0) * graph.n_nodes + pairs.max(axis=0)).tolist())


@pytest.mark.parametrize("directed", [False, True])
def test_every_edge_is_judged_by_exactly_one_network(directed: bool) -> None:
    graph = two_groups(0, directed=directed)
    model = quick("cross_hcm", n_folds=4, n_inner=5).fit(graph)
    part = model.splits.of(edge_hashes(graph)).part
    assert set(part.tolist()) == {0, 1, 2, 3}
    assert (model.edge_hop_ >= 1).all() and (model.edge_probability_ > 0).all()


def test_an_edge_leaves_no_trace_in_what_it_is_judged_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take an edge of part k away: every view and every training pair of network k stays the same to the bit."""
    graph, n_inner = two_groups(0), quick("cross_hcm").n_inner
    part = prepared(graph).splits.of(edge_hashes(graph)).part
    for edge in (0, 100, graph.n_edges - 1):
        smaller, kept = without_edges(graph, [edge]), np.ones(graph.n_edges, dtype=bool)
        pools = [pool_of(graph, kept, monkeypatch).pools, pool_of(smaller, kept[1:], monkeypatch).pools]
        changed = 0
        for k, (before, after) in enumerate(zip(seen_by_each(graph), seen_by_each(smaller), strict=True)):
            views = zip(before, after, strict=True)
            same = [torch.equal(a, b) for pair in views for a, b in zip(*pair, strict=True)]
            folds = slice(k * n_inner, (k + 1) * n_inner)
            classes = ([pairs for fold in each[folds] for pairs in fold] for each in pools)
            alike = [np.array_equal(one, other) for one, other in zip(*classes, strict=True)]
            if k == part[edge]:
                assert all(same) and len(same) == 2 * (n_inner - 1)
                assert all(alike) and len(alike) == 3 * n_inner
            else:
                changed += same.count(False)
                assert not all(alike)  # hops are counted along the edge
        assert changed >= (len(before) - 1) * 2  # where the edge is shown, it matters


def test_a_network_never_learns_from_an_edge_that_it_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither as one hop nor as a farther pair: not even an edge that was dropped before hops were counted."""
    graph = two_groups(0)
    model: Any = quick("cross_hcm")
    part = prepared(graph).splits.of(edge_hashes(graph)).part
    kept = np.random.default_rng(1).random(graph.n_edges) < 0.6
    pool = pool_of(graph, kept, monkeypatch)
    edges = keys(graph, graph.edges)
    for fold, (near, *far) in enumerate(pool.pools):
        network, inner = divmod(fold, model.n_inner)
        others = graph.edges[:, (part != network) & (kept if inner else True)]
        assert keys(graph, near) <= keys(graph, others) and not any(keys(graph, pairs) & edges for pairs in far)
    drawn = pool.draw(0, 40, rng=np.random.default_rng(0))
    for network in range(model.n_folds):
        mine = keys(graph, np.concatenate(list(drawn[:, network]), axis=1))
        assert not mine & keys(graph, graph.edges[:, part == network])


def noise_graph(seed: int) -> AttributedGraph:
    """Return 150 nodes whose 450 edges have nothing to do with their 64 attributes."""
    rng = np.random.default_rng(seed)
    ends = rng.choice(150 * 149 // 2, 450, replace=False)
    source, target = (side[ends] for side in np.triu_indices(150, 1))
    return AttributedGraph.from_edges(source, target, rng.standard_normal((150, 64)))


def test_in_pure_noise_an_edge_is_as_likely_as_any_of_four_classes() -> None:
    """Nothing can be known, so p(one hop) is 1/4; a network that trained on an edge remembers it all the same."""
    graph = noise_graph(0)
    model: Any = CrossHCM(drop_ratio=0.0, n_classes=4, seed=0).fit(graph)
    assert model.n_classes_ == 4 and model.edge_probability_.mean() == pytest.approx(0.25, abs=0.06)
    part = model.splits.of(edge_hashes(graph)).part
    views, edges = views_of(model, graph), torch.from_numpy(graph.edges.copy())
    remembered, fair = copy.copy(model), copy.copy(model)
    remembered.samples_ = np.roll(model.samples_, 1, axis=1)
    unchanged = np.tile([1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0], (3, 1))  # temperature, offsets, curve
    remembered.calibrations_ = fair.calibrations_ = unchanged
    knows, judges = (float(each._judge(views, edges, part).probability.mean()) for each in (remembered, fair))
    assert set(part.tolist()) == {0, 1, 2} and knows > judges + 0.2


def test_without_a_seed_every_fit_splits_anew_and_remembers_how() -> None:
    graph = two_groups(0)
    first, second = (quick("cross_hcm", seed=None).fit(graph) for _ in range(2))
    assert len({first.split_seed_, second.split_seed_, 0}) == 3
    hashes = edge_hashes(graph)
    parts = [model.splits.of(hashes).part for model in (first, second, quick("cross_hcm", seed=0).fit(graph))]
    assert not any(np.array_equal(parts[i], parts[j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    np.testing.assert_allclose(first.decision_function(graph), first.decision_score_, rtol=1e-9)


def test_the_order_of_the_nodes_does_not_matter_where_most_edges_are_equally_similar() -> None:
    """Every node has one of three words, and two in three edges connect nodes without a word in common."""
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 60, (2, 400))
    words = np.eye(3)[rng.integers(0, 3, 60)]
    proper = source != target
    graph = AttributedGraph.from_edges(source[proper], target[proper], words, node_ids=[f"n{i}" for i in range(60)])
    order = rng.permutation(60)
    one, two = (quick("cross_hcm").fit(each) for each in (graph, renumbered(graph, order)))
    np.testing.assert_allclose(two.decision_score_, one.decision_score_[order], rtol=2e-4, atol=1e-6)


def test_own_attributes_keep_a_place_of_their_own() -> None:
    graph = two_groups(0)
    for own, around in seen_by_each(graph, scaling="standard")[0]:
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


@pytest.fixture(scope="module")
def ring_graph() -> AttributedGraph:
    """Return four groups of forty, ten nodes of all groups connected to one another (the labels), one node alone."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 40)
    edges = np.triu(rng.random((160, 160)) < np.where(group[:, None] == group[None, :], 0.25, 0.02), k=1)
    ring = rng.choice(159, 10, replace=False)
    edges[np.ix_(ring, ring)] = True
    edges[159], edges[:, 159] = False, False
    labels = np.zeros(160, dtype=np.int64)
    labels[ring] = 1
    return AttributedGraph(edges, rng.normal(size=(160, 4)) + 1.5 * np.eye(4)[group], labels=labels)


@pytest.mark.parametrize("seed", [2, 7, 9])
def test_where_all_have_as_many_edges_no_number_of_edges_is_unusual(seed: int) -> None:
    """What the attributes predict differs by fractions of an edge, and more where an attribute is far out."""
    nodes = np.arange(600)
    sources, targets = np.concatenate([nodes, nodes]), np.concatenate([nodes + 1, nodes + 2]) % nodes.size
    attributes = np.random.default_rng(seed).exponential(size=(nodes.size, 1))
    model = CrossHCM(networks=False).fit(AttributedGraph.from_edges(sources, targets, attributes))
    assert model.evidence_["activity"].max() <= np.log10(2.0) + 1e-9


@pytest.fixture(scope="module")
def ring_model(ring_graph: AttributedGraph) -> Any:
    return quick("cross_hcm", n_epochs=80, burn_in=40).fit(ring_graph)  # so that every seed finds the ring


def test_a_ring_of_strangers_stands_out(ring_graph: AttributedGraph, ring_model: Any) -> None:
    """With the evidence of rings its members are less than half as far from the top as without."""
    without = quick("cross_hcm", evidence=("misfit", "outlier", "activity")).fit(ring_graph).decision_score_
    ring = np.flatnonzero(ring_graph.labels)
    places = [np.argsort(np.argsort(scores))[ring].mean() for scores in (ring_model.decision_score_, without)]
    best = np.arange(ring_graph.n_nodes)[-ring.size :].mean()
    assert best - places[0] < 0.5 * (best - places[1])
    named = [ring_model.evidence[position] for position in ring_model.decided_by_[ring]]
    assert named.count("ring") >= 8


def test_evidence_without_data_is_refused(ring_graph: AttributedGraph) -> None:
    """Of no kind there would be a ranking by id; kinds that the graph lacks beside others decide nothing."""
    with pytest.raises(ValueError, match=r"needs amounts, times or relations .* \(burst, cycle\); it has misfit, ring"):
        quick("cross_hcm", evidence=("burst", "cycle")).fit(ring_graph)
    model = quick("cross_hcm", evidence=("burst", "ring")).fit(ring_graph)
    assert set(model.decided_by_) == {1}


def test_the_ring_is_a_group(ring_graph: AttributedGraph, ring_model: Any) -> None:
    group = ring_model.groups_[0]
    ring = set(np.flatnonzero(ring_graph.labels).tolist())
    members = set(group.members.tolist())
    assert group.kind == "ring" and len(members & ring) >= 5 and len(members - ring) <= 1 and group.density > 0.8
    order = ring_model.evidence_["ring"][group.members]
    assert (np.diff(order) <= 0).all() and group.score == pytest.approx(order.mean())


def test_the_score_adds_up_the_evidence_that_counts(ring_model: Any) -> None:
    assert sorted(ring_model.evidence_) == sorted(KINDS)  # lockstep is computed but does not count
    counted = np.stack([WEIGHTS[kind] * ring_model.evidence_[kind] for kind in DEFAULT_EVIDENCE[:4]])
    np.testing.assert_allclose(ring_model.decision_score_, np.linalg.norm(counted, axis=0))
    assert np.array_equal(ring_model.decided_by_, counted.argmax(axis=0))
    lockstep = copy.copy(ring_model)
    lockstep.evidence = ("lockstep",)
    again = lockstep.judge(ring_model.graph_)
    assert np.array_equal(again.decision_score_, ring_model.evidence_["lockstep"]) and not again.decided_by_.any()


def test_a_node_without_edges_is_judged_by_its_attributes(ring_model: Any) -> None:
    """An account that is not used is not suspicious for that."""
    assert ring_model.judged_.all()
    of_edges = ("misfit", "ring", "lockstep", "activity")
    assert [ring_model.evidence_[kind][159] for kind in of_edges] == [0.0, 0.0, 0.0, 0.0]
    assert ring_model.evidence_["outlier"][159] > 0
    assert ring_model.evidence[ring_model.decided_by_[159]] == "outlier"


def test_edges_have_scores_and_labels(ring_graph: AttributedGraph, ring_model: Any) -> None:
    for name in ("edge_score_", "edge_label_", "edge_dissimilarity_"):
        assert getattr(ring_model, name).shape == (ring_graph.n_edges,)
    assert set(ring_model.edge_label_.tolist()) <= {0, 1}
    assert np.array_equal(ring_model.edge_label_, ring_model.edge_score_ > ring_model.edge_threshold_)
    assert ((ring_model.edge_dissimilarity_ >= 0) & (ring_model.edge_dissimilarity_ <= 1)).all()
    inside = (np.asarray(ring_graph.labels)[ring_graph.edges] == 1).all(axis=0)
    assert roc_auc_score(inside, ring_model.edge_score_) > 0.7


def test_automatic_scaling_and_similarity(rng: np.random.Generator) -> None:
    graph = two_groups(0)
    assert quick("cross_hcm").fit(graph).transform_.scaling == "mixed"
    words = sp.csr_array((rng.random((80, 50)) < 0.05).astype(float))
    model: Any = quick("cross_hcm").fit(AttributedGraph(graph.adjacency, words))
    assert model.transform_.scaling == "none" and model.resolve_similarity("none") == "cosine"
    assert model.resolve_similarity("mixed") == "euclidean"
    assert quick("cross_hcm", similarity="jaccard").resolve_similarity("mixed") == "jaccard"


@pytest.mark.parametrize("n_epochs", [3, 5, 13])
def test_few_epochs_judge_every_edge(n_epochs: int) -> None:
    graph = two_groups(0)
    model = quick("cross_hcm", n_epochs=n_epochs, burn_in=n_epochs - 1).fit(graph)
    assert (model.edge_hop_ >= 1).all()
    np.testing.assert_allclose(model.decision_function(graph), model.decision_score_, atol=1e-4)


def test_weights_matter_to_cross_hcm_but_their_unit_does_not_and_hcm_ignores_them() -> None:
    plain = two_groups(0)
    weights = np.random.default_rng(0).exponential(size=plain.n_edges)
    weighted = [replace(plain, edge_weight=unit * weights) for unit in (1.0, 1024.0)]
    scores = {
        name: [quick(name).fit(graph).decision_score_ for graph in (plain, *graphs)]
        for name, graphs in (("cross_hcm", weighted), ("hcm", weighted[:1]))
    }
    assert not np.allclose(scores["cross_hcm"][0], scores["cross_hcm"][1])
    np.testing.assert_array_equal(scores["cross_hcm"][1], scores["cross_hcm"][2])
    np.testing.assert_array_equal(scores["hcm"][0], scores["hcm"][1])


def test_equal_weights_are_as_good_as_none() -> None:
    plain = two_groups(0)
    equal = replace(plain, edge_weight=np.full(plain.n_edges, 8.0))
    found = [quick("cross_hcm").fit(graph).decision_score_ for graph in (plain, equal)]
    np.testing.assert_allclose(*found, rtol=1e-6)


def test_derived_structure_makes_no_outlier_and_explains_no_degree() -> None:
    plain = two_groups(0)
    names = (*plain.attribute_names, STRUCTURE[0], COUNTS[0])
    hub = np.where(np.arange(plain.n_nodes) == 7, 50.0, 0.0)[:, None]
    derived = replace(plain, attributes=np.hstack([plain.attributes, hub, hub]), attribute_names=names)
    own = replace(plain, attributes=np.hstack([plain.attributes, hub, hub]), attribute_names=None)
    raw = []
    for graph in (derived, own):
        model = prepared(graph)
        attributes = inputs_of(graph, model.transform_, model.magnitude_, np.array([7]))
        raw.append(model._own_features(graph, np.array([7]), attributes, graph.degrees[[7]])[0][0])
    assert raw[0] < 0.5 * raw[1]


def test_a_few_rows_less_change_a_few_flags() -> None:
    """Of a bank with 60 planted accounts, 70 of 9,000 payments are left out in three ways."""
    bank = bank_tables(1500, 1)
    kept = [np.random.default_rng(seed).permutation(bank.transfers.height) >= 70 for seed in range(3)]
    fits = [
        CrossHCM.untrained(seed=0, device="cpu").fit(load(table, nodes=bank.accounts, notices=[]))
        for table in (bank.transfers, *(bank.transfers.filter(rows) for rows in kept))
    ]
    whole, *others = ({*np.flatnonzero(fit.label_)} for fit in fits)
    assert 50 <= len(whole) <= 70
    assert all(len(whole ^ other) <= 0.25 * len(whole) for other in others)
