"""Nothing of the future is used, to the bit; chunks change nothing; late events and drift follow their rules."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hopsight.metrics import roc_auc
from hopsight.streams.events import Columns
from hopsight.streams.kernel import (
    EV_AMOUNT,
    EV_HOP,
    EV_PAIR,
    EV_RECEIVER,
    EV_SENDER,
    EV_STREAK,
    HOP,
    NEW_PAIR,
    SCORE,
    SURPRISE,
    advance,
)
from hopsight.streams.memory import N_LATE
from hopsight.streams.results import kind_names, new_habits
from hopsight.streams.state import State
from stream_toys import BURST, DAY, START, STRANGER, read_events, toy_events

COLUMNS = Columns(time="time", amount="amount")
NOTES = {"window": "1d", "seed": 0, "hours": True, "fits": [], "habits": new_habits(), "currencies": {"": [0, 0]}}


def judged(*parts: pl.DataFrame, **notes: object) -> tuple[np.ndarray, State]:
    state = State.new({**NOTES, **notes}, seed=0)
    return np.concatenate([advance(state, part)[0] for part in parts]), state


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return toy_events()


@pytest.fixture(scope="module")
def readings(frame: pl.DataFrame) -> np.ndarray:
    return judged(read_events(frame, COLUMNS))[0]


@pytest.mark.parametrize("moment", [START + 12 * DAY, START + 22 * DAY + 40_000])
def test_nothing_after_a_moment_changes_scores_up_to_it(frame: pl.DataFrame, readings: np.ndarray, moment: int) -> None:
    before, after = frame.filter(pl.col("time") <= moment), frame.filter(pl.col("time") > moment)
    shuffled = after.with_columns(pl.col(name).shuffle(seed=1) for name in ("source", "target", "amount"))
    shuffled = shuffled.with_columns(pl.col("time") + 7 * DAY)
    changed, _ = judged(read_events(pl.concat([before, shuffled]), COLUMNS))
    np.testing.assert_array_equal(changed[: before.height], readings[: before.height])
    assert not np.array_equal(changed[before.height :], readings[before.height :])


def test_what_was_planted_is_found_by_the_right_kind(frame: pl.DataFrame, readings: np.ndarray) -> None:
    late = frame["time"].to_numpy() > START + 20 * DAY
    assert roc_auc(frame["label"].to_numpy()[late], readings[late, SCORE]) > 0.93
    kinds = kind_names(readings)
    burst = (frame["label"] == 1).to_numpy() & (frame["source"] == BURST[0]).to_numpy()
    assert np.isin(kinds[burst][-50:], ("pair", "sender", "receiver")).all()
    strangers = (frame["label"] == 1).to_numpy() & (frame["source"] == STRANGER).to_numpy()
    assert kinds[strangers][0] == "hop"
    assert np.isin(kinds[strangers], ("hop", "sender", "streak")).all()  # after some, too many at a time or in a row
    assert (kinds[strangers] == "streak").any()


def test_a_late_event_counts_as_of_the_newest_time_but_in_no_burst_or_streak(frame: pl.DataFrame) -> None:
    head, tail = frame[:1000], frame[1000:1001]
    as_of_now = tail.with_columns(time=head["time"].tail(1))
    first = read_events(head, COLUMNS)
    late, state = judged(first, read_events(tail.with_columns(time=pl.lit(START)), COLUMNS))
    punctual, other = judged(first, read_events(as_of_now, COLUMNS))
    of_pair, within = [HOP, SURPRISE, EV_HOP, EV_AMOUNT], [EV_PAIR, EV_SENDER, EV_RECEIVER, EV_STREAK]
    np.testing.assert_array_equal(late[-1, of_pair], punctual[-1, of_pair])
    assert not late[-1, within].any()
    assert state.memory.late.sum() == 2  # of both ends
    assert (state.memory.clock[N_LATE], other.memory.clock[N_LATE]) == (1, 0)


def test_the_network_is_fitted_first_on_schedule_and_when_it_drifts() -> None:
    calm = toy_events(6000, n_days=60)
    rng = np.random.default_rng(0)
    upset = pl.DataFrame(  # everyone suddenly talks to anyone, and mostly to nodes never seen
        {
            "source": [f"c{number}" for number in rng.integers(0, 4000, 3000)],
            "target": [f"a{number}" for number in rng.integers(0, 25, 3000)],
            "time": START + 61 * DAY + np.arange(3000) * 300,
            "amount": 20.0,
        }
    )
    _, state = judged(read_events(pl.concat([calm.drop("label"), upset]), COLUMNS))
    reasons = [fit["reason"] for fit in state.notes["fits"]]
    assert reasons[0] == "first"
    assert "schedule" in reasons
    drift = [fit for fit in state.notes["fits"] if fit["reason"] == "drift" and fit["time"] > START + 61 * DAY]
    assert drift
    assert drift[0]["loss_before"] > drift[0]["loss_after"]


@pytest.mark.parametrize("step", [1, 60])
def test_an_ordinary_first_day_has_no_false_alarm(step: int) -> None:
    """Every hour is new on the first day, and after the first fit everything looks new, which is no evidence."""
    rng = np.random.default_rng(3)
    n_events = 1_400
    customers, shops = rng.integers(0, 150, n_events), 1000 + rng.choice(40, n_events, p=np.arange(1, 41) / 820)
    ends = {"source": customers, "target": shops, "time": START + 7 * 3600 + step * np.arange(n_events)}
    found, _ = judged(read_events(pl.DataFrame(ends), Columns(time="time")))
    assert (found[:, SCORE] >= 3.0).mean() <= 0.005


def test_a_pair_is_new_once_also_if_both_ends_begin_at_the_same_time() -> None:
    ends = {"source": [*"abac"], "target": [*"baca"], "time": [START, START, START, START + 60], "amount": 1.0}
    assert judged(read_events(pl.DataFrame(ends), COLUMNS))[0][:, NEW_PAIR].tolist() == [1.0, 0.0, 1.0, 0.0]
