"""Commands over time: judge a whole stream into a folder, or continue one with new events."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopsight.checks import check_count, check_positive, plural
from hopsight.runs.folder import RECORD, claim, locked
from hopsight.runs.progress import Progress
from hopsight.runs.record import Stages, checksums, notices, read_record
from hopsight.runs.results import FILES as PLAIN_FILES
from hopsight.runs.results import now
from hopsight.streams.engine import advance
from hopsight.streams.events import Columns, Events, read_events
from hopsight.streams.journal import Journal
from hopsight.streams.memory import EVENTS, N_LATE
from hopsight.streams.outputs import EDGES, alert_frame, csv_bytes, event_frame
from hopsight.streams.results import write_summary
from hopsight.streams.state import FILE, State
from hopsight.streams.tally import new_laws, node_tally, score_windows, window_tally
from hopsight.streams.windows import parse_window

if TYPE_CHECKING:
    import polars as pl

APPENDED = ("edges.csv", "alerts.csv", "windows.csv", "trajectories.csv")
FILES = tuple(dict.fromkeys((*APPENDED, FILE, "scores.csv", "explanations.json", "report.html", *PLAIN_FILES)))
CHUNK = 200_000  # events between two commits
N_PIECES = 10_000  # hashes of pieces that are remembered
ALARM = 3.0  # one ordinary event in a thousand


@dataclass(frozen=True, kw_only=True)
class StreamRequest:
    """Everything that determines a run over time."""

    path: str
    columns: Columns
    window: str
    seed: int = 0
    alarm: float = ALARM
    top: int = 20


@dataclass(frozen=True)
class Watched:
    """What one call found."""

    folder: Path
    n_events: int
    n_alerts: int
    n_late: int
    repeated: bool = False


def detect(request: StreamRequest, folder: Path, *, progress: Progress | None = None) -> Watched:
    """Judge a stream from its beginning and write the run folder; its files appear together or not at all."""
    show = progress or Progress()
    parse_window(request.window)
    check_positive("alarm", request.alarm)
    check_count("top", request.top)
    check_count("seed", request.seed, low=0)
    stages = Stages(show.begin, show.end)
    path = Path(request.path)
    with claim(folder, FILES) as claimed, notices(show.say) as warnings:
        started = now()
        with stages.stage("load"):
            events = read_events(path, request.columns)
        state = State.new(_first_notes(request, events), seed=request.seed)
        journal = Journal(claimed.staging, state)
        labels: list[Any] = []
        with stages.stage("score"):
            _continue(state, journal, events, digest_of(path), show, labels=labels)
        record = {
            "command": "detect", "started": started, "inputs": checksums(request.path), "warnings": warnings,
            "request": dataclasses.asdict(dataclasses.replace(request, path=str(path.resolve()))),
        }  # fmt: skip
        write_summary(claimed.staging, state, record, stages, request.top, labels)
        claimed.publish()
    clock = state.memory.clock
    return Watched(folder, int(clock[EVENTS]), int(state.notes["alerts"]), int(clock[N_LATE]))


def watch(
    folder: Path, path: Path, *, progress: Progress | None = None, tell: Callable[[dict[str, Any]], None] | None = None
) -> Watched:
    """Continue a run over time with new events; ``tell`` gets each alert once it is safe on the disk.

    Killed at any moment, the same call continues where it was: ``alerts.csv`` has every alert exactly once. ``tell``
    may get those of the last 200,000 events again, with the same numbers.
    """
    show = progress or Progress()
    with locked(folder), notices(show.say):
        record = read_record(folder)
        state = State.load(folder / FILE)
        if not isinstance(record.get("request"), dict) or "columns" not in record["request"]:
            raise ValueError(f"{folder} is not a run over time: start one with hopsight detect --window")
        journal = Journal(folder, state)
        journal.recover()
        digest = digest_of(path)
        clock = state.memory.clock
        before = int(clock[EVENTS]), int(state.notes["alerts"]), int(clock[N_LATE])
        if digest in state.notes["pieces"]:
            show.say(f"{path} was processed already: nothing to do")
            if tell is not None and digest == state.notes["pieces"][-1]:
                _tell_again(folder, state, tell)
            return Watched(folder, 0, 0, 0, repeated=True)
        events = read_events(path, dataclasses.replace(Columns(**record["request"]["columns"]), label=None))
        show.begin("score")
        _continue(state, journal, events, digest, show, tell=tell)
        after = int(clock[EVENTS]), int(state.notes["alerts"]), int(clock[N_LATE])
    n_events, n_alerts, n_late = (last - first for last, first in zip(after, before, strict=True))
    if n_late:
        show.say(f"{plural(n_late, 'event')} came late and counted as of the newest time so far")
    return Watched(folder, n_events, n_alerts, n_late)


def digest_of(path: Path) -> str:
    """Return the hash of a file's content, by which a piece is recognized."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _first_notes(request: StreamRequest, events: Events) -> dict[str, Any]:
    return {
        "window": request.window, "seed": request.seed, "alarm": request.alarm, "hours": events.has_hours, "alerts": 0,
        "fits": [], "sizes": {}, "pieces": [], "piece": None, "laws": new_laws(), "last_alerts": [0, 0],
    }  # fmt: skip


