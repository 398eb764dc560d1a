"""The tables of a run over time: one row per event, per alert with its reason, per window, and per node and window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.streams import kernel as at
from hopsight.streams.evidence import KINDS
from hopsight.system.lazy_polars import pl

EDGE_COLUMNS = ("source", "target", "time", "hop", "surprise", "score", "flagged", "decided_by", "window", "row")
ALERT_COLUMNS = ("alert", "source", "target", "time", "window", "score", "decided_by", "hop", "surprise", "reason")
FAR_HOP = 4.0
LEAST_TOO = math.log(10.0)  # nats: what less than a tenth of events have is named besides what decided
PARTS = {"hop": "pair", "amount": "amount", "hour": "hour"}  # kinds of evidence that count together, in words
LEAST_WINDOWS = 5.0
LEAST_SPREAD = 0.1
UNIT = 1e6  # surprise is summed as whole numbers of this fraction, so that no order of adding changes the sum
MOST_NODES = 200_000  # of which totals are kept
MEASURES = ("events", "surprise", "flagged")


def event_frame(
    events: pl.DataFrame, judgments: NDArray[np.float32], windows: NDArray[np.int64], alarm: float
) -> pl.DataFrame:
    """Return events with their judgments."""
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
            "source_flagged": (judgments[:, at.SOURCE_SCORE] >= alarm).astype(np.int8),
            "target_flagged": (judgments[:, at.TARGET_SCORE] >= alarm).astype(np.int8),
            "hop_evidence": judgments[:, at.EV_HOP], "amount_evidence": judgments[:, at.EV_AMOUNT],
            "hour_evidence": judgments[:, at.EV_HOUR],
        }
    )  # fmt: skip


def alert_frame(frame: pl.DataFrame, first: int, spans: Sequence[str]) -> pl.DataFrame:
    """Return the flagged events with a number, counted from ``first``, and a reason."""
    flagged = frame.filter(pl.col("flagged") == 1)
    return flagged.with_columns(
        (pl.int_range(pl.len()) + first).alias("alert"), event_reasons(flagged, spans).alias("reason")
    ).select(ALERT_COLUMNS)


def kind_names(judgments: NDArray[np.float32]) -> Any:
    """Return the names of the kinds of evidence that decided."""
    return np.array(KINDS)[judgments[:, at.KIND].astype(np.int64)]


def event_reasons(frame: pl.DataFrame, spans: Sequence[str]) -> pl.Series:
    """Return one sentence per event, and what else is unusual; ``spans`` says over how long events are counted."""
    chosen: Any = pl.when(pl.lit(False)).then(pl.lit(""))
    for kind, sentence in _sentences(spans).items():
        chosen = chosen.when(pl.col("decided_by") == kind).then(sentence)
    reason = chosen.otherwise(pl.lit(""))
    for kind in PARTS:
        (one, first), (two, second) = (
            (word, pl.col(f"{other}_evidence") >= LEAST_TOO) for other, word in PARTS.items() if other != kind
        )
        also = (
            pl.when(first & second).then(pl.lit(f" The {one} and the {two} are also unusual."))
            .when(first).then(pl.lit(f" The {one} is also unusual."))
            .when(second).then(pl.lit(f" The {two} is also unusual."))
            .otherwise(pl.lit(""))
        )  # fmt: skip
        reason = reason + pl.when(pl.col("decided_by") == kind).then(also).otherwise(pl.lit(""))
    return frame.select(reason.alias("reason"))["reason"]


def _sentences(spans: Sequence[str]) -> dict[str, pl.Expr]:
    """Return a sentence by kind of evidence."""
    source, target = pl.col("source").cast(pl.String), pl.col("target").cast(pl.String)
    count, usual = pl.col("count").round(0).cast(pl.Int64), pl.col("usual").clip(0.1).round(1)
    chance = (100.0 * (-pl.col("surprise")).exp()).round(1)
    path = (
        pl.when(pl.col("past_hop") >= 4).then(pl.lit("had no known path of at most 3 edges"))
        .when(pl.col("past_hop") >= 3).then(pl.lit("were 3 hops apart"))
        .when(pl.col("past_hop") >= 2).then(pl.lit("had only common neighbors"))
        .otherwise(pl.lit("have dealt with each other before"))
    )  # fmt: skip
    within = pl.when(pl.col("scale") == 0).then(pl.lit(spans[0])).otherwise(pl.lit(spans[1]))
    sent, received = pl.format("{} sent", source), pl.format("{} received", target)
    streak, parts = pl.col("streak").round(0).cast(pl.Int64), pl.lit("pairs")
    for place, word in enumerate(PARTS.values()):
        parts = pl.when(pl.col("streak_place") % len(PARTS) == place).then(pl.lit(f"{word}s")).otherwise(parts)
    return {
        "hop": pl.format(
            "{} and {} {}; {}% of similar pairs are connected.", source, target, path, chance
        ),
        "pair": pl.format(
            "{} events from {} to {} within {}, where {} are usual.", count, source, target, within, usual
        ),
        "sender": pl.format("{} {} events within {}, where {} are usual.", sent, count, within, usual),
        "receiver": pl.format("{} {} events within {}, where {} are usual.", received, count, within, usual),
        "amount": pl.format("The amount is unusual for {} and {}.", source, target),
        "hour": pl.format("{} is seldom active at this hour of the day.", source),
        "streak": pl.format(
            "The {} of the last {} events that {} are unusual together.",
            parts, streak, pl.when(pl.col("streak_place") < len(PARTS)).then(sent).otherwise(received),
        ),
    }  # fmt: skip


def node_tally(events: pl.DataFrame, before: pl.DataFrame | None) -> pl.DataFrame:
    """Return one row per window and node: what it did, its share of the strongest score, and what decided it.

    ``before`` are the rows of the window that was open.
    """
    ends = []
    for end, sent in (("source", 1), ("target", 0)):
        ends.append(
            events.select(
                pl.col("window", "start"),
                pl.col(end).cast(pl.String).alias("node"),
                pl.lit(1).alias("events"),
                pl.lit(sent).alias("sent"),
                pl.col("new_pair").alias("new_pairs"),
                "far",
                pl.col(f"{end}_flagged").alias("flagged"),
                "decided_by",
                pl.col(f"{end}_score").alias("score"),
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
