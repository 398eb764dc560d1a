"""What happened per window and node: sums by hand, the same in chunks; windows unlike the ones before."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from hopsight.streams import results as tables
from hopsight.streams.results import new_habits, node_scores, node_tally, node_totals, score_windows


def events() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "source": ["a", "a", "b"], "target": ["b", "c", "c"], "window": [0, 0, 1], "start": [1.0, 2.0, 9.0],
            "new_pair": [1, 1, 0], "far": [0, 1, 0], "flagged": np.array([0, 1, 0], np.int8),
            "surprise": np.array([0.5, 2.5, 1.0], np.float32), "score": [0.2, 3.5, 1.0],
            "decided_by": ["pair", "hop", "hour"],
            "source_score": [0.2, 3.5, 1.0], "target_score": [0.2, 2.5, 0.5],
            "source_account": [0.0, 0.0, 0.0], "target_account": [0.0, 0.0, 0.0],
            "source_kind": ["partners"] * 3, "target_kind": ["partners"] * 3,
            "source_flagged": np.array([0, 1, 0], np.int8), "target_flagged": np.array([0, 0, 0], np.int8),
        }
    )  # fmt: skip


def test_rows_per_node_and_window() -> None:
    rows = {(row["window"], row["node"]): row for row in node_tally(events(), None).to_dicts()}
    assert rows[0, "a"] == {
        "window": 0, "start": 1.0, "node": "a", "events": 2, "sent": 2, "new_pairs": 2, "far": 1, "flagged": 1,
        "decided_by": "hop", "score": 3.5,
    }  # fmt: skip
    assert (rows[0, "c"]["sent"], rows[0, "c"]["score"], rows[0, "c"]["flagged"]) == (0, 2.5, 0)
    assert len(rows) == 5


def test_nodes_rank_by_their_strongest_window() -> None:
    scores = node_scores(node_totals(node_tally(events(), None), None))
    assert scores["node"].to_list() == ["a", "c", "b"]
    assert scores.filter(pl.col("node") == "a")["degree"].item() == 2
    assert scores["flagged"].to_list() == [1, 0, 0]


def test_totals_by_hand_and_the_same_in_parts() -> None:
    rows = node_tally(events(), None)
    whole = node_totals(rows, None)
    b = whole.row(by_predicate=pl.col("node") == "b", named=True)
    assert (b["events"], b["sent"], b["windows"], b["score"], b["decided_by"]) == (2, 1, 2, 1.0, "hour")
    assert (b["peak_window"], b["peak_events"], b["before_events"], b["before_windows"]) == (1, 1, 1, 1)
    parts = node_totals(rows.filter(pl.col("window") == 1), node_totals(rows.filter(pl.col("window") == 0), None))
    assert_frame_equal(parts.sort("node"), whole.sort("node"))


def test_totals_of_the_least_recent_nodes_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_NODES", 2)
    rows = node_tally(events(), None)
    totals = node_totals(rows.filter(pl.col("window") == 1), node_totals(rows.filter(pl.col("window") == 0), None))
    assert set(totals["node"]) == {"b", "c"}


def test_a_window_unlike_the_ones_before_has_the_highest_score() -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(100, 40)
    counts[30] = 900
    rows = pl.DataFrame(
        {"window": np.arange(40), "events": counts, "surprise": counts * 1_000_000, "flagged": np.zeros(40, np.int64)}
    )
    scored = score_windows(rows, new_habits())
    assert scored["score"].arg_max() == 30
    assert scored["decided_by"][30] == "events"
    assert scored["score"].to_list()[:5] == [0.0] * 5  # too few to compare with
