"""Which flagged events become alerts: rare ones, and several of one pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from hopsight.streams import kernel as at
from hopsight.streams.accounts import N_SAID
from hopsight.streams.alerts import Wording, new_alerts
from hopsight.streams.evidence import KINDS
from hopsight.streams.results import event_frame
from hopsight.streams.times import parse_window

HOUR = 3600.0
BYTES = Wording(parse_window("1h"), True, "%Y-%m-%d %H:%M:%S", paid=True)


def alerts_of(
    *rows: tuple[Any, ...], tallies: dict[str, pl.DataFrame] | None = None, amount: float = 1e6
) -> list[tuple[str, float]]:
    """Return account and hour of the alerts on events: source, target, hour, score, kind, and whether they have met.

    One with a seventh value came late.
    """
    return [(row["account"], row["place"]) for row in raised(*rows, tallies=tallies, amount=amount)]


def raised(*rows: tuple[Any, ...], tallies: dict[str, pl.DataFrame] | None, amount: float) -> list[dict[str, Any]]:
    judgments = np.zeros((len(rows), at.N_COLUMNS), np.float32)
    judgments[:, at.SCORE] = [row[3] for row in rows]
    judgments[:, at.KIND] = [KINDS.index(row[4]) for row in rows]
    judgments[:, at.PAST_HOP] = [1.0 if row[5] else 4.0 for row in rows]
    judgments[:, at.STREAK_PLACE] = 4.0  # of amounts received
    judgments[:, at.STREAK_SIZE] = 3.0
    places = np.array([row[2] for row in rows])
    accounts, late = np.zeros((len(rows), 3, N_SAID)), np.array([len(row) > 6 for row in rows])
    judged = at.Judged(judgments, places.astype(np.int64), accounts, places, late)
    events = pl.DataFrame(
        {
            "source": [row[0] for row in rows], "target": [row[1] for row in rows], "time": places * HOUR,
            "seconds": places * HOUR, "amount": amount, "factor": 1.0, "currency": "", "row": np.arange(len(rows)),
        }
    )  # fmt: skip
    found = new_alerts(event_frame(events, judged, 3.0), judged, {} if tallies is None else tallies, 3.0, 1, BYTES)
    moments = found["time"].str.to_datetime().dt.epoch("s") / HOUR
    return found.with_columns(place=moments).to_dicts()


def test_the_third_flagged_event_of_a_pair_within_a_window_raises_one_alert() -> None:
    flows = [("a", "x", 50.0 + 0.25 * number, 3.3, "amount", number > 0) for number in range(7)]
    assert alerts_of(*flows) == [("a", 50.5)]
    assert alerts_of(*flows[:2]) == []
    assert alerts_of(*(flow for number, flow in enumerate(flows) if number % 3 == 0)) == []  # 45 minutes apart
    assert alerts_of(*(("a", f"x{number}", *flow[2:]) for number, flow in enumerate(flows))) == []
    assert alerts_of(*((*flow, "late") for flow in flows)) == []
    assert alerts_of(flows[0], (*flows[1], "late"), *flows[2:4]) == [("a", 50.75)]
    pieces: dict[str, pl.DataFrame] = {}
    assert [alerts_of(flow, tallies=pieces) for flow in flows] == [[], [], [("a", 50.5)], [], [], [], []]


def test_a_rare_event_and_those_that_follow_it_are_one_alert() -> None:
    flows = [("a", "x", 50.0 + 0.25 * number, 3.3, "amount", True) for number in range(1, 7)]
    assert alerts_of(("a", "x", 50.0, 5.0, "amount", False), *flows) == [("a", 50.0)]


def test_an_amount_has_all_its_digits() -> None:
    (alert,) = raised(("a", "x", 50.0, 5.0, "amount", False), tallies=None, amount=570_822_615.0)
    assert alert["amount"] == 570_822_615.0
    assert "570,822,615" in alert["reason"]
