"""The network: it learns a rule, answers ½ before, and compiled and plain answers agree."""

from __future__ import annotations

import numpy as np
import pytest

from hopsight.metrics import roc_auc
from hopsight.streams import network as module
from hopsight.streams.memory import N_FEATURES
from hopsight.streams.network import fit, log_odds, loss_of, new_network
from toys import called

judge = called(module.judge)


@pytest.fixture(scope="module")
def examples() -> np.ndarray:
    """Return true pairs, which have feature 2 twice as large as feature 3 on average, and random ones without that."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2000, 2, N_FEATURES)).astype(np.float32)
    values[:, 0, 2] += 1.5
    return values


def test_an_untrained_network_answers_one_half(examples: np.ndarray) -> None:
    assert judge(new_network(0), examples[0, 0]) == 0.0
    assert loss_of(new_network(0), examples) == pytest.approx(np.log(2.0))


def test_it_learns_what_tells_true_pairs_from_random_ones(examples: np.ndarray) -> None:
    network = fit(new_network(0), examples[:1500], 0)
    odds = log_odds(network, examples[1500:].reshape(-1, N_FEATURES).astype(float))
    truth = np.tile([1, 0], 500)
    best = roc_auc(truth, examples[1500:].reshape(-1, N_FEATURES)[:, 2])  # the rule itself
    assert roc_auc(truth, odds) > best - 0.03
    share = 1.0 / (1.0 + np.exp(-odds))
    for low in (0.1, 0.3, 0.5, 0.7):  # calibrated: among answers of about p, p are true
        chosen = (share >= low) & (share < low + 0.2)
        assert truth[chosen].mean() == pytest.approx(share[chosen].mean(), abs=0.1)


def test_compiled_and_plain_answers_agree_and_a_seed_repeats(examples: np.ndarray) -> None:
    one, two = fit(new_network(3), examples[:500], 1), fit(new_network(3), examples[:500], 1)
    plain = log_odds(one, examples[:50, 0].astype(float))
    np.testing.assert_allclose([judge(one, row) for row in examples[:50, 0]], plain, rtol=1e-9)
    np.testing.assert_array_equal(one.hidden, two.hidden)
