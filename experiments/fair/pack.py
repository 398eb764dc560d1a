"""Turn journals into the raw results that are committed: compact, sorted, and the same from the same journals."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fair.plan import key
from hopsight.system.arrays import plain

COLUMNS = (
    "run", "experiment", "row", "graph", "injection", "view", "detector", "changes", "seed", "device", "status",
    "reason", "ranking", "auc", "average_precision", "precision_at_n", "auc_structure", "auc_attribute",
    "mean_anomalous", "mean_normal", "seconds", "memory_mb", "gpu_mb", "n_classes", "n_pairs", "loss", "limit", "draws",
)  # fmt: skip

Record = dict[str, Any]


def pack(files: Sequence[Path], into: Path) -> None:
    """Write ``cells.csv``, ``runs.json``, ``draws.npz`` and ``curves.json``; the latest record of a cell counts."""
    runs, records = read_runs(files)
    rows, draws, curves = [], list[bytes](), list[dict[str, Any]]()
    for name in sorted(records):
        record = records[name]
        rows += rows_of(record, draws)
        if record.get("curve"):
            one = record["cell"]
            place = {field: one[field] for field in ("row", "graph", "injection", "seed")}
            curves.append(place | {"auc": record["curve"]})
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    into.mkdir(parents=True, exist_ok=True)
    (into / "cells.csv").write_text(text.getvalue(), encoding="utf-8")
    (into / "runs.json").write_text(json.dumps(runs, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    lines = ",\n".join(json.dumps(curve, separators=(",", ":")) for curve in curves)
    (into / "curves.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    np.savez_compressed(into / "draws.npz", draws=_matrix(draws))


def read_runs(files: Sequence[Path]) -> tuple[list[Record], dict[str, Record]]:
    """Return the descriptions of all runs, and the latest record of every cell with the number of its run."""
    runs, records = list[Record](), dict[str, Record]()
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
            except ValueError:  # cut short when the run ended
                continue
            if "run" in record:
                runs.append(record["run"])
            else:
                records[key(record["cell"])] = record | {"run": len(runs) - 1}
    return runs, records


def rows_of(record: Record, draws: list[bytes]) -> list[dict[str, Any]]:
    """Return one row per ranking of a cell, one without figures if it did not end well; add its draws to the list."""
    one, details = record["cell"], record.get("details") or {}
    common = {name: one[name] for name in COLUMNS if name in one}
    common |= {name: record.get(name) for name in ("run", "status", "reason", "seconds", "memory_mb", "gpu_mb")}
    common |= {"changes": json.dumps(one["changes"], sort_keys=True), "limit": f"{one['limit']:g}"}
    common |= {name: details.get(name) for name in ("n_classes", "n_pairs", "loss")}
    common["seconds"] = record.get("seconds", record["wall"])
    rows = []
    for ranking, measures in (record.get("rankings") or {"": {}}).items():
        row = common | {"ranking": ranking} | {name: value for name, value in measures.items() if name != "draws"}
        if "draws" in measures:
            row["draws"] = len(draws)
            draws.append(base64.b64decode(measures["draws"]))
        rows.append({name: _short(row.get(name)) for name in COLUMNS})
    return rows


def _matrix(draws: Sequence[bytes]) -> NDArray[np.uint16]:
    """Return (n_rows, 2, n_draws) shares of 65,535: ROC-AUC and average precision."""
    numbers = [np.frombuffer(each, dtype="<u2").reshape(2, -1) for each in draws]
    return np.stack(numbers) if numbers else np.empty((0, 2, 0), dtype="<u2")


def _short(value: Any) -> Any:
    value = plain(value)
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else value
