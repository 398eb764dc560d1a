"""The tables of a run over time: one row per event, per alert with its reason, per window, and per node and window."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.streams import accounts as said
from hopsight.streams import kernel as at
from hopsight.streams.evidence import KINDS
from hopsight.system.lazy_polars import pl

EDGE_COLUMNS = ("source", "target", "time", "hop", "surprise", "score", "flagged", "decided_by", "window", "row")
FAR_HOP = 4.0
LEAST_WINDOWS = 5.0
LEAST_SPREAD = 0.1
UNIT = 1e6  # surprise is summed as whole numbers of this fraction, so that no order of adding changes the sum
MOST_NODES = 200_000  # of which totals are kept
MEASURES = ("events", "surprise", "flagged")


def event_frame(events: pl.DataFrame, judged: at.Judged, alarm: float) -> pl.DataFrame:
    """Return events with their judgments."""
    judgments, windows, accounts = judged.events, judged.windows, judged.accounts[:, :, said.SCORE]
    score = np.ascontiguousarray(judgments[:, at.SCORE])
    return pl.DataFrame(
        {
            "source": events["source"], "target": events["target"], "time": events["time"],
            "hop": judgments[:, at.HOP], "surprise": judgments[:, at.SURPRISE], "score": score,
            "flagged": (score >= alarm).astype(np.int8), "decided_by": kind_names(judgments),
            "window": windows, "row": events["row"], "start": events["seconds"],
            "new_pair": judgments[:, at.NEW_PAIR].astype(np.int64), "past_hop": judgments[:, at.PAST_HOP],
            "far": ((judgments[:, at.PAST_HOP] >= FAR_HOP) & (judgments[:, at.NEW_PAIR] > 0)).astype(np.int64),
            "count": judgments[:, at.COUNT_SEEN].astype(np.float64),
            "usual": judgments[:, at.COUNT_USUAL].astype(np.float64),
            "scale": judgments[:, at.SCALE].astype(np.int8),
            "streak": judgments[:, at.STREAK_COUNT].astype(np.float64),
            "streak_place": judgments[:, at.STREAK_PLACE].astype(np.int8),
            "source_score": judgments[:, at.SOURCE_SCORE], "target_score": judgments[:, at.TARGET_SCORE],
            "source_flagged": (np.maximum(judgments[:, at.SOURCE_SCORE], accounts[:, 0]) >= alarm).astype(np.int8),
            "target_flagged": (np.maximum(judgments[:, at.TARGET_SCORE], accounts[:, 1]) >= alarm).astype(np.int8),
            "source_account": accounts[:, 0].astype(np.float32), "target_account": accounts[:, 1].astype(np.float32),
            "amount": events["amount"] / events["factor"], "currency": events["currency"],
            "usual_amount": judgments[:, at.USUAL_AMOUNT] / events["factor"].to_numpy(),
            "hop_evidence": judgments[:, at.EV_HOP], "amount_evidence": judgments[:, at.EV_AMOUNT],
            "hour_evidence": judgments[:, at.EV_HOUR],
        }
    )  # fmt: skip


def kind_names(judgments: NDArray[np.float32]) -> Any:
    """Return the names of the kinds of evidence that decided."""
    return np.array(KINDS)[judgments[:, at.KIND].astype(np.int64)]


def node_tally(events: pl.DataFrame, before: pl.DataFrame | None) -> pl.DataFrame:
    """Return one row per window and node: what it did, its share of the strongest score, and what decided it.

    ``before`` are the rows of the window that was open.
    """
    ends = []
    for end, sent in (("source", 1), ("target", 0)):
        account = pl.col(f"{end}_account").cast(pl.Float32)
        ends.append(
            events.select(
                pl.col("window", "start"),
                pl.col(end).cast(pl.String).alias("node"),
                pl.lit(1).alias("events"),
                pl.lit(sent).alias("sent"),
                pl.col("new_pair").alias("new_pairs"),
                "far",
                pl.col(f"{end}_flagged").alias("flagged"),
                decided_by=pl.when(account > pl.col(f"{end}_score")).then(pl.lit("partners")).otherwise("decided_by"),
                score=pl.max_horizontal(f"{end}_score", account),
            )
        )
    rows = [*([before] if before is not None else []), *ends]
    schema: Any = dict.fromkeys(("events", "sent", "new_pairs", "far", "flagged"), pl.Int64)
    both = pl.concat([row.cast(schema) for row in rows])
    return both.group_by("window", "node", maintain_order=True).agg(
        pl.col("start").min(),
        pl.col("events", "sent", "new_pairs", "far", "flagged").sum(),
        pl.col("decided_by").sort_by("score", "decided_by").last(),
        pl.col("score").max(),
    ).select("window", "start", "node", "events", "sent", "new_pairs", "far", "flagged", "decided_by", "score").sort(
        "window", "node"
    )  # fmt: skip


def window_tally(events: pl.DataFrame, before: pl.DataFrame | None) -> pl.DataFrame:
    """Return one row per window, without its score, which it gets when it is closed."""
    rows = events.select(
        "window", "start", pl.col("start").alias("end"), pl.lit(1).alias("events"),
        pl.col("new_pair").alias("new_pairs"), "flagged",
        (pl.col("surprise").cast(pl.Float64) * UNIT).round().cast(pl.Int64), pl.col("score").alias("strongest"),
    )  # fmt: skip
    schema: Any = dict.fromkeys(("events", "new_pairs", "flagged"), pl.Int64)
    both = pl.concat([row.cast(schema) for row in ([rows] if before is None else [before, rows])])
    return both.group_by("window", maintain_order=True).agg(
        pl.col("start").min(), pl.col("end").max(), pl.col("events", "new_pairs", "flagged", "surprise").sum(),
        pl.col("strongest").max(),
    ).sort("window")  # fmt: skip


def score_windows(closed: pl.DataFrame, habits: dict[str, list[float]]) -> pl.DataFrame:
    """Return closed windows with a score: how unusual their events, surprise and flags are among earlier windows.

    ``habits`` holds number, mean and sum of squares per measure, and is changed.
    """
    scores, reasons, means = [], [], []
    for row in closed.iter_rows(named=True):
        values = {
            "events": math.log1p(row["events"]),
            "surprise": row["surprise"] / UNIT / row["events"],
            "flagged": math.log1p(row["flagged"]),
        }
        found = {name: _unusual(habits[name], value) for name, value in values.items()}
        means.append(values["surprise"])
        best = max(MEASURES, key=lambda name: found[name])
        scores.append(found[best] / math.log(10.0))
        reasons.append(best if found[best] > 0 else "")
    return closed.with_columns(
        pl.Series("surprise", means, dtype=pl.Float64),
        pl.Series("score", scores, dtype=pl.Float64),
        pl.Series("decided_by", reasons, dtype=pl.String),
    )


def new_habits() -> dict[str, list[float]]:
    """Return what is known of windows before the first."""
    return {name: [0.0, 0.0, 0.0] for name in MEASURES}


def _unusual(habit: list[float], value: float) -> float:
    """Return −log of the chance of a value as large by a heavy tail (Student's t, 4 degrees), and learn the value.

    What is learned is limited to 3 standard deviations.
    """
    number, mean, squares = habit
    spread = max(math.sqrt(squares / max(number - 1.0, 1.0)), LEAST_SPREAD)
    off = (value - mean) / spread
    found = 2.0 * math.log1p(0.25 * off * off) if number >= LEAST_WINDOWS and off > 0 else 0.0
    learned = value if number < LEAST_WINDOWS else mean + spread * min(max(off, -3.0), 3.0)
    habit[0] = number + 1.0
    habit[1] = mean + (learned - mean) / habit[0]
    habit[2] = squares + (learned - mean) * (learned - habit[1])
    return found


def node_totals(rows: pl.DataFrame, before: pl.DataFrame | None) -> pl.DataFrame:
    """Add rows per window and node, which are in order, to one row per node: its totals and its strongest window.

    ``before_…`` are the totals up to that window. Of more than ``MOST_NODES`` the least recently seen are left out.
    """
    counts = ("events", "sent", "new_pairs", "far", "flagged")
    earlier = ("events", "new_pairs", "windows")
    rows = rows.with_columns(pl.lit(1, dtype=pl.Int64).alias("windows"))
    rows = rows.with_columns(
        *((pl.col(name).cum_sum().over("node") - pl.col(name)).alias(f"before_{name}") for name in earlier)
    )
    strongest = pl.col("score").arg_max()  # the first of several
    new = rows.group_by("node", maintain_order=True).agg(
        pl.col(*counts, "windows").sum(),
        pl.col("score").max(),
        pl.col("decided_by").get(strongest),
        pl.col("window", "start", "events", "sent", "new_pairs", "far").get(strongest).name.prefix("peak_"),
        pl.col([f"before_{name}" for name in earlier]).get(strongest),
        pl.col("window").last().alias("last"),
    )
    if before is None:
        return new
    known = before.select("node", *(pl.col(name).alias(f"old_{name}") for name in earlier))
    new = new.join(known, on="node", how="left", maintain_order="left").with_columns(
        (pl.col(f"before_{name}") + pl.col(f"old_{name}").fill_null(0)).alias(f"before_{name}") for name in earlier
    )
    both = pl.concat([before, new.select(before.columns)])
    kept = [name for name in before.columns if name not in ("node", *counts, "windows", "score", "last")]
    merged = both.group_by("node", maintain_order=True).agg(
        pl.col(*counts, "windows").sum(), pl.col("score").max(), pl.col(kept).get(strongest), pl.col("last").max()
    ).select(before.columns)  # fmt: skip
    if merged.height > MOST_NODES:
        merged = merged.sort("last", descending=True, maintain_order=True).head(MOST_NODES)
    return merged


def node_scores(totals: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of ``scores.csv``, most anomalous node first."""
    nodes = totals.sort("score", "flagged", "events", "node", descending=[True, True, True, False])
    return nodes.select(
        "node", (pl.int_range(pl.len()) + 1).alias("rank"), "score",
        (pl.col("flagged") > 0).cast(pl.Int8).alias("flagged"), pl.lit(1, dtype=pl.Int8).alias("judged"),
        pl.col("new_pairs").alias("degree"), "decided_by", "events", "sent", "far",
        pl.col("flagged").alias("flagged_events"), "windows", "peak_window", "peak_start",
    )  # fmt: skip
