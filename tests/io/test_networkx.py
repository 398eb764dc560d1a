"""NetworkX graphs: node data as attributes, the kinds of graph, and refusals."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

from hopsight.io.networkx import from_networkx


def people(kind: Any = nx.Graph) -> Any:
    network = kind(name="people")
    network.add_node("ann", age=31, member=True, city="Oslo")
    network.add_node("bo", age=np.float32(42.5), member=False, city="Bern")
    network.add_node("cy", age=27, member=True, city="Oslo")
    network.add_edges_from([("ann", "bo"), ("cy", "bo")], weight=2.0)
    return network


def test_numbers_flags_and_categories() -> None:
    graph = from_networkx(people())
    assert graph.attribute_names == ("age", "member", "city=Bern", "city=Oslo")
    assert graph.attributes.tolist() == [[31, 1, 0, 1], [42.5, 0, 1, 0], [27, 1, 0, 1]]
    assert graph.node_ids.tolist() == ["ann", "bo", "cy"]
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.name == "people"


def test_a_digraph_is_directed() -> None:
    graph = from_networkx(people(nx.DiGraph))
    assert graph.directed
    assert graph.edges.tolist() == [[0, 2], [1, 1]]
    with pytest.raises(ValueError, match="DiGraph"):
        from_networkx(people(), directed=True)


def test_parallel_edges_are_merged_and_loops_removed() -> None:
    network = people(nx.MultiGraph)
    network.add_edges_from([("ann", "bo"), ("bo", "bo")])
    graph = from_networkx(network)
    assert (graph.n_edges, graph.n_duplicates, graph.n_self_loops) == (2, 1, 1)


def test_a_label_does_not_become_an_attribute() -> None:
    graph = from_networkx(people(), label="member", ignore=["city"])
    assert graph.attribute_names == ("age",)
    assert graph.labels.tolist() == [1, 0, 1]


def test_vectors_become_one_column_per_entry() -> None:
    network = nx.path_graph(3)
    nx.set_node_attributes(network, {node: [node, node / 2] for node in network}, "x")
    graph = from_networkx(network)
    assert graph.attribute_names == ("x_0", "x_1")
    assert graph.attributes.tolist() == [[0, 0], [1, 0.5], [2, 1]]
    assert graph.node_ids.tolist() == [0, 1, 2]


def test_missing_data_are_empty_cells() -> None:
    network = people()
    del network.nodes["bo"]["age"]
    with pytest.raises(ValueError, match="column 'age', row 2 is empty"):
        from_networkx(network, missing="refuse")
    assert from_networkx(network, notices=[]).attributes[1, 0] == 29.0


def test_nodes_without_data_get_structural_attributes() -> None:
    graph = from_networkx(nx.path_graph(4), notices=[])
    degree = graph.attributes[:, graph.attribute_names.index("out-degree, log")]
    assert degree.tolist() == np.log1p([1, 2, 2, 1]).tolist()


def test_graphs_without_nodes_or_anything_to_learn_are_refused() -> None:
    with pytest.raises(ValueError, match="no nodes"):
        from_networkx(nx.Graph())
    with pytest.raises(ValueError, match="nothing to learn from"):
        from_networkx(nx.cycle_graph(3))
    with pytest.raises(ValueError, match="did you mean age"):
        from_networkx(people(), label="agee")


def test_edge_data_become_weights_times_and_attributes() -> None:
    network = people(nx.DiGraph)
    network.edges["ann", "bo"].update(weight=5.0, time="2024-05-01", calls=3, kind="fax")
    network.edges["cy", "bo"].update(weight=2.0, time="2024-05-02", calls=1, kind="mail")
    graph = from_networkx(network, notices=[])
    assert graph.edge_weight.tolist() == [5, 2]
    assert graph.edge_time[1] > graph.edge_time[0]
    assert graph.edge_attributes[:, graph.edge_attribute_names.index("calls")].tolist() == [3, 1]
    del network.edges["cy", "bo"]["weight"]
    assert from_networkx(network, notices=[]).edge_weight.tolist() == [5, 1]  # as NetworkX counts it
