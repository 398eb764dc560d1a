"""Scaling: values by hand, dense and sparse alike, and extremes of double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.preprocess import AttributeTransform
from hopsight.preprocess.transform import (
    choose_scaling,
    clipped,
    column_moments,
    column_quantiles,
    rank_spread,
    ranked,
    row_scaled,
)

TABLE = np.array([[1.0, 0.0, 5.0], [3.0, 0.0, 5.0], [5.0, 0.0, 5.0], [7.0, 8.0, 5.0]])


def as_given(kind: str, matrix: np.ndarray) -> Any:
    return sp.csr_array(matrix) if kind == "sparse" else matrix


def to_dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else matrix


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_moments_by_hand(kind: str) -> None:
    mean, deviation = column_moments(as_given(kind, TABLE))
    np.testing.assert_allclose(mean, [4.0, 2.0, 5.0])
    np.testing.assert_allclose(deviation, [np.sqrt(5.0), np.sqrt(12.0), 5.0])  # nothing to divide a constant by


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_rows_sum_to_one_in_magnitude(kind: str) -> None:
    scaled = row_scaled(as_given(kind, np.array([[1.0, -3.0], [0.0, 0.0], [2.0, 2.0]])))
    assert sp.issparse(scaled) == (kind == "sparse")
    assert to_dense(scaled).tolist() == [[0.25, -0.75], [0.0, 0.0], [0.5, 0.5]]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_ranks_by_hand(kind: str) -> None:
    """Of the 1,001 quantiles of 0, 0, 0, 8 the first 667 are 0 (two thirds of the way), and the last alone is 8."""
    matrix = as_given(kind, TABLE)
    quantiles = column_quantiles(matrix)
    assert quantiles.shape == (1001, 3)
    assert quantiles[[0, 500, 1000], 0].tolist() == [1.0, 4.0, 7.0]
    ranks = ranked(matrix, quantiles)
    assert ranks.min() >= -0.5 and ranks.max() <= 0.5
    np.testing.assert_allclose(ranks[:, 1], np.array([667, 667, 667, 2001]) / 2002 - 0.5)
    assert (np.diff(ranks[:, 0]) > 0).all()
    np.testing.assert_allclose(ranks[:, 2], 0.0, atol=1e-12)  # a constant column says nothing
    np.testing.assert_allclose(ranks[:, 0], -ranks[::-1, 0], atol=1e-12)  # 1, 3, 5, 7 lie symmetrically


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_values_are_clipped_at_five_deviations(kind: str) -> None:
    matrix = as_given(kind, np.array([[3.0], [-12.0], [1e12]]))
    assert clipped(matrix, np.array([1.0]), np.array([2.0])).tolist() == [[1.0], [-5.0], [5.0]]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_bag_of_words_is_not_scaled(kind: str) -> None:
    words = np.zeros((10, 20))
    words[np.arange(10), np.arange(10) * 2] = 3.0
    assert choose_scaling(as_given(kind, words)) == "none"
    words[0, 1] = -1.0  # a count is never negative
    assert choose_scaling(as_given(kind, words)) == "standard"
    assert choose_scaling(as_given(kind, np.abs(TABLE))) == "standard"


def test_stored_zeros_do_not_count_as_words() -> None:
    stored = sp.csr_array((np.zeros(100), np.tile(np.arange(10), 10), np.arange(0, 101, 10)), shape=(10, 10))
    assert stored.nnz == 100 and choose_scaling(stored) == "none"


def test_mixed_is_values_beside_ranks_at_half_weight() -> None:
    """Values 0, 1, 2, 3 and, beside them, their ranks: the same spacing, half the spread."""
    column = np.repeat(np.arange(4.0), 250)[:, None]
    transform = AttributeTransform.fit(column, ["x"], scaling="mixed", rng=np.random.default_rng(0))
    both = transform.apply(column, ["x"])
    assert both.shape == (1000, 2) and transform.n_outputs == 2
    np.testing.assert_allclose(both[::250, 0], (np.arange(4) - 1.5) / np.sqrt(1.25))
    np.testing.assert_allclose(both[::250, 1], both[::250, 0] / 2, atol=2e-3)


def test_ranks_of_a_constant_column_are_zero_and_an_outlier_has_no_weight() -> None:
    quantiles = column_quantiles(np.column_stack([np.ones(100), np.append(np.arange(99.0), 1e9)]))
    ranks = ranked(np.array([[1.0, 98.0], [1.0, 1e9]]), quantiles) / rank_spread(quantiles)
    assert ranks[:, 0].tolist() == [0.0, 0.0]
    assert 0 < ranks[1, 1] - ranks[0, 1] < 0.1


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("n_rows", [2, 10, 33])
def test_the_largest_numbers_have_finite_moments(kind: str, n_rows: int) -> None:
    """Rounding makes the mean of equal numbers a little larger than each of them, if nothing holds it back."""
    largest = np.finfo(np.float64).max
    mean, deviation = column_moments(as_given(kind, np.full((n_rows, 1), largest)))
    assert mean == pytest.approx(largest, rel=1e-6) and np.isfinite(deviation).all()
