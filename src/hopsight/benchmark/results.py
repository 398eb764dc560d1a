"""Turn the journal into rows: ``results.csv``, ``curves.csv``, and means over repetitions for tables and figures."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from hopsight.benchmark.cells import Plan, canonical_json
from hopsight.benchmark.journal import Record
from hopsight.benchmark.measure import MEASURES
from hopsight.system.cells import guarded
from hopsight.system.files import write_whole

Row = dict[str, Any]

COLUMNS = (
    "key", "current", "experiments", "graph", "protocol", "injection", "view", "detector", "parameters", "seed",
    "score", "status", "reason", "uses_labels", *MEASURES, "seconds", "cpu_seconds", "load_seconds",
    "memory_peak_mb", "memory_before_mb", "nodes", "edges", "attributes", "anomalies", "details", "warnings",
    "settings", "curve", "versions", "machine", "time_limit", "memory_limit_mb", "finished",
)  # fmt: skip


@dataclass(frozen=True)
class Summary:
    """Mean and standard deviation of a measure over repetitions."""

    mean: float
    sd: float  # 0 for a single repetition
    n: int

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Summary | None:
        """Return the summary of the values that are not None, or ``None`` if there are none.

        >>> Summary.of([1.0, None, 3.0])
        Summary(mean=2.0, sd=1.4142135623730951, n=2)
        """
        present = [value for value in values if value is not None]
        if not present:
            return None
        return cls(fmean(present), stdev(present) if len(present) > 1 else 0.0, len(present))


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


def write_curves(path: Path, rows: Sequence[Row]) -> None:
    """Write the ROC-AUC over the epochs, one line per epoch."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(("graph", "injection", "row", "seed", "epoch", "loss", "auc"))
    for row in unique(rows, "curves"):
        start = tuple(_text(row[name]) for name in ("graph", "injection", "row", "seed"))
        for point in row["points"]:
            writer.writerow((*start, point["epoch"], _text(point["loss"]), _text(point.get("auc"))))
    write_whole(path, file.getvalue())


def unique(rows: Sequence[Row], experiment: str) -> list[Row]:
    """Return the rows of one experiment, one per cell, for measures that do not depend on the ranking."""
    return list({row["key"]: row for row in reversed(rows) if row["experiment"] == experiment}.values())[::-1]


def select(rows: Iterable[Row], **values: Any) -> list[Row]:
    """Return the rows that have these values.

    >>> select([{"row": "LOF", "n": 1}, {"row": "AMEN", "n": 2}], row="AMEN")
    [{'row': 'AMEN', 'n': 2}]
    """
    return [row for row in rows if all(row.get(name) == value for name, value in values.items())]


def distinct(rows: Iterable[Row], *names: str) -> list[tuple[Any, ...]]:
    """Return the combinations of values that occur, in order of appearance.

    >>> distinct([{"a": 1}, {"a": 2}, {"a": 1}], "a")
    [(1,), (2,)]
    """
    return list(dict.fromkeys(tuple(row.get(name) for name in names) for row in rows))


def mean_of(rows: Iterable[Row], measure: str) -> Summary | None:
    """Return the mean and standard deviation of one measure over rows."""
    return Summary.of(row.get(measure) for row in rows)


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
