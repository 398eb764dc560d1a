"""Choosing nodes that are average in every quantity."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from hopsight.datasets.balance import balanced_choice, share_below


def test_the_mean_share_below_is_the_auc(rng: np.random.Generator) -> None:
    population, anomalies = rng.integers(0, 20, size=300), rng.integers(5, 25, size=40)
    labels = np.repeat([0, 1], [300, 40])
    auc = roc_auc_score(labels, np.concatenate([population, anomalies]))
    assert share_below(anomalies, population).mean() == pytest.approx(auc)


def test_a_choice_is_even_in_every_column_even_where_the_rows_are_not(rng: np.random.Generator) -> None:
    shares = np.column_stack([rng.uniform(0.3, 1.0, size=2000), rng.random(2000)])  # the first is .65 on average
    chosen = balanced_choice(shares, 100, rng=rng)
    assert len(set(chosen.tolist())) == 100
    assert shares[chosen].mean(axis=0) == pytest.approx([0.5, 0.5], abs=0.01)


def test_every_row_can_be_chosen(rng: np.random.Generator) -> None:
    shares = (np.arange(100) + 0.5)[:, None] / 100
    chosen = np.concatenate([balanced_choice(shares, 10, rng=rng) for _ in range(300)])
    tenths = np.bincount(chosen // 10, minlength=10) / chosen.size
    assert tenths == pytest.approx(np.full(10, 0.1), abs=0.03)


def test_rows_that_cannot_be_balanced_get_as_close_as_possible(rng: np.random.Generator) -> None:
    shares = np.linspace(0.6, 1.0, 50)[:, None]
    assert shares[balanced_choice(shares, 3, rng=rng)].mean() < 0.65


def test_a_choice_of_no_rows_is_empty(rng: np.random.Generator) -> None:
    assert balanced_choice(np.zeros((4, 1)), 0, rng=rng).tolist() == []
