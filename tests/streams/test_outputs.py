"""Tables: cells that look like formulas are guarded, and alerts are numbered on."""

from __future__ import annotations

import io

import polars as pl

from hopsight.streams.outputs import ALERT_COLUMNS, alert_frame, unguarded_text, write_rows


def test_a_cell_that_looks_like_a_formula_is_guarded() -> None:
    nodes = ["=1+1", "ann", "  ＝1+1", "\ufeff@x", "'tis", "-5"]
    frame = pl.DataFrame({"node": nodes, "score": [-1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
    file = io.BytesIO()
    write_rows(file, frame, header=True)
    lines = file.getvalue().decode().splitlines()
    assert lines[:3] == ["node,score", "'=1+1,-1.0", "ann,2.0"]
    assert [line.partition(",")[0] for line in lines[3:]] == ["'  ＝1+1", "'\ufeff@x", "''tis", "'-5"]
    assert unguarded_text(pl.read_csv(file.getvalue())).equals(frame)


def test_alerts_are_numbered_on() -> None:
    frame = pl.DataFrame(
        {
            "source": ["a", "b", "c"], "target": ["x", "y", "z"], "time": [1, 2, 3], "window": [0, 0, 0],
            "score": [4.0, 1.0, 5.0], "flagged": [1, 0, 1], "decided_by": ["hop"] * 3, "hop": [3.0] * 3,
            "surprise": [2.0] * 3, "past_hop": [3.0] * 3, "count": [1.0] * 3, "usual": [1.0] * 3, "scale": [0] * 3,
            "streak": [1.0] * 3, "streak_place": [0] * 3, "hop_evidence": [5.0] * 3, "amount_evidence": [0.0] * 3,
            "hour_evidence": [0.0] * 3,
        }
    )  # fmt: skip
    alerts = alert_frame(frame, 11, ("1 hour", "1 day"))
    assert tuple(alerts.columns) == ALERT_COLUMNS
    assert alerts["alert"].to_list() == [11, 12]
    assert alerts["source"].to_list() == ["a", "c"]
