"""Tails and nulls: quantiles by hand, normal data, atoms, and Benjamini-Hochberg as SciPy applies it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import expon, false_discovery_control, norm

from hopsight.detectors.tails import LARGEST, Null, Tail, count_flagged, fit_null, fit_tail, tail_probability

FITS = pytest.mark.parametrize("fit", [fit_tail, fit_null])


def test_the_cautious_tail_by_hand() -> None:
    """At the median 1/2, one width above it 1/2 · 3/5 = .3, and with an atom all of it times its share."""
    tail = Tail(lowest=-9.0, share=1.0, median=2.0, width=3.0, shape=2.0)
    np.testing.assert_allclose(np.exp(-tail.surprise(np.array([2.0, 5.0, 8.0]))), [0.5, 0.3, 0.5 * 0.6**4])
    half = Tail(0.0, 0.5, 2.0, 3.0, 2.0)
    np.testing.assert_allclose(np.exp(-half.surprise(np.array([2.0, 5.0]))), [0.25, 0.15])
    assert half.surprise(np.array([0.0, -1.0])).tolist() == [0.0, 0.0]


def test_the_null_by_hand() -> None:
    """At the median 1/2, one width above it .3; with shape 1 it is a normal distribution."""
    null = Null(lowest=-9.0, share=1.0, median=2.0, width=3.0, shape=1.0)
    deviation = 3.0 / norm.ppf(0.7)
    values = np.array([2.0, 5.0, 8.0, 20.0])
    np.testing.assert_allclose(np.exp(-null.surprise(values)), norm.sf(values, 2.0, deviation))
    assert np.exp(-null.surprise(np.array([5.0])))[0] == pytest.approx(0.3)


@FITS
def test_the_same_numbers_are_the_same_distribution(fit: object, rng: np.random.Generator) -> None:
    values = rng.gamma(2.0, size=500)
    found = fit(values)  # type: ignore[operator]
    again = type(found)(*found.numbers())
    assert again == found and np.array_equal(again.surprise(values), found.surprise(values))


@FITS
def test_surprise_rises_with_the_value_and_keeps_nan(fit: object, rng: np.random.Generator) -> None:
    found = fit(rng.normal(size=3_000))  # type: ignore[operator]
    values = np.linspace(-6.0, 40.0, 500)
    assert (np.diff(found.surprise(values)) > 0).all()
    assert np.isnan(found.surprise(np.array([np.nan, 1.0]))).tolist() == [True, False]
    assert found.surprise(np.array([1e300, 1.7e308])).tolist() == [LARGEST, LARGEST]


def test_the_quantiles_of_the_bulk_are_kept(rng: np.random.Generator) -> None:
    """Median and quantile .7 by construction."""
    values = rng.exponential(size=50_000)
    for fit in (fit_tail, fit_null):
        tails = np.exp(-fit(values).surprise(expon.ppf([0.5, 0.7])))
        np.testing.assert_allclose(tails, [0.5, 0.3], atol=0.01)


def test_the_null_of_normal_data_is_slightly_heavier_than_normal(rng: np.random.Generator) -> None:
    found = np.exp(-fit_null(rng.normal(size=200_000)).surprise(np.array([1.0, 2.0, 3.0, 4.0])))
    exact = norm.sf([1.0, 2.0, 3.0, 4.0])
    assert (found > 0.97 * exact).all() and (found < 4.0 * exact).all()


def test_a_heavy_bulk_has_a_heavy_tail(rng: np.random.Generator) -> None:
    """The same distance in widths is much less surprising where the bulk itself is skewed."""
    light, heavy = fit_null(rng.normal(size=20_000)), fit_null(rng.lognormal(sigma=1.5, size=20_000))
    far = [float(null.surprise(np.array([null.median + 20 * null.width]))[0]) for null in (light, heavy)]
    assert far[0] > 3 * far[1]


@pytest.mark.parametrize("share", [0.01, 0.05, 0.1])
def test_anomalies_hardly_move_the_null(share: float, rng: np.random.Generator) -> None:
    values = rng.normal(size=20_000)
    clean = fit_null(values)
    values[: int(share * values.size)] += 8.0
    dirty = fit_null(values)
    assert dirty.median == pytest.approx(clean.median, abs=0.05)
    assert dirty.surprise(np.array([8.0]))[0] > 0.6 * clean.surprise(np.array([8.0]))[0]


def test_values_tied_at_the_minimum_are_an_atom(rng: np.random.Generator) -> None:
    """Most nodes close no triangle: half of a graph at zero says nothing about how unusual the others are."""
    rest = 5.0 + rng.normal(size=5_000)
    with_atom = np.concatenate([np.zeros(5_000), rest])
    for fit in (fit_tail, fit_null):
        alone, both = fit(rest), fit(with_atom)
        assert both.share == 0.5 and both.surprise(np.zeros(1))[0] == 0.0
        difference = both.surprise(rest) - alone.surprise(rest)
        np.testing.assert_allclose(difference[rest > 5.1], np.log(2.0), atol=0.05)


@FITS
@pytest.mark.parametrize(
    "values",
    [[], [np.nan, np.nan], [3.0], [3.0, 3.0, 3.0], [0.0] * 99 + [1.0], [1.0, 2.0], list(range(5)) * 20],
    ids=str,
)
def test_few_and_tied_values_have_finite_tails(fit: object, values: list[float]) -> None:
    found = fit(np.array(values, dtype=float))  # type: ignore[operator]
    assert np.isfinite(found.numbers()).all()
    known = np.array([value for value in values if not np.isnan(value)], dtype=float)
    assert np.isfinite(found.surprise(known)).all()


def test_tail_probabilities_of_normal_data_are_uniform_in_the_upper_half(rng: np.random.Generator) -> None:
    values = rng.normal(size=100_000)
    p = tail_probability(values)
    for level in (0.5, 0.3, 0.1, 0.01):
        assert 0.5 * level < (p <= level).mean() < 1.1 * level  # rather too few than too many
    assert tail_probability(np.array([1.0, np.nan, 2.0, 3.0]))[1] == 1.0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("false_alarms", [0.01, 0.1, 0.3])
def test_the_number_of_flags_is_that_of_scipy(seed: int, false_alarms: float) -> None:
    rng = np.random.default_rng(seed)
    p = np.concatenate([rng.random(500), rng.random(60) ** 6])
    assert count_flagged(p, false_alarms) == (false_discovery_control(p, method="bh") <= false_alarms).sum()


def test_flags_by_hand() -> None:
    """Limits for five at 10%: .02, .04, .06, .08, .1; the third passes, so do all before it."""
    assert count_flagged(np.array([0.9, 0.055, 0.03, 0.5, 0.05]), 0.1) == 3
    assert count_flagged(np.array([0.5, 0.6]), 0.1) == 0 and count_flagged(np.empty(0), 0.1) == 0
