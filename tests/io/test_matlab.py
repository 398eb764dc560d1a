"""MATLAB files: both layouts, rows or columns, dense or sparse, topics; and refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import loadmat, savemat

from hopsight.graph import AttributedGraph
from hopsight.io.matlab import read_mat, write_mat

from .cases import refuses

ONCE = np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]])
X = np.array([[1.5, 0.0], [0.0, 2.5], [0.0, 0.0]])


@pytest.mark.parametrize("names", [("A", "X", "gnd"), ("Network", "Attributes", "Label")])
@pytest.mark.parametrize("adjacency", [ONCE, ONCE + ONCE.T, sp.csc_array(ONCE), sp.csc_array(7.0 * ONCE + ONCE.T)])
@pytest.mark.parametrize("labels", [[[0, 1, 0]], [[0], [1], [0]], [[0.0], [1.0], [0.0]]])
@pytest.mark.parametrize("compressed", [True, False])
def test_every_layout_is_one_graph(tmp_path: Path, names: Any, adjacency: Any, labels: Any, compressed: bool) -> None:
    values = (adjacency, X if isinstance(adjacency, np.ndarray) else sp.csc_array(X), np.array(labels))
    savemat(tmp_path / "g.mat", dict(zip(names, values, strict=True)), do_compression=compressed)
    graph = read_mat(tmp_path / "g.mat")
    assert graph.edges.tolist() == [[0, 0], [1, 2]] and graph.labels.tolist() == [0, 1, 0]
    assert sp.issparse(graph.attributes) == sp.issparse(adjacency)
    assert (graph.attributes @ np.ones(2)).tolist() == [1.5, 2.5, 0.0] and graph.name == "g"


@pytest.mark.parametrize("labels", [[1, 2, 6], [0, 1, 2], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]])
def test_topics_are_not_labels(tmp_path: Path, labels: Any) -> None:
    savemat(tmp_path / "g.mat", {"Network": ONCE, "Attributes": X, "Label": labels})
    assert read_mat(tmp_path / "g.mat", notices=(notices := [])).labels is None
    assert "Left out the labels" in notices[0]


def test_a_mat_is_directed_only_on_request(tmp_path: Path) -> None:
    savemat(tmp_path / "g.mat", {"A": ONCE, "X": X})
    assert read_mat(tmp_path / "g.mat", directed=True).adjacency.toarray().tolist() == ONCE.tolist()


def test_kinds_of_our_layout_and_of_the_dominant_authors(tmp_path: Path) -> None:
    fields = {"Network": ONCE, "Attributes": X, "Label": [1, 1, 0]}
    savemat(tmp_path / "ours.mat", fields | {"Kind": [1, 3, 0]})
    assert read_mat(tmp_path / "ours.mat").kinds.tolist() == [1, 3, 0]
    savemat(tmp_path / "theirs.mat", fields | {"str_anomaly_label": [1, 0, 0], "attr_anomaly_label": [0, 1, 0]})
    assert read_mat(tmp_path / "theirs.mat").kinds.tolist() == [1, 2, 0]
    savemat(tmp_path / "copies.mat", fields | {"str_anomaly_label": [1, 1, 0], "attr_anomaly_label": [1, 1, 0]})
    assert read_mat(tmp_path / "copies.mat").kinds is None


def test_matlab_users_find_the_usual_matrices(tmp_path: Path) -> None:
    write_mat(AttributedGraph(ONCE, X, labels=[0, 1, 0]), tmp_path / "g.mat")
    content = loadmat(tmp_path / "g.mat")
    assert content["Network"].toarray().tolist() == (ONCE + ONCE.T).tolist()
    assert content["Attributes"].tolist() == X.tolist()
    assert content["Label"].tolist() == [[0], [1], [0]]


@pytest.mark.parametrize(("fields", "words"), [
    ({"A": ONCE}, "A and X"), ({"Network": ONCE, "X": np.ones((2, 1))}, "do not match"),
    ({"A": np.ones((2, 3)), "X": np.ones((2, 1))}, "do not match"),
    ({"A": ONCE, "X": np.full((3, 1), np.nan)}, "finite"), ({"A": ONCE, "X": np.full((3, 1), 1j)}, "real numbers"),
    ({"A": {"field": 1}, "X": X}, "variable A must be a matrix of numbers"),
    ({"A": np.array([[1, "two"]], dtype=object), "X": X}, "variable A"), ({"A": "text", "X": X}, "variable A"),
    ({"A": np.ones((3, 3, 2)), "X": X}, "variable A"),
])  # fmt: skip
def test_matrices_that_are_no_graph_are_refused(tmp_path: Path, fields: dict[str, Any], words: str) -> None:
    savemat(tmp_path / "bad.mat", fields)
    refuses(words, tmp_path / "bad.mat", by=read_mat)


def test_other_variables_are_never_read(tmp_path: Path) -> None:
    others = {"comment": "text", "settings": {"seed": 1}, "cells": np.array([[1, "x"]], dtype=object)}
    savemat(tmp_path / "g.mat", {"A": ONCE, "X": X} | others)
    assert read_mat(tmp_path / "g.mat").n_edges == 2


@pytest.mark.parametrize(
    ("head", "words"),
    [(b"\x89HDF\r\n\x1a\n", "-v7"), (b"MATLAB 7.3 MAT-file", "-v7"), (b"any other file", "version 5 to 7")],
)
def test_other_versions_are_refused_by_name(tmp_path: Path, head: bytes, words: str) -> None:
    (tmp_path / "other.mat").write_bytes(head.ljust(200, b" "))
    refuses(words, tmp_path / "other.mat", by=read_mat)


@pytest.mark.parametrize(("name", "size", "n_anomalies"), [
    ("Amazon", (1418, 3695, 21), 28), ("Disney", (124, 335, 28), 6), ("Enron", (13533, 176987, 18), 5),
    ("BlogCatalog", (5196, 171743, 8189), None), ("Flickr", (7575, 239738, 12047), None),
    ("inj_cora", (2708, 5574, 1433), 138),
])  # fmt: skip
def test_the_graphs_of_the_literature(
    data_dir: Path, name: str, size: tuple[int, int, int], n_anomalies: int | None
) -> None:
    graph = read_mat(data_dir / f"{name}.mat", notices=[])
    assert (graph.n_nodes, graph.n_edges, graph.n_attributes) == size
    assert (None if graph.labels is None else int(graph.labels.sum())) == n_anomalies
    if name == "inj_cora":
        assert np.array_equal(graph.kinds > 0, graph.labels == 1)


def test_numbers_in_the_adjacency_matrix_are_weights(tmp_path: Path) -> None:
    from scipy.io import savemat

    symmetric = np.array([[0, 2.5, 0], [2.5, 0, -1], [0, -1, 0]])
    savemat(tmp_path / "g.mat", {"A": symmetric, "X": np.ones((3, 1))})
    assert read_mat(tmp_path / "g.mat").edge_weight.tolist() == [2.5, -1]
    savemat(tmp_path / "g.mat", {"A": sp.csc_matrix(np.triu(symmetric)), "X": np.ones((3, 1))})
    graph = read_mat(tmp_path / "g.mat")
    assert graph.edge_weight.tolist() == [2.5, -1]
    write_mat(graph, tmp_path / "again.mat")
    assert read_mat(tmp_path / "again.mat").edge_weight.tolist() == [2.5, -1]
    savemat(tmp_path / "g.mat", {"A": (symmetric != 0).astype(float), "X": np.ones((3, 1))})
    assert read_mat(tmp_path / "g.mat").edge_weight is None
