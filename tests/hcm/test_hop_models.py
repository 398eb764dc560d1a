"""What HCM and CrossHCM share: fitted values, refusals, reuse on other graphs, numerics."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from hopsight.detectors.storage import load_detector
from hopsight.graph import AttributedGraph
from hopsight.hcm import cross_hcm
from hopsight.hcm.evidence import AttributeBaseline
from hopsight.hcm.posterior import ahp, hav, neighbor_mean
from toys import quick, refuses, two_groups, without_edges

BOTH = pytest.mark.parametrize("name", ["hcm", "cross_hcm"])


@pytest.fixture(scope="module")
def graph() -> AttributedGraph:
    return two_groups(0)


@pytest.fixture(scope="module")
def fitted(graph: AttributedGraph) -> dict[str, Any]:
    return {name: quick(name).fit(graph) for name in ("hcm", "cross_hcm")}


@BOTH
def test_fitted_values_of_edges_and_nodes(fitted: dict[str, Any], graph: AttributedGraph, name: str) -> None:
    model = fitted[name]
    assert np.array_equal(model.edge_index_, graph.edges)
    for values, low, high in [
        (model.edge_hop_, 1.0, float(model.n_classes_)),
        (model.edge_probability_, 0.0, 1.0),
        (model.edge_variance_, 0.0, np.inf),
    ]:
        assert values.shape == (graph.n_edges,) and values.dtype == np.float64
        assert (values >= low).all() and (values <= high).all() and np.ptp(values) > 0
    mean = ahp(graph.edges, model.edge_hop_, graph.n_nodes)
    spread = neighbor_mean(graph.edges, model.edge_variance_, graph.n_nodes)
    np.testing.assert_allclose(model.ahp_, mean)
    np.testing.assert_allclose(model.iv_, spread)
    np.testing.assert_allclose(model.hav_, hav(mean, spread))
    assert model.judged_.all() and model.loss_.shape == (model.n_epochs,)
    assert model.loss_[-3:].mean() < model.loss_[:3].mean()


@BOTH
@pytest.mark.parametrize("score", ["ahp", "hav"])
def test_score_decides_what_is_reported(graph: AttributedGraph, name: str, score: str) -> None:
    model = quick(name, score=score).fit(graph)
    assert np.array_equal(model.decision_score_, getattr(model, f"{score}_"))


@BOTH
def test_deviation_may_be_the_standard_one(fitted: dict[str, Any], graph: AttributedGraph, name: str) -> None:
    std = quick(name, deviation="std").fit(graph)
    np.testing.assert_allclose(std.edge_variance_**2, fitted[name].edge_variance_, atol=1e-6)


@BOTH
@pytest.mark.parametrize("prediction", ["argmax", "expected"])
def test_predictions_are_classes_or_expectations(graph: AttributedGraph, name: str, prediction: str) -> None:
    model = quick(name, prediction=prediction, n_epochs=12, burn_in=0, n_samples=1, n_classes=3).fit(graph)
    n_samples = len(model.samples_)  # the hop count of an edge is their mean
    assert n_samples == (model.n_inner - 1 if name == "cross_hcm" else 1)
    distance = model.edge_hop_ * n_samples - np.round(model.edge_hop_ * n_samples)
    assert (abs(distance) < 1e-4).all() == (prediction == "argmax")


@BOTH
def test_nodes_without_edges_have_no_neighbors_to_judge_them_by(name: str, graph: AttributedGraph) -> None:
    """AHP and IV are the median of the others; CrossHCM judges such nodes by their attributes and activity."""
    lonely = [5, 60]
    edges = graph.adjacency.toarray()
    edges[lonely], edges[:, lonely] = 0, 0
    model = quick(name).fit(AttributedGraph(edges, graph.attributes))
    others = np.setdiff1d(np.arange(80), lonely)
    assert np.flatnonzero(~model.judged_).tolist() == ([] if name == "cross_hcm" else lonely)
    for scores in (model.ahp_, model.iv_, model.decision_score_ if name == "hcm" else model.hav_):
        np.testing.assert_allclose(scores[lonely], np.median(scores[others]))


@BOTH
def test_effective_classes_are_reported(graph: AttributedGraph, name: str) -> None:
    model = quick(name, n_classes=7, min_class_pairs=600).fit(graph)
    assert model.class_sizes_.shape == (7,) and not model.class_errors_.any()
    assert model.class_sizes_.sum() == 80 * 79 / 2
    assert 2 <= model.n_classes_ < 7 and model.edge_hop_.max() <= model.n_classes_
    n_kept = graph.n_edges - int(model.drop_ratio * graph.n_edges + 1e-9)
    assert model.class_sizes_[0] == pytest.approx(n_kept * (2 / 3 if name == "cross_hcm" else 1))  # without its part


@BOTH
def test_directed_networks_fit(name: str, tmp_path: Path) -> None:
    arcs = two_groups(0, directed=True)
    model = quick(name).fit(arcs)
    assert np.array_equal(model.edge_index_, arcs.edges) and np.isfinite(model.decision_score_).all()
    assert model.class_sizes_.sum() == 80 * 79
    np.testing.assert_allclose(model.decision_function(arcs), model.decision_score_, atol=1e-4)
    model.save(tmp_path)
    assert np.array_equal(load_detector(tmp_path).decision_function(arcs), model.decision_function(arcs))
    undirected = quick(name).fit(AttributedGraph(arcs.adjacency, arcs.attributes))
    assert undirected.class_sizes_.sum() == 80 * 79 / 2


@BOTH
def test_graphs_without_edges_or_without_strangers_are_refused(name: str, rng: np.random.Generator) -> None:
    attributes = rng.normal(size=(6, 2))
    refuses("has no edge", quick(name).fit, AttributedGraph(np.zeros((6, 6)), attributes))
    with pytest.raises(ValueError, match="every pair of nodes is connected"):
        quick(name, drop_ratio=0.0).fit(AttributedGraph(np.ones((6, 6)), attributes))


@BOTH
def test_new_graphs_without_edges_are_refused(fitted: dict[str, Any], graph: AttributedGraph, name: str) -> None:
    empty = AttributedGraph(np.zeros((80, 80)), graph.attributes, attribute_names=graph.attribute_names)
    refuses("has no edge", fitted[name].decision_function, empty)


@BOTH
@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_the_unit_of_words_does_not_matter(
    name: str, unit: float, rng: np.random.Generator, graph: AttributedGraph
) -> None:
    """Counts are not standardized, yet in another unit they say the same."""
    words = (rng.random((80, 60)) < 0.05) * rng.integers(1, 5, 60)
    plain = quick(name, similarity="euclidean").fit(AttributedGraph(graph.adjacency, words / words.max()))
    other = quick(name, similarity="euclidean").fit(AttributedGraph(graph.adjacency, words * unit))
    assert plain.transform_.scaling == other.transform_.scaling == "none"
    assert spearmanr(plain.decision_score_, other.decision_score_).statistic > 0.9
    np.testing.assert_allclose(
        other.decision_function(AttributedGraph(graph.adjacency, words * unit)), other.decision_score_, atol=1e-4
    )


@BOTH
@pytest.mark.parametrize("directed", [False, True])
def test_score_without_edges_is_that_of_the_graph_without_them(name: str, directed: bool, tmp_path: Path) -> None:
    """The neighborhood is judged again in part; judging the whole graph without the edges gives the same."""
    graph = two_groups(0, directed=directed)
    extra: dict[str, Any] = {"n_layers": 3} if name == "hcm" else {}
    model = quick(name, score="ahp", prediction="expected", **extra).fit(graph)
    model.save(tmp_path)
    for node in (0, 17, 55):
        absent = np.flatnonzero((graph.edges == node).any(axis=0))[:2]
        expected = model.decision_function(without_edges(graph, absent))[node]
        assert model.score_without(graph, node, absent) == pytest.approx(expected, abs=2e-5)
        assert load_detector(tmp_path).score_without(graph, node, absent) == pytest.approx(expected, abs=2e-5)
        assert expected != pytest.approx(model.decision_score_[node], abs=2e-5)  # the edges mattered


@pytest.mark.parametrize("kind", ["misfit", "ring", "outlier", "activity", "lockstep"])
def test_each_evidence_without_edges_is_that_of_the_graph_without_them(
    kind: str, monkeypatch: pytest.MonkeyPatch, graph: AttributedGraph
) -> None:
    """By the baselines of the fit: all that differs is what the absent edges said, and the triangles they closed."""
    monkeypatch.setattr(AttributeBaseline, "at_level_of", lambda usual, *_: usual)  # the level of all nodes stays
    model = quick("cross_hcm", evidence=(kind,)).fit(graph)
    for node in (0, 17, 55):
        absent = np.flatnonzero((graph.edges == node).any(axis=0))[:2]
        expected = model.decision_function(without_edges(graph, absent))[node]  # of this kind alone
        tolerance = 0.05 if kind == "ring" else 1e-3  # the sides between neighbors are those of the fit
        assert model.score_without(graph, node, absent) == pytest.approx(expected, abs=tolerance)


@BOTH
def test_without_nothing_the_score_stays_and_without_any_edge_there_is_none(
    fitted: dict[str, Any], graph: AttributedGraph, name: str
) -> None:
    model, nothing = fitted[name], np.empty(0, dtype=np.int64)
    assert model.score_without(graph, 3, nothing) == pytest.approx(model.decision_score_[3], abs=1e-3)
    every = np.flatnonzero((graph.edges == 3).any(axis=0))
    refuses("a node without edges cannot be judged", model.score_without, graph, 3, every)


@BOTH
def test_half_precision_training_ranks_alike(name: str, graph: AttributedGraph) -> None:
    full, half = (quick(name, precision=p).fit(graph) for p in ("float32", "bfloat16"))
    assert not np.array_equal(full.loss_, half.loss_)
    assert spearmanr(full.decision_score_, half.decision_score_).statistic > 0.9


def test_the_cpu_takes_over_from_a_gpu_without_memory(
    path_graph: AttributedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    train = cross_hcm.train

    def short_of_memory(networks: Any, *arguments: Any, **options: Any) -> Any:
        tried.append(next(networks[0].parameters()).device.type)
        if len(tried) == 1:
            raise torch.OutOfMemoryError("out of memory")
        return train(networks, *arguments, **options)

    monkeypatch.setattr(cross_hcm, "train", short_of_memory)
    model = quick("cross_hcm", seed=0)
    with pytest.warns(UserWarning, match="the GPU's memory ran out"):
        model.fit(path_graph)
    assert len(tried) == 2 and tried[1] == "cpu"
    assert model.device == "auto"
    monkeypatch.undo()
    assert np.array_equal(model.decision_score_, quick("cross_hcm", seed=0).fit(path_graph).decision_score_)
