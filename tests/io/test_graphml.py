"""GraphML: checked against networkx in both directions; entities, nesting and control characters refused."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.graph import AttributedGraph
from hopsight.io.networkx import read_document, write_graphml
from hopsight.loading import load

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


def write(folder: Path, text: str) -> Path:
    path = folder / "g.graphml"
    path.write_text(text, encoding="utf-8")
    return path


def test_data_defaults_and_edges_by_hand(tmp_path: Path) -> None:
    graph = read_graphml(write(tmp_path, SMALL))
    assert graph.node_ids.tolist() == ["n0", "n1"]
    assert graph.attribute_names == ("age", "city=Bern & B", "city=Oslo")
    assert graph.attributes.tolist() == [[31, 0, 1], [42, 1, 0]]
    assert graph.edges.tolist() == [[0], [1]]
    assert not graph.directed
    assert read_graphml(tmp_path / "g.graphml", ignore=["city"]).attribute_names == ("age",)


def test_it_is_directed_if_the_file_says_so(tmp_path: Path) -> None:
    notices: list[str] = []
    assert not load(write(tmp_path, SMALL), directed=True, notices=notices).directed
    assert "no direction" in notices[-1]
    assert read_graphml(write(tmp_path, SMALL.replace("undirected", "directed"))).directed


@pytest.mark.parametrize("directed", [False, True])
def test_what_networkx_writes_is_read(tmp_path: Path, directed: bool) -> None:
    network = nx.gnp_random_graph(12, 0.3, seed=0, directed=directed)
    for node, data in network.nodes(data=True):
        data |= {"age": 20 + node, "income": node / 7, "member": node % 2 == 0, "city": "AB"[node % 2]}
        data["fraud"] = node == 3
    nx.write_graphml(network, tmp_path / "nx.graphml")
    graph = read_graphml(tmp_path / "nx.graphml", label="fraud")
    assert graph.node_ids.tolist() == list(range(12))
    third = dict(zip(graph.attribute_names, graph.attributes[3].tolist(), strict=True))
    assert third == {"age": 23, "income": 3 / 7, "member": 0, "city=A": 0, "city=B": 1}
    assert graph.labels.tolist() == [node == 3 for node in range(12)]
    assert np.array_equal(graph.adjacency.toarray(), nx.to_numpy_array(network))
    assert graph.directed == directed


def test_what_we_write_is_read_by_networkx(tmp_path: Path) -> None:
    graph = AttributedGraph.from_edges(
        [0, 1], [1, 2], [[0.1, 1e300], [2.0, 0.0], [0.0, -3.5]], directed=True, node_ids=["a<b", "Zoë\n", "c"]
    )
    write_graphml(graph, tmp_path / "ours.graphml")
    network = nx.read_graphml(tmp_path / "ours.graphml")
    assert list(network.edges) == [("a<b", "Zoë\n"), ("Zoë\n", "c")]
    assert network.nodes["a<b"] == {"x0": 0.1, "x1": 1e300}


def test_everything_is_restored(hard_graph: AttributedGraph, tmp_path: Path) -> None:
    write_graphml(hard_graph, tmp_path / "hard.graphml")
    again = read_graphml(tmp_path / "hard.graphml", notices=[])
    assert again.node_ids.tolist() == hard_graph.node_ids.tolist()
    assert again.attribute_names == (*hard_graph.attribute_names[:3], "hopsight_label_2")
    attributes = hard_graph.attributes.toarray() if sp.issparse(hard_graph.attributes) else hard_graph.attributes
    assert np.array_equal(again.attributes, attributes)
    assert np.array_equal(again.edges, hard_graph.edges)
    assert np.array_equal(again.labels, hard_graph.labels)
    assert np.array_equal(again.kinds, hard_graph.kinds)


def test_zeros_of_sparse_attributes_are_not_written(tmp_path: Path) -> None:
    graph = AttributedGraph(np.eye(50, k=1), sp.eye_array(50, 40, format="csr"))
    write_graphml(graph, tmp_path / "sparse.graphml")
    assert (tmp_path / "sparse.graphml").read_text().count("<data ") == 40 + 39 + 1  # all of the first node, and a mark
    assert np.array_equal(read_graphml(tmp_path / "sparse.graphml").attributes, np.eye(50, 40))


BILLION_LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph><node id="&c;"/></graph></graphml>"""
EXTERNAL = """<?xml version="1.0"?><!DOCTYPE x SYSTEM "file:///etc/passwd"><graphml/>"""


