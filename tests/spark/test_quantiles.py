"""Order statistics by counting agree with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.spark import quantiles as module


@pytest.mark.parametrize("few", [0, 40, 10**6])
def test_quantiles_agree_with_numpy(spark: Any, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(module, "FEW", few)  # 0: by counting, however few there are; 40: some rounds of counting
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=300), rng.normal(size=100).round(1), -np.exp(rng.normal(size=101) * 9)])
    rows = [(part.tobytes(),) for part in np.array_split(values, 5)]
    frame = spark.createDataFrame(rows, "payload binary")

    def keys(row: dict[str, Any]) -> list[tuple[int, Any]]:
        part = np.frombuffer(row["payload"])
        return [(0, module.sortable(part)), (1, module.sortable(-part))]

    levels = [(0, 0.25), (0, 0.5), (1, 0.9)]
    found = module.quantiles(frame, keys, levels, values.size)
    wanted = [np.quantile(values, 0.25), np.quantile(values, 0.5), np.quantile(-values, 0.9)]
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
    ranks = range(0, values.size, 3)
    words = module.nth(frame, keys, [(1, rank) for rank in ranks], values.size)
    np.testing.assert_array_equal(module.from_sortable(np.array(words)), np.sort(-values)[ranks])


def test_words_sort_like_their_numbers() -> None:
    values = np.array([-np.inf, -1e300, -2.0, -1e-300, 0.0, 5e-324, 1.0, np.inf])
    words = module.sortable(values)
    assert (words[1:] > words[:-1]).all()
    np.testing.assert_array_equal(module.from_sortable(words), values)
    assert module.sortable(np.array([-0.0])) == module.sortable(np.array([0.0]))
