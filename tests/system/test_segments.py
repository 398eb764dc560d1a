"""Rows in order by counting, and summaries of each node's rows, against polars."""

import numpy as np
import polars as pl

from hopsight.system.kernels import number_summaries, sorted_segments, time_summaries

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
