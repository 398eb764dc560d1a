"""What happened per window and per node and window; the open window waits in the state."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hopsight.streams.evidence import KINDS
from hopsight.system.lazy_polars import pl

LEAST_WINDOWS = 5.0
LEAST_SPREAD = 0.1
UNIT = 1e6  # surprise is summed as whole numbers of this fraction, so that no order of adding changes the sum
MOST_NODES = 200_000  # of which totals are kept
MEASURES = ("events", "surprise", "flagged")


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


def score_windows(closed: pl.DataFrame, laws: dict[str, list[float]]) -> pl.DataFrame:
    """Return closed windows with a score: how unusual their events, surprise and flags are among earlier windows.

    ``laws`` holds number, mean and sum of squares per measure, and is changed.
    """
    scores, reasons, means = [], [], []
    for row in closed.iter_rows(named=True):
        values = {
            "events": math.log1p(row["events"]),
            "surprise": row["surprise"] / UNIT / row["events"],
            "flagged": math.log1p(row["flagged"]),
        }
        found = {name: _unusual(laws[name], value) for name, value in values.items()}
        means.append(values["surprise"])
        best = max(MEASURES, key=lambda name: found[name])
        scores.append(found[best] / math.log(10.0))
        reasons.append(best if found[best] > 0 else "")
    return closed.with_columns(
        pl.Series("surprise", means, dtype=pl.Float64),
        pl.Series("score", scores, dtype=pl.Float64),
        pl.Series("decided_by", reasons, dtype=pl.String),
    )


def new_laws() -> dict[str, list[float]]:
    """Return what is known of windows before the first."""
    return {name: [0.0, 0.0, 0.0] for name in MEASURES}


def _unusual(law: list[float], value: float) -> float:
    """Return −log of the chance of a value as large by a heavy tail (Student's t, 4 degrees), and learn the value.

    What is learned is limited to 3 standard deviations.
    """
    number, mean, squares = law
    spread = max(math.sqrt(squares / max(number - 1.0, 1.0)), LEAST_SPREAD)
    off = (value - mean) / spread
    found = 2.0 * math.log1p(0.25 * off * off) if number >= LEAST_WINDOWS and off > 0 else 0.0
    learned = value if number < LEAST_WINDOWS else mean + spread * min(max(off, -3.0), 3.0)
    law[0] = number + 1.0
    law[1] = mean + (learned - mean) / law[0]
    law[2] = squares + (learned - mean) * (learned - law[1])
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


def kind_names(numbers: Any) -> Any:
    """Return the names of kinds of evidence by their numbers."""
    return np.array(KINDS)[np.asarray(numbers, dtype=np.int64)]
