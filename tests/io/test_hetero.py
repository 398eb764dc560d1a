"""PyG's HeteroData: one graph with node types, attributes of every type, and relations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hopsight.loading import load

geometric = pytest.importorskip("torch_geometric.data", reason="torch_geometric is an optional extra")


def reviews() -> Any:
    data = geometric.HeteroData()
    data["user"].x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    data["user"].y = torch.tensor([0, 1])
    data["item"].x = torch.tensor([[10.0], [20.0], [60.0]])
    data["user", "rates", "item"].edge_index = torch.tensor([[0, 1, 1], [0, 0, 2]])
    data["user", "rates", "item"].edge_weight = torch.tensor([5.0, 1.0, 3.0])
    return data


def test_types_attributes_weights_and_labels() -> None:
    graph = load(reviews(), notices=[])
    assert graph.node_ids.tolist() == ["user:0", "user:1", "item:0", "item:1", "item:2"]
    assert list(graph.node_types) == ["user", "user", "item", "item", "item"]
    assert graph.attribute_names == ("user.x0", "user.x1", "item.x0")
    assert graph.attributes.tolist() == [[1, 2, 30], [3, 4, 30], [2, 3, 10], [2, 3, 20], [2, 3, 60]]
    assert graph.edges.tolist() == [[0, 1, 1], [2, 2, 4]]
    assert graph.edge_weight.tolist() == [5, 1, 3]
    assert graph.labels.tolist() == [0, 1, -1, -1, -1]


def test_relations_and_their_reverse() -> None:
    data = reviews()
    data["item", "rev_rates", "user"].edge_index = torch.tensor([[0, 0, 2], [0, 1, 1]])
    assert load(data, notices=[]).n_edges == 3
    data["user", "follows", "user"].edge_index = torch.tensor([[0], [1]])
    graph = load(data, notices=[])
    assert graph.edge_attribute_names == ("follows", "rates")
    assert graph.edge_attributes.tolist() == [[1, 0], [0, 1], [0, 1], [0, 1]]
    assert graph.edge_weight.tolist() == [1, 5, 1, 3]


def test_what_is_missing_is_said_in_one_sentence() -> None:
    with pytest.raises(ValueError, match="a HeteroData needs nodes"):
        load(geometric.HeteroData())
    data = reviews()
    data["user", "rates", "item"].edge_index = torch.tensor([[0], [7]])
    with pytest.raises(ValueError, match="user-rates-item have an end that is not there"):
        load(data)
    bare = geometric.HeteroData()
    bare["user"].num_nodes = 3
    with pytest.raises(ValueError, match="there is nothing to learn from"):
        load(bare)


def test_a_saved_hetero_data_is_the_same_graph(tmp_path: Path) -> None:
    data = geometric.HeteroData()
    data["user"].x, data["user"].y = torch.rand(4, 2), torch.tensor([0, 1, 0, 0])
    data["item"].x = torch.rand(3, 1)
    data["user", "buys", "item"].edge_index = torch.tensor([[0, 1, 2, 3], [0, 1, 2, 0]])
    data["user", "knows", "user"].edge_index = torch.tensor([[0, 1], [1, 2]])
    data["shop"].num_nodes = 2
    data["item", "in", "shop"].edge_index = torch.tensor([[0, 1], [0, 1]])
    torch.save(data, tmp_path / "shop.pt")
    there, here = load(tmp_path / "shop.pt", notices=[]), load(data, notices=[])
    assert there.name == "shop"
    assert there.node_ids.tolist() == here.node_ids.tolist()
    assert there.node_types.tolist() == here.node_types.tolist()
    assert there.labels.tolist() == here.labels.tolist()
    np.testing.assert_array_equal(there.attributes, here.attributes)
    np.testing.assert_array_equal(there.edges, here.edges)
    np.testing.assert_array_equal(there.edge_attributes, here.edge_attributes)


def test_types_without_any_attributes_get_those_of_the_structure(tmp_path: Path) -> None:
    data = geometric.HeteroData()
    data["user", "buys", "item"].edge_index = torch.tensor([[0, 1, 2, 3, 3], [0, 1, 2, 0, 1]])
    data["user"].num_nodes, data["item"].num_nodes = 4, 3
    torch.save(data, tmp_path / "edges.pt")
    for source in (data, tmp_path / "edges.pt"):
        graph = load(source, notices=[])
        assert graph.n_nodes == 7
        assert "core number" in graph.attribute_names or "out-degree, log" in graph.attribute_names
