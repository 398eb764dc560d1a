"""Why an event was flagged, and what a node did over time, in plain sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars as pl


def event_reasons(frame: pl.DataFrame, tick: str) -> pl.Series:
    """Return one sentence per event; ``tick`` says over how long events are counted."""
    import polars as pl

    source, target = pl.col("source").cast(pl.String), pl.col("target").cast(pl.String)
    count, usual = pl.col("count").round(0).cast(pl.Int64), pl.col("usual").clip(0.1).round(1)
    chance = (100.0 * (-pl.col("surprise")).exp()).round(1)
    path = (
        pl.when(pl.col("past_hop") >= 4).then(pl.lit("had no known path of at most 3 edges"))
        .when(pl.col("past_hop") >= 3).then(pl.lit("were 3 hops apart"))
        .when(pl.col("past_hop") >= 2).then(pl.lit("had only common neighbors"))
        .otherwise(pl.lit("had an edge already"))
    )  # fmt: skip
    counted = f" within {tick}, where "
    sentences = {
        "hop": pl.format(
            "{} and {} {} before; such a pair becomes an edge with a chance of {}%.", source, target, path, chance
        ),
        "pair": pl.format("{} events from {} to {}" + counted + "{} are usual.", count, source, target, usual),
        "sender": pl.format("{} sent {} events" + counted + "{} are usual.", source, count, usual),
        "receiver": pl.format("{} received {} events" + counted + "{} are usual.", target, count, usual),
        "amount": pl.format("The amount is unusual for {} and {}.", source, target),
        "hour": pl.format("{} is seldom active at this hour of the day.", source),
    }  # fmt: skip
    chosen: Any = pl.when(pl.lit(False)).then(pl.lit(""))
    for kind, sentence in sentences.items():
        chosen = chosen.when(pl.col("decided_by") == kind).then(sentence)
    return frame.select(chosen.alias("reason"))["reason"]


def node_story(rows: list[dict[str, Any]]) -> str:
    """Return what a node did until its strongest window, and what it did then, from its rows per window in order.

    >>> usual = {"start": 0.0, "events": 4, "sent": 4, "new_pairs": 0, "far": 0, "score": 0.1}
    >>> print(node_story([usual, {**usual, "start": 86400.0, "events": 37, "sent": 30, "score": 5.0}]))
    Until 1970-01-02 it had 4 events per window; in the window of 1970-01-02 it had 37 (30 sent, 7 received).
    """
    peak = max(range(len(rows)), key=lambda place: rows[place]["score"])
    row, earlier = rows[peak], rows[:peak]
    when = moment_words(row["start"])
    received = row["events"] - row["sent"]
    text = f"in the window of {when} it had {row['events']:,} ({row['sent']:,} sent, {received:,} received)"
    if row["far"]:
        text += f", {row['far']:,} of them with nodes that it had no known path to"
    elif row["new_pairs"]:
        text += f", {row['new_pairs']:,} of them with new partners"
    if not earlier:
        return f"It was new: {text}."
    usual = float(np.median([each["events"] for each in earlier]))
    return f"Until {when} it had {usual:,.3g} events per window; {text}."


def moment_words(seconds: float) -> str:
    """Return a time as a date, with the hour where there is one.

    >>> moment_words(0.0), moment_words(5400.0)
    ('1970-01-01', '1970-01-01 01:30')
    """
    import datetime

    if not math.isfinite(seconds) or abs(seconds) > 2.5e11:
        return f"{seconds:g}"
    text = (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=math.floor(seconds))).isoformat(" ")[:16]
    return text[:10] if text.endswith(" 00:00") else text
