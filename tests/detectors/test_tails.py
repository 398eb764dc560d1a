"""Tails: quantiles by hand, SciPy's generalized Pareto, atoms, noise of many shapes, and Benjamini-Hochberg."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import expon, false_discovery_control, genpareto

from hopsight.detectors.tails import LARGEST, Ordered, ScoreTail, Tail, fit_tail, flag_limit, group_limit


def test_the_cautious_tail_by_hand() -> None:
    """At the median 1/2, one width above it 1/2 · 3/5 = .3, and with an atom all of it times its share."""
    tail = Tail(lowest=-9.0, share=1.0, median=2.0, width=3.0, shape=2.0)
    np.testing.assert_allclose(np.exp(-tail.surprise(np.array([2.0, 5.0, 8.0]))), [0.5, 0.3, 0.5 * 0.6**4])
    half = Tail(0.0, 0.5, 2.0, 3.0, 2.0)
    np.testing.assert_allclose(np.exp(-half.surprise(np.array([2.0, 5.0]))), [0.25, 0.15])
    assert half.surprise(np.array([0.0, -1.0])).tolist() == [0.0, 0.0]


def test_the_same_numbers_are_the_same_distribution(rng: np.random.Generator) -> None:
    values = rng.gamma(2.0, size=500)
    found = fit_tail(values)
    again = type(found)(*found.numbers())
    assert again == found and np.array_equal(again.surprise(values), found.surprise(values))


def test_surprise_rises_with_the_value_and_keeps_nan(rng: np.random.Generator) -> None:
    found = fit_tail(rng.normal(size=3_000))
    values = np.linspace(-6.0, 40.0, 500)
    assert (np.diff(found.surprise(values)) > 0).all()
    assert np.isnan(found.surprise(np.array([np.nan, 1.0]))).tolist() == [True, False]
    assert found.surprise(np.array([1e300, 1.7e308])).tolist() == [LARGEST, LARGEST]


def test_the_quantiles_of_the_bulk_are_kept(rng: np.random.Generator) -> None:
    """Median and quantile .7 by construction."""
    values = rng.exponential(size=50_000)
    tails = np.exp(-fit_tail(values).surprise(expon.ppf([0.5, 0.7])))
    np.testing.assert_allclose(tails, [0.5, 0.3], atol=0.01)


def test_values_tied_at_the_minimum_are_an_atom(rng: np.random.Generator) -> None:
    """Most nodes close no triangle: half of a graph at zero says nothing about how unusual the others are."""
    rest = 5.0 + rng.normal(size=5_000)
    with_atom = np.concatenate([np.zeros(5_000), rest])
    alone, both = fit_tail(rest), fit_tail(with_atom)
    assert both.share == 0.5 and both.surprise(np.zeros(1))[0] == 0.0
    difference = both.surprise(rest) - alone.surprise(rest)
    np.testing.assert_allclose(difference[rest > 5.1], np.log(2.0), atol=0.05)


@pytest.mark.parametrize(
    "values",
    [[], [np.nan, np.nan], [3.0], [3.0, 3.0, 3.0], [0.0] * 99 + [1.0], [1.0, 2.0], list(range(5)) * 20],
    ids=str,
)
def test_few_and_tied_values_have_finite_tails(values: list[float]) -> None:
    found = fit_tail(np.array(values, dtype=float))
    assert np.isfinite(found.numbers()).all()
    known = np.array([value for value in values if not np.isnan(value)], dtype=float)
    assert np.isfinite(found.surprise(known)).all()


def test_the_tail_of_scores_is_a_mean_of_generalized_pareto_tails() -> None:
    tail = ScoreTail(1.0, 0.3, np.array([0.2, -0.1]), np.array([2.0, 0.5]), np.array([0.25, 0.75]))
    values = np.array([0.5, 1.0, 2.0, 9.0])
    parts = [genpareto.sf(values, shape, 1.0, scale) for shape, scale in ((0.2, 2.0), (-0.1, 0.5))]
    expected = 0.3 * (0.25 * parts[0] + 0.75 * parts[1])
    np.testing.assert_allclose(tail.chance(values)[2:], expected[2:], rtol=1e-12)
    assert tail.chance(values)[:2].tolist() == [1.0, 1.0]
    assert tail.chance(np.array([tail.score_at(1e-5)]))[0] == pytest.approx(1e-5)


def test_p_values_of_exponential_scores_are_about_right(rng: np.random.Generator) -> None:
    scores = rng.exponential(size=100_000)
    tail = ScoreTail.fit(Ordered(scores))
    assert tail is not None
    p = tail.chance(scores)
    for level in (0.2, 0.1, 0.01, 0.001):
        assert 0.5 * level < (p <= level).mean() < 1.1 * level  # rather too few than too many


def test_how_high_the_top_is_does_not_move_the_tail(rng: np.random.Generator) -> None:
    """Anomalies are among the upper 7% of the scores: they count as high, but not as how high."""
    scores = np.sort(rng.exponential(size=1_000))
    higher = np.append(scores[:930], scores[930:] + 50.0)
    one, other = (ScoreTail.fit(Ordered(each)) for each in (higher, scores))
    assert one is not None and other is not None
    np.testing.assert_array_equal(one.chance(scores[:930]), other.chance(scores[:930]))


NOISE: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.normal(size=n), "uniform": lambda rng, n: rng.random(n),
    "exponential": lambda rng, n: rng.exponential(size=n), "lognormal": lambda rng, n: rng.lognormal(sigma=0.5, size=n),
    "t": lambda rng, n: np.abs(rng.standard_t(5, size=n)),
    "tied": lambda rng, n: np.where(rng.random(n) < 0.6, 0.0, rng.exponential(size=n)),
}  # fmt: skip


@pytest.mark.parametrize("n", [30, 100, 1000])
@pytest.mark.parametrize("noise", NOISE)
def test_noise_of_any_shape_is_rarely_flagged(noise: str, n: int) -> None:
    draws = [NOISE[noise](np.random.default_rng(seed), n) for seed in range(20)]
    assert sum((scores > flag_limit(Ordered(scores), 0.1)).any() for scores in draws) <= 4


@pytest.mark.parametrize("share", [0.005, 0.03, 0.08])
def test_anomalies_are_flagged_and_a_lower_level_flags_fewer(share: float, rng: np.random.Generator) -> None:
    n = round(share * 1_000)
    scores = np.append(rng.exponential(size=1_000 - n), 8.0 + 4.0 * rng.random(n))
    flagged = [scores > flag_limit(Ordered(scores), level) for level in (0.3, 0.1, 0.03, 1e-6)]
    assert flagged[1][-n:].mean() > 0.8 and flagged[1][:-n].sum() <= max(2, 0.2 * n)
    assert (np.diff([found.sum() for found in flagged]) <= 0).all() and not flagged[-1].any()


def test_the_flags_are_those_of_benjamini_and_hochberg(rng: np.random.Generator) -> None:
    """By the tail of the scores without the upper half of the flagged."""
    scores = np.append(rng.exponential(size=2_000), np.linspace(13.0, 15.0, 30))
    flagged = scores > flag_limit(Ordered(scores), 0.1)
    tail = ScoreTail.fit(Ordered(scores), int(flagged.sum()) // 2)
    assert tail is not None
    assert np.array_equal(flagged, false_discovery_control(tail.chance(scores), method="bh") <= 0.1)
    assert flagged.sum() in range(30, 34)


def test_strengths_are_flagged_only_if_they_are_rare_by_what_they_say(rng: np.random.Generator) -> None:
    """A thousand nodes; the bulk is narrow, and six are far above it, but 2 means one node in a hundred."""
    scores = np.append(rng.uniform(0.3, 0.6, size=994), np.full(6, 2.0))
    assert (scores > flag_limit(Ordered(scores), 0.1)).sum() == 6
    assert not (scores > flag_limit(Ordered(scores), 0.1, strengths=True)).any()
    scores[-6:] = 3.3  # 10^−3.3 < .1 · 6 / 1000
    assert (scores > flag_limit(Ordered(scores), 0.1, strengths=True)).sum() == 6


@pytest.mark.parametrize("values", [[], [3.0], [3.0] * 50, [0.0] * 99 + [1.0], [1.0, 2.0]], ids=str)
def test_nothing_is_flagged_among_few_or_equal_scores(values: list[float]) -> None:
    scores = np.array(values)
    assert not (scores > flag_limit(Ordered(scores), 0.1)).any()
    assert not (scores > group_limit(Ordered(scores), 0.1)).any() and ScoreTail.fit(Ordered(scores)) is None