@pytest.mark.parametrize("text", [BILLION_LAUGHS, EXTERNAL])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_document_types_and_entities_are_refused_in_any_encoding(tmp_path: Path, text: str, encoding: str) -> None:
    (tmp_path / "bomb.graphml").write_bytes(text.encode(encoding))
    with pytest.raises(ValueError, match="document type"):
        read_graphml(tmp_path / "bomb.graphml")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('target="n1"', 'target="n7"', "end that is not declared"),
        ('<node id="n0">', '<node id="n0"/><node id="n0">', "declares a node twice"),
        ('target="n1"', "", "end that is not declared"),
        ('<node id="n1">', "<node>", "end that is not declared"),
        ('<data key="d0">42', '<data key="d9">42', "Bad GraphML data: no key d9"),
        (">42<", ">inf<", "'inf'"),
        (">42<", ">many<", "'many'"),
        ("<edge ", "<hyperedge/><edge ", "hyperedges"),
        ("</graphml>", "", "not XML"),
    ],
)
def test_a_damaged_document_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in SMALL
    with pytest.raises(ValueError, match=words):
        read_graphml(write(tmp_path, SMALL.replace(old, new)), missing="refuse", notices=[])


def test_other_xml_no_nodes_no_data_and_deep_nesting_are_refused(tmp_path: Path) -> None:
    start = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for text, words in [
        ("<html></html>", "not successfully read|not GraphML"),
        (f'{start}<graph edgedefault="undirected"/></graphml>', "no nodes"),
        (f'{start}<graph edgedefault="undirected"><node id="a"/></graph></graphml>', "nothing to learn from"),
        (start + "<d>" * 100_000 + "</d>" * 100_000 + "</graphml>", "not successfully read|not GraphML"),
    ]:
        with pytest.raises(ValueError, match=words):
            read_graphml(write(tmp_path, text))


def test_a_character_that_xml_cannot_hold_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    graph = AttributedGraph(np.zeros((2, 2)), np.ones((2, 1)), node_ids=["a", "b\x00"])
    with pytest.raises(ValueError, match=r"cannot hold the character '\\x00'"):
        write_graphml(graph, tmp_path / "bad.graphml")
    assert list(tmp_path.iterdir()) == []


def test_weights_times_and_attributes_of_edges_are_restored(tmp_path: Path) -> None:
    graph = AttributedGraph.from_edges(
        [0, 1], [1, 2], np.eye(3), edge_weight=[0.5, -2.0], edge_time=[10.0, 20.5], edge_attributes=[[1.0], [3.0]],
        edge_attribute_names=["calls"], node_types=["user", "user", "<item>"], node_names=["Ann", "Bo & Co", "Cy"],
    )  # fmt: skip
    write_graphml(graph, tmp_path / "g.graphml")
    again = read_graphml(tmp_path / "g.graphml", notices=[])
    assert again.edge_weight.tolist() == [0.5, -2.0]
    assert again.edge_time.tolist() == [10.0, 20.5]
    assert (again.edge_attributes.tolist(), again.edge_attribute_names) == ([[1.0], [3.0]], ("calls",))
    assert list(again.node_types) == ["user", "user", "<item>"]
    assert list(again.node_names) == ["Ann", "Bo & Co", "Cy"]


def test_nodes_without_data_get_structural_attributes(tmp_path: Path) -> None:
    nx.write_graphml(nx.path_graph(4), tmp_path / "g.graphml")
    graph = read_graphml(tmp_path / "g.graphml", notices=[])
    assert graph.n_nodes == 4
    assert "core number" not in graph.attribute_names  # the same for all
    assert any("degree" in name for name in graph.attribute_names)
