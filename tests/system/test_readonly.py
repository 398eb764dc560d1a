"""Read-only views."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.system.arrays import frozen, frozen_csr, is_simple, simple_csr, still_writeable


def test_a_frozen_array_refuses_changes_and_the_callers_stays_writeable() -> None:
    mine = np.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        frozen(mine)[0] = 1.0
    mine[0] = 2.0
    matrix = frozen_csr(sp.csr_array(np.eye(2)))
    with pytest.raises(ValueError, match="read-only"):
        matrix.data[0] = 5.0


def test_only_a_view_of_a_writeable_array_can_still_change() -> None:
    mine = np.zeros(3)
    assert still_writeable(mine[:2], mine)
    assert not still_writeable(mine.copy(), mine)
    assert not still_writeable(frozen(mine), frozen(mine))


def test_a_matrix_that_was_changed_is_no_longer_known_to_be_simple() -> None:
    path = simple_csr(sp.csr_array(np.array([[0, 1], [1, 0]], dtype=np.float32)))
    assert is_simple(path)
    assert not is_simple(frozen_csr(path))
    assert not is_simple(copy.deepcopy(path))  # which can be written to
    path.data = np.array([1.0, 0.0], dtype=np.float32)
    assert not is_simple(path)
