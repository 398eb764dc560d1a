"""Relative dissimilarity: shares of reference nodes by brute force, and what it does not depend on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from hopsight.preprocess import references as module
from hopsight.preprocess.references import N_KNOTS, N_REFERENCES, References

EDGES = np.random.default_rng(9).integers(0, 400, size=(2, 600))


@pytest.mark.parametrize("cosine", [False, True])
def test_shares_are_those_of_brute_force(cosine: bool, rng: np.random.Generator) -> None:
    """33 knots read the share of 256 references to about 1/32."""
    attributes = rng.gamma(1.0, size=(400, 6))
    order = rng.permutation(400)
    metric = "cosine" if cosine else "euclidean"
    to_references = cdist(attributes, attributes[order[:N_REFERENCES]], metric)
    apart = np.diag(cdist(attributes[EDGES[0]], attributes[EDGES[1]], metric))
    expected = np.mean([(to_references[end] < apart[:, None]).mean(axis=1) for end in EDGES], axis=0)
    found = References.choose(attributes, order, cosine=cosine).relative_dissimilarity(attributes, EDGES)
    np.testing.assert_allclose(found, expected, atol=1.5 / N_KNOTS)
    assert ((found >= 0) & (found <= 1)).all() and np.corrcoef(found, expected)[0, 1] > 0.995


def test_three_references_by_hand() -> None:
    """From 0 the references 1, 2, 9 are 1, 2 and 9 away, from 10 they are 9, 8 and 1 away."""
    attributes = np.array([[0.0], [10.0], [1.0], [2.0], [9.0], [2.5]])
    chosen = References.choose(attributes, np.array([2, 3, 4]), cosine=False)
    assert chosen.rows.ravel().tolist() == [1.0, 2.0, 9.0]
    knots = chosen.knots(attributes[:2])
    assert knots[0, [0, -1]].tolist() == [1.0, 81.0] and knots[1, [0, -1]].tolist() == [1.0, 81.0]
    alike, unlike = chosen.relative_dissimilarity(attributes, np.array([[2, 0], [2, 1]]))
    assert unlike == 1.0
    assert (
        alike == (chosen.knots(attributes[2:3]) == 0.0).mean() / 2
    )  # the node itself is a reference: a tie counts half


def test_a_dense_crowd_is_judged_by_its_own_distances(rng: np.random.Generator) -> None:
    """Half a unit is far within a crowd, and near for nodes that are far from everybody."""
    attributes = np.concatenate([0.01 * rng.normal(size=(300, 2)), 50.0 * rng.normal(size=(300, 2))])
    attributes[[0, 1]], attributes[[300, 301]] = [[0.0, 0.0], [0.5, 0.0]], [[90.0, 90.0], [90.5, 90.0]]
    chosen = References.choose(attributes, rng.permutation(600), cosine=False)
    crowd, loners = chosen.relative_dissimilarity(attributes, np.array([[0, 300], [1, 301]]))
    assert crowd > 0.3 and loners < 0.05  # a loner that is a reference itself counts as one of 33 knots


def test_the_order_of_ends_and_the_unit_do_not_matter(rng: np.random.Generator) -> None:
    attributes, order = rng.normal(size=(400, 5)), rng.permutation(400)
    found = References.choose(attributes, order, cosine=False).relative_dissimilarity(attributes, EDGES)
    swapped = References.choose(attributes, order, cosine=False).relative_dissimilarity(attributes, EDGES[::-1])
    larger = References.choose(1024.0 * attributes, order, cosine=False)
    assert np.array_equal(swapped, found)
    assert np.array_equal(larger.relative_dissimilarity(1024.0 * attributes, EDGES), found)


def test_blocks_do_not_matter(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    attributes, order = rng.normal(size=(400, 5)), rng.permutation(400)
    chosen = References.choose(attributes, order, cosine=False)
    whole = chosen.relative_dissimilarity(attributes, EDGES)
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 37)
    np.testing.assert_allclose(chosen.relative_dissimilarity(attributes, EDGES), whole, atol=0.02)


def test_rows_of_zeros_and_graphs_without_edges() -> None:
    for cosine in (False, True):
        chosen = References.choose(np.zeros((4, 3)), np.arange(4), cosine=cosine)
        assert chosen.relative_dissimilarity(np.zeros((4, 3)), np.array([[0], [1]])).tolist() == [0.5]
        assert chosen.relative_dissimilarity(np.zeros((4, 3)), np.empty((2, 0), dtype=np.int64)).size == 0
