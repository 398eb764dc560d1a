"""Results of a folder: the journal, on disk before the next cell starts, rows, ``results.csv`` and tables."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from hopsight.benchmark.cells import MEASURES, Plan, canonical_json
from hopsight.system.arrays import plain
from hopsight.system.cells import guarded
from hopsight.system.files import open_own, write_whole

FILE_NAME = "cells.jsonl"
SCORE_NAMES = {"ahp": ", AHP", "hav": ", HAV"}

Record = dict[str, Any]
Row = dict[str, Any]

COLUMNS = (
    "key", "current", "experiments", "graph", "protocol", "injection", "view", "detector", "parameters", "seed",
    "score", "status", "reason", "uses_labels", *MEASURES, "seconds", "cpu_seconds", "load_seconds",
    "memory_peak_mb", "memory_before_mb", "nodes", "edges", "attributes", "anomalies", "details", "warnings",
    "settings", "curve", "versions", "machine", "time_limit", "memory_limit_mb", "finished",
)  # fmt: skip


class Journal:
    """Append-only results of one folder.

    A record is a JSON object with the ``key`` of its cell; of two records with the same key the later one counts. A
    last line that a kill cut short does not count.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        folder.mkdir(parents=True, exist_ok=True)

    def append(self, record: Record) -> None:
        """Write one record on a line of its own, and wait until it is on disk."""
        line = json.dumps(plain(record), allow_nan=False) + "\n"
        with open_own(self.path, "ab+") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 1, 0))
            file.write((b"\n" if file.read(1) not in (b"", b"\n") else b"") + line.encode())
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> dict[str, Record]:
        """Return the latest record of every cell, in the order in which cells were first finished."""
        records: dict[str, Record] = {}
        if not (self.path.exists() or self.path.is_symlink()):
            return records
        with open_own(self.path, "rb") as file:
            lines = file.read().splitlines()
        for number, line in enumerate(lines, start=1):
            record = _parsed(line)
            if record is not None:
                records[record["key"]] = record
            elif not line.startswith(b'{"key"'):
                raise ValueError(f"{self.path}, line {number}: this is not a benchmark record; choose another folder")
        return records


def _parsed(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("key"), str) else None


def task_rows(plan: Plan, records: Mapping[str, Record]) -> list[Row]:
    """Return one row for each task and ranking: experiment and row name, then the columns of ``results.csv``.

    A cell that two experiments share appears in both; one that has not run yet appears in none. ``second`` marks the
    rows with raw attributes of a detector that also has rows with reduced attributes.
    """
    reduced = {(task.row, task.cell.graph) for task in plan if task.cell.view == "reduced"}
    rows: list[Row] = []
    for task in plan:
        record = records.get(task.cell.key)
        if record is not None:
            second = task.cell.view == "raw" and (task.row, task.cell.graph) in reduced
            place = {"experiment": task.experiment, "row": task.row, "second": second}
            rows += [row | place for row in record_rows(record)]
    return rows


def record_rows(record: Record) -> list[Row]:
    """Return one row for each ranking of a finished cell, or one row with the reason if it has no ranking."""
    cell, size = record["cell"], record.get("size") or {}
    common = {
        **{name: cell[name] for name in ("graph", "protocol", "injection", "view", "detector", "seed")},
        **{name: record.get(name) for name in ("key", "status", "reason", "seconds", "cpu_seconds", "load_seconds")},
        **{name: size.get(name) for name in ("nodes", "edges", "attributes", "anomalies")},
        "parameters": cell["parameters"],
        "settings": cell["settings"],
        "curve": cell["curve"],
        "points": record.get("curve") or [],
        "memory_peak_mb": _megabytes(record.get("memory_peak")),
        "memory_before_mb": _megabytes(record.get("memory_before")),
        "memory": _added(record),
        "uses_labels": bool((record.get("details") or {}).get("uses_labels")),
        **{name: record.get(name) for name in ("details", "warnings", "versions", "machine")},
        "time_limit": (record.get("limits") or {}).get("time"),
        "memory_limit_mb": _megabytes((record.get("limits") or {}).get("memory")),
        "finished": record.get("finished"),
    }
    return [common | scores for scores in record.get("scores") or [{"score": None}]]


def write_results(path: Path, plan: Plan, records: Mapping[str, Record]) -> None:
    """Write every finished cell of the folder; ``current`` marks those that the plan needs."""
    experiments: dict[str, list[str]] = {}
    for task in plan:
        experiments.setdefault(task.cell.key, []).append(f"{task.experiment}: {task.row}")
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
    writer.writeheader()
    for key, record in records.items():
        used = {"current": key in experiments, "experiments": "; ".join(dict.fromkeys(experiments.get(key, [])))}
        writer.writerows({name: _text(value) for name, value in (row | used).items()} for row in record_rows(record))
    write_whole(path, file.getvalue())


