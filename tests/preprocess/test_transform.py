"""Scaling and principal components."""

import tracemalloc
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from hopsight.loading import load
from hopsight.preprocess import AttributeTransform
from hopsight.preprocess import transform as module
from hopsight.preprocess.transform import column_moments, column_quantiles, in_order_of, principal_axes, ranked

TABLE = np.array([[1.0, 0.0, 5.0], [3.0, 0.0, 5.0], [5.0, 0.0, 5.0], [7.0, 8.0, 5.0]])


def as_given(kind: str, matrix: np.ndarray) -> Any:
    return sp.csr_array(matrix) if kind == "sparse" else matrix


def to_dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else matrix


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_rows_sum_to_one_in_magnitude(kind: str) -> None:
    scaled = module.row_scaled(as_given(kind, np.array([[1.0, -3.0], [0.0, 0.0], [2.0, 2.0]])))
    assert sp.issparse(scaled) == (kind == "sparse")
    assert to_dense(scaled).tolist() == [[0.25, -0.75], [0.0, 0.0], [0.5, 0.5]]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_ranks_by_hand(kind: str) -> None:
    """Of the 1,001 quantiles of 0, 0, 0, 8 the first 667 are 0 (two thirds of the way), and the last alone is 8."""
    matrix = as_given(kind, TABLE)
    quantiles = column_quantiles(matrix)
    assert quantiles.shape == (1001, 3) and quantiles[[0, 500, 1000], 0].tolist() == [1.0, 4.0, 7.0]
    ranks = ranked(matrix, quantiles)
    assert ranks.min() >= -0.5 and ranks.max() <= 0.5
    np.testing.assert_allclose(ranks[:, 1], np.array([667, 667, 667, 2001]) / 2002 - 0.5)
    assert (np.diff(ranks[:, 0]) > 0).all()
    np.testing.assert_allclose(ranks[:, 2], 0.0, atol=1e-12)  # a constant column says nothing
    np.testing.assert_allclose(ranks[:, 0], -ranks[::-1, 0], atol=1e-12)  # 1, 3, 5, 7 lie symmetrically


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_values_are_clipped_at_five_deviations(kind: str) -> None:
    matrix = as_given(kind, np.array([[3.0], [-12.0], [1e12]]))
    assert module.clipped(matrix, np.array([1.0]), np.array([2.0])).tolist() == [[1.0], [-5.0], [5.0]]


def test_stored_zeros_do_not_count_as_words() -> None:
    stored = sp.csr_array((np.zeros(100), np.tile(np.arange(10), 10), np.arange(0, 101, 10)), shape=(10, 10))
    assert stored.nnz == 100 and module.choose_scaling(stored) == "none"


def test_mixed_is_values_beside_ranks_at_half_weight() -> None:
    """Values 0, 1, 2, 3 and, beside them, their ranks: the same spacing, half the spread."""
    column = np.repeat(np.arange(4.0), 250)[:, None]
    transform = AttributeTransform.fit(column, ["x"], scaling="mixed", rng=np.random.default_rng(0))
    both = transform.apply(column, ["x"])
    assert both.shape == (1000, 2) and transform.n_outputs == 2
    np.testing.assert_allclose(both[::250, 0], (np.arange(4) - 1.5) / np.sqrt(1.25))
    np.testing.assert_allclose(both[::250, 1], both[::250, 0] / 2, atol=2e-3)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("n_rows", [2, 10, 33])
def test_the_largest_numbers_have_finite_moments(kind: str, n_rows: int) -> None:
    """Rounding makes the mean of equal numbers a little larger than each of them, if nothing holds it back."""
    largest = np.finfo(np.float64).max
    mean, deviation = column_moments(as_given(kind, np.full((n_rows, 1), largest)))
    assert mean == pytest.approx(largest, rel=1e-6) and np.isfinite(deviation).all()


NAMES = [f"column {i}" for i in range(9)]


@pytest.fixture(name="X")
def table(rng: np.random.Generator) -> np.ndarray:
    return (rng.normal(size=(50, 9)) + rng.normal(size=9)) * np.geomspace(0.1, 1000.0, 9)