def _continue(
    state: State,
    journal: Journal,
    events: Events,
    digest: str,
    show: Progress,
    *,
    tell: Callable[[dict[str, Any]], None] | None = None,
    labels: list[Any] | None = None,
) -> None:
    """Process a piece from where it was left, in chunks that are committed one by one."""
    notes = state.notes
    started = notes["piece"] or {"digest": digest, "done": 0}
    done = started["done"] if started["digest"] == digest else 0
    while done < events.size:
        stop = min(done + CHUNK, events.size)
        part = events.part(done, stop)
        first = notes["alerts"]
        alerts, scores = _step(state, journal, part)
        done = stop
        if labels is not None and part.labels is not None:
            labels.append((part.labels, scores))
        notes["piece"] = {"digest": digest, "done": done}
        notes["last_alerts"] = [first + 1, notes["alerts"]]
        if done == events.size:
            notes["pieces"] = [*notes["pieces"], digest][-N_PIECES:]
            notes["piece"] = None
        journal.commit(APPENDED)
        show.step(done, events.size, "event", plural(notes["alerts"], "alert"))
        for row in alerts.iter_rows(named=True) if tell is not None else ():
            if tell is not None:
                tell(row)


def _step(state: State, journal: Journal, events: Events) -> tuple[pl.DataFrame, Any]:
    """Judge one chunk and append its rows; return its alerts and scores."""
    import polars as pl

    notes = state.notes
    readings, windows = advance(state, events)
    frame = event_frame(events, readings, windows, notes["alarm"])
    alerts = alert_frame(frame, notes["alerts"] + 1, parse_window(notes["window"]).tick_words)
    header = not notes["sizes"]
    journal.append("edges.csv", csv_bytes(frame.select(EDGES), header=header))
    journal.append("alerts.csv", csv_bytes(alerts, header=header))
    notes["alerts"] += alerts.height
    last = int(windows[-1])
    for name, tally in (("trajectories.csv", node_tally), ("windows.csv", window_tally)):
        rows = tally(frame, state.tallies.get(name))
        closed = rows.filter(pl.col("window") < last)  # late events fall into the open window
        state.tallies[name] = rows.filter(pl.col("window") >= last)
        if name == "windows.csv":
            closed = score_windows(closed, notes["laws"])
        journal.append(name, csv_bytes(closed, header=header))
    return alerts, frame["score"].to_numpy()


def _tell_again(folder: Path, state: State, tell: Callable[[dict[str, Any]], None]) -> None:
    """Repeat the alerts of the last chunk: the process that should have told them may have been killed before."""
    import polars as pl

    low, high = state.notes["last_alerts"]
    alerts = pl.scan_csv(folder / "alerts.csv").filter(pl.col("alert").is_between(low, high)).collect()
    for row in alerts.iter_rows(named=True):
        tell(row)


def as_json(row: dict[str, Any]) -> str:
    """Return an alert as one line of JSON."""
    return json.dumps(row, default=str, ensure_ascii=False)


__all__ = ["ALARM", "APPENDED", "RECORD", "StreamRequest", "Watched", "as_json", "detect", "watch"]
