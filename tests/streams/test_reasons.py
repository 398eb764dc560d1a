"""Sentences: of an event by its kind, and of a node over time."""

from __future__ import annotations

import polars as pl

from hopsight.streams.reasons import event_reasons, node_story


def test_events_in_words() -> None:
    kinds = ["hop", "pair", "sender", "receiver", "amount", "hour", "streak", "streak"]
    frame = pl.DataFrame(
        {"decided_by": kinds, "source": ["ann"] * 8, "target": ["bob"] * 8, "count": 120.0, "usual": 2.0,
         "surprise": 4.6, "past_hop": 4.0, "scale": [0, 0, 1, 0, 0, 0, 0, 0], "streak": 13.7,
         "streak_place": [0, 0, 0, 0, 0, 0, 0, 4], "hop_evidence": 1.0, "amount_evidence": 5.0,
         "hour_evidence": [0.0, 9.0, 0.0, 0.0, 3.0, 3.0, 9.0, 0.0]}
    )  # fmt: skip
    reasons = event_reasons(frame, ("1 hour", "1 day")).to_list()
    assert reasons[0] == (
        "ann and bob had no known path of at most 3 edges before; such a pair becomes an edge with a chance of 1.0%. "
        "The amount is unusual, too."
    )
    assert reasons[1] == "120 events from ann to bob within 1 hour, where 2.0 are usual."
    assert reasons[2] == "ann sent 120 events within 1 day, where 2.0 are usual."
    assert reasons[3].startswith("bob received 120 events")
    assert reasons[4] == "The amount is unusual for ann and bob. The hour is unusual, too."
    assert reasons[6] == "The pairs of the last 14 events that ann sent are unusual together."
    assert reasons[7] == "The amounts of the last 14 events that bob received are unusual together."
    assert all(reason.endswith(".") for reason in reasons)


def test_a_node_that_was_new() -> None:
    row = {
        "peak_start": 3600.0, "peak_events": 9, "peak_sent": 0, "peak_new_pairs": 9, "peak_far": 1,
        "before_events": 0, "before_windows": 0, "before_new_pairs": 0,
    }  # fmt: skip
    assert node_story(row) == (
        "It was new: in the window of 1970-01-01 01:00 it had 9 (0 sent, 9 received), "
        "with 9 new partners, 1 of which it had no known path to."
    )
