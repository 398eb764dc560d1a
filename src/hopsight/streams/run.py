"""Commands over time: judge a whole stream into a folder, or continue one with new events."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopsight.checks import check_count, check_positive, plural
from hopsight.io.frames import open_table
from hopsight.io.ids import notice_alike
from hopsight.io.notices import collected
from hopsight.io.sources import Address, check_file, naming, reading, resolve
from hopsight.runs.console import Progress
from hopsight.runs.detect import report_changes
from hopsight.runs.folder import (
    ALERTS,
    STATE,
    TRAJECTORIES,
    WINDOWS,
    WRITTEN,
    Stages,
    checksums,
    claim,
    locked,
    read_record,
)
from hopsight.runs.results import FILES as PLAIN_FILES
from hopsight.runs.results import now
from hopsight.streams.alerts import COLUMNS, Wording, new_alerts
from hopsight.streams.events import (
    Columns,
    NodeAttributes,
    SortedEvents,
    check_joined,
    have_hours,
    in_one_currency,
    joining_column,
    sorted_events,
)
from hopsight.streams.kernel import advance
from hopsight.streams.memory import EVENTS, N_LATE, NEWEST
from hopsight.streams.results import (
    EDGE_COLUMNS,
    SCORES,
    evaluation,
    event_frame,
    keep,
    new_habits,
    node_tally,
    open_rows,
    score_windows,
    scores_so_far,
    titled,
    unguarded_text,
    window_tally,
    write_summary,
)
from hopsight.streams.state import Journal, State
from hopsight.streams.times import UNITS, parse_window, usual_window
from hopsight.system.files import checksum
from hopsight.system.lazy_polars import pl

APPENDED = ("edges.csv", ALERTS, WINDOWS, TRAJECTORIES)
FILES = tuple(dict.fromkeys((*APPENDED, STATE, SCORES, "explanations.json", "report.html", *PLAIN_FILES)))
N_PIECES = 10_000  # hashes of pieces that are remembered
ALARM = 3.0  # one ordinary event in a thousand


@dataclass(frozen=True, kw_only=True)
class StreamRequest:
    """Everything that determines a run over time."""

    path: str
    columns: Columns
    nodes: str | None = None  # a table of nodes with attributes
    window: str | None = None  # by default as usual_window says
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


def stream(request: StreamRequest, folder: Path, *, progress: Progress | None = None) -> Watched:
    """Judge a stream from its beginning and write the run folder; its files appear together or not at all."""
    show = progress or Progress()
    if request.window is not None:
        parse_window(request.window)
    check_positive("alarm", request.alarm)
    check_count("top", request.top)
    check_count("seed", request.seed, low=0)
    stages = Stages(show.begin, show.end)
    source = source_at(request.path)
    if isinstance(source, Path):
        request = dataclasses.replace(request, path=str(source.resolve()))
    if request.nodes is not None:
        nodes = Path(request.nodes).resolve()
        with reading(nodes):
            columns = dataclasses.replace(request.columns, of_nodes=open_table(nodes, notices=[]).names)
        request = dataclasses.replace(request, nodes=str(nodes), columns=columns)
    with claim(folder, FILES) as claimed, collected(show.say) as warnings, ExitStack() as stack:
        record: dict[str, Any] = {
            "command": "stream", "started": now(), "inputs": checksums(request.path), "warnings": warnings,
        }  # fmt: skip
        with stages.stage("load"):
            events = stack.enter_context(sorted_events(source, request.columns, claimed.staging))
            if request.nodes is not None:
                name = joining_column(Path(request.nodes), events.ends(), events.columns)
                request = dataclasses.replace(request, columns=dataclasses.replace(events.columns, node_id=name))
            attributes = _attributes(request)
            if attributes is not None and request.nodes is not None:
                events = events.as_in(attributes.rows["id"])
                check_joined(Path(request.nodes), name, attributes.rows["id"], events.ends())
            _notice_alike(events.ends())
        # How times and amounts are written, and which columns hold them, is decided once, also for later files.
        found = dataclasses.replace(events.columns, node_id=request.columns.node_id)
        request = dataclasses.replace(request, columns=found, window=request.window or _usual_window(events))
        record["request"] = dataclasses.asdict(request)
        state = State.new(_first_notes(request), seed=request.seed)
        labels: list[Any] = []
        with stages.stage("score"):
            journal = Journal(claimed.staging, state)
            _continue(state, journal, events, digest_of(source), show, attributes, labels=labels)
            journal.show_open(open_rows(state))
        with stages.stage("explain"):
            record["labels"] = evaluation(labels)
        record["seconds"] = stages.seconds
        write_summary(claimed.staging, state, record, request.top)
        stack.close()
        claimed.publish()
    clock = state.memory.clock
    return Watched(folder, int(clock[EVENTS]), int(state.notes["alerts"]), int(clock[N_LATE]))


def watch(
    folder: Path,
    path: str | Path,
    *,
    progress: Progress | None = None,
    tell: Callable[[dict[str, Any]], None] | None = None,
) -> Watched:
    """Continue a run over time with new events; ``tell`` gets each alert once it is safe on the disk.

    All files of the folder then cover all events so far. Killed at any moment, the same call continues where it was:
    ``alerts.csv`` has every alert exactly once. ``tell`` may get those of the last 200,000 events again, with the same
    numbers.
    """
    show = progress or Progress()
    with locked(folder), collected(show.say):
        record = read_record(folder)
        state = State.load(folder / STATE)
        request = record.get("request")
        if not isinstance(request, dict) or "columns" not in request:
            raise ValueError(f"{folder} is not a run over time: start one with hopsight stream")
        journal = Journal(folder, state)
        source = source_at(path)
        digest = digest_of(source)
        before = _counts(state)
        repeated = digest in state.notes["pieces"]
        columns = dataclasses.replace(Columns(**request["columns"]), label=None)
        attributes = None if repeated else _attributes(request_of(record))
        span = (float(state.notes["began"]), float(state.memory.sums[NEWEST]))
        if not repeated:
            show.begin("score")
        with (
            nullcontext()
            if repeated
            else sorted_events(source, columns, folder, span, state.tallies.get("copies")) as events
        ):
            still_open = open_rows(state)
            columns_of = {name: rows.columns for name, rows in still_open.items()}
            # Nothing is changed before the new events have been read.
            for name in journal.begin_missing({"edges.csv": EDGE_COLUMNS, ALERTS: COLUMNS, **columns_of}):
                show.say(f"{name} is gone: a new one has only what follows")
            changed = journal.recover(still_open)
            for name in changed + journal.recover_whole(SCORES, scores_so_far(state), record[WRITTEN]):
                show.say(
                    f"{name} was changed since hopsight wrote it: it is left as it is, and new rows go to another file"
                )
            if events is not None:
                events = events if attributes is None else events.as_in(attributes.rows["id"])
                _notice_alike([*events.ends(), scores_so_far(state)["node"]])
                _continue(state, journal, events, digest, show, attributes, tell=tell)
            elif tell is not None and digest == state.notes["pieces"][-1]:
                _tell_again(folder, state, tell)
        journal.show_open(open_rows(state))
        if record.get("n_events") != int(state.memory.clock[EVENTS]):  # also if a killed process left it so
            write_summary(folder, state, record | {"updated": now()}, request["top"])
        n_events, n_alerts, n_late = (last - first for last, first in zip(_counts(state), before, strict=True))
    if n_late:
        reached = Wording.of(state.notes).moment(span[1])
        late = f"{plural(n_late, 'event')} came late, because an earlier file reaches to {reached}"
        show.say(f"{late}: such events count neither in bursts nor as new partners")
    return Watched(folder, n_events, n_alerts, n_late, repeated)


def request_of(record: Mapping[str, Any], progress: Progress | None = None) -> StreamRequest:
    """Return the request of a finished run over time, and say whether its file has changed since."""
    request: Any = record.get("request")
    try:
        found = StreamRequest(**{**request, "columns": Columns(**request["columns"])})
    except (TypeError, KeyError):
        raise ValueError("the record does not say how to repeat the run: no request") from None
    report_changes(record, progress)
    return found


def source_at(path: str | Path) -> Path | Address:
    """Return the place of a table in one or several files, which must be there; a server is refused."""
    place = resolve(path)
    if isinstance(place, Address) and not place.paths:
        raise ValueError(f"runs over time read files: export {place} to one first")
    for file in (place,) if isinstance(place, Path) else place.paths:
        with naming(file):
            check_file(file)
    return place


def digest_of(source: Path | Address) -> str:
    """Return the hash of the content, by which a piece is recognized."""
    if isinstance(source, Path):
        return checksum(source)
    parts = "".join(digest_of(path) for path in source.paths) + json.dumps(dict(source.options))
    return hashlib.sha256(parts.encode()).hexdigest()


def _notice_alike(ends: Sequence[pl.Series]) -> None:
    """Say that ids of events, or of earlier ones, differ only in form."""
    notice_alike(pl.concat([each.cast(pl.String).alias("id") for each in ends]).unique().sort(), None)


def _usual_window(events: SortedEvents) -> str:
    """Return the window for events: a day for money, which has habits of days and months, and for dates alone."""
    rows = pl.scan_parquet(events.path, glob=False)
    ends = rows.select(pl.col("time", "seconds").gather([0, -1])).collect()
    dates_alone = rows.select((pl.col("seconds") % UNITS["d"] == 0).all()).collect().item()
    daily = have_hours(ends) and (events.columns.are_money or dates_alone)
    return usual_window(*ends["seconds"], dated=have_hours(ends), daily=daily)


def _attributes(request: StreamRequest) -> NodeAttributes | None:
    return None if request.nodes is None else NodeAttributes(Path(request.nodes), request.columns)


def _counts(state: State) -> tuple[int, int, int]:
    clock = state.memory.clock
    return int(clock[EVENTS]), int(state.notes["alerts"]), int(clock[N_LATE])


def _first_notes(request: StreamRequest) -> dict[str, Any]:
    return {
        "window": request.window, "seed": request.seed, "alarm": request.alarm, "hours": None, "alerts": 0,
        "flagged": 0, "fits": [], "sizes": {}, "tails": {}, "files": {}, "shown": request.columns.shown,
        "paid": request.columns.amount is not None, "money": request.columns.are_money, "unit": None, "currencies": {},
        "pieces": [], "n_pieces": 0, "piece": None, "habits": new_habits(), "last_alerts": [0, 0],
        "n_windows": 0,
    }  # fmt: skip


def _continue(
    state: State,
    journal: Journal,
    events: SortedEvents,
    digest: str,
    show: Progress,
    attributes: NodeAttributes | None,
    *,
    tell: Callable[[dict[str, Any]], None] | None = None,
    labels: list[Any] | None = None,
) -> None:
    """Process a piece from where it was left, in chunks that are committed one by one."""
    notes = state.notes
    started = notes["piece"] or {"digest": digest, "done": 0}
    done = started["done"] if started["digest"] == digest else 0
    for rows in events.chunks(done):
        if notes["hours"] is None:
            notes["hours"] = have_hours(rows)
        first = notes["alerts"]
        alerts, scores = _step(state, journal, rows, attributes)
        done += rows.height
        if labels is not None and "label" in rows.columns:
            labels.append((rows["label"].to_numpy(), scores))
        notes["piece"] = {"digest": digest, "done": done}
        notes["last_alerts"] = [first + 1, notes["alerts"]]
        if done == events.size:
            notes["pieces"] = [*notes["pieces"], digest][-N_PIECES:]
            notes["n_pieces"] += 1
            notes["piece"] = None
            state.tallies["copies"] = events.copies(state.tallies.get("copies"))
        journal.commit(APPENDED)
        show.step(done, events.size, "event", plural(notes["alerts"], "alert"))
        if tell is not None:
            for row in alerts.select(COLUMNS).iter_rows(named=True):
                tell(row)


def _step(
    state: State, journal: Journal, events: pl.DataFrame, attributes: NodeAttributes | None
) -> tuple[pl.DataFrame, Any]:
    """Judge one chunk and append its rows; return its alerts and scores."""
    notes = state.notes
    events = in_one_currency(events, notes)
    judged = advance(state, events, None if attributes is None else attributes.of(events))
    windows = judged.windows
    frame = event_frame(events, judged, notes["alarm"])
    left_out = None if attributes is None else attributes.left_out
    alerts = new_alerts(frame, judged, state.tallies, notes["alarm"], notes["alerts"] + 1, Wording.of(notes), left_out)
    notes["alerts"] += alerts.height
    notes["flagged"] += int(frame["flagged"].sum())
    closed: dict[str, pl.DataFrame] = {}
    last = int(windows[-1])
    for name, tally in ((TRAJECTORIES, node_tally), (WINDOWS, window_tally)):
        rows = tally(frame, state.tallies.get(name))
        closed[name] = rows.filter(pl.col("window") < last)  # late events fall into the open window
        state.tallies[name] = rows.filter(pl.col("window") >= last)
    closed[WINDOWS] = score_windows(closed[WINDOWS], notes["habits"])
    tables = {"edges.csv": frame.select(EDGE_COLUMNS), ALERTS: alerts.select(COLUMNS), **closed}
    for name, rows in (tables | {WINDOWS: titled(closed[WINDOWS], state)}).items():
        journal.append(name, rows)
    keep(state, alerts, closed[TRAJECTORIES], closed[WINDOWS])
    return alerts, frame["score"].to_numpy()


def _tell_again(folder: Path, state: State, tell: Callable[[dict[str, Any]], None]) -> None:
    """Repeat the alerts of the last chunk: the process that should have told them may have been killed before."""
    low, high = state.notes["last_alerts"]
    path = Journal(folder, state).own(ALERTS)
    if not path.is_file():  # the one before it was changed
        return
    numbers = {"alert": pl.Int64}
    alerts = (
        pl.scan_csv(path, schema_overrides=numbers, glob=False).filter(pl.col("alert").is_between(low, high)).collect()
    )
    for row in unguarded_text(alerts).iter_rows(named=True):
        tell(row)
