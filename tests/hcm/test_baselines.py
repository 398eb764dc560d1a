"""Laws of the bulk: variance by degree, a robust line, ridge regressions as scikit-learn fits them, ranks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.linear_model import Ridge

from hopsight.hcm.evidence import (
    PENALTIES,
    AttributeBaseline,
    degree_line,
    fit_mean_baseline,
    fit_ridges,
    mean_z,
    quantile_levels,
    ranks,
)


def node_means(rng: np.random.Generator, between: float, within: float, n: int = 20_000) -> tuple[np.ndarray, ...]:
    degrees = rng.integers(1, 60, n)
    spread = np.sqrt(between / (1.0 + degrees / 3.0) + within / degrees)
    return 3.0 + spread * rng.standard_normal(n), degrees


@pytest.mark.parametrize(("between", "within"), [(0.5, 2.0), (0.0, 4.0), (1.0, 0.0)])
def test_between_and_within_are_found(between: float, within: float, rng: np.random.Generator) -> None:
    """Trimming the largest 2% of squared normal deviates lowers a variance by about a tenth."""
    center, a, b = fit_mean_baseline(*node_means(rng, between, within))
    assert center == pytest.approx(3.0, abs=0.05)
    assert a == pytest.approx(0.9 * between, abs=0.08) and b == pytest.approx(0.9 * within, abs=0.3)


def test_a_few_anomalies_do_not_move_the_baseline(rng: np.random.Generator) -> None:
    means, degrees = node_means(rng, 0.5, 2.0)
    clean = fit_mean_baseline(means, degrees)
    means[:100] += 50.0
    np.testing.assert_allclose(fit_mean_baseline(means, degrees), clean, atol=0.15)
    assert mean_z(means, degrees, clean)[:100].min() > 20


def test_standard_errors_by_hand() -> None:
    z = mean_z(np.array([5.0, 5.0, np.nan]), np.array([4, 1, 0]), np.array([1.0, 3.0, 4.0]))
    np.testing.assert_allclose(z, [4.0 / np.sqrt(3.0 / (7 / 3) + 1.0), 4.0 / np.sqrt(3.0 / (4 / 3) + 4.0), np.nan])


def test_evidence_adds_up_over_edges() -> None:
    """The same mean over a hundred times as many edges is ten times as sharp where nodes do not differ."""
    hub, other = mean_z(np.array([2.0, 2.0]), np.array([400, 4]), np.array([1.0, 0.0, 1.0]))
    assert hub == pytest.approx(10.0 * other)


def test_the_line_is_found_and_hubs_do_not_move_it(rng: np.random.Generator) -> None:
    degrees = rng.integers(1, 200, 2_000)
    values = 2.0 - 0.5 * np.log(degrees) + 0.1 * rng.standard_normal(2_000)
    np.testing.assert_allclose(degree_line(values, degrees), [2.0, -0.5], atol=0.06)
    degrees[:3], values[:3] = 5_000, 90.0
    np.testing.assert_allclose(degree_line(values, degrees), [2.0, -0.5], atol=0.08)


def test_the_line_by_hand() -> None:
    """Three nodes are three groups; slopes 1, 1 and 1 between them, and node 3 without edges counts for nothing."""
    degrees = np.array([1, 7, 49, 0])
    np.testing.assert_allclose(degree_line(np.log(np.array([2, 14, 98, 1])), degrees), [np.log(2.0), 1.0])
    assert degree_line(np.array([4.0, 6.0, 5.0]), np.array([3, 3, 3])).tolist() == [5.0, 0.0]
    assert degree_line(np.array([4.0, 1.0]), np.array([3, 0])).tolist() == [0.0, 0.0]


def test_ridges_are_those_of_scikit_learn(rng: np.random.Generator) -> None:
    """Five regressions on standardized columns, one penalty for all by cross-validation, the median residual zero."""
    columns = rng.normal(size=(300, 6)) * np.array([1.0, 5.0, 0.1, 2.0, 1.0, 1.0]) + 3.0
    columns[:, 5] = 7.0  # says nothing
    wanted = columns[:, 0] - 0.4 * columns[:, 1] + rng.normal(size=300) ** 2
    folds = rng.integers(0, 5, 300)
    spread = columns.std(axis=0)
    standard = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    errors, predictions = [], []
    for penalty in PENALTIES:
        predicted = np.empty(300)
        for fold in range(5):
            mine = folds == fold
            predicted[mine] = Ridge(penalty).fit(standard[~mine], wanted[~mine]).predict(standard[mine])
        errors.append(((predicted - wanted) ** 2).mean())
        predictions.append(predicted)
    best = predictions[int(np.argmin(errors))]
    usual = AttributeBaseline(columns.mean(axis=0), fit_ridges(columns, wanted, folds, 5))
    degrees = np.expm1(wanted - wanted.min()).round().astype(np.int64)
    found = np.log1p(degrees) - usual.residual(columns, degrees, folds)
    np.testing.assert_allclose(found, best + np.median(wanted - best), rtol=1e-8)
    assert np.median(wanted - found) == pytest.approx(0.0, abs=1e-12)


def test_a_node_has_no_part_in_its_own_prediction(rng: np.random.Generator) -> None:
    columns, degrees = rng.normal(size=(200, 3)), rng.integers(1, 20, 200)
    folds = np.arange(200) % 5
    before = AttributeBaseline.fit(columns, degrees, folds)
    changed = degrees.copy()
    changed[7] = 4_000
    after = AttributeBaseline.fit(columns, changed, folds)
    one, other = (usual.ridges[folds[7], :-1] for usual in (before, after))
    np.testing.assert_allclose(one, other, rtol=0.5)
    assert after.residual(columns, changed, folds)[7] > 5.0


def test_deviation_by_hand() -> None:
    usual = AttributeBaseline(np.array([1.0, 1.0]), np.zeros((5, 3)))
    np.testing.assert_allclose(usual.deviation(np.array([[1.0, 1.0], [4.0, 5.0]])), [0.0, 5.0 / np.sqrt(2.0)])


def test_ranks_are_those_of_scipy_up_to_the_grid(rng: np.random.Generator) -> None:
    values = rng.gamma(2.0, size=3_000)
    found = ranks(values, quantile_levels(values))
    np.testing.assert_allclose(found, (rankdata(values) - 1) / (values.size - 1), atol=1e-3)


def test_tied_values_have_their_middle_rank() -> None:
    values = np.repeat([0.0, 1.0, 5.0], [500, 250, 250])
    np.testing.assert_allclose(
        ranks(np.array([0.0, 1.0, 5.0]), quantile_levels(values)), [0.25, 0.625, 0.875], atol=2e-3
    )
    assert ranks(np.array([-1.0, 9.0]), quantile_levels(values)).tolist() == [0.0, 1.0]
    assert ranks(np.array([3.0]), quantile_levels(np.full(4, 3.0))).tolist() == [0.5]
    assert ranks(np.empty(0), quantile_levels(np.empty(0))).size == 0
