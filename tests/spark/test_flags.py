"""Flags by counting are those of Benjamini and Hochberg's rule on one machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.detectors.predict import threshold
from hopsight.spark import quantiles
from hopsight.spark.flags import count_flagged, flag_limits


@pytest.mark.parametrize("few", [0, 60, 10**6])
def test_limits_agree_with_the_local_engine(spark: Any, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(quantiles, "FEW", few)  # 0: by counting, however few there are
    rng = np.random.default_rng(0)
    p_values = rng.random((4, 600))
    p_values[0, :50] /= 3000.0  # some stand out, most do, none does, all do
    p_values[1, :450] /= 50.0
    p_values[3] /= 1e6
    scores = -np.log(p_values) + rng.normal(size=p_values.shape) * 0.01
    rows = [
        (np.stack(parts).tobytes(),)
        for parts in zip(np.array_split(p_values, 5, axis=1), np.array_split(scores, 5, axis=1), strict=True)
    ]
    frame = spark.createDataFrame(rows, "payload binary")

    def columns(row: dict[str, Any]) -> list[tuple[np.ndarray, np.ndarray]]:
        p_part, s_part = np.frombuffer(row["payload"]).reshape(2, 4, -1)
        return list(zip(s_part, p_part, strict=True))

    found = flag_limits(frame, columns, 600, 0.1)
    wanted = [threshold(score, "auto", 0.1, p) for score, p in zip(scores, p_values, strict=True)]
    np.testing.assert_array_equal(found, wanted)
    counts = count_flagged(frame, lambda row: [p for _, p in columns(row)], 600, 0.1)
    assert counts[2] == 0 and counts[3] == 600
    assert 40 <= counts[0] <= 60 < 300 < counts[1] < 600
