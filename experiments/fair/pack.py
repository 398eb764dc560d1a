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
    """Write ``cells.csv``, ``runs.json``, ``draws.npz`` and ``curves.json``; the latest record of a cell counts.

    Cells of results that are there already stay as they are unless a journal has them.
    """
    runs, rows, curves = stored(into)
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
            except ValueError:  # cut short when the run ended
                continue
            if "run" in record:
                runs.append(record["run"])
                continue
            one, name = record["cell"], key(record["cell"])
            rows[name] = rows_of(record | {"run": len(runs) - 1})
            if record.get("curve"):
                place = {field: one[field] for field in ("row", "graph", "injection", "seed")}
                curves[name] = place | {"auc": record["curve"]}
    used = sorted({int(row["run"]) for cell in rows.values() for row in cell})
    draws, text = list[bytes](), io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in (row for name in sorted(rows) for row in rows[name]):
        numbers = row["draws"]
        if numbers:
            draws.append(numbers)
        writer.writerow(row | {"run": used.index(int(row["run"])), "draws": len(draws) - 1 if numbers else ""})
    into.mkdir(parents=True, exist_ok=True)
    (into / "cells.csv").write_text(text.getvalue(), encoding="utf-8")
    kept = [runs[each] for each in used]
    (into / "runs.json").write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    lines = ",\n".join(json.dumps(curves[name], separators=(",", ":")) for name in sorted(curves))
    (into / "curves.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    np.savez_compressed(into / "draws.npz", draws=_matrix(draws))


def stored(folder: Path) -> tuple[list[Record], dict[str, list[Record]], dict[str, Record]]:
    """Return the runs, the rows of every cell with their draws, and the curves of a folder; all may be empty."""
    if not (folder / "cells.csv").exists():
        return [], {}, {}
    rows = dict[str, list[Record]]()
    places = dict[tuple[str, ...], str]()
    draws = np.load(folder / "draws.npz")["draws"]
    with (folder / "cells.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            cell = row | {
                "injection": int(row["injection"]),
                "seed": int(row["seed"]),
                "changes": json.loads(row["changes"]),
            }
            name = key(cell)
            numbers = draws[int(row["draws"])].astype("<u2").tobytes() if row["draws"] else b""
            rows.setdefault(name, []).append(row | {"draws": numbers})
            places[row["row"], row["graph"], row["injection"], row["seed"]] = name
    curves = json.loads((folder / "curves.json").read_text(encoding="utf-8"))
    found = {
        places[tuple(str(each[field]) for field in ("row", "graph", "injection", "seed"))]: each for each in curves
    }
    return json.loads((folder / "runs.json").read_text(encoding="utf-8")), rows, found


def rows_of(record: Record) -> list[Record]:
    """Return one row per ranking of a cell, one without figures if it did not end well, with its draws as bytes."""
    one, details = record["cell"], record.get("details") or {}
    common = {name: one[name] for name in COLUMNS if name in one}
    common |= {name: record.get(name) for name in ("run", "status", "reason", "seconds", "memory_mb", "gpu_mb")}
    common |= {"changes": json.dumps(one["changes"], sort_keys=True), "limit": f"{one['limit']:g}"}
    common |= {name: details.get(name) for name in ("n_classes", "n_pairs", "loss")}
    common["seconds"] = record.get("seconds", record["wall"])
    rows = []
    for ranking, measures in (record.get("rankings") or {"": {}}).items():
        row = common | {"ranking": ranking} | {name: value for name, value in measures.items() if name != "draws"}
        numbers = base64.b64decode(measures.get("draws", ""))
        rows.append({name: _short(row.get(name)) for name in COLUMNS} | {"draws": numbers})
    return rows


def _matrix(draws: Sequence[bytes]) -> NDArray[np.uint16]:
    """Return (n_rows, n_draws) ROC-AUC in shares of 65,535."""
    numbers = [np.frombuffer(each, dtype="<u2") for each in draws]
    return np.stack(numbers) if numbers else np.empty((0, 0), dtype="<u2")


def _short(value: Any) -> Any:
    value = plain(value)
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else value
