"""The one form of a graph: 0/1 edges without self-loops, finite attributes, ids of one type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.canonical import canonical_adjacency, canonical_attributes, canonical_ids, canonical_names, flags, texts

LOOP = [[5, 1, 0], [0, 0, -2], [0, 0, 0]]


@pytest.mark.parametrize("kind", [np.array, sp.csr_array, sp.coo_array, sp.csc_array, sp.lil_array])
@pytest.mark.parametrize("directed", [False, True])
def test_edges_are_zeros_and_ones_without_loops(kind: Any, directed: bool) -> None:
    found, n_loops = canonical_adjacency(kind(LOOP), directed)
    arcs = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    assert found.toarray().tolist() == (arcs if directed else arcs + arcs.T).tolist()
    assert n_loops == 1 and not found.data.flags.writeable


def test_entries_that_cancel_are_an_edge() -> None:
    twice = sp.coo_array(([1.0, -1.0], ([0, 0], [1, 1])), shape=(2, 2))
    assert canonical_adjacency(twice, directed=True)[0].toarray().tolist() == [[0, 1], [0, 0]]


@pytest.mark.parametrize("matrix", [[[0, 1]], [[0, np.nan], [0, 0]], [["a", "b"], ["c", "d"]]])
def test_what_is_no_adjacency_matrix_is_refused(matrix: Any) -> None:
    with pytest.raises(ValueError, match="the adjacency matrix must"):
        canonical_adjacency(matrix, directed=False)


def test_attributes_are_finite_and_stay_as_dense_as_they_were() -> None:
    assert canonical_attributes([[1, 2]], 1).dtype == np.float64
    assert canonical_attributes(np.ones((2, 1), dtype=np.float32), 2).dtype == np.float32
    assert sp.issparse(canonical_attributes(sp.eye_array(3), 3))
    mine = np.zeros((2, 2))
    kept = canonical_attributes(mine, 2)
    mine[0, 0] = 7.0
    assert kept[0, 0] == 0.0
    with pytest.raises(ValueError, match="row 1, column 0 is NaN or infinite"):
        canonical_attributes([[1.0], [np.inf]], 2)
    with pytest.raises(ValueError, match="one row for each of the 3 nodes"):
        canonical_attributes([[1.0], [2.0]], 3)


def test_ids_are_numbers_or_texts_and_unique() -> None:
    assert canonical_ids(None, 2).tolist() == [0, 1]
    assert canonical_ids([5, 3], 2).dtype == np.int64
    assert canonical_ids(["a", 3], 2).tolist() == ["a", "3"]
    with pytest.raises(ValueError, match="unique, but '3' occurs twice"):
        canonical_ids(["3", 3], 2)
    with pytest.raises(ValueError, match="one id for each of the 3 nodes, got 2"):
        canonical_ids(["a", "b"], 3)


def test_names_flags_and_texts_have_one_value_for_each() -> None:
    assert canonical_names(None, 2) == ("x0", "x1") and canonical_names(["a"], 1) == ("a",)
    assert flags("labels", None, 2, low=-1, high=1) is None and texts("node_names", None, 2) is None
    assert flags("labels", [1, -1], 2, low=-1, high=1).tolist() == [1, -1]
    assert texts("node_names", [1, "b"], 2).tolist() == ["1", "b"]
    for wrong in (lambda: canonical_names(["a"], 2), lambda: texts("node_names", ["a"], 2)):
        with pytest.raises(ValueError, match="must have one"):
            wrong()
    with pytest.raises(ValueError, match="labels must be whole numbers from -1 to 1"):
        flags("labels", [2], 1, low=-1, high=1)
