"""Scores of nodes: evidence, thresholds and the values of isolated nodes are those of the local engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.detectors.predict import threshold
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import KINDS, NodeBaseline, combine, p_values, weigh
from hopsight.hcm.posterior import fill_unjudged, hav
from hopsight.spark.blocks import BLOCK, Layout
from hopsight.spark.ranking import score_blocks, score_rows, score_thresholds
from hopsight.spark.readings import READINGS, node_readings

EVIDENCE = ("misfit", "ring", "activity")


def readings(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.gamma(1.0, size=(80, len(READINGS)))
    rows[:, 0] = rng.integers(0, 6, 80)
    rows[rows[:, 0] == 0, 1:5] = np.nan
    rows[rows[:, 0] == 0, 5:7] = 0.0
    rows[:5, 1:] *= 30
    return rows


def frame_of(spark: Any, values: np.ndarray) -> tuple[Any, Layout]:
    rows = [(-1, block, 0, "readings", part.tobytes()) for block, part in enumerate((values[:30], values[30:]))]
    return spark.createDataFrame(rows, BLOCK), Layout((30, 50), 2)


@pytest.mark.parametrize("score", ["evidence", "hav"])
def test_scores_of_readings(spark: Any, score: str) -> None:
    rows = readings()
    nodes = node_readings(rows)
    laws = NodeBaseline.fit(nodes)
    frame, layout = frame_of(spark, rows)
    scores = score_blocks(frame, layout, laws, EVIDENCE, score)
    found = score_rows(scores, layout, score, EVIDENCE).collect()
    found.sort(key=lambda row: (row["block"], row["position"]))
    evidence = weigh(nodes, laws)
    strength, place = combine(evidence, EVIDENCE)
    hop, variance = rows[:, 1], rows[:, 2]
    wanted = {"ahp": fill_unjudged(hop), "iv": fill_unjudged(variance), "hav": fill_unjudged(hav(hop, variance))}
    wanted |= {**evidence, "degree": rows[:, 0], "score": strength if score == "evidence" else wanted["hav"]}
    for name, values in wanted.items():
        np.testing.assert_allclose([row[name] for row in found], values, atol=1e-9, err_msg=name)
    if score == "evidence":
        assert [row["decided_by"] for row in found] == np.array(EVIDENCE)[place].tolist()
    else:
        assert "decided_by" not in found[0]


@pytest.mark.parametrize("contamination", [0.1, 0.37, "auto"])
def test_thresholds(spark: Any, contamination: float | str) -> None:
    rows = readings(1)
    nodes = node_readings(rows)
    laws = NodeBaseline.fit(nodes)
    frame, layout = frame_of(spark, rows)
    detector = CrossHCM(contamination=contamination, evidence=EVIDENCE, false_alarms=0.2)
    limit, kinds = score_thresholds(score_blocks(frame, layout, laws, EVIDENCE), layout, detector)
    evidence = weigh(nodes, laws)
    strength = combine(evidence, EVIDENCE)[0]
    wanted = threshold(strength, contamination, 0.2, p_values(nodes, laws, EVIDENCE))
    assert limit == pytest.approx(wanted)
    assert (strength > limit).any()
    alone = [threshold(evidence[kind], "auto", 0.2, p_values(nodes, laws, (kind,))) for kind in KINDS]
    np.testing.assert_allclose(kinds, alone)
