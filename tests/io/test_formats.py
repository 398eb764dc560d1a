"""Formats by suffix, and graphs of other libraries."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight import io
from hopsight.graph import AttributedGraph
from hopsight.io import graph_of

from .cases import refuses

WRITTEN = [".csv", ".tsv", ".csv.gz", ".parquet", ".mat", ".npz", ".graphml"]


@pytest.mark.parametrize("suffix", WRITTEN)
def test_everything_is_restored(hard_graph: AttributedGraph, tmp_path: Path, suffix: str) -> None:
    io.write(hard_graph, path := tmp_path / f"hard{suffix}", [])
    tables, exact = suffix.startswith((".csv", ".tsv", ".parquet")), suffix in (".mat", ".npz")
    names = [path.name, f"hard.nodes{suffix}"] if tables else [path.name]
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(names)
    again = io.read(path, notices=[])
    assert again.node_ids.tolist() == hard_graph.node_ids.tolist()
    known = hard_graph.attribute_names
    assert again.attribute_names == (known if exact else (*known[:3], "hopsight_label_2"))
    assert not exact or sp.issparse(again.attributes) == sp.issparse(hard_graph.attributes)
    attributes = [graph.attributes.toarray() if sp.issparse(graph.attributes) else graph.attributes
                  for graph in (again, hard_graph)]  # fmt: skip
    assert np.array_equal(*attributes)
    for field in ("edges", "labels", "kinds"):
        assert np.array_equal(getattr(again, field), getattr(hard_graph, field))
    assert suffix != ".npz" or (again.name, again.directed) == ("hard", False)


IDS = [
    *("a", "=1+1", "-x", "'q", "Zoë", "p q", "007", "1", "1.5", "x,y", 'say "hi"', "中文", "😀", "line\nbreak", "nan"),
    *("#c", "None", "null", "5.0", "2024-02-30", "Zoe\u0308", "TRUE", "1e5", "%", "a;b", "a\tb", "مرحبا", " b", "b "),
]
NAMES = ["age", "label", "x y", "=cmd", "city=Oslo", "name", "time", "node_type", "is_fraud", "tx_id", "amount", "y"]


def some_graph(seed: int) -> AttributedGraph:
    """Return a random graph with everything that a graph can have, or some of it, and names that readers guess from."""
    rng = np.random.default_rng(seed)
    n_nodes, n_columns, n_edge_columns = int(rng.integers(2, 14)), int(rng.integers(1, 5)), int(rng.integers(0, 3))
    n_rows = int(rng.integers(4, 3 * n_nodes + 4))

    def maybe(values: Any) -> Any:
        return values if rng.random() < 0.6 else None

    def gaps(values: Any) -> Any:
        return np.where(rng.random(np.shape(values)) < 0.2, np.nan, values)

    attributes: Any = rng.normal(size=(n_nodes, n_columns)) * 10.0 ** rng.integers(-5, 6, size=(1, n_columns))
    attributes = attributes.astype(np.float32) if rng.random() < 0.3 else attributes.round(3)
    if rng.random() < 0.3:
        attributes = sp.csr_array(attributes * (rng.random((n_nodes, n_columns)) < 0.3))
    ids = [None, rng.permutation(1000)[:n_nodes] - 500, rng.permutation(IDS)[:n_nodes].tolist()][rng.integers(3)]
    source = rng.integers(n_nodes, size=n_rows)
    return AttributedGraph.from_edges(
        source, (source + rng.integers(1, n_nodes, size=n_rows)) % n_nodes, attributes,
        directed=bool(rng.random() < 0.5), node_ids=ids, attribute_names=rng.permutation(NAMES)[:n_columns].tolist(),
        labels=maybe(rng.integers(-1, 2, n_nodes)), kinds=maybe(rng.integers(0, 4, n_nodes)),
        node_types=maybe(rng.choice(["user", "item", ""], n_nodes).tolist()),
        node_names=maybe(rng.permutation(IDS)[:n_nodes].tolist()),
        edge_weight=maybe(rng.normal(size=n_rows).round(1) if seed % 2 else rng.integers(0, 2, n_rows)),
        edge_time=maybe(gaps(rng.uniform(1.6e9, 1.7e9, n_rows)) if seed % 3 else rng.integers(0, 50, n_rows)),
        edge_attributes=gaps(rng.normal(size=(n_rows, n_edge_columns))) if n_edge_columns else None,
        edge_attribute_names=[name for name in rng.permutation(NAMES) if name != "time"][:n_edge_columns],
    )  # fmt: skip


def facts(graph: AttributedGraph) -> dict[str, Any]:
    """Return all that a graph holds, by the ids of its nodes as text; formats may change the order of nodes."""
    ids = [str(node) for node in graph.node_ids.tolist()]
    attributes = graph.attributes.toarray() if sp.issparse(graph.attributes) else graph.attributes
    each = (graph.labels, graph.kinds, graph.node_types, graph.node_names)
    values = ([None] * graph.n_nodes if v is None else v for v in each)
    nodes = zip(ids, attributes.astype(float).tolist(), *values, strict=True)
    ends = (sorted((ids[a], ids[b])) if not graph.directed else [ids[a], ids[b]] for a, b in graph.edges.T.tolist())
    data = (graph.edge_weight, graph.edge_time, graph.edge_attributes)
    values = ([None] * graph.n_edges if v is None else np.nan_to_num(v, nan=-1e99).tolist() for v in data)
    edges = zip(ends, *values, strict=True)
    names = (graph.attribute_names, graph.edge_attribute_names, graph.directed)
    return {"names": names, "nodes": sorted(nodes), "edges": sorted(edges)}


def check_conversions(seed: int, folder: Path) -> None:
    graph, files = some_graph(seed), 0
    for before, after in itertools.product(WRITTEN, repeat=2):
        found = graph
        for suffix in (before, after, before):
            files += 1
            io.write(found, folder / f"{files}{suffix}", notices := [])
            lost = [text for text in notices if "formulas" not in text]
            had, found = found.events is not None, io.read(folder / f"{files}{suffix}", notices=[])
            assert len(lost) == (had and found.events is None), "nothing but the events of a table read before"
            assert facts(found) == facts(graph), (seed, before, after, suffix)
            assert graph.directed or found.events is None, "nobody sends along an undirected edge"


@pytest.mark.parametrize("seed", range(4))
def test_converting_there_and_back_gives_the_same_graph_for_every_pair_of_formats(seed: int, tmp_path: Path) -> None:
    check_conversions(seed, tmp_path)


@pytest.mark.attack
def test_60_graphs_are_the_same_after_any_conversions(tmp_path: Path) -> None:
    for seed in range(4, 64):
        (tmp_path / str(seed)).mkdir()
        check_conversions(seed, tmp_path / str(seed))


def test_a_name_that_a_format_cannot_hold_is_changed_with_a_notice(tmp_path: Path) -> None:
    graph = AttributedGraph([[0, 1], [1, 0]], np.eye(2), attribute_names=["x", "x"])
    for suffix in (".csv", ".parquet", ".graphml"):
        io.write(graph, tmp_path / f"g{suffix}", notices := [])
        assert notices == [f"Renamed a column in g{suffix}, where names must differ: 'x' is 'x_2'."]
        assert io.read(tmp_path / f"g{suffix}", notices=[]).attribute_names == ("x", "x_2")


def test_weights_in_a_pair_of_matrices_are_those_of_the_edges() -> None:
    weights = [[0, 2.5, 0], [2.5, 0, -1], [0, -1, 0]]
    for matrix in (weights, sp.csr_array(np.array(weights))):
        assert graph_of((matrix, np.eye(3))).edge_weight.tolist() == [2.5, -1]
    assert graph_of((np.array(weights) != 0, np.eye(3))).edge_weight is None


def test_a_name_in_capitals_is_the_same_format(tmp_path: Path, two_cliques: AttributedGraph) -> None:
    for suffix in WRITTEN:
        io.write(two_cliques, tmp_path / f"G{suffix.upper()}")
        assert io.read(tmp_path / f"G{suffix.upper()}").n_edges == two_cliques.n_edges


@pytest.mark.parametrize("name", ["g.docx", "g", "g.csv.lz4", "csv"])
def test_an_unknown_suffix_is_refused(tmp_path: Path, two_cliques: AttributedGraph, name: str) -> None:
    (tmp_path / name).write_text("x")
    refuses(r"must end in \.csv", tmp_path / name, by=io.read)
    listed = r"must end in \.csv, \.tsv, \.csv\.gz, \.tsv\.gz, \.parquet, \.pq, \.npz, \.mat or \.graphml$"
    refuses(listed, two_cliques, tmp_path / name, by=io.write)


@pytest.mark.parametrize("suffix", WRITTEN)
def test_a_missing_folder_is_named(tmp_path: Path, two_cliques: AttributedGraph, suffix: str) -> None:
    refuses(r"cannot write .*No such file or directory", two_cliques, tmp_path / "no" / f"g{suffix}", by=io.write)


@pytest.mark.parametrize(
    "options", [{"nodes": "n.csv"}, {"label": "fraud"}, {"ignore": ["x"]}, {"id_column": "id"}, {"source_column": "s"}]
)
def test_options_of_tables_are_refused(tmp_path: Path, two_cliques: AttributedGraph, options: Any) -> None:
    io.write(two_cliques, tmp_path / "g.npz")
    refuses(f"{next(iter(options))} is for tables", tmp_path / "g.npz", **options, by=io.read)


def test_directions_that_a_file_lacks_get_a_notice(tmp_path: Path, two_cliques: AttributedGraph) -> None:
    io.write(two_cliques, tmp_path / "g.npz")
    assert not io.read(tmp_path / "g.npz", directed=True, notices=(notices := [])).directed
    assert "undirected" in notices[0]


A = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
X = np.array([[1.0], [2.0], [3.0]])


@pytest.mark.parametrize("kind", [np.array, np.ndarray.tolist, sp.csr_array, sp.coo_array])
@pytest.mark.parametrize("pair", [tuple, list])
def test_a_pair_of_matrices_is_a_graph(kind: Any, pair: Any) -> None:
    graph = graph_of(pair((kind(A), kind(X))))
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph_of((kind(A), kind(X)), directed=True).directed
    assert sp.issparse(graph.attributes) == (kind in (sp.csr_array, sp.coo_array))


@pytest.mark.parametrize("source", [None, 7, "edges.csv", Path("edges.csv"), A, (A,), (A, X, X), ("a", "b"), {}])
def test_anything_else_is_refused_with_what_is_accepted(source: Any) -> None:
    refuses(r"AttributedGraph, a PyG Data, a NetworkX graph or a pair", source, by=graph_of)
