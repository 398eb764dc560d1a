"""Attributes derived from the edges: networks do not see them, and they are derived again without absent edges."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import hopsight as hs
from hopsight.detectors.storage import load_detector
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import AttributeBaseline
from hopsight.hcm.views import inputs_of
from hopsight.io import read, write
from toys import quick


def rows(seed: int, n_nodes: int = 60, n_rows: int = 300) -> pl.DataFrame:
    """Return rows between random nodes, all of which occur, with an amount, a time and a category."""
    rng = np.random.default_rng(seed)
    source = np.concatenate([np.arange(n_nodes), rng.integers(n_nodes, size=n_rows - n_nodes)])
    target = (source + rng.integers(1, n_nodes, size=n_rows)) % n_nodes
    return pl.DataFrame({
        "source": [f"n{i}" for i in source], "target": [f"n{i}" for i in target], "amount": rng.lognormal(size=n_rows),
        "when": rng.integers(1_600_000_000, 1_700_000_000, size=n_rows), "channel": rng.choice(["a", "b", "c"], n_rows),
    })  # fmt: skip


def without_rows(table: pl.DataFrame, graph: AttributedGraph, absent: np.ndarray) -> pl.DataFrame:
    ends = graph.node_ids[graph.edges[:, absent]].T.tolist()
    gone = {tuple(pair) for pair in ends} | ({tuple(pair[::-1]) for pair in ends} if not graph.directed else set())
    return table.filter([pair not in gone for pair in zip(table["source"], table["target"], strict=True)])


def edges_at(graph: AttributedGraph, node: int) -> np.ndarray:
    return np.flatnonzero((graph.edges == node).any(axis=0))


@pytest.mark.parametrize("directed", [False, True])
def test_attributes_without_edges_are_those_of_a_table_without_their_rows(directed: bool) -> None:
    table = rows(0)
    graph = hs.load(table, directed=directed)
    absent = np.isin(np.arange(graph.n_edges), edges_at(graph, 7)[:3])
    smaller = hs.load(without_rows(table, graph, absent), directed=directed)
    assert smaller.n_edges == graph.n_edges - 3 and smaller.node_ids.tolist() == graph.node_ids.tolist()
    names = list(graph.attribute_names)
    found = graph.attributes_without(absent)
    for column, name in enumerate(smaller.attribute_names):
        np.testing.assert_array_equal(found[:, names.index(name)], smaller.attributes[:, column], err_msg=name)
    assert set(names) == set(smaller.attribute_names)
    np.testing.assert_array_equal(graph.attributes_without(absent & False), graph.attributes)


@pytest.mark.parametrize("own", [False, True])
def test_the_score_without_edges_is_that_of_a_table_without_their_rows(
    own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Amounts and degrees of a node and its neighbors go with the rows; a saved model answers alike."""
    monkeypatch.setattr(AttributeBaseline, "at_level_of", lambda usual, *_: usual)  # the level of all nodes stays
    table = rows(1)
    rng = np.random.default_rng(0)
    ages = pl.DataFrame({"id": [f"n{i}" for i in range(60)], "age": rng.normal(size=60), "size": rng.normal(size=60)})
    nodes = ages if own else None
    graph = hs.load(table, nodes, derive=("structure", "sent", "received"))
    model: Any = quick("cross_hcm", evidence=("misfit", "outlier", "activity")).fit(graph)
    assert (len(model.samples_) > 0) == own
    model.save(tmp_path)
    write(graph, tmp_path / "graph.npz")
    again = read(tmp_path / "graph.npz")  # what `explain` and `review` open
    moved = 0.0
    for node in (0, 17, 55):
        absent = np.isin(np.arange(graph.n_edges), edges_at(graph, node)[:3])
        smaller = hs.load(without_rows(table, graph, absent), nodes, derive=("structure", "sent", "received"))
        expected = float(model.judge(smaller).decision_score_[node])
        for each, known in ((model, graph), (load_detector(tmp_path), again)):
            assert each.score_without(known, node, np.flatnonzero(absent)) == pytest.approx(expected, abs=2e-3)
        moved = max(moved, abs(expected - model.decision_score_[node]))
    assert moved > 0.05  # the edges mattered


