"""Tables: cells that look like formulas are guarded, and alerts are numbered on."""

from __future__ import annotations

import polars as pl

from hopsight.streams.outputs import ALERTS, alert_frame, csv_bytes


def test_a_cell_that_looks_like_a_formula_is_guarded() -> None:
    text = csv_bytes(pl.DataFrame({"node": ["=1+1", "ann"], "score": [-1.0, 2.0]}), header=True).decode()
    assert text == "node,score\n'=1+1,-1.0\nann,2.0\n"


def test_alerts_are_numbered_on() -> None:
    frame = pl.DataFrame(
        {
            "source": ["a", "b", "c"], "target": ["x", "y", "z"], "time": [1, 2, 3], "window": [0, 0, 0],
            "score": [4.0, 1.0, 5.0], "flagged": [1, 0, 1], "decided_by": ["hop"] * 3, "hop": [3.0] * 3,
            "surprise": [2.0] * 3, "past_hop": [3.0] * 3, "count": [1.0] * 3, "usual": [1.0] * 3,
        }
    )  # fmt: skip
    alerts = alert_frame(frame, 11, "1 hour")
    assert tuple(alerts.columns) == ALERTS
    assert alerts["alert"].to_list() == [11, 12]
    assert alerts["source"].to_list() == ["a", "c"]
