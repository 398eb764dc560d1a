"""Formats by suffix, and graphs of other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight import io
from hopsight.graph import AttributedGraph
from hopsight.io import graph_of

WRITTEN = [".csv", ".tsv", ".csv.gz", ".parquet", ".mat", ".npz", ".graphml"]


@pytest.mark.parametrize("before", WRITTEN)
@pytest.mark.parametrize("after", [".npz", ".csv"])
def test_any_format_converts_to_any_other(
    tmp_path: Path, two_cliques: AttributedGraph, before: str, after: str
) -> None:
    io.write(two_cliques, tmp_path / f"a{before}")
    io.write(io.read(tmp_path / f"a{before}"), tmp_path / f"b{after}")
    graph = io.read(str(tmp_path / f"b{after}"))
    assert np.array_equal(graph.edges, two_cliques.edges)
    assert np.array_equal(graph.attributes, two_cliques.attributes)
    assert graph.node_ids.tolist() == list(range(8))
    assert graph.attribute_names == ("x0", "x1")


def test_a_name_in_capitals_is_the_same_format(tmp_path: Path, two_cliques: AttributedGraph) -> None:
    for suffix in WRITTEN:
        io.write(two_cliques, tmp_path / f"G{suffix.upper()}")
        assert io.read(tmp_path / f"G{suffix.upper()}").n_edges == two_cliques.n_edges


@pytest.mark.parametrize("name", ["g.docx", "g", "g.csv.lz4", "csv"])
def test_an_unknown_suffix_is_refused(tmp_path: Path, two_cliques: AttributedGraph, name: str) -> None:
    (tmp_path / name).write_text("x")
    with pytest.raises(ValueError, match=r"must end in \.csv"):
        io.read(tmp_path / name)
    with pytest.raises(ValueError, match=r"must end in \.csv"):
        io.write(two_cliques, tmp_path / name)


@pytest.mark.parametrize("suffix", WRITTEN)
def test_a_missing_folder_is_reported_in_one_sentence(
    tmp_path: Path, two_cliques: AttributedGraph, suffix: str
) -> None:
    with pytest.raises(ValueError, match=r"cannot write .*No such file or directory"):
        io.write(two_cliques, tmp_path / "no" / f"g{suffix}")


@pytest.mark.parametrize(
    "options", [{"nodes": "n.csv"}, {"label": "fraud"}, {"ignore": ["x"]}, {"id_column": "id"}, {"source_column": "s"}]
)
def test_options_that_a_format_does_not_use_are_refused(
    tmp_path: Path, two_cliques: AttributedGraph, options: dict[str, Any]
) -> None:
    io.write(two_cliques, tmp_path / "g.npz")
    with pytest.raises(ValueError, match=f"{next(iter(options))} is for tables"):
        io.read(tmp_path / "g.npz", **options)


def test_asking_for_directions_that_a_file_does_not_have_gets_a_notice(
    tmp_path: Path, two_cliques: AttributedGraph
) -> None:
    io.write(two_cliques, tmp_path / "g.npz")
    notices: list[str] = []
    assert not io.read(tmp_path / "g.npz", directed=True, notices=notices).directed
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
    with pytest.raises(ValueError, match=r"AttributedGraph, a PyG Data, a NetworkX graph or a pair"):
        graph_of(source)
