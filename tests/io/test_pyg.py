"""PyG's Data and HeteroData, as objects and as files."""

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from hopsight.io.pyg import from_data, read_pt
from hopsight.loading import load

from .cases import fits, refuses

geometric = pytest.importorskip("torch_geometric.data", reason="torch_geometric is an optional extra")

BOTH_WAYS = torch.tensor([[0, 1, 1, 2, 2], [1, 0, 2, 1, 2]])
X = torch.tensor([[1.5, 0.0], [0.0, 2.5], [0.0, 0.0]])


def data(**fields: Any) -> Any:
    return geometric.Data(**({"x": X, "edge_index": BOTH_WAYS} | fields))


@pytest.fixture(params=["object", "pt", "pt.zip"])
def as_read(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Return a function that reads a Data directly, from a .pt, or from a zipped .pt."""

    def convert(content: Any, **options: Any) -> Any:
        if request.param == "object":
            return from_data(content, **options)
        torch.save(content, tmp_path / "toy.pt")
        if request.param == "pt":
            return read_pt(tmp_path / "toy.pt", **options)
        with zipfile.ZipFile(tmp_path / "toy.pt.zip", "w") as outer:
            outer.write(tmp_path / "toy.pt", "toy.pt")
        return read_pt(tmp_path / "toy.pt.zip", **options)

    return convert


def test_edges_and_attributes(as_read: Any) -> None:
    graph = as_read(data())
    assert graph.edges.tolist() == [[0, 1], [1, 2]] and graph.attributes.tolist() == X.tolist()
    assert (graph.n_duplicates, graph.n_self_loops, graph.labels) == (0, 1, None)
    assert graph.name in ("", "toy")


def test_one_way_edges_are_symmetrized_unless_directed(as_read: Any) -> None:
    one_way = data(edge_index=torch.tensor([[0, 2, 2], [1, 1, 1]]))
    assert as_read(one_way).edges.tolist() == [[0, 1], [1, 2]]
    assert as_read(one_way).n_duplicates == 1
    assert as_read(one_way, directed=True).edges.tolist() == [[0, 2], [1, 1]]


PYGOD = torch.tensor([1, 2, 3, 1] + [0] * 12)
TARGETS: dict[str, tuple[torch.Tensor, list[int] | None, list[int] | None, str]] = {
    "zeros and ones": (torch.tensor([0, 1, 0]), [0, 1, 0], None, ""),
    "zeros and ones in a column": (torch.tensor([[0.0], [1.0], [0.0]]), [0, 1, 0], None, ""),
    "flags": (torch.tensor([0, 1, 0]).bool(), [0, 1, 0], None, ""),
    "minus one for a node without a label": (torch.tensor([-1, 1, 0]), [-1, 1, 0], None, ""),
    "the coding of PyGOD": (PYGOD, [1] * 4 + [0] * 12, [2, 1, 3, 2] + [0] * 12, "…PyGOD…"),
    "topics": (torch.tensor([0, 1, 2]), None, None, "Left out y…"),
    "other topics": (torch.tensor([3, 4, 5]), None, None, "Left out y…"),
    "targets": (torch.tensor([0.5, 0.0, 0.0]), None, None, "Left out y…"),
}


@pytest.mark.parametrize(("y", "labels", "kinds", "said"), TARGETS.values(), ids=TARGETS)
def test_y_becomes_labels_and_kinds(
    as_read: Any, y: torch.Tensor, labels: list[int] | None, kinds: list[int] | None, said: str
) -> None:
    graph = as_read(data(x=torch.rand(len(y), 2), y=y), notices=(notices := []))
    assert (None if graph.labels is None else graph.labels.tolist()) == labels
    assert (None if graph.kinds is None else graph.kinds.tolist()) == kinds
    assert not said or fits(notices[0], said)


def test_sparse_attributes_of_an_object_stay_sparse() -> None:
    for x in (X.to_sparse_coo(), X.to_sparse_csr()):
        graph = from_data(data(x=x))
        assert graph.attributes.format == "csr"
        assert graph.attributes.toarray().tolist() == X.tolist()


@pytest.mark.parametrize(("fields", "words"), [
    ({"edge_index": None}, "needs edge_index"), ({"edge_index": torch.tensor([0, 1])}, "needs edge_index"),
    ({"edge_index": torch.tensor([[0.0], [1.0]])}, "whole numbers"),
    ({"edge_index": torch.tensor([[0], [3]])}, r"outside 0\.\.2"),
    ({"edge_index": torch.tensor([[0], [-1]])}, r"outside 0\.\.2"),
    ({"x": torch.ones(3)}, "attributes x of a PyG Data need the shape"), ({"x": X / 0}, "finite"),
])  # fmt: skip
def test_input_that_does_not_match_is_refused(as_read: Any, fields: dict[str, Any], words: str) -> None:
    refuses(words, data(**fields), by=as_read)


def test_a_dictionary_of_tensors_a_dataset_and_an_old_data_are_read(tmp_path: Path) -> None:
    tensors = {"x": X, "edge_index": BOTH_WAYS, "y": torch.tensor([0, 1, 0])}
    for content in (tensors, (tensors, None), (data(**tensors), {"x": 1})):
        torch.save(content, tmp_path / "t.pt")
        assert read_pt(tmp_path / "t.pt").labels.tolist() == [0, 1, 0]
    for content in ([1, 2], "text", torch.ones(3), {"a": torch.ones(3)}):
        torch.save(content, tmp_path / "t.pt")
        refuses("PyG Data", tmp_path / "t.pt", by=read_pt)


def test_without_pyg_tensors_are_read_and_a_data_is_refused_with_what_to_install(tmp_path: Path) -> None:
    torch.save(data(), tmp_path / "data.pt")
    torch.save({"x": X, "edge_index": BOTH_WAYS}, tmp_path / "tensors.pt")
    program = (
        "import sys; sys.modules['torch_geometric'] = None\n"
        "from pathlib import Path; from hopsight.io.pyg import read_pt\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "print(read_pt(folder / 'tensors.pt').n_edges)\n"
        "try: read_pt(folder / 'data.pt')\n"
        "except ValueError as error: print(error)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    count, refusal = result.stdout.splitlines()
    assert count == "2"
    assert "objects of PyTorch Geometric; run pip install 'hopsight[pyg]'" in refusal


class Evil:
    """Writes a file when it is unpickled."""

    def __reduce__(self) -> Any:
        return Path.touch, (Path(self.path),)

    def __init__(self, path: Path) -> None:
        self.path = str(path)


def test_code_in_a_file_never_runs(tmp_path: Path) -> None:
    torch.save({"x": X, "edge_index": BOTH_WAYS, "more": Evil(tmp_path / "ran")}, tmp_path / "t.pt")
    refuses("code never runs", tmp_path / "t.pt", by=read_pt)
    assert not (tmp_path / "ran").exists()


def test_a_zip_of_one_file_is_read_and_of_two_refused(tmp_path: Path) -> None:
    torch.save({"x": X, "edge_index": BOTH_WAYS}, tmp_path / "t.pt")
    for names in (["a.pt"], ["a.pt", "b.pt"]):
        with zipfile.ZipFile(tmp_path / "t.pt.zip", "w") as archive:
            for name in names:
                archive.write(tmp_path / "t.pt", name)
        if len(names) == 1:
            graph = read_pt(tmp_path / "t.pt.zip")
            assert (graph.n_edges, graph.name) == (2, "t")
            continue
        refuses(r"holds 2 \.pt files", tmp_path / "t.pt.zip", by=read_pt)


def test_weights_times_and_edge_attributes_come_along(as_read: Any) -> None:
    weight, time = torch.tensor([2.0, 2.0, 3.0, 3.0, 1.0]), torch.tensor([5, 5, 6, 6, 0])
    attributes = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [9.0, 9.0]])
    graph = as_read(data(edge_weight=weight, edge_time=time, edge_attr=attributes))
    assert graph.edge_weight.tolist() == [2, 3]  # both directions of an edge count once
    assert graph.edge_time.tolist() == [5, 6] and graph.edge_attributes.tolist() == [[1, 0], [0, 1]]
    directed = as_read(data(edge_weight=weight), directed=True)
    assert directed.edge_weight.tolist() == [2, 2, 3, 3]


def test_one_edge_attribute_is_the_weight(as_read: Any) -> None:
    one_way = torch.tensor([[0, 2, 2], [1, 1, 1]])
    graph = as_read(data(edge_index=one_way, edge_attr=torch.tensor([[0.5], [2.0], [3.0]])))
    assert graph.edge_weight.tolist() == [0.5, 5.0]  # duplicates add up
    graph = as_read(data(edge_attr=torch.ones(2)), notices=(notices := []))
    assert graph.edge_weight is None
    assert notices == ["Left out edge_attr: it is not one row of numbers per edge."]


def test_a_data_without_attributes_gets_those_of_its_structure(tmp_path: Path) -> None:
    data = geometric.Data(edge_index=torch.tensor([[0, 1, 2, 2], [1, 2, 0, 3]]), num_nodes=5)
    torch.save(data, tmp_path / "edges.pt")
    notices: list[str] = []
    for graph in (from_data(data, notices=notices), read_pt(tmp_path / "edges.pt", notices=notices)):
        assert graph.n_nodes == 5 and "clustering" in graph.attribute_names
    assert notices[0].endswith("attributes from the edges: structure.")


def test_only_the_first_of_several_graphs_is_read_and_it_is_said(tmp_path: Path) -> None:
    one = geometric.Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))
    torch.save([one, one], tmp_path / "two.pt")
    assert read_pt(tmp_path / "two.pt", notices=(notices := [])).n_nodes == 3
    assert notices == ["two.pt holds 2 graphs; read the first."]


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
    assert graph.attributes.tolist() == [[1, 2, 0], [3, 4, 0], [0, 0, 10], [0, 0, 20], [0, 0, 60]]
    assert graph.edges.tolist() == [[0, 1, 1], [2, 2, 4]]
    assert graph.edge_weight.tolist() == [5, 1, 3] and graph.labels.tolist() == [0, 1, -1, -1, -1]


def test_relations_and_their_reverse() -> None:
    data = reviews()
    data["item", "rev_rates", "user"].edge_index = torch.tensor([[0, 0, 2], [0, 1, 1]])
    assert load(data, notices=[]).n_edges == 3
    data["user", "follows", "user"].edge_index = torch.tensor([[0], [1]])
    graph = load(data, notices=[])
    assert [graph.relation_names[number] for number in graph.edge_relation] == ["follows", "rates", "rates", "rates"]
    assert graph.edge_weight.tolist() == [1, 5, 1, 3]


def test_what_is_missing_is_said_in_one_sentence() -> None:
    refuses("a HeteroData needs nodes", geometric.HeteroData())
    data = reviews()
    data["user", "rates", "item"].edge_index = torch.tensor([[0], [7]])
    refuses("user-rates-item have an end that is not there", data)
    bare = geometric.HeteroData()
    bare["user"].num_nodes = 3
    refuses("there is nothing to learn from", bare)


def test_types_without_any_attributes_get_those_of_the_structure(tmp_path: Path) -> None:
    data = geometric.HeteroData()
    data["user", "buys", "item"].edge_index = torch.tensor([[0, 1, 2, 3, 3], [0, 1, 2, 0, 1]])
    data["user"].num_nodes, data["item"].num_nodes = 4, 3
    torch.save(data, tmp_path / "edges.pt")
    for source in (data, tmp_path / "edges.pt"):
        graph = load(source, notices=[])
        assert graph.n_nodes == 7
        assert "core number" in graph.attribute_names or "out-degree, log" in graph.attribute_names
