"""What a run over time says as a whole: scores per node, explanations, the report and the record.

All of it comes from the state, which has a bounded size, so that ``watch`` can write it anew after every piece.
"""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.checks import plural, shortened
from hopsight.metrics import roc_auc
from hopsight.report.pages import write_timeline
from hopsight.runs.folder import ALERTS, RECORD, STATE, TRAJECTORIES, WINDOWS, write_record
from hopsight.streams.memory import EVENTS, FITTED, N_LATE
from hopsight.streams.state import State, write_rows
from hopsight.streams.tables import node_scores, node_totals, score_windows
from hopsight.streams.times import parse_window
from hopsight.system.cells import guarded, unguarded_frame
from hopsight.system.files import replacing
from hopsight.system.lazy_polars import pl
from hopsight.system.machine import machine, peak_memory, versions

N_WINDOWS, N_ALERTS, N_TRAJECTORY = 400, 300, 120
N_RECENT = 100_000  # rows per node and window from which trajectories are drawn


def keep(state: State, alerts: pl.DataFrame, trajectories: pl.DataFrame, windows: pl.DataFrame) -> None:
    """Add new alerts and closed rows to what the state keeps for the summary."""
    kept = state.tallies
    texts = alerts.with_columns(pl.col("source", "target", "time").cast(pl.String))
    alike = ["source", "target", "window"]  # of a burst, the report shows the strongest alert only
    texts = _strongest([kept.get("alerts"), texts], None, "alert").unique(alike, keep="first", maintain_order=True)
    kept["alerts"] = texts.head(N_ALERTS)
    kept["nodes"] = node_totals(trajectories, kept.get("nodes"))
    kept["recent"] = pl.concat([*([kept["recent"]] if "recent" in kept else []), trajectories]).tail(N_RECENT)
    kept["windows"] = _strongest([kept.get("windows"), windows], N_WINDOWS, "window")
    state.notes["n_windows"] += windows.height


def write_summary(folder: Path, state: State, record: dict[str, Any], top: int) -> None:
    """Write ``scores.csv``, ``explanations.json``, ``report.html`` and last ``run.json``, each as a whole."""
    trajectories, windows = state.tallies[TRAJECTORIES], _open_windows(state)
    totals = node_totals(trajectories, state.tallies["nodes"])
    recent = pl.concat([state.tallies["recent"], trajectories])
    scores = node_scores(totals)
    with replacing(folder / "scores.csv") as temporary:
        write_rows(temporary, scores, header=True)
    first = scores["node"].head(top).to_list()
    details = {row["node"]: row for row in totals.filter(pl.col("node").is_in(first)).iter_rows(named=True)}
    stories = {name: node_story(details[name]) for name in first}
    shown = recent.filter(pl.col("node").is_in(first)).sort("window")
    rows = {name: shown.filter(pl.col("node") == name).tail(N_TRAJECTORY).to_dicts() for name in first}
    explained = [
        {"node": name, "score": details[name]["score"], "decided_by": details[name]["decided_by"],
         "summary": stories[name], "windows": rows[name]}
        for name in first
    ]  # fmt: skip
    with replacing(folder / "explanations.json") as temporary:
        temporary.write_text(json.dumps(explained, indent=1, ensure_ascii=False), encoding="utf-8")
    windows = _strongest([state.tallies["windows"], windows], N_WINDOWS, "window").sort("window")
    record |= _facts(state) | {"peak_memory_bytes": peak_memory()}
    with replacing(folder / "report.html") as temporary:
        write_timeline(temporary, _page(state, record, windows, scores.head(top), stories, rows))
    with replacing(folder / RECORD) as temporary:
        write_record(temporary, record)


def explain_node(folder: Path, node: str) -> dict[str, Any]:
    """Return what a node of a run over time did, as a sentence and as its rows per window."""
    state = State.load(folder / STATE)
    waiting = state.tallies[TRAJECTORIES]
    closed = unguarded_text(pl.read_csv(folder / TRAJECTORIES, schema_overrides=dict(waiting.schema), glob=False))
    rows = pl.concat([closed, waiting]).filter(pl.col("node") == node).sort("window")
    if not rows.height:
        raise ValueError(f"node {shortened(node)} has no event in {folder}")
    total = node_totals(rows, None).row(0, named=True)
    return {"node": node, "score": total["score"], "summary": node_story(total), "windows": rows.to_dicts()}