@dataclass(frozen=True)
class ResultTable:
    """A titled table; ``note`` explains how to read it."""

    name: str
    title: str
    columns: list[str]
    rows: list[list[str]]
    note: str = ""


def comparison_tables(rows: Sequence[Row]) -> list[ResultTable]:
    """Return the tables about detectors on graphs that have any rows."""
    graphs = list(dict.fromkeys(row["graph"] for row in rows))
    rankings: dict[str, dict[str | None, None]] = {}  # by row; one that failed has none
    for row in rows:
        rankings.setdefault(row["row"], {}).setdefault(row["score"])
    by_line: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        known = [score for score in rankings[row["row"]] if score is not None] or [""]
        for score in known if row["score"] is None else [row["score"]]:
            line = f"{row['row']}{SCORE_NAMES.get(score, '')}"
            by_line.setdefault(line, {}).setdefault(row["graph"], []).append(row)
    overview, details = [], []
    for line, found in by_line.items():
        overview.append([line, *(_area(found[graph]) if graph in found else "" for graph in graphs)])
        details += [_details(line, graph, here) for graph, here in found.items()]
    ends = dict.fromkeys((row["graph"], row["row"], row["status"], row["reason"] or "") for row in rows)
    failures = [list(end) for end in ends if end[2] != "ok"]
    tables = [
        ResultTable("overview", "ROC-AUC", ["detector", *graphs], overview, "Mean ± standard deviation."),
        ResultTable(
            "details",
            "Details",
            ["graph", "detector", "ROC-AUC", "95% interval", "average precision", "precision at n", "seconds",
             "peak memory", "repetitions"],
            sorted(details, key=lambda line: graphs.index(line[0])),
            "The interval is DeLong's for one ranking, averaged over the repetitions; n is the number of anomalies. "
            "Peak memory is that of the whole process, including libraries and the graph; seconds are of the fit.",
        ),
        ResultTable("failures", "Failures", ["graph", "detector", "status", "reason"], failures),
    ]  # fmt: skip
    return [table for table in tables if table.rows]


def _area(rows: Sequence[Row]) -> str:
    """Return mean and standard deviation of ROC-AUC, or why there is none."""
    return _mean_sd(rows, "auc") or ", ".join(
        dict.fromkeys("no labels" if row["status"] == "ok" else row["status"] for row in rows)
    )


def _details(line: str, graph: str, rows: Sequence[Row]) -> list[str]:
    done = [row for row in rows if row["status"] == "ok"]
    low, high = _mean(done, "auc_low"), _mean(done, "auc_high")
    time, memory = _mean(done, "seconds"), _mean(done, "memory_peak_mb")
    return [
        graph,
        line + (" (uses the labels)" if any(row["uses_labels"] for row in rows) else ""),
        _area(rows),
        "" if low is None else f"{low:.3f} to {high:.3f}",
        _mean_sd(done, "average_precision"),
        _mean_sd(done, "precision_at_n"),
        "" if time is None else f"{time:.{3 if time < 1 else 1}f}",
        "" if memory is None else f"{memory:.0f} MB",
        f"{len(done)}" + (f" of {len(rows)}" if len(done) < len(rows) else ""),
    ]


def _mean(rows: Sequence[Row], measure: str) -> float | None:
    values = [row[measure] for row in rows if row.get(measure) is not None]
    return fmean(values) if values else None


def _mean_sd(rows: Sequence[Row], measure: str) -> str:
    values = [row[measure] for row in rows if row.get(measure) is not None]
    spread = f" ± {stdev(values):.3f}" if len(values) > 1 else ""
    return f"{fmean(values):.3f}{spread}" if values else ""


def _added(record: Record) -> float | None:
    """Return the megabytes that a fit added to the memory of its worker."""
    if record.get("memory_peak") is None:
        return None
    return _megabytes(max(0, record["memory_peak"] - record["memory_before"]))


def _megabytes(value: float | None) -> float | None:
    return None if value is None else round(value / 2**20, 1)


def _text(value: Any) -> Any:
    """Return a value as text for CSV: empty for None, JSON for lists and mappings."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    return (
        canonical_json(value) if isinstance(value, dict | list) else guarded(value) if isinstance(value, str) else value
    )
