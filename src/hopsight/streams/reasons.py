"""Why an event was flagged, and what a node did over time, in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hopsight.checks import plural
from hopsight.system.lazy_polars import pl

LEAST_TOO = math.log(10.0)  # nats: what less than a tenth of events have is named besides what decided
PARTS = {"hop": "pair", "amount": "amount", "hour": "hour"}  # kinds of evidence that count together, in words


def event_reasons(frame: pl.DataFrame, spans: Sequence[str]) -> pl.Series:
    """Return one sentence per event, and what else is unusual; ``spans`` says over how long events are counted."""
    chosen: Any = pl.when(pl.lit(False)).then(pl.lit(""))
    for kind, sentence in _sentences(spans).items():
        chosen = chosen.when(pl.col("decided_by") == kind).then(sentence)
    together, reason = pl.col("decided_by").is_in(list(PARTS)), chosen.otherwise(pl.lit(""))
    for kind, word in PARTS.items():
        too = together & (pl.col("decided_by") != kind) & (pl.col(f"{kind}_evidence") >= LEAST_TOO)
        reason = reason + pl.when(too).then(pl.lit(f" The {word} is unusual, too.")).otherwise(pl.lit(""))
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
        .otherwise(pl.lit("had an edge already"))
    )  # fmt: skip
    within = pl.when(pl.col("scale") == 0).then(pl.lit(spans[0])).otherwise(pl.lit(spans[1]))
    sent, received = pl.format("{} sent", source), pl.format("{} received", target)
    streak, parts = pl.col("streak").round(0).cast(pl.Int64), pl.lit("pairs")
    for place, word in enumerate(PARTS.values()):
        parts = pl.when(pl.col("streak_place") % len(PARTS) == place).then(pl.lit(f"{word}s")).otherwise(parts)
    return {
        "hop": pl.format(
            "{} and {} {} before; such a pair becomes an edge with a chance of {}%.", source, target, path, chance
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


def node_story(node: dict[str, Any]) -> str:
    """Return what a node did until its strongest window, and what it did then, from its row of :func:`node_totals`.

    >>> peak = {"peak_start": 86400.0, "peak_events": 37, "peak_sent": 37, "peak_new_pairs": 30, "peak_far": 30}
    >>> story = node_story({**peak, "before_events": 4, "before_windows": 1, "before_new_pairs": 3})
    >>> for part in story.split("; "):
    ...     print(part)
    Until 1970-01-02 it had 4 events per window with 3 partners
    in the window of 1970-01-02 it had 37 (37 sent, 0 received), with 30 new partners that it had no known path to.
    """
    when = moment_words(node["peak_start"])
    events, sent = node["peak_events"], node["peak_sent"]
    text = f"in the window of {when} it had {events:,} ({sent:,} sent, {events - sent:,} received)"
    new, far = node["peak_new_pairs"], node["peak_far"]
    if new:
        text += f", with {plural(new, 'new partner')}"
    if far:
        text += f", {far:,} of which it had no known path to" if new != far else " that it had no known path to"
    if not node["before_windows"]:
        return f"It was new: {text}."
    usual = plural_about(node["before_events"] / node["before_windows"], "event")
    partners = plural(node["before_new_pairs"], "partner")
    return f"Until {when} it had {usual} per window with {partners}; {text}."


def plural_about(number: float, noun: str) -> str:
    """Return a number with about three digits and its noun.

    >>> plural_about(1.0, "event"), plural_about(4.256, "event"), plural_about(2841.2, "event")
    ('1 event', '4.26 events', '2,841 events')
    """
    return f"{number:{',.0f' if number >= 100 else '.3g'}} {noun}{'' if number == 1 else 's'}"


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
