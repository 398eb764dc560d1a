"""Places among all nodes agree with counting, for dense and sparse attributes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.explanations import columns
from hopsight.explanations.columns import Columns, Places


@pytest.fixture
def table() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.where(rng.random((200, 6)) < 0.6, 0.0, rng.integers(-3, 4, (200, 6))).astype(np.float64)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_the_share_of_lower_values_is_the_one_that_counting_gives(table: np.ndarray, make: type) -> None:
    order = np.array([4, 0, 2])
    for row in table[:20]:
        found = Columns(make(table)).lower(order, row[order])
        assert found.tolist() == pytest.approx((table[:, order] < row[order]).mean(axis=0).tolist())


def test_a_large_table_is_compared_with_a_sample_of_its_rows(
    table: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "MAX_COMPARED_VALUES", 300)
    assert Columns(table).rows.shape == (50, 6)


def test_single_precision_and_unknown_values_have_a_place() -> None:
    places = Places(np.array([0.1, 0.2, np.nan], dtype=np.float32))
    assert places.lower(float(np.float32(0.2))) == pytest.approx(1 / 3)
    assert places.lower(np.nan) == 0
