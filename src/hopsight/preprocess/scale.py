"""Scaling of attribute columns and rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.system.threads import VALUES_AT_ONCE, in_order, n_threads

SCALINGS = ("auto", "none", "row", "standard", "clipped", "rank", "mixed")
LIMIT = 5.0  # standard deviations at which "clipped" clips
RANK_WEIGHT = 0.5  # "mixed" adds ranks to "clipped" with this weight
COLUMNS_AT_ONCE = 16
MANY_VALUES = 1 << 25  # of more numbers, copies are made for some columns at a time
VALUES_COPIED = 1 << 24  # by one thread for their mean and deviation
TINY = float(np.finfo(np.float64).tiny)  # smaller numbers lose digits, and NumPy 1.26 warns when dividing them

FloatArray = NDArray[np.float64]


def choose_scaling(attributes: Any) -> str:
    """Return ``"none"`` for a bag of words and ``"standard"`` for everything else.

    A bag of words has no negative values and at most a tenth nonzero ones. Its columns have the same unit, and
    standardizing would inflate the rarest words.

    >>> choose_scaling(np.eye(12)), choose_scaling(np.arange(8.0).reshape(4, 2))
    ('none', 'standard')
    """
    values = attributes.data if sp.issparse(attributes) else attributes
    if values.size and values.min() < 0:
        return "standard"
    return "none" if np.count_nonzero(values) <= 0.1 * np.prod(attributes.shape) else "standard"


def column_moments(attributes: Any) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of every column; a constant column gets its magnitude as deviation.

    A sparse matrix stays sparse. Columns are first divided by their largest magnitude, so that values near 1e300 do
    not overflow.
    """
    if not sp.issparse(attributes) and attributes.size > VALUES_COPIED and attributes.shape[1] > 1:
        width = max(1, VALUES_COPIED // attributes.shape[0])
        parts = [attributes[:, start : start + width] for start in range(0, attributes.shape[1], width)]
        means, deviations = zip(*in_order(column_moments, parts), strict=True)
        return np.concatenate(means), np.concatenate(deviations)
    peak = np.asarray(abs(attributes).max(axis=0).todense() if sp.issparse(attributes) else abs(attributes).max(axis=0))
    peak = peak.ravel().astype(np.float64)
    peak[peak < 1e-300] = 1.0  # practically zero, and the inverse would overflow
    if sp.issparse(attributes):
        scaled = attributes.astype(np.float64) @ sp.diags_array(1.0 / peak)
        mean = np.asarray(scaled.mean(axis=0)).ravel()
        square = np.asarray(scaled.multiply(scaled).mean(axis=0)).ravel()
        deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
    else:
        scaled = attributes / peak
        mean, deviation = scaled.mean(axis=0, dtype=np.float64), scaled.std(axis=0, dtype=np.float64)
    constant = deviation < 1e-10
    mean, deviation = np.clip(mean, -1.0, 1.0), np.minimum(deviation, 1.0)  # beyond, it is rounding, and could overflow
    return mean * peak, peak * np.where(constant, 1.0, deviation)


def row_scaled(attributes: Any) -> Any:
    """Divide every row by the sum of its magnitudes; a zero row stays zero."""
    total = np.asarray(abs(attributes).sum(axis=1), dtype=np.float64).ravel()
    inverse = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    if sp.issparse(attributes):
        return sp.csr_array(sp.diags_array(inverse) @ attributes)
    return attributes * inverse[:, None]


def column_quantiles(attributes: Any, n_points: int = 1001) -> FloatArray:
    """Return ``(n_points, n_columns)`` quantiles of every column, the reference for ranks."""
    levels = np.linspace(0.0, 1.0, n_points)
    out = np.empty((n_points, attributes.shape[1]))
    for columns, values in _columns(attributes, lambda rows, _: np.quantile(rows, levels, axis=1)):
        out[:, columns] = values
    return out


def ranked(attributes: Any, quantiles: FloatArray) -> FloatArray:
    """Replace every value by its mid-rank among the reference quantiles, from −½ to ½."""
    out, known = np.empty(attributes.shape), np.ascontiguousarray(quantiles.T)

    def places(rows: FloatArray, columns: slice) -> FloatArray:
        found = np.empty(rows.shape)
        for row, reference, place in zip(rows, known[columns], found, strict=True):
            place[:] = np.searchsorted(reference, row, side="left")
            place += np.searchsorted(reference, row, side="right")
        return (found / (2.0 * len(quantiles)) - 0.5).T

    for columns, values in _columns(attributes, places):
        out[:, columns] = values
    return out


def _columns(attributes: Any, work: Callable[..., FloatArray]) -> Iterator[tuple[slice, FloatArray]]:
    """Yield blocks of columns, and the result of the work on them: each column as a row, so that it is contiguous."""
    by_column: Any = attributes.tocsc() if sp.issparse(attributes) else np.asarray(attributes)
    few = MANY_VALUES // (n_threads() * max(1, attributes.shape[0]))
    width = max(1, min(COLUMNS_AT_ONCE, attributes.shape[1] // n_threads(), few))
    parts = [slice(start, start + width) for start in range(0, attributes.shape[1], width)]

    def prepared(columns: slice) -> FloatArray:
        chosen = by_column[:, columns]
        rows = np.ascontiguousarray(chosen.toarray().T if sp.issparse(chosen) else chosen.T)
        return work(rows, columns)

    run = map if np.prod(attributes.shape) <= VALUES_AT_ONCE else in_order  # a thread costs more than a few rows
    yield from zip(parts, run(prepared, parts), strict=True)


def rank_spread(quantiles: FloatArray) -> FloatArray:
    """Return the standard deviation of the ranks of each column, which is smaller where values are tied."""
    spread = ranked(quantiles, quantiles).std(axis=0)
    return np.asarray(np.where(spread > 0, spread, 1.0))


def clipped(attributes: Any, center: FloatArray, scale: FloatArray) -> FloatArray:
    """Standardize, and clip values to five standard deviations."""
    dense = attributes.toarray() if sp.issparse(attributes) else attributes
    return np.clip(dense / scale - center / scale, -LIMIT, LIMIT)  # in this order nothing overflows


def unit_of(attributes: Any) -> float:
    """Return 1, or the largest magnitude if it is too far from 1 for sums of fourth powers in single precision.

    >>> unit_of(np.array([[0.0, -700.0]])), unit_of(np.array([[1e-12, 5e-12]])), unit_of(np.array([[2e-309]]))
    (1.0, 5e-12, 1.0)
    """
    largest = float(max(attributes.max(), -attributes.min()))
    return 1.0 if largest < TINY or 1e-4 <= largest <= 1e4 else largest
