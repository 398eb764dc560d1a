"""Anomalies planted into day and night traffic between groups rank high, and alarms are as rare as they should be."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hopsight.metrics import roc_auc
from hopsight.streams.events import Columns
from hopsight.streams.kernel import SCORE, advance
from hopsight.streams.results import event_frame, new_habits, node_scores, node_tally, node_totals
from hopsight.streams.state import State
from stream_toys import DAY, START, read_events

NOON = START + 45 * DAY + 12 * 3600


@pytest.fixture(scope="module")
def traffic() -> pl.DataFrame:
    """Return 60 days among 200 nodes in 10 groups, busy by day, with favorite partners and 5% strangers."""
    rng = np.random.default_rng(0)
    time = np.sort(rng.uniform(0, 60 * DAY, 12_000))
    time = time[rng.random(time.size) < np.where(np.abs(time % DAY / DAY - 0.5) < 0.25, 1.0, 0.15)]
    source = (200 * rng.random(time.size) ** 1.7).astype(int)
    favorite = (7 * source + 30 * rng.integers(0, 6, time.size)) % 200 // 10 * 10 + source % 10
    target = np.where(rng.random(time.size) < 0.05, rng.integers(0, 200, time.size), favorite)
    amount = np.exp(rng.normal(3.0 + source % 5 / 2, 0.5))
    return pl.DataFrame(
        {"source": source, "target": target, "time": START + time, "amount": amount, "label": np.zeros(time.size)}
    ).filter(pl.col("source") != pl.col("target"))


def planted(source: list[int], target: list[int], seconds: float) -> pl.DataFrame:
    time = NOON + np.linspace(0, seconds, len(source))
    return pl.DataFrame({"source": source, "target": target, "time": time, "amount": 30.0, "label": 1.0})


def scores_of(frame: pl.DataFrame, window: str = "1d") -> np.ndarray:
    state = State.new(
        {"window": window, "seed": 0, "hours": True, "fits": [], "habits": new_habits(), "currencies": {"": [0, 0]}},
        seed=0,
    )
    return advance(state, read_events(frame, Columns(time="time", amount="amount")))[0][:, SCORE]


def judged(frame: pl.DataFrame) -> tuple[float, float]:
    """Return ROC-AUC after the first third, and the share of ordinary events with a score of 3."""
    frame = frame.sort("time", maintain_order=True)
    scores = scores_of(frame)
    late, labels = np.arange(frame.height) > frame.height / 3, frame["label"].to_numpy()
    return roc_auc(labels[late], scores[late]), float((scores[late & (labels == 0)] >= 3.0).mean())


@pytest.mark.parametrize(
    ("events", "least"),
    [
        (planted([3] * 100, [13] * 100, 300), 0.97),
        (planted([3] * 20, [13] * 20, 120), 0.9),
        (planted([999] * 100, list(range(100)), 3600), 0.98),
        (planted(list(range(900, 1000)), [7] * 100, 3600), 0.98),
        (planted([25] * 36, [n for n in range(40) if n % 10 != 5], 6 * 3600), 0.95),
    ],
    ids=["burst of a pair", "short burst", "new node that scans", "many new nodes to one", "turns to strangers"],
)
def test_planted_events_rank_high(traffic: pl.DataFrame, events: pl.DataFrame, least: float) -> None:
    area, alarms = judged(pl.concat([traffic, events.cast(dict(traffic.schema))]))
    assert area > least
    assert alarms < 0.005


def mules(traffic: pl.DataFrame) -> pl.DataFrame:
    """Return payments that five accounts receive from 20 strangers each within a day, none of them a burst."""
    rng = np.random.default_rng(2)
    rows = []
    for day, mule in zip((30, 36, 42, 48, 54), (31, 62, 93, 124, 155), strict=True):
        senders = rng.choice([node for node in range(200) if node % 10 != mule % 10], 20, replace=False)
        times = START + (day + rng.uniform(0.3, 0.8, 20)) * DAY
        rows += [(sender, mule, time) for sender, time in zip(senders, times, strict=True)]
    source, target, time = zip(*rows, strict=True)
    amount = np.exp(rng.normal(3.0 + np.array(source) % 5 / 2, 0.5))
    frame = pl.DataFrame({"source": source, "target": target, "time": time, "amount": amount, "label": 1.0})
    return frame.cast(dict(traffic.schema))


def test_money_mules_are_named(traffic: pl.DataFrame) -> None:
    frame = pl.concat([traffic, mules(traffic)]).sort("time", maintain_order=True)
    scores = scores_of(frame)
    flagged = frame.filter(pl.Series(scores >= 3.0) & (pl.col("label") == 1))
    assert flagged["target"].n_unique() >= 4
    late, labels = np.arange(frame.height) > frame.height / 3, frame["label"].to_numpy()
    assert roc_auc(labels[late], scores[late]) > 0.9
    assert (scores[late & (labels == 0)] >= 3.0).mean() < 0.005


def nodes_of(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the nodes, most anomalous first."""
    state = State.new(
        {"window": "1d", "seed": 0, "hours": True, "fits": [], "habits": new_habits(), "currencies": {"": [0, 0]}},
        seed=0,
    )
    events = read_events(frame, Columns(time="time", amount="amount"))
    rows = node_tally(event_frame(events, advance(state, events), 3.0), None)
    return node_scores(node_totals(rows, None))


