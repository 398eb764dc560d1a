"""GML and GEXF, read with NetworkX: node data, edge data, labels as ids; and hostile documents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from hopsight.io import write
from hopsight.loading import load


def people(kind: Any = nx.Graph) -> Any:
    network = kind()
    network.add_node("ann", age=31.5, city="Oslo")
    network.add_node("bo", age=42.0, city="Bern")
    network.add_node("Zoë", age=27.0, city="Oslo")
    network.add_edge("ann", "bo", weight=2.5, calls=3)
    network.add_edge("bo", "Zoë", weight=0.5, calls=1)
    return network


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
@pytest.mark.parametrize("suffix", [".gml", ".gexf"])
def test_nodes_edges_and_their_data(tmp_path: Path, suffix: str, kind: Any) -> None:
    write = nx.write_gml if suffix == ".gml" else nx.write_gexf
    write(people(kind), tmp_path / f"people{suffix}")
    graph = load(tmp_path / f"people{suffix}", notices=[])
    assert graph.node_ids.tolist() == ["ann", "bo", "Zoë"]
    assert graph.attribute_names[:3] == ("age", "city=Bern", "city=Oslo")
    assert graph.attributes[:, :3].tolist() == [[31.5, 0, 1], [42, 1, 0], [27, 0, 1]]
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_weight.tolist() == [2.5, 0.5]
    assert graph.edge_attributes[:, graph.edge_attribute_names.index("calls")].tolist() == [3, 1]
    assert (graph.directed, graph.name) == (kind is nx.DiGraph, "people")


def payments(kind: Any, *, ages: bool = False) -> Any:
    """Node 0 pays 10 and 30 to others, node 3 pays 20 to node 0, node 4 nothing to node 3."""
    network = kind()
    network.add_nodes_from((str(node), {"age": 20.0 + node} if ages else {}) for node in range(5))
    for source, target, amount in ((0, 1, 10.0), (0, 2, 30.0), (3, 0, 20.0), (4, 3, 0.5)):
        network.add_edge(str(source), str(target), amount=amount)
    return network


WRITERS = {".gml": nx.write_gml, ".gexf": nx.write_gexf, ".graphml": nx.write_graphml}


@pytest.mark.parametrize("suffix", WRITERS)
def test_attributes_are_derived_from_what_the_edges_carry(tmp_path: Path, suffix: str) -> None:
    path, notices = tmp_path / f"payments{suffix}", []
    WRITERS[suffix](payments(nx.DiGraph), path)
    graph = load(path, notices=notices)
    sent = graph.attributes[:, graph.attribute_names.index("amount sent, median")]
    assert sent.tolist() == [20.0, 20.0, 20.0, 20.0, 0.5]  # nodes 1 and 2 sent nothing: the median of 20, 20 and .5
    assert "amount received, median" in graph.attribute_names
    assert "clustering" not in graph.attribute_names  # there is no triangle
    assert any(notice.endswith("from the edges: structure, sent, received.") for notice in notices)
    alone = load(path, derive="structure", notices=[])
    assert not any("amount" in name for name in alone.attribute_names)


@pytest.mark.parametrize("suffix", WRITERS)
def test_undirected_edges_are_neither_sent_nor_received(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"payments{suffix}"
    WRITERS[suffix](payments(nx.Graph), path)
    graph = load(path, notices=[])
    middle = graph.attributes[:, graph.attribute_names.index("amount of edges, median")]
    assert middle.tolist() == [20.0, 10.0, 30.0, 10.25, 0.5]
    assert not any("sent" in name or "received" in name for name in graph.attribute_names)


@pytest.mark.parametrize("suffix", WRITERS)
def test_derived_attributes_stand_beside_those_of_the_nodes(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"payments{suffix}"
    WRITERS[suffix](payments(nx.DiGraph, ages=True), path)
    graph = load(path, notices=[])
    assert graph.attributes[:, graph.attribute_names.index("age")].tolist() == [20.0, 21.0, 22.0, 23.0, 24.0]
    assert "amount sent, median" in graph.attribute_names
    assert "core number" not in graph.attribute_names  # as with a node table
    assert load(path, derive="none", notices=[]).attribute_names == ("age",)
    write(graph, tmp_path / "again.graphml")
    assert load(tmp_path / "again.graphml", notices=[]).attribute_names == graph.attribute_names


def test_gml_in_utf_8_and_with_labels_that_are_not_unique(tmp_path: Path) -> None:
    (tmp_path / "g.gml").write_text(
        'graph [ node [ id 5 label "é" x 1 ] node [ id 6 label "é" x 2 ] edge [ source 5 target 6 ] ]', encoding="utf-8"
    )
    graph = load(tmp_path / "g.gml", notices=[])
    assert graph.node_ids.tolist() == [5, 6]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.gml", "graph ["),
        ("g.gml", "hello"),
        ("g.gml", "graph [ node [ id 1 ] edge [ source 1 target 2 ] ]"),
        ("g.gml", "graph [ " * 50_000),
        ("g.gml", "graph [ node 7 ]"),
        ("g.gexf", "<gexf"),
        ("g.gexf", "<html></html>"),
        ("g.gexf", "<gexf><graph><nodes><node/></nodes></graph></gexf>"),
        ("g.gexf", '<!DOCTYPE g [<!ENTITY a "b">]><gexf>&a;</gexf>'),
        ("g.gexf", "<gexf>" + "<a>" * 1000),
    ],
)
def test_damaged_documents_are_refused_in_one_sentence(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=r"^cannot read .*g\.g.*: .+$") as caught:
        load(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_without_networkx_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nx.write_gml(people(), tmp_path / "g.gml")
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ValueError, match=r"needs the package networkx; run pip install 'hopsight\[networkx\]'"):
        load(tmp_path / "g.gml")
