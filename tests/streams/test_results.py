"""What a finished run says as a whole."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from hopsight.streams.results import explain_node, node_story
from hopsight.streams.tables import event_reasons
from stream_toys import BURST, STRANGER


def test_the_record_has_fits_counts_and_the_agreement_with_labels(finished: Path) -> None:
    record = json.loads((finished / "run.json").read_text())
    assert record["n_events"] == 3140
    assert record["n_alerts"] == pl.read_csv(finished / "alerts.csv").height > 0
    assert record["fits"][0]["reason"] == "first"
    assert record["n_fits"] == len(record["fits"])
    assert record["labels"]["roc_auc"] > 0.9


def test_planted_nodes_are_among_the_first_and_explained(finished: Path) -> None:
    scores = pl.read_csv(finished / "scores.csv")
    assert scores.columns[:6] == ["node", "rank", "score", "flagged", "judged", "degree"]
    first = scores["node"].head(12).to_list()
    assert {*BURST, STRANGER} <= set(first)  # and those that the stranger turned to, who share its score
    assert STRANGER in first[:6]
    explained = {each["node"]: each["summary"] for each in json.loads((finished / "explanations.json").read_text())}
    assert "events per window" in explained[first[0]] or "It was new" in explained[first[0]]
    assert STRANGER in explained
    assert "no known path" in explained[STRANGER]


def test_every_window_has_a_row_and_the_last_one_is_still_open(finished: Path) -> None:
    windows = pl.read_csv(finished / "windows.csv")
    assert windows["window"].is_sorted()
    assert windows["events"].sum() < 3140  # the open one is missing
    trajectories = pl.read_csv(finished / "trajectories.csv")
    assert trajectories["events"].sum() == 2 * windows["events"].sum()


def test_the_report_shows_windows_alerts_and_nodes(finished: Path) -> None:
    page = (finished / "report.html").read_text()
    assert "each by what was known before it" in page
    assert BURST[0] in page
    assert "<script" in page


def test_a_node_can_be_explained_later(finished: Path) -> None:
    found = explain_node(finished, STRANGER)
    assert "no known path" in found["summary"]
    assert sum(row["events"] for row in found["windows"]) > 100
    with pytest.raises(ValueError, match="'nobody' has no event"):
        explain_node(finished, "nobody")


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
        "ann and bob had no known path of at most 3 edges; 1.0% of similar pairs are connected. "
        "The amount is also unusual."
    )
    assert reasons[1] == "120 events from ann to bob within 1 hour, where 2.0 are usual."
    assert reasons[2] == "ann sent 120 events within 1 day, where 2.0 are usual."
    assert reasons[3].startswith("bob received 120 events")
    assert reasons[4] == "The amount is unusual for ann and bob. The hour is also unusual."
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
