"""Compiled loops agree with polars and with brute force."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pytest

from hopsight.system import compiled as module
from hopsight.system.compiled import compiled
from hopsight.system.kernels import meet, number_summaries, sorted_segments, time_summaries, triangles_from
from toys import called

RNG = np.random.default_rng(5)
NODE = np.concatenate([RNG.integers(0, 300, 4000), np.full(200, 7)])  # one node has far more rows than others
VALUE = np.round(RNG.normal(size=4200), 2)


def grouped(**summaries: pl.Expr) -> pl.DataFrame:
    """Return summaries of each node's values by polars, in the order of the nodes."""
    frame = pl.DataFrame({"node": NODE, "value": VALUE}).sort("node", "value")
    gap = pl.when(pl.col("node") == pl.col("node").shift(1)).then(pl.col("value").diff())
    return frame.with_columns(gap=gap).group_by("node").agg(**summaries).sort("node")


def test_numbers_of_each_node_are_summarized_as_polars_does() -> None:
    value = pl.col("value")
    expected = grouped(
        median=value.median(), mean=value.mean(), sum=value.sum(),
        spread=value.quantile(0.75, "nearest") - value.quantile(0.25, "nearest"),
        low=value.min(), high=value.max(), negative=(value < 0).mean(),
    )  # fmt: skip
    found = number_summaries(*sorted_segments(NODE, VALUE, 310))
    np.testing.assert_allclose(found[expected["node"].to_numpy()], expected.drop("node").to_numpy(), atol=1e-12)
    assert np.isnan(found[300:]).all()


def test_times_of_each_node_are_summarized_as_polars_does() -> None:
    value, gap = pl.col("value"), pl.col("gap")
    expected = grouped(
        first=value.min(), last=value.max(), gap=gap.median(), mean=gap.mean(), deviation=gap.std(ddof=0)
    )
    found = time_summaries(*sorted_segments(NODE, VALUE, 310))
    np.testing.assert_allclose(found[expected["node"].to_numpy()], expected.drop("node").to_numpy(), atol=1e-9)


@pytest.fixture(scope="module")
def graph() -> nx.Graph:
    return nx.gnp_random_graph(30, 0.3, seed=1)


def lists(graph: nx.Graph) -> tuple[np.ndarray, np.ndarray]:
    ends = sorted((min(a, b), max(a, b)) for a, b in graph.edges)
    source, target = np.array(ends).T
    return np.searchsorted(source, np.arange(graph.number_of_nodes() + 1)), target


def test_sides_of_one_count_triangles_and_ranges_of_nodes_add_up(graph: nx.Graph) -> None:
    start, target = lists(graph)
    ones = np.ones((target.size, 2)) * [1.0, 2.0]
    parts = [triangles_from(start, target, ones, first, last) for first, last in ((0, 7), (7, 30))]
    counts = np.array([nx.triangles(graph)[node] for node in range(30)])
    assert counts.sum() > 100
    np.testing.assert_array_equal(sum(parts), np.column_stack([counts, 8 * counts]))


def test_the_lists_of_both_ends_may_be_in_different_arrays() -> None:
    total = np.zeros((4, 1))
    left, right = np.array([1, 2, 3]), np.array([3])  # 0 → 1, 2, 3 and 1 → 3
    called(meet)(0, 0, 0, 3, left, np.array([[2.0], [9.0], [3.0]]), 0, 1, right, np.array([[5.0]]), total)
    assert total.ravel().tolist() == [30.0, 30.0, 0.0, 30.0]


def test_a_function_is_compiled_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba refuses to cache where the package and the user's cache are both read-only, as in a container."""
    whole = module.njit

    def no_cache(*, cache: bool = False, **options: Any) -> Any:
        if cache:
            raise RuntimeError("cannot cache function 'double': no locator available for file")
        return whole(**options)

    monkeypatch.setattr(module, "njit", no_cache)

    @compiled(nogil=True)
    def double(value: int) -> int:
        return 2 * value

    assert double(21) == 42
