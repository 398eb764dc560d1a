"""Attributes: the transformation learned from sums is that of the local engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.preprocess import AttributeTransform
from hopsight.spark.attributes import fit_transform, transformed
from hopsight.system.arrays import id_hashes


@pytest.fixture(scope="module")
def table(spark: Any) -> tuple[np.ndarray, Any]:
    """Return 60 rows of 7 columns, one of them constant and large, and the same as a DataFrame."""
    import pyarrow as pa

    values = np.random.default_rng(0).gamma(1.0, 3.0, size=(60, 7)) - 2.0
    values[:, 3] = 1e6
    hashes = id_hashes(np.arange(60)).view(np.int64)
    columns = {"id": np.arange(60), "row": np.arange(60), "features": list(values), "hash": hashes}
    return values, spark.createDataFrame(pa.table(columns)).repartition(3).persist()


@pytest.mark.parametrize(("scaling", "n_components"), [("mixed", 256), ("standard", 3), ("mixed", 5), ("none", 4)])
def test_the_same_transformation(table: tuple[np.ndarray, Any], scaling: str, n_components: int) -> None:
    values, frame = table
    names = [f"x{i}" for i in range(7)]
    rng = np.random.default_rng(0)
    wanted = AttributeTransform.fit(values, names, scaling=scaling, n_components=n_components, rng=rng)
    found, n_nodes = fit_transform(frame, names, scaling=scaling, n_components=n_components, rng=rng)
    assert n_nodes == 60
    np.testing.assert_allclose(transformed(values, found), wanted.apply(values, names), rtol=1e-6, atol=1e-6)


def test_an_unknown_scaling_is_refused(table: tuple[np.ndarray, Any]) -> None:
    with pytest.raises(ValueError, match="scaling must be one of"):
        fit_transform(table[1], ["x"] * 7, scaling="log", n_components=None, rng=np.random.default_rng(0))
