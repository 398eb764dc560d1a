"""Sparse matrices on a device."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
import scipy.sparse as sp
import torch

from hopsight.system.arrays import csr_tensor


@pytest.fixture
def every_warning() -> Iterator[None]:
    """Let torch warn each time; it would warn once in a process."""
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)


def test_a_matrix_is_that_of_scipy_and_torch_warns_of_nothing(every_warning: None) -> None:
    matrix = sp.csr_array([[0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    parts = [torch.from_numpy(part) for part in (matrix.indptr, matrix.indices, matrix.data)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = csr_tensor(*parts, matrix.shape)
    assert found.to_dense().tolist() == matrix.toarray().tolist()
    assert [str(each.message) for each in caught] == []
