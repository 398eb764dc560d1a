"""The order of rows in a file changes neither the ranking nor what is known of nodes and edges."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hopsight.detectors.base import Epoch, NodeOrder
from hopsight.graph import AttributedGraph
from toys import quick, renumbered, two_groups


@pytest.mark.parametrize("name", ["hcm", "cross_hcm", "dominant", "resgcn"])
@pytest.mark.parametrize("directed", [False, True])
def test_every_value_follows_its_node_or_edge_to_the_bit(name: str, directed: bool) -> None:
    graph = two_groups(0, directed=directed)
    moved = renumbered(graph, np.random.default_rng(3).permutation(graph.n_nodes))
    told: list[np.ndarray] = []

    def listen(epoch: Epoch) -> None:
        told.append(epoch.scores())

    first, second = (quick(name).fit(each, callback=listen) for each in (graph, moved))
    assert second.graph_ is moved
    place = [graph.index_of(node) for node in moved.node_ids]
    for value in ("decision_score_", "label_", *(f"{each}_" for each in type(first).node_values)):
        assert np.array_equal(getattr(second, value), getattr(first, value)[place]), value
    assert np.array_equal(told[-1], told[len(told) // 2 - 1][place])
    for kind, values in getattr(first, "evidence_", {}).items():
        assert np.array_equal(second.evidence_[kind], values[place]), kind
    if name in ("hcm", "cross_hcm"):
        assert np.array_equal(second.edge_index_, moved.edges)
        assert hops(second, moved) == hops(first, graph)


def hops(model: object, graph: AttributedGraph) -> dict[object, float]:
    """Return the predicted hop count of each edge, by the ids of its ends."""
    pairs = graph.node_ids[graph.edges].T.tolist()
    ends = [tuple(pair) if graph.directed else frozenset(pair) for pair in pairs]
    return dict(zip(ends, model.edge_hop_.tolist(), strict=True))  # type: ignore[attr-defined]


def test_a_graph_in_the_order_of_its_ids_is_used_as_it_is() -> None:
    assert NodeOrder.of(two_groups(0)) is None  # 0-2 comes before 0-10
    numbers = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(3))
    assert NodeOrder.of(numbers) is None
    assert NodeOrder.of(dataclasses.replace(numbers, node_ids=[5, 3, 9])) is not None


def test_ids_with_any_digits_are_sorted() -> None:
    ids = ["x10", "٣", "x9", "²", "9" * 5000, "x009", "8" * 5000, "x"]
    graph = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(8), node_ids=ids)
    found = NodeOrder.of(graph)
    assert found is not None
    assert found.graph.node_ids.tolist() == ["8" * 5000, "9" * 5000, "x", "x009", "x9", "x10", "²", "٣"]


def test_weights_and_times_stay_with_their_edges() -> None:
    graph = AttributedGraph.from_edges(
        [0, 1, 2], [1, 2, 3], np.arange(4.0)[:, None], node_ids=["d", "a", "c", "b"], edge_weight=[1.0, 2.0, 3.0]
    )
    found = NodeOrder.of(graph)
    assert found is not None
    named = {frozenset(pair): float(weight) for pair, weight in zip(
        found.graph.node_ids[found.graph.edges].T.tolist(), found.graph.edge_weight, strict=True
    )}  # fmt: skip
    assert named == {frozenset("da"): 1.0, frozenset("ac"): 2.0, frozenset("cb"): 3.0}
