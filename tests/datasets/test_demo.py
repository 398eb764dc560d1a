"""The demo graph: readable, with a separate ground truth, and hard for simple statistics."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from hopsight.datasets import demo, demo_truth, make_demo
from hopsight.graph import AttributedGraph


def _distance_to_friends(graph: AttributedGraph) -> np.ndarray:
    """Return the mean squared distance of standardized attributes to one's friends."""
    X = (graph.attributes - graph.attributes.mean(axis=0)) / graph.attributes.std(axis=0)
    source, target = graph.edges
    apart = ((X[source] - X[target]) ** 2).sum(axis=1)
    n_nodes = X.shape[0]
    return (np.bincount(source, apart, n_nodes) + np.bincount(target, apart, n_nodes)) / graph.degrees


def test_it_is_a_few_thousand_people_with_readable_names_and_columns() -> None:
    graph = make_demo()
    assert graph.n_nodes == 2400
    assert 6000 < graph.n_edges < 7500
    assert graph.degrees.min() >= 1
    assert all(len(name.split()) == 2 for name in graph.node_ids)
    assert "city=Berlin" in graph.attribute_names
    assert "interest=chess" in graph.attribute_names
    cities = [number for number, name in enumerate(graph.attribute_names) if name.startswith("city=")]
    assert (graph.attributes[:, cities].sum(axis=1) == 1).all()
    ages = graph.attributes[:, graph.attribute_names.index("age")]
    assert 16 <= ages.min() < ages.max() <= 95


def test_at_least_twenty_of_each_kind_with_one_reason_each() -> None:
    graph, truth = make_demo(), demo_truth()
    assert np.bincount(graph.kinds).tolist() == [2352, 24, 24]
    np.testing.assert_array_equal(truth.labels, graph.labels)
    assert {graph.index_of(name) for name in truth.edges} == set(np.flatnonzero(graph.kinds == 1))
    assert {graph.index_of(name) for name in truth.attributes} == set(np.flatnonzero(graph.kinds == 2))
    for person, columns in truth.columns.items():
        assert set(columns) <= set(graph.attribute_names)
        assert all(column.split("=")[0] == truth.attributes[person] for column in columns)


def test_a_planted_attribute_is_the_one_that_no_friend_has() -> None:
    graph, truth = make_demo(), demo_truth()
    X = (graph.attributes - graph.attributes.mean(axis=0)) / graph.attributes.std(axis=0)
    for person, columns in truth.columns.items():
        node = graph.index_of(person)
        friends = graph.adjacency[[node]].indices
        gap = np.abs(X[node] - np.median(X[friends], axis=0))
        assert graph.attribute_names[int(np.argmax(gap))] in columns


def test_planted_edges_exist_and_lead_to_other_cities_and_interests() -> None:
    graph, truth = make_demo(), demo_truth()
    one_hot = graph.attributes[:, :-2]  # cities and interests
    for person, planted in truth.edges.items():
        node = graph.index_of(person)
        friends = {str(graph.node_ids[friend]) for friend in graph.adjacency[[node]].indices}
        assert set(planted) <= friends
        honest = friends - set(planted)
        assert len(planted) > len(honest) > 0
        assert all(one_hot[node] @ one_hot[graph.index_of(friend)] == 0 for friend in planted)


@pytest.mark.parametrize("seed", range(3))
def test_no_simple_statistic_finds_them_but_comparing_friends_does(seed: int) -> None:
    graph = make_demo(seed)
    norms = np.linalg.norm(graph.attributes, axis=1)
    scaled = np.linalg.norm((graph.attributes - graph.attributes.mean(axis=0)) / graph.attributes.std(axis=0), axis=1)
    assert roc_auc_score(graph.labels, graph.degrees) == pytest.approx(0.5, abs=0.05)
    assert roc_auc_score(graph.labels, norms) == pytest.approx(0.5, abs=0.1)
    assert roc_auc_score(graph.labels, scaled) == pytest.approx(0.5, abs=0.1)
    for kind in (1, 2):
        keep = np.isin(graph.kinds, [0, kind])
        assert roc_auc_score(graph.labels[keep], _distance_to_friends(graph)[keep]) > 0.9


def test_it_is_generated_fast_and_determined_by_the_seed() -> None:
    demo._generate.cache_clear()
    start = time.process_time()
    first = make_demo(7)
    assert time.process_time() - start < 2.0
    demo._generate.cache_clear()
    again, other = make_demo(7), make_demo(8)
    assert (first.adjacency != again.adjacency).nnz == 0
    np.testing.assert_array_equal(first.attributes, again.attributes)
    assert first.node_ids.tolist() == again.node_ids.tolist()
    assert first.node_ids.tolist() != other.node_ids.tolist()


def test_no_caller_can_change_the_ground_truth_of_the_next() -> None:
    with pytest.raises(TypeError):
        demo_truth().attributes["Nobody"] = "age"  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        demo_truth().labels[0] = 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_hcm_finds_both_kinds(seed: int) -> None:
    from hopsight.hcm.hcm import HCM

    graph = make_demo(seed)
    scores = HCM(seed=seed).fit(graph).decision_score_
    assert roc_auc_score(graph.labels, scores) > 0.9
    for kind in (1, 2):
        keep = np.isin(graph.kinds, [0, kind])
        assert roc_auc_score(graph.labels[keep], scores[keep]) > 0.8
