"""The matrix to reconstruct: dense and sparse rows give the same products, differences and entries."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hopsight.nn.target import Target

CPU = torch.device("cpu")


@pytest.fixture
def matrix(rng: np.random.Generator) -> sp.csr_array:
    """Return a 9 × 5 matrix, row 2 empty."""
    dense = rng.normal(size=(9, 5)) * (rng.random((9, 5)) < 0.4)
    dense[2] = 0.0
    return sp.csr_array(dense)


@pytest.mark.parametrize("stored", ["sparse", "dense"])
@pytest.mark.parametrize("rows", [slice(0, 9), slice(2, 6), torch.tensor([7, 2, 0])])
def test_rows_are_subtracted_in_place(matrix: sp.csr_array, stored: str, rows: slice | torch.Tensor) -> None:
    target = Target.of(matrix if stored == "sparse" else matrix.toarray(), CPU, torch.float64)
    dense = torch.from_numpy(matrix.toarray())
    block = torch.ones_like(dense[rows])
    target.subtract_from(block, rows)
    torch.testing.assert_close(block, 1 - dense[rows])
    torch.testing.assert_close(target.squares, dense.square().sum(1))
    torch.testing.assert_close(target.as_dense(), dense)
    torch.testing.assert_close(target.times(torch.eye(5, dtype=torch.float64)), dense)


def test_entries_between_two_columns_are_counted_from_the_first(matrix: sp.csr_array) -> None:
    found = Target.of(matrix, CPU, torch.float64).entries(slice(3, 8)).between(1, 4)
    rebuilt = torch.zeros((5, 3), dtype=torch.float64)
    rebuilt[found.row, found.column] = found.values
    torch.testing.assert_close(rebuilt, torch.from_numpy(matrix.toarray()[3:8, 1:4]))


def test_duplicate_entries_are_added_and_the_input_is_unchanged() -> None:
    twice = sp.csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    target = Target.of(twice, CPU, torch.float64)
    assert target.as_dense().tolist() == [[0.0, 2.0], [1.0, 0.0]]
    assert target.squares.tolist() == [4.0, 1.0]
    assert twice.nnz == 3


def test_symmetry_is_detected() -> None:
    edges = sp.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]]))
    assert not Target.of(edges, CPU).symmetric
    assert Target.of(edges + edges.T, CPU).symmetric