def test_who_scans_or_collects_is_named_and_not_the_others(traffic: pl.DataFrame) -> None:
    scan = planted([999] * 100, list(range(100)), 3600)
    nodes = nodes_of(pl.concat([traffic, scan.cast(dict(traffic.schema))]).sort("time", maintain_order=True))
    assert nodes["node"][0] == "999"
    assert nodes.filter(pl.col("flagged") == 1)["node"].is_in([str(node) for node in range(100)]).sum() < 10
    nodes = nodes_of(pl.concat([traffic, mules(traffic)]).sort("time", maintain_order=True))
    assert set(nodes["node"][:5]) == {"31", "62", "93", "124", "155"}
    assert nodes["flagged"].sum() < 20


def test_a_takeover_ranks_by_pair_amount_and_hour_together(traffic: pl.DataFrame) -> None:
    """At night an account sends three times its usual amount to five strangers: each a little unusual."""
    time = NOON - 10 * 3600 + 600.0 * np.arange(5)
    night = pl.DataFrame({"source": 25, "target": [1, 12, 33, 44, 56], "time": time, "amount": 60.0, "label": 1.0})
    area, alarms = judged(pl.concat([traffic, night.cast(dict(traffic.schema))]))
    assert area > 0.99
    assert alarms < 0.005


def test_who_is_busy_for_good_is_not_flagged_for_it(traffic: pl.DataFrame) -> None:
    rng = np.random.default_rng(3)
    days = np.repeat(np.arange(60), 40)
    time = START + (days + rng.uniform(0.3, 0.7, days.size)) * DAY
    busy = pl.DataFrame({"source": 7, "target": 17 + 30 * rng.integers(0, 3, days.size), "time": time, "amount": 30.0})
    busy = busy.with_columns(label=pl.lit(0.0)).cast(dict(traffic.schema))
    frame = pl.concat([traffic, busy]).sort("time", maintain_order=True)
    scores = scores_of(frame)
    late = (frame["time"] > START + 40 * DAY).to_numpy() & (frame["source"] == 7).to_numpy()
    assert (scores[late] >= 3.0).mean() < 0.02


def test_unusual_amounts_rank_high(traffic: pl.DataFrame) -> None:
    chosen = np.isin(np.arange(traffic.height), np.random.default_rng(1).choice(np.arange(4000, traffic.height), 60))
    frame = traffic.with_columns(
        label=pl.Series(chosen.astype(float)), amount=pl.col("amount") * pl.Series(np.where(chosen, 50.0, 1.0))
    )
    assert judged(frame)[0] > 0.93


@pytest.mark.parametrize("window", ["1d", "3000"])
def test_who_is_popular_from_the_beginning_is_not_flagged_for_it(window: str) -> None:
    """The receivers of a power law, of whom the first gets a sixth of all events, in few and in many windows."""
    rng = np.random.default_rng(5)
    share = 1.0 / np.arange(1, 1001) ** 1.1
    time = START + np.sort(rng.uniform(0, 30 * DAY, 15_000))
    source, target = rng.integers(0, 1000, time.size), 5000 + rng.choice(1000, time.size, p=share / share.sum())
    frame = pl.DataFrame({"source": source, "target": target, "time": time, "amount": 1.0})
    assert (scores_of(frame, window) >= 3.0).mean() < 0.005
