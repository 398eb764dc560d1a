"""Read-only views."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.system.readonly import frozen, frozen_csr, still_writeable


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