def judged_alike(model: Any, graph: AttributedGraph, seed: int) -> float:
    """Return how well the model tells the edges of a graph from as many other pairs (ROC-AUC)."""
    rng, n = np.random.default_rng(seed), graph.n_nodes
    pairs = np.stack(np.triu_indices(n, 1))
    pairs = pairs[:, ~np.isin(pairs[0] * n + pairs[1], graph.edges[0] * n + graph.edges[1])]
    pairs = pairs[:, rng.choice(pairs.shape[1], graph.n_edges, replace=False)]
    part, of_pairs = (model.splits.of(graph.node_hashes[each].sum(axis=0)).part for each in (graph.edges, pairs))
    steps = [model._unlike(graph, part == k, pairs[:, of_pairs == k]) for k in range(model.n_folds)]
    mine = [model._unlike(graph, part == k, graph.edges[:, part == k]) for k in range(model.n_folds)]
    far = np.concatenate([*mine, *steps])
    return float(roc_auc_score(np.arange(far.size) >= graph.n_edges, far))


def test_in_pure_noise_from_edges_alone_an_edge_looks_like_any_other_pair() -> None:
    """Degrees and amounts of both ends contain the edge: it must not be judged by them."""
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        ends = rng.integers(1000, size=(2, 2000))
        graph = hs.load(pl.DataFrame({"source": ends[0], "target": ends[1], "amount": rng.lognormal(size=2000)}))
        model: Any = CrossHCM(seed=seed).fit(graph)
        assert model.samples_.size == 0 and model.edge_hop_.std() > 0
        found.append(judged_alike(model, graph, seed + 100))
    assert np.mean(found) == pytest.approx(0.5, abs=0.015)


def test_a_few_repeated_rows_among_random_ones_make_no_suspect() -> None:
    """Six hundred random rows among 200 nodes, of which some repeat: two fits of ten flag somebody at most."""
    n_flagged = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        source, target = rng.integers(200, size=(2, 600))
        table = pl.DataFrame({"source": source, "target": target}).filter(pl.col("source") != pl.col("target"))
        assert table.n_unique() < table.height
        model = CrossHCM(seed=0, networks=False).fit(hs.load(table, notices=[]))
        n_flagged.append(int(model.label_.sum()))
        assert np.ptp(model.evidence_["outlier"]) == 0.0  # repeated rows alone are no attribute of their own
    assert np.count_nonzero(n_flagged) <= 2


@pytest.mark.parametrize("n_components", [256, 6])
def test_networks_see_nothing_that_was_derived_from_the_edges(n_components: int) -> None:
    """Put noise in place of the derived columns: what networks see stays the same, projected or not."""
    rng = np.random.default_rng(0)
    table = rows(2)
    ages = pl.DataFrame({"id": [f"n{i}" for i in range(60)]} | {f"x{k}": rng.normal(size=60) for k in range(4)})
    graph = hs.load(table, ages)
    model: Any = quick("cross_hcm", n_components=n_components)
    model._fit_transform(graph, np.random.default_rng(0))
    derived = np.array([" sent, " in name or " received, " in name for name in graph.attribute_names])
    assert 4 < derived.sum() == derived.size - 4
    noise = np.where(derived, rng.normal(size=graph.attributes.shape), graph.attributes)
    other = AttributedGraph(graph.adjacency, noise, graph.node_ids, graph.attribute_names)
    seen = [model._seen(each, inputs_of(each, model.transform_, model.magnitude_)) for each in (graph, other)]
    np.testing.assert_allclose(*seen, atol=1e-12)
    assert seen[0].std(axis=0).max() > 0.1


def test_the_untrained_preset_finds_strangers_and_is_saved(tmp_path: Path) -> None:
    graph = hs.make_textbook("stranger", 400, seed=0)
    model = CrossHCM.untrained(seed=0).fit(graph)
    assert roc_auc_score(graph.labels, model.decision_score_) > 0.95
    assert model.samples_.size == 0 and "train" not in model.seconds_
    assert np.corrcoef(model.edge_hop_, model.edge_dissimilarity_)[0, 1] > 0.8
    model.save(tmp_path)
    assert np.array_equal(load_detector(tmp_path).decision_function(graph), model.decision_function(graph))
    np.testing.assert_allclose(model.decision_function(graph), model.decision_score_, atol=1e-9)


def test_the_order_of_a_node_table_changes_no_score_of_the_untrained_preset() -> None:
    """It judges edges with attributes that are derived again without some of them, in any order of the nodes."""
    table, rng = rows(2), np.random.default_rng(0)
    ages = pl.DataFrame({"id": [f"n{i}" for i in range(60)], "age": rng.normal(size=60)})
    scores = []
    for nodes in (ages, ages[::-1], ages.sample(fraction=1.0, shuffle=True, seed=1)):
        graph = hs.load(table, nodes, derive=("structure", "sent", "received"))
        found = CrossHCM.untrained(seed=0).fit(graph).decision_score_
        scores.append(dict(zip(graph.node_ids.tolist(), found.tolist(), strict=True)))
    assert scores[0] == scores[1] == scores[2]
