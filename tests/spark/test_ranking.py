"""Scores of nodes: trends, thresholds and the scores of isolated nodes are those of the local engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.detectors.predict import threshold
from hopsight.hcm.scores import beyond_degree, degree_trend, fill_unjudged, hav
from hopsight.spark.blocks import BLOCK, Layout
from hopsight.spark.ranking import SCORES, degree_trends, score_blocks, score_rows, score_threshold


def frame_of(spark: Any, values: np.ndarray, kind: str) -> tuple[Any, Layout]:
    layout = Layout((30, 50), 2)
    rows = [(-1, block, 0, kind, part.tobytes()) for block, part in enumerate((values[:30], values[30:]))]
    return spark.createDataFrame(rows, BLOCK), layout


@pytest.mark.parametrize("degrees", ["many", "one"])
def test_scores_of_means(spark: Any, degrees: str) -> None:
    rng = np.random.default_rng(0)
    degree = rng.integers(0, 6, 80) if degrees == "many" else np.full(80, 3)
    means = rng.gamma(2.0, size=(80, 4))
    means[degree == 0] = np.nan
    frame, layout = frame_of(spark, np.column_stack([degree, means]), "means")
    trends, n_judged = degree_trends(frame, layout)
    hop, deviation, surprise, ring = means.T
    wanted = [degree_trend(value, degree) for value in (hop, surprise, ring)]
    far, strange, rings = (
        beyond_degree(value, degree, t) for value, t in zip((hop, surprise, ring), trends, strict=True)
    )
    for value, found, right in zip((hop, surprise, ring), trends, wanted, strict=True):
        np.testing.assert_allclose(beyond_degree(value, degree, found), beyond_degree(value, degree, right), atol=1e-9)
    assert n_judged == (degree > 0).sum()
    rows = score_rows(score_blocks(frame, layout, trends, n_judged), layout, "cross").collect()
    rows.sort(key=lambda row: (row["block"], row["position"]))
    far = (far + strange) / 2
    np.testing.assert_allclose([row["score"] for row in rows], fill_unjudged(np.maximum(far, rings)), atol=1e-9)
    np.testing.assert_allclose([row["hav"] for row in rows], fill_unjudged(hav(hop, deviation)), atol=1e-9)
    assert [row["judged"] for row in rows] == (degree > 0).astype(int).tolist()


@pytest.mark.parametrize("contamination", [0.1, 0.37, "auto"])
def test_thresholds(spark: Any, contamination: float | str) -> None:
    scores = np.random.default_rng(1).gamma(1.0, size=(80, len(SCORES)))
    frame, layout = frame_of(spark, scores, "scores")
    found = score_threshold(frame, layout, "cross", contamination)
    assert found == pytest.approx(threshold(scores[:, -1], contamination))
