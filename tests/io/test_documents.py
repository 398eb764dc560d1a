"""GraphML, GML, GEXF and NetworkX graphs."""

import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from hopsight.graph import AttributedGraph
from hopsight.io import write
from hopsight.io.networkx import from_networkx, read_document, write_graphml
from hopsight.loading import load

from .cases import refuses


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
    assert graph.edges.tolist() == [[0, 1], [1, 2]] and graph.edge_weight.tolist() == [2.5, 0.5]
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


@pytest.mark.parametrize(("name", "text"), [
    ("g.gml", "graph ["), ("g.gml", "hello"), ("g.gml", "graph [ node [ id 1 ] edge [ source 1 target 2 ] ]"),
    ("g.gml", "graph [ " * 50_000), ("g.gml", "graph [ node 7 ]"), ("g.gexf", "<gexf"), ("g.gexf", "<html></html>"),
    ("g.gexf", "<gexf><graph><nodes><node/></nodes></graph></gexf>"),
    ("g.gexf", '<!DOCTYPE g [<!ENTITY a "b">]><gexf>&a;</gexf>'), ("g.gexf", "<gexf>" + "<a>" * 1000),
], ids=range(10))  # fmt: skip
def test_damaged_documents_are_refused_in_one_sentence(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=r"^cannot read .*g\.g.*: .+$") as caught:
        load(tmp_path / name)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


def test_without_networkx_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nx.write_gml(people(), tmp_path / "g.gml")
    monkeypatch.setitem(sys.modules, "networkx", None)
    refuses(r"needs the package networkx; run pip install 'hopsight\[networkx\]'", tmp_path / "g.gml")


SMALL = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="age" attr.type="int"/>
  <key id="d1" for="node" attr.name="city" attr.type="string"><default>Oslo</default></key>
  <key id="d2" for="edge" attr.name="weight" attr.type="double"/>
  <graph edgedefault="undirected">
    <data key="d0">99</data>
    <node id="n0"><data key="d0">31</data></node>
    <node id="n1"><data key="d0">42</data><data key="d1">Bern &amp; B</data></node>
    <edge source="n0" target="n1"><data key="d2">0.5</data></edge>
  </graph>
</graphml>"""


def read_graphml(path: Path, **options: object) -> AttributedGraph:
    return read_document(path, ".graphml", **options)


def put(folder: Path, text: str) -> Path:
    path = folder / "g.graphml"
    path.write_text(text, encoding="utf-8")
    return path


BILLION_LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph><node id="&c;"/></graph></graphml>"""
EXTERNAL = """<?xml version="1.0"?><!DOCTYPE x SYSTEM "file:///etc/passwd"><graphml/>"""


@pytest.mark.parametrize("text", [BILLION_LAUGHS, EXTERNAL])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_document_types_and_entities_are_refused_in_any_encoding(tmp_path: Path, text: str, encoding: str) -> None:
    (tmp_path / "bomb.graphml").write_bytes(text.encode(encoding))
    refuses("document type", tmp_path / "bomb.graphml", by=read_graphml)


@pytest.mark.parametrize(("old", "new", "words"), [
    ('target="n1"', 'target="n7"', "end that is not declared"),
    ('<node id="n0">', '<node id="n0"/><node id="n0">', "declares a node twice"),
    ('target="n1"', "", "end that is not declared"), ('<node id="n1">', "<node>", "end that is not declared"),
    ('<data key="d0">42', '<data key="d9">42', "Bad GraphML data: no key d9"), (">42<", ">inf<", "'inf'"),
    (">42<", ">many<", "'many'"), ("<edge ", "<hyperedge/><edge ", "hyperedges"), ("</graphml>", "", "not XML"),
])  # fmt: skip
def test_a_damaged_document_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in SMALL
    refuses(words, put(tmp_path, SMALL.replace(old, new)), missing="refuse", notices=[], by=read_graphml)


def test_other_xml_no_nodes_no_data_and_deep_nesting_are_refused(tmp_path: Path) -> None:
    start = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for text, words in [
        ("<html></html>", "not successfully read|not GraphML"),
        (f'{start}<graph edgedefault="undirected"/></graphml>', "no nodes"),
        (f'{start}<graph edgedefault="undirected"><node id="a"/></graph></graphml>', "nothing to learn from"),
        (start + "<d>" * 100_000 + "</d>" * 100_000 + "</graphml>", "not successfully read|not GraphML"),
    ]:
        refuses(words, put(tmp_path, text), by=read_graphml)


def test_a_character_that_xml_cannot_hold_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    graph = AttributedGraph(np.zeros((2, 2)), np.ones((2, 1)), node_ids=["a", "b\x00"])
    refuses(r"cannot hold the character '\\x00'", graph, tmp_path / "bad.graphml", by=write_graphml)
    assert list(tmp_path.iterdir()) == []


def test_nodes_without_data_get_structural_attributes(tmp_path: Path) -> None:
    nx.write_graphml(nx.path_graph(4), tmp_path / "g.graphml")
    graph = read_graphml(tmp_path / "g.graphml", notices=[])
    assert graph.n_nodes == 4
    assert "core number" not in graph.attribute_names  # the same for all
    assert any("degree" in name for name in graph.attribute_names)


def people_networkx(kind: Any = nx.Graph) -> Any:
    network = kind(name="people")
    network.add_node("ann", age=31, member=True, city="Oslo")
    network.add_node("bo", age=np.float32(42.5), member=False, city="Bern")
    network.add_node("cy", age=27, member=True, city="Oslo")
    network.add_edges_from([("ann", "bo"), ("cy", "bo")], weight=2.0)
    return network


def test_numbers_flags_and_categories() -> None:
    graph = from_networkx(people_networkx())
    assert graph.attribute_names == ("age", "member", "city=Bern", "city=Oslo")
    assert graph.attributes.tolist() == [[31, 1, 0, 1], [42.5, 0, 1, 0], [27, 1, 0, 1]]
    assert graph.node_ids.tolist() == ["ann", "bo", "cy"]
    assert graph.edges.tolist() == [[0, 1], [1, 2]] and graph.name == "people"


def test_a_digraph_is_directed() -> None:
    graph = from_networkx(people_networkx(nx.DiGraph))
    assert graph.directed and graph.edges.tolist() == [[0, 2], [1, 1]]
    refuses("DiGraph", people_networkx(), directed=True, by=from_networkx)


def test_edge_data_become_weights_times_and_attributes() -> None:
    network = people_networkx(nx.DiGraph)
    network.edges["ann", "bo"].update(weight=5.0, time="2024-05-01", calls=3, kind="fax")
    network.edges["cy", "bo"].update(weight=2.0, time="2024-05-02", calls=1, kind="mail")
    graph = from_networkx(network, notices=[])
    assert graph.edge_weight.tolist() == [5, 2] and graph.edge_time[1] > graph.edge_time[0]
    assert graph.edge_attributes[:, graph.edge_attribute_names.index("calls")].tolist() == [3, 1]
    del network.edges["cy", "bo"]["weight"]
    assert from_networkx(network, notices=[]).edge_weight.tolist() == [5, 1]  # as NetworkX counts it