def fit(X: Any, **settings: Any) -> AttributeTransform:
    return AttributeTransform.fit(X, NAMES, rng=np.random.default_rng(0), **settings)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_standard_is_that_of_scikit_learn(X: np.ndarray, kind: str) -> None:
    given: Any = sp.csr_array(X) if kind == "sparse" else X
    np.testing.assert_allclose(
        fit(given, scaling="standard").apply(given, NAMES), StandardScaler().fit_transform(X), atol=1e-7
    )


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("scaling", ["standard", "none"])
def test_components_are_those_of_scikit_learn(X: np.ndarray, kind: str, scaling: str) -> None:
    scaled = StandardScaler().fit_transform(X) if scaling == "standard" else X
    theirs = PCA(n_components=3, svd_solver="full").fit_transform(scaled)
    given: Any = sp.csr_array(X) if kind == "sparse" else X
    transform = fit(given, scaling=scaling, n_components=3)
    ours = transform.apply(given, NAMES)
    assert transform.n_outputs == 3
    np.testing.assert_allclose(ours * np.sign((ours * theirs).sum(axis=0)), theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("n_components", [None, 4])
@pytest.mark.parametrize("scaling", ["none", "row", "standard", "clipped", "rank", "mixed"])
def test_columns_are_matched_by_name_in_any_order(
    X: np.ndarray, rng: np.random.Generator, scaling: str, n_components: int | None, kind: str
) -> None:
    given: Any = sp.csr_array(X) if kind == "sparse" else X
    transform = fit(given, scaling=scaling, n_components=n_components)
    expected = transform.apply(given, NAMES)
    more = sp.hstack([given, sp.csr_array(np.ones((50, 1)))], format="csr") if kind == "sparse" else np.c_[X, X[:, :1]]
    order = rng.permutation(10)
    found = transform.apply(more[:, order], [[*NAMES, "one more"][i] for i in order])
    assert found.shape == (50, n_components or (18 if scaling == "mixed" else 9)) and sp.issparse(found) == sp.issparse(
        expected
    )
    difference = abs(found - expected).max()
    assert difference <= 1e-9 * abs(expected).max()


def test_auto_standardizes_numbers_but_not_words(X: np.ndarray, rng: np.random.Generator) -> None:
    assert fit(X).scaling == "standard"
    words = sp.csr_array((rng.random((50, 9)) < 0.05).astype(float))
    transform = fit(words)
    assert transform.scaling == "none" and fit(-words).scaling == "standard"  # a count is never negative
    assert sp.issparse(transform.apply(words, NAMES))  # neither centered nor projected: still sparse
    np.testing.assert_array_equal(transform.apply(words, NAMES).toarray(), words.toarray())


@pytest.mark.parametrize("scaling", ["row", "standard", "clipped", "rank", "mixed"])
@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_the_unit_of_the_attributes_does_not_matter(X: np.ndarray, scaling: str, unit: float) -> None:
    expected = fit(X, scaling=scaling, n_components=3).apply(X, NAMES)
    found = fit(X * unit, scaling=scaling, n_components=3).apply(X * unit, NAMES)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_category_that_no_new_node_has_is_a_column_of_zeros(kind: str) -> None:
    names = ["age", "color=blue", "color=red"]
    transform = AttributeTransform.fit(np.eye(3), names, scaling="none", rng=np.random.default_rng(0))
    new = np.array([[5.0, 1.0, 1.0], [6.0, 0.0, 0.0]])
    new = sp.csr_array(new) if kind == "sparse" else new
    applied = transform.apply(new, ["age", "color=violet", "color=blue"])
    applied = applied.toarray() if kind == "sparse" else applied
    assert applied.tolist() == [[5.0, 1.0, 0.0], [6.0, 0.0, 0.0]]
    with pytest.raises(ValueError, match=r"lacks 2 attributes that the model was fitted on, first 'color=blue'"):
        transform.apply(new, ["age", "size=1", "size=2"])


@pytest.mark.parametrize("scaling", ["standard", "clipped", "rank", "mixed"])
def test_nodes_are_compared_with_nodes_of_their_own_type(scaling: str) -> None:
    rng = np.random.default_rng(0)
    types = np.array(["user", "item"] * 50, dtype=object)
    X = rng.normal(size=(100, 2)) * [1.0, 3.0] + np.where(types == "item", 40.0, 0.0)[:, None]
    X[types == "user", 1] = 7.0  # users lack the second attribute
    transform = AttributeTransform.fit(X, ["a", "b"], scaling=scaling, types=types, rng=rng)
    found = transform.apply(X, ["a", "b"], types)
    for kind in ("user", "item"):
        np.testing.assert_allclose(found[types == kind].mean(axis=0), 0.0, atol=0.05)
    assert np.ptp(found[types == "user", 1]) < 1e-9
    moved = X + np.where(types == "user", 5.0, 0.0)[:, None]  # as a whole, a type may lie anywhere
    again = AttributeTransform.fit(moved, ["a", "b"], scaling=scaling, types=types, rng=rng)
    np.testing.assert_allclose(again.apply(moved, ["a", "b"], types), found, atol=1e-9)


def test_types_of_another_graph_must_be_known() -> None:
    rng = np.random.default_rng(0)
    types = np.array(["a", "b"] * 5, dtype=object)
    transform = AttributeTransform.fit(rng.normal(size=(10, 1)), ["x"], scaling="mixed", types=types, rng=rng)
    for others in (None, np.array(["c"], dtype=object)):
        with pytest.raises(ValueError, match="fitted on nodes of the types a, b; the graph has others"):
            transform.apply(np.ones((1, 1)), ["x"], others)


def test_the_sign_of_every_axis_is_fixed(X: np.ndarray, rng: np.random.Generator) -> None:
    axes = principal_axes(X, X.mean(axis=0), np.ones(9), 4, rng=rng)
    assert (axes[np.arange(4), abs(axes).argmax(axis=1)] > 0).all()
    np.testing.assert_allclose(principal_axes(-X, -X.mean(axis=0), np.ones(9), 4, rng=rng), axes, atol=1e-9)


def test_a_large_sparse_matrix_stays_sparse(rng: np.random.Generator) -> None:
    """20,000 × 50,000 would take 8 GB; its 200,000 entries take 3 MB, and so should the axes."""
    n_rows, n_columns, n_entries = 20_000, 50_000, 200_000
    heads = np.minimum(rng.geometric(0.0005, size=n_entries), n_columns) - 1
    entries = (np.ones(n_entries), (rng.integers(0, n_rows, n_entries), heads))
    X = sp.coo_array(entries, shape=(n_rows, n_columns)).tocsr()
    tracemalloc.start()
    center, scale = column_moments(X)
    axes = principal_axes(X, center, np.ones_like(scale), 3, rng=rng)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert axes.shape == (3, n_columns) and np.isfinite(axes).all()
    assert peak < 100e6


def test_summaries_that_a_shorter_record_leaves_out_are_what_they_would_be() -> None:
    """Where every node has one payment, the mean repeats the median; where all are by card, their share is 1."""
    rows = {"from": ["a", "b", "c"], "to": ["b", "c", "a"], "amount": [7.0, 9.0, 8.0], "how": ["card"] * 3}
    graph = load(pl.DataFrame(rows), category=["how"], notices=[])
    wanted = [
        f"{what} sent, {each}" for what, each in (("amount", "median"), ("amount", "mean"), ("how", "share card"))
    ]
    wanted += ["how sent, share cash", "edges sent, log count"]
    found = in_order_of(wanted, graph.attributes, graph.attribute_names, graph.left_out)
    np.testing.assert_allclose(found, [[each, each, 1.0, 0.0, np.log(2.0)] for each in (7.0, 9.0, 8.0)])
    with pytest.raises(ValueError, match="first 'when sent, share noon': read it from tables with the same columns"):
        in_order_of(["when sent, share noon"], graph.attributes, graph.attribute_names, graph.left_out)
    with pytest.raises(ValueError, match="first 'price sent, mean': read it from tables with the same columns"):
        in_order_of(["age", "price sent, mean"], np.ones((2, 1)), ["age"])
    names = ["channel sent, share Batch", "channel sent, share APP"]  # values in another case are the same
    found = in_order_of(["channel sent, share app", "channel sent, share batch"], np.array([[0.25, 0.75]]), names)
    assert found.tolist() == [[0.75, 0.25]]
