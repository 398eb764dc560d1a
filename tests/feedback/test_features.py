"""What a learner sees of each node."""

from __future__ import annotations

import numpy as np

from hopsight.feedback.features import judged_neighbors, node_features, normal_scores, quantile_levels
from hopsight.graph import AttributedGraph


def column(features, name: str) -> list[float]:  # type: ignore[no-untyped-def]
    return [round(float(value), 4) for value in features.values[:, features.names.index(name)]]


def path(*, directed: bool = False, weight: list[float] | None = None) -> AttributedGraph:
    """Return a – b – c, where a = 1, b = 2 and c = 6."""
    values = np.array([[1.0], [2.0], [6.0]])
    return AttributedGraph.from_edges(
        [0, 1], [1, 2], values, attribute_names=["age"], directed=directed,
        edge_weight=None if weight is None else np.array(weight),
    )  # fmt: skip


def test_means_over_neighbors_are_those_worked_out_by_hand() -> None:
    graph = path()
    found = node_features(graph, graph.attributes, ["age"], {"misfit": np.array([3.0, 0.0, 1.0])}, np.ones(3))
    assert column(found, "age") == [1.0, 2.0, 6.0]
    assert column(found, "neighbors' age") == [2.0, 3.5, 2.0]
    assert column(found, "neighbors of neighbors' age") == [3.5, 2.0, 3.5]
    assert column(found, "neighbors' misfit") == [0.0, 2.0, 0.0]
    assert column(found, "number of neighbors") == [round(float(np.log1p(d)), 4) for d in (1, 2, 1)]
    assert not found.local[found.names.index("misfit")] and found.local[found.names.index("neighbors' age")]


def test_senders_and_receivers_are_averaged_apart() -> None:
    graph = path(directed=True)
    found = node_features(graph, graph.attributes, ["age"], {}, np.ones(3))
    assert column(found, "receivers' age") == [2.0, 6.0, 0.0]
    assert column(found, "senders' age") == [0.0, 1.0, 2.0]


def test_a_mean_by_weight_follows_the_amounts() -> None:
    graph = path(weight=[1.0, 3.0])
    found = node_features(graph, graph.attributes, ["age"], {}, np.ones(3))
    assert column(found, "neighbors' age, by weight") == [2.0, 4.75, 2.0]  # (1 · 1 + 3 · 6) / 4


def test_a_label_never_enters_the_features_of_its_own_node() -> None:
    graph = path()
    judged, anomalous = np.array([0, 1]), np.array([True, False])
    assert judged_neighbors(graph, judged, anomalous)[:, :2].tolist() == [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]


def test_normal_scores_put_ties_in_the_middle() -> None:
    values = np.array([0.0] * 50 + [1.0] * 50)[:, None]
    found = normal_scores(values, quantile_levels(values))
    assert abs(found[0, 0] + found[-1, 0]) < 1e-6 and round(float(found[-1, 0]), 2) == 0.67  # Φ⁻¹(3/4)
