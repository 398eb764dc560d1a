"""Judge events in order, and fit the network again when that is due."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.io.dates import SECONDS_PER_DAY
from hopsight.streams import memory as at
from hopsight.streams.events import keys_of
from hopsight.streams.kernel import DRIFT, N_READINGS, process
from hopsight.streams.network import fit, loss_of
from hopsight.streams.state import State
from hopsight.streams.windows import SPANS, parse_window
from hopsight.system.lazy_polars import pl

MAX_FITS = 500  # fits that the record lists

Readings = NDArray[np.float32]


def advance(state: State, events: pl.DataFrame) -> tuple[Readings, NDArray[np.int64]]:
    """Judge events, which are in order of time, remember them, and return their readings and windows.

    An event that is older than the newest one so far is late: it counts as if it came at the newest time.
    """
    memory, window = state.memory, parse_window(state.notes["window"])
    seed = int(state.notes["seed"])
    seconds, amounts = events["seconds"].to_numpy(), events["amount"].to_numpy()
    moments = np.maximum(np.maximum.accumulate(seconds), memory.sums[at.NEWEST])
    memory.clock[at.N_LATE] += int((seconds < moments).sum())
    first = int(memory.clock[at.EVENTS])
    ticks = window.ticks(moments, first, dated=bool(state.notes["hours"]))
    spans = window.number(moments, first, SPANS)
    hours = _hours(state, moments)
    sources, targets = keys_of(events)
    readings = np.zeros((events.height, N_READINGS), np.float32)
    place = 0
    while True:
        place = process(memory, state.network, sources, targets, ticks, spans, hours, amounts, place, seed, readings)
        if place >= events.height:
            break
        refit(state, float(moments[place]), seed)
    memory.sums[at.NEWEST] = moments[-1]
    return readings, window.number(moments, first)


def _hours(state: State, moments: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the hour of each event: on the first day, when every hour is new, 24 more; −1 if times have none."""
    if not state.notes["hours"]:
        return np.full(moments.size, -1)
    began = state.notes.setdefault("began", float(moments[0]))
    return np.asarray(
        (moments // 3600 % at.N_HOURS).astype(np.int64) + at.N_HOURS * (moments < began + SECONDS_PER_DAY)
    )


def refit(state: State, moment: float, seed: int) -> None:
    """Fit the network to the most recent examples, and note when and why."""
    memory = state.memory
    examples = memory.examples[: min(int(memory.clock[at.N_TRAINED]), at.N_EXAMPLES)]
    before = float(memory.sums[at.LOSS] / max(int(memory.clock[at.SINCE_FIT]), 1))
    reason = "first" if memory.sums[at.FITTED] == 0.0 else "schedule"
    if reason != "first" and before > memory.sums[at.BASE_LOSS] + DRIFT:
        reason = "drift"
    state.network = fit(state.network, examples, seed + int(memory.sums[at.FITTED]))
    memory.sums[at.BASE_LOSS] = loss_of(state.network, examples)
    memory.sums[at.LOSS] = 0.0
    memory.sums[at.FITTED] += 1.0
    memory.clock[at.SINCE_FIT] = 0
    note: dict[str, Any] = {
        "event": int(memory.clock[at.EVENTS]), "time": moment, "reason": reason,
        "loss_before": before, "loss_after": float(memory.sums[at.BASE_LOSS]),
    }  # fmt: skip
    state.notes["fits"] = [*state.notes["fits"], note][-MAX_FITS:]