def explain_pair(folder: Path, source: str, target: str) -> dict[str, Any]:
    """Return the events from one node to another in a run over time, the strongest of them in a sentence."""
    same = (pl.col("source") == guarded(source)) & (pl.col("target") == guarded(target))
    events = pl.scan_csv(folder / "edges.csv", infer_schema=False, glob=False).filter(same).collect()
    if not events.height:
        raise ValueError(f"there is no event from {shortened(source)} to {shortened(target)} in {folder}")
    alerts = pl.scan_csv(folder / ALERTS, infer_schema=False, glob=False).filter(same).collect()
    rows = [alerts, events.with_columns(pl.lit("").alias("reason"))]
    first = pl.concat([each.select("time", pl.col("score").cast(pl.Float64), "reason") for each in rows])
    time, score, reason = first.sort("score", descending=True, maintain_order=True).row(0)
    summary = (
        f"{plural(events.height, 'event')} from {source} to {target}, {alerts.height:,} flagged; "
        f"the strongest came at {time} with a score of {score:.2f}. {reason}"
    )
    shown = events.tail(N_TRAJECTORY).select("time", "hop", "surprise", "score", "flagged", "decided_by")
    return {"source": source, "target": target, "score": score, "summary": summary.strip(), "events": shown.to_dicts()}


def unguarded_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows that were read from a CSV file with their original text; an empty cell is an empty text."""
    return unguarded_frame(frame).with_columns(pl.col(pl.String).fill_null(""))


def evaluation(labels: list[Any]) -> dict[str, Any] | None:
    """Return ROC-AUC and the number of anomalies, from pairs of labels and scores, or None without both classes."""
    truth = np.concatenate([each for each, _ in labels]) if labels else np.zeros(0, np.int8)
    known = truth >= 0
    if not 0 < truth[known].sum() < known.sum():
        return None
    scores = np.concatenate([each for _, each in labels])
    return {"roc_auc": float(roc_auc(truth[known], scores[known])), "n_anomalies": int(truth[known].sum())}


def _strongest(frames: list[pl.DataFrame | None], number: int | None, key: str) -> pl.DataFrame:
    """Return the rows with the highest scores, the first of equal ones."""
    rows = pl.concat([frame for frame in frames if frame is not None])
    rows = rows.sort("score", key, descending=[True, False])
    return rows if number is None else rows.head(number)


def _open_windows(state: State) -> pl.DataFrame:
    habits = {key: list(habit) for key, habit in state.notes["habits"].items()}
    return score_windows(state.tallies[WINDOWS], habits)


def _facts(state: State) -> dict[str, Any]:
    clock = state.memory.clock
    return {
        "detector": "streams", "seed": state.notes["seed"], "versions": versions(), "machine": machine(),
        "window": state.notes["window"], "alarm": state.notes["alarm"], "n_events": int(clock[EVENTS]),
        "n_alerts": state.notes["alerts"], "n_late": int(clock[N_LATE]),
        "n_windows": state.notes["n_windows"] + state.tallies[WINDOWS].height,
        "n_pieces": state.notes["n_pieces"], "n_fits": int(state.memory.sums[FITTED]), "fits": state.notes["fits"],
    }  # fmt: skip


def _page(
    state: State, record: dict[str, Any], windows: pl.DataFrame, scores: pl.DataFrame,
    stories: dict[str, str], rows: dict[str, list[dict[str, Any]]],
) -> dict[str, Any]:  # fmt: skip
    """Return the contents of the report as plain values."""
    alerts = state.tallies["alerts"]
    return {
        "name": Path(record["request"]["path"]).name,
        "summary": _summary(state, record),
        "windows": [
            [row["window"], moment_words(row["start"]), row["events"], row["new_pairs"], row["flagged"],
             row["surprise"], row["score"], row["decided_by"]]
            for row in windows.iter_rows(named=True)
        ],
        "n_windows": record["n_windows"],
        "alerts": alerts.select("window", "source", "target", "time", "score", "decided_by", "hop", "reason").rows(),
        "nodes": [
            [row["node"], row["score"], row["decided_by"], row["events"], row["flagged_events"], stories[row["node"]],
             _course(rows[row["node"]])]
            for row in scores.iter_rows(named=True)
        ],
        "fits": [
            [fit["event"], moment_words(fit["time"]), fit["reason"], fit["loss_before"], fit["loss_after"]]
            for fit in state.notes["fits"]
        ],
        "run": record,
    }  # fmt: skip


def _course(rows: list[dict[str, Any]]) -> list[list[Any]]:
    """Return window, start, events and score of a node's last windows."""
    return [[row["window"], moment_words(row["start"]), row["events"], row["score"]] for row in rows]


