"""What a run over time says as a whole: scores per node, explanations, the report and the record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hopsight.checks import plural, shortened
from hopsight.metrics import roc_auc
from hopsight.report.timeline import write_timeline
from hopsight.runs.folder import RECORD
from hopsight.runs.record import Stages, write_record
from hopsight.streams.memory import EVENTS, FITTED, N_LATE
from hopsight.streams.outputs import csv_bytes
from hopsight.streams.reasons import moment_words, node_story
from hopsight.streams.state import FILE, State
from hopsight.streams.tally import node_scores, score_windows
from hopsight.system.machine import machine
from hopsight.system.memory import peak_memory
from hopsight.system.versions import versions

if TYPE_CHECKING:
    import polars as pl

N_WINDOWS, N_ALERTS, N_TRAJECTORY = 400, 300, 120


def write_summary(
    folder: Path, state: State, record: dict[str, Any], stages: Stages, top: int, labels: list[Any]
) -> None:
    """Write ``scores.csv``, ``explanations.json``, ``report.html`` and ``run.json`` from the appended tables."""
    import polars as pl

    with stages.stage("explain"):
        trajectories = _whole(folder, state, "trajectories.csv")
        windows = _whole(folder, state, "windows.csv")
        scores = node_scores(trajectories)
        (folder / "scores.csv").write_bytes(csv_bytes(scores, header=True))
        first = scores["node"].head(top).to_list()
        rows = {name: trajectories.filter(pl.col("node") == name).sort("window").to_dicts() for name in first}
        stories = {name: node_story(rows[name]) for name in first}
        explained = [
            {"node": name, "score": each["score"], "decided_by": each["decided_by"], "summary": stories[name],
             "windows": rows[name]}
            for name, each in zip(first, scores.head(top).iter_rows(named=True), strict=True)
        ]  # fmt: skip
        (folder / "explanations.json").write_text(json.dumps(explained, indent=1, ensure_ascii=False), encoding="utf-8")
    record |= _facts(state, windows, labels) | {"seconds": dict(stages.seconds), "peak_memory_bytes": peak_memory()}
    with stages.stage("write"):
        write_timeline(folder / "report.html", _page(folder, state, record, windows, scores.head(top), stories, rows))
    record["seconds"] = dict(stages.seconds)
    write_record(folder / RECORD, record)


def explain_node(folder: Path, node: str) -> dict[str, Any]:
    """Return what a node of a run over time did, as a sentence and as its rows per window.

    Raises
    ------
    ValueError
        If the run has no such node.
    """
    import polars as pl

    trajectories = _whole(folder, State.load(folder / FILE), "trajectories.csv")
    rows = trajectories.filter(pl.col("node") == node).sort("window").to_dicts()
    if not rows:
        raise ValueError(f"node {shortened(node)} has no event in {folder}")
    return {"node": node, "score": max(row["score"] for row in rows), "summary": node_story(rows), "windows": rows}


def _whole(folder: Path, state: State, name: str) -> pl.DataFrame:
    """Return the closed rows of a table together with those of the open window."""
    import polars as pl

    open_rows = state.tallies[name]
    if name == "windows.csv":
        laws = {key: list(law) for key, law in state.notes["laws"].items()}
        open_rows = score_windows(open_rows, laws)
    closed = pl.read_csv(folder / name, schema_overrides=dict(open_rows.schema))
    texts = [column for column, kind in open_rows.schema.items() if kind == pl.String]
    closed = closed.with_columns(pl.col(texts).fill_null("").str.replace(r"^'", ""))
    return pl.concat([closed, open_rows])


def _facts(state: State, windows: pl.DataFrame, labels: list[Any]) -> dict[str, Any]:
    clock = state.memory.clock
    facts: dict[str, Any] = {
        "detector": "streams", "seed": state.notes["seed"], "versions": versions(), "machine": machine(),
        "window": state.notes["window"], "alarm": state.notes["alarm"], "n_events": int(clock[EVENTS]),
        "n_alerts": state.notes["alerts"], "n_late": int(clock[N_LATE]), "n_windows": windows.height,
        "n_fits": int(state.memory.sums[FITTED]), "fits": state.notes["fits"], "labels": None,
    }  # fmt: skip
    if labels:
        truth = np.concatenate([each for each, _ in labels])
        scores = np.concatenate([each for _, each in labels])
        known = truth >= 0
        if 0 < truth[known].sum() < known.sum():
            facts["labels"] = {
                "roc_auc": float(roc_auc(truth[known], scores[known])),
                "n_anomalies": int(truth[known].sum()),
            }
    return facts


def _page(
    folder: Path, state: State, record: dict[str, Any], windows: pl.DataFrame, scores: pl.DataFrame,
    stories: dict[str, str], rows: dict[str, list[dict[str, Any]]],
) -> dict[str, Any]:  # fmt: skip
    """Return the contents of the report as plain values."""
    import polars as pl

    alerts = pl.read_csv(folder / "alerts.csv", infer_schema=False).with_columns(
        pl.col("score", "hop", "surprise").cast(pl.Float64), pl.col("window").cast(pl.Int64)
    )
    strongest = alerts.sort("score", descending=True).head(N_ALERTS)
    shown = windows.sort("score", descending=True).head(N_WINDOWS).sort("window")
    return {
        "name": Path(record["request"]["path"]).name,
        "summary": _summary(state, record),
        "windows": [
            [row["window"], moment_words(row["start"]), row["events"], row["new_pairs"], row["flagged"],
             row["surprise"], row["score"], row["decided_by"]]
            for row in shown.iter_rows(named=True)
        ],
        "n_windows": windows.height,
        "alerts": strongest.select("window", "source", "target", "time", "score", "decided_by", "hop", "reason").rows(),
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
    return [[row["window"], moment_words(row["start"]), row["events"], row["score"]] for row in rows[-N_TRAJECTORY:]]


def _summary(state: State, record: dict[str, Any]) -> list[str]:
    """Say what was judged, and how often the network was fitted."""
    drift = [fit for fit in state.notes["fits"] if fit["reason"] == "drift"]
    counts = (
        f"{plural(record['n_events'], 'event')} in {plural(record['n_windows'], 'window')} of {state.notes['window']}"
    )
    summary = [
        f"hopsight judged {counts}, each by what was known before it, and flagged {record['n_alerts']:,} of them.",
        f"The network was fitted {plural(record['n_fits'], 'time')}, {len(drift)} of them because it had drifted.",
    ]
    if record["n_late"]:
        summary.append(f"{plural(record['n_late'], 'event')} came late and counted as of the newest time so far.")
    return summary
