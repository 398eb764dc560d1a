"""The tables of a run over time: one row per event, per alert, per window, and per node and window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.streams import kernel as at
from hopsight.streams.reasons import event_reasons
from hopsight.streams.tally import kind_names
from hopsight.system.cells import guarded_frame, unguarded_frame
from hopsight.system.lazy_polars import pl

EDGE_COLUMNS = ("source", "target", "time", "hop", "surprise", "score", "flagged", "decided_by", "window", "row")
ALERT_COLUMNS = ("alert", "source", "target", "time", "window", "score", "decided_by", "hop", "surprise", "reason")
FAR_HOP = 4.0
DATETIME = "%Y-%m-%dT%H:%M:%S%.f"


def event_frame(
    events: pl.DataFrame, readings: NDArray[np.float32], windows: NDArray[np.int64], alarm: float
) -> pl.DataFrame:
    """Return events with their readings."""
    score = np.ascontiguousarray(readings[:, at.SCORE])
    return pl.DataFrame(
        {
            "source": events["source"], "target": events["target"], "time": events["time"],
            "hop": readings[:, at.HOP], "surprise": readings[:, at.SURPRISE], "score": score,
            "flagged": (score >= alarm).astype(np.int8), "decided_by": kind_names(readings[:, at.KIND]),
            "window": windows, "row": events["row"], "start": events["seconds"],
            "new_pair": readings[:, at.NEW_PAIR].astype(np.int64), "past_hop": readings[:, at.PAST_HOP],
            "far": ((readings[:, at.PAST_HOP] >= FAR_HOP) & (readings[:, at.NEW_PAIR] > 0)).astype(np.int64),
            "count": readings[:, at.COUNT_SEEN].astype(np.float64),
            "usual": readings[:, at.COUNT_USUAL].astype(np.float64),
            "scale": readings[:, at.SCALE].astype(np.int8),
            "streak": readings[:, at.STREAK_COUNT].astype(np.float64),
            "streak_place": readings[:, at.STREAK_PLACE].astype(np.int8),
            "source_score": readings[:, at.SOURCE_SCORE], "target_score": readings[:, at.TARGET_SCORE],
            "source_flagged": (readings[:, at.SOURCE_SCORE] >= alarm).astype(np.int8),
            "target_flagged": (readings[:, at.TARGET_SCORE] >= alarm).astype(np.int8),
            "hop_evidence": readings[:, at.EV_HOP], "amount_evidence": readings[:, at.EV_AMOUNT],
            "hour_evidence": readings[:, at.EV_HOUR],
        }
    )  # fmt: skip


def alert_frame(frame: pl.DataFrame, first: int, spans: Sequence[str]) -> pl.DataFrame:
    """Return the flagged events with a number, counted from ``first``, and a reason."""
    flagged = frame.filter(pl.col("flagged") == 1)
    return flagged.with_columns(
        (pl.int_range(pl.len()) + first).alias("alert"), event_reasons(flagged, spans).alias("reason")
    ).select(ALERT_COLUMNS)


def write_rows(file: Any, frame: pl.DataFrame, *, header: bool) -> None:
    """Write rows as CSV, in which no text cell can be taken for a formula."""
    guarded_frame(frame).write_csv(file, include_header=header, datetime_format=DATETIME)


def unguarded_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows that were read from such a file with their original text; an empty cell is an empty text."""
    return unguarded_frame(frame).with_columns(pl.col(pl.String).fill_null(""))