def _summary(state: State, record: dict[str, Any]) -> list[str]:
    """Say what was judged, and how often the network was fitted."""
    drift = [fit for fit in state.notes["fits"] if fit["reason"] == "drift"]
    length = parse_window(state.notes["window"]).words
    counts = f"{plural(record['n_events'], 'event')} in {plural(record['n_windows'], 'window')} of {length}"
    summary = [
        f"hopsight judged {counts}, each by what was known before it, and flagged {record['n_alerts']:,} of them.",
        f"The network was fitted {plural(record['n_fits'], 'time')}, {len(drift) or 'none'} of them because it had "
        "drifted.",
    ]
    if record["n_late"]:
        summary.append(f"{plural(record['n_late'], 'event')} came late and counted as of the newest time so far.")
    return summary


def node_story(node: dict[str, Any]) -> str:
    """Return what a node did until its strongest window, and what it did then, from its row of :func:`node_totals`.

    >>> peak = {"peak_start": 86400.0, "peak_events": 37, "peak_sent": 37, "peak_new_pairs": 30, "peak_far": 30}
    >>> story = node_story({**peak, "before_events": 4, "before_windows": 1, "before_new_pairs": 3})
    >>> for part in story.split("; "):
    ...     print(part)
    Until 1970-01-02 it had 4 events per window with 3 partners
    in the window of 1970-01-02 it had 37 (37 sent, 0 received), with 30 new partners that it had no known path to.
    """
    when = moment_words(node["peak_start"])
    events, sent = node["peak_events"], node["peak_sent"]
    text = f"in the window of {when} it had {events:,} ({sent:,} sent, {events - sent:,} received)"
    new, far = node["peak_new_pairs"], node["peak_far"]
    if new:
        text += f", with {plural(new, 'new partner')}"
    if far:
        text += f", {far:,} of which it had no known path to" if new != far else " that it had no known path to"
    if not node["before_windows"]:
        return f"It was new: {text}."
    usual = plural_about(node["before_events"] / node["before_windows"], "event")
    partners = plural(node["before_new_pairs"], "partner")
    return f"Until {when} it had {usual} per window with {partners}; {text}."


def plural_about(number: float, noun: str) -> str:
    """Return a number with about three digits and its noun.

    >>> plural_about(1.0, "event"), plural_about(4.256, "event"), plural_about(2841.2, "event")
    ('1 event', '4.26 events', '2,841 events')
    """
    return f"{number:{',.0f' if number >= 100 else '.3g'}} {noun}{'' if number == 1 else 's'}"


def moment_words(seconds: float) -> str:
    """Return a time as a date, with the hour where there is one.

    >>> moment_words(0.0), moment_words(5400.0)
    ('1970-01-01', '1970-01-01 01:30')
    """
    if not math.isfinite(seconds) or abs(seconds) > 2.5e11:
        return f"{seconds:g}"
    text = (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=math.floor(seconds))).isoformat(" ")[:16]
    return text[:10] if text.endswith(" 00:00") else text
