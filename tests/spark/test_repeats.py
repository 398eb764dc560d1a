"""Repeated fits: means and stability are those that the local engine computes from the same fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import KINDS
from hopsight.runs.rankings import Values
from hopsight.runs.rankings import averaged as local_average
from hopsight.spark.blocks import BLOCK, Layout
from hopsight.spark.detection import detect
from hopsight.spark.graph import SparkGraph
from hopsight.spark.ranking import SCORES
from hopsight.spark.repeats import averaged

EVIDENCE = ("misfit", "ring", "activity")
SIZES = (30, 50)


def fits(score: str) -> list[np.ndarray]:
    """Return the scores of three fits; half of the nodes have the same score, so that ties matter."""
    rng = np.random.default_rng(4)
    found = []
    for _ in range(3):
        rows = rng.gamma(1.0, size=(sum(SIZES), len(SCORES)))
        rows[:, SCORES.index("decided_by")] = 0.0
        rows[:, SCORES.index("p_value")] = rng.random(len(rows))
        rows[:6, SCORES.index("p_value")] = 1e-6
        rows[:6, SCORES.index("score")] += 20
        rows[::2, SCORES.index("score")] = 1.0
        if score == "hav":
            rows[:, SCORES.index("score")] = rows[:, SCORES.index("hav")]
        found.append(rows)
    return found


@pytest.mark.parametrize(
    ("score", "contamination", "false_alarms"),
    [("evidence", "auto", 0.1), ("evidence", "auto", 1e-9), ("hav", 0.3, 0.1)],
)
def test_means_of_fits(spark: Any, score: str, contamination: float | str, false_alarms: float) -> None:
    detector = CrossHCM(evidence=EVIDENCE, score=score, contamination=contamination, false_alarms=false_alarms)
    tables, layout = fits(score), Layout(SIZES, 2)
    frames = [
        spark.createDataFrame(
            [(-1, block, 0, "scores", part.tobytes()) for block, part in enumerate(np.split(table, [SIZES[0]]))], BLOCK
        )
        for table in tables
    ]
    order = np.random.default_rng(0).permutation(sum(SIZES))  # the row of each node in the table
    places = [(block, position) for block, size in enumerate(SIZES) for position in range(size)]
    nodes = spark.createDataFrame(
        [(f"n{row}", int(row), *place) for row, place in zip(order, places, strict=True)],
        "id string, row long, block int, position int",
    )
    blocks, averages, limit = averaged(frames, SparkGraph(nodes, nodes, layout, 0, 0, 0), detector, top=7)
    rows, pieces = averages.collect(), sorted((row["block"], row["piece"]) for row in blocks.collect())
    known = [dict(zip(SCORES, table[np.argsort(order)].T, strict=True)) for table in tables]
    values = [Values(each["score"], each["p_value"], {kind: each[kind] for kind in KINDS}) for each in known]
    detector.decided_by_ = np.zeros(sum(SIZES), dtype=np.int64)
    wanted = local_average(detector, values, 7)
    assert limit == wanted.threshold_
    assert (wanted.label_.sum() > 0) == (false_alarms > 1e-9)
    found = {(row["block"], row["position"]): row.asDict() for row in rows}
    ordered = [found[places[place]] for place in np.argsort(order)]
    for name, mean in {"score": wanted.decision_score_, "stability": wanted.stability_, **wanted.evidence_}.items():
        np.testing.assert_array_equal([row[name] for row in ordered], mean, err_msg=name)
    np.testing.assert_array_equal([row["hav"] for row in ordered], known[0]["hav"])
    assert 0 < np.unique(wanted.stability_).size <= 4
    if score == "evidence":
        decided = np.array(EVIDENCE)[wanted.decided_by_]
        assert [row["decided_by"] for row in ordered] == decided.tolist()
    assert pieces == [(0, 0), (1, 0)]


def test_fits_need_a_seed(frames: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match="repeated fits count on from a seed; set the seed of the detector"):
        detect(*frames, CrossHCM(seed=None), repeat=2)
