"""Anomalies planted into day and night traffic between groups rank high, and alarms are as rare as they should be."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hopsight.metrics import roc_auc
from hopsight.streams.engine import advance
from hopsight.streams.events import Columns, read_events
from hopsight.streams.kernel import SCORE
from hopsight.streams.state import State
from hopsight.streams.tally import new_laws
from stream_toys import DAY, START

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
    )


def planted(source: list[int], target: list[int], seconds: float) -> pl.DataFrame:
    time = NOON + np.linspace(0, seconds, len(source))
    return pl.DataFrame({"source": source, "target": target, "time": time, "amount": 30.0, "label": 1.0})


def judged(frame: pl.DataFrame) -> tuple[float, float]:
    """Return ROC-AUC after the first third, and the share of ordinary events with a score of 3."""
    frame = frame.sort("time", maintain_order=True)
    state = State.new({"window": "1d", "seed": 0, "hours": True, "fits": [], "laws": new_laws()}, seed=0)
    scores = advance(state, read_events(frame, Columns(time="time", amount="amount")))[0][:, SCORE]
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


def test_unusual_amounts_rank_high(traffic: pl.DataFrame) -> None:
    chosen = np.isin(np.arange(traffic.height), np.random.default_rng(1).choice(np.arange(4000, traffic.height), 60))
    frame = traffic.with_columns(
        label=pl.Series(chosen.astype(float)), amount=pl.col("amount") * pl.Series(np.where(chosen, 50.0, 1.0))
    )
    assert judged(frame)[0] > 0.93
