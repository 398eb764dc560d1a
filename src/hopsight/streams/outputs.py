"""The tables of a run over time: one row per event, per alert, per window, and per node and window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hopsight.streams.events import Events
from hopsight.streams.kernel import COUNT_SEEN, COUNT_USUAL, HOP, KIND, NEW_PAIR, PAST_HOP, SCORE, SURPRISE
from hopsight.streams.reasons import event_reasons
from hopsight.streams.tally import kind_names

if TYPE_CHECKING:
    import polars as pl

EDGES = ("source", "target", "time", "hop", "surprise", "score", "flagged", "decided_by", "window", "row")
ALERTS = ("alert", "source", "target", "time", "window", "score", "decided_by", "hop", "surprise", "reason")
FAR_HOP = 4.0


def event_frame(
    events: Events, readings: NDArray[np.float32], windows: NDArray[np.int64], alarm: float
) -> pl.DataFrame:
    """Return events with their readings."""
    import polars as pl

    score = readings[:, SCORE].astype(np.float64)
    return pl.DataFrame(
        {
            "source": events.sources, "target": events.targets, "time": events.times,
            "hop": readings[:, HOP], "surprise": readings[:, SURPRISE], "score": score,
            "flagged": (score >= alarm).astype(np.int8), "decided_by": kind_names(readings[:, KIND]),
            "window": windows, "row": events.rows, "start": events.seconds,
            "new_pair": readings[:, NEW_PAIR].astype(np.int64), "past_hop": readings[:, PAST_HOP],
            "far": ((readings[:, PAST_HOP] >= FAR_HOP) & (readings[:, NEW_PAIR] > 0)).astype(np.int64),
            "count": readings[:, COUNT_SEEN].astype(np.float64), "usual": readings[:, COUNT_USUAL].astype(np.float64),
        }
    )  # fmt: skip


def alert_frame(frame: pl.DataFrame, first: int, tick: str) -> pl.DataFrame:
    """Return the flagged events with a number, counted from ``first``, and a reason."""
    import polars as pl

    flagged = frame.filter(pl.col("flagged") == 1)
    return flagged.with_columns(
        (pl.int_range(pl.len()) + first).alias("alert"), event_reasons(flagged, tick).alias("reason")
    ).select(ALERTS)


def csv_bytes(frame: pl.DataFrame, *, header: bool) -> bytes:
    """Return rows as CSV, in which no text cell can be taken for a formula."""
    import polars as pl
    import polars.selectors as cs

    risky = cs.string().str.contains(r"^[=+\-@\t\r']")
    guarded = frame.with_columns(pl.when(risky).then("'" + cs.string()).otherwise(cs.string()).name.keep())
    return guarded.write_csv(include_header=header, datetime_format="%Y-%m-%dT%H:%M:%S%.f").encode()
