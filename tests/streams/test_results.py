"""What a finished run says as a whole."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from hopsight.streams.results import explain_node
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
