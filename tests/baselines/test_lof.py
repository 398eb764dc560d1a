"""LOF: values by hand and from scikit-learn, ties, duplicates and extreme scales."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import LocalOutlierFactor

from hopsight.baselines.lof import LOF, local_outlier_factor, nearest
from hopsight.graph import AttributedGraph


def fit(attributes: object, **parameters: object) -> np.ndarray:
    n_nodes = attributes.shape[0]  # type: ignore[attr-defined]
    return LOF(**parameters).fit((sp.csr_array((n_nodes, n_nodes)), attributes)).decision_score_


def reference(X: object, k: int = 20) -> np.ndarray:
    return -LocalOutlierFactor(n_neighbors=k).fit(X).negative_outlier_factor_


def test_four_points_on_a_line_by_hand() -> None:
    points = np.array([[0.0], [1.0], [2.0], [6.0]])
    distances, neighbors = nearest(points, 2)
    np.testing.assert_allclose(distances[:, -1], [2, 1, 2, 5])
    np.testing.assert_array_equal(neighbors, [[1, 2], [0, 2], [1, 0], [2, 1]])
    np.testing.assert_allclose(local_outlier_factor(distances, neighbors), [7 / 8, 4 / 3, 7 / 8, 21 / 8], rtol=1e-9)
    np.testing.assert_allclose(fit(points, n_neighbors=2), [7 / 8, 4 / 3, 7 / 8, 21 / 8], rtol=1e-9)


@pytest.mark.parametrize("n_columns", [1, 5, 40])
@pytest.mark.parametrize("k", [1, 7, 20])
def test_it_equals_scikit_learn(rng: np.random.Generator, n_columns: int, k: int) -> None:
    X = rng.normal(size=(700, n_columns)) * rng.uniform(0.1, 10, size=n_columns)
    np.testing.assert_allclose(fit(X, n_neighbors=k), reference(X, k), rtol=1e-8)


def test_the_number_of_threads_does_not_change_scores(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = rng.normal(size=(500, 3))
    monkeypatch.setattr("hopsight.baselines.lof.n_threads", lambda: 1)
    alone = fit(X)
    monkeypatch.setattr("hopsight.baselines.lof.n_threads", lambda: 3)
    np.testing.assert_array_equal(fit(X), alone)


def test_duplicates_constant_attributes_and_a_single_node_score_one(rng: np.random.Generator) -> None:
    X = np.vstack([np.full((30, 4), 0.1), rng.normal(size=(50, 4))])
    for form in (X, sp.csr_array(X)):
        np.testing.assert_allclose(fit(form, n_neighbors=10)[:30], 1.0)  # more than its neighbors
    for same in (np.full((40, 3), 7.0), sp.csr_array((40, 3)), np.array([[3.0]])):
        np.testing.assert_allclose(fit(same), 1.0)


def test_fewer_nodes_than_neighbors() -> None:
    points = np.array([[0.0], [1.0], [5.0]])
    np.testing.assert_allclose(fit(points), fit(points, n_neighbors=2))
    np.testing.assert_allclose(fit(points[:2]), 1.0)


def test_a_common_offset_does_not_hide_the_distances(rng: np.random.Generator) -> None:
    X = rng.integers(-50, 50, size=(200, 2)) / 64.0 + rng.normal(size=(200, 2)).round(3)
    np.testing.assert_allclose(fit(X + 2.0**30), fit(X), rtol=1e-4)


def test_edges_do_not_matter(random_graph: AttributedGraph) -> None:
    np.testing.assert_array_equal(LOF().fit(random_graph).decision_score_, fit(random_graph.attributes))
