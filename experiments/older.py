"""Measure how much faster fits have become since an older version, on two processor cores, in one run.

    git worktree add ../first afb7e4c
    python experiments/older.py --source ../first/src --out experiments/results/older.json

Both versions get the same arrays, each fit has a process of its own, and the versions take turns; the median of each
counts. Before a detector's first turn, a short fit of each version compiles its code. ``--only`` chooses cases by a
part of their names; cases that are in the file already stay there. ``--precision float32`` shows what processors
without AMX gain on one that has it. The demo is the command ``hopsight detect`` without a graph, from start to end:
first with an empty cache of compiled code, then once more.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

HERE = Path(__file__).resolve()
COMMAND = "import sys; from hopsight.cli import main; sys.exit(main())"
CASES = {
    "CrossHCM, BlogCatalog": ("BlogCatalog", "cross_hcm"),
    "CrossHCM, 14,000 nodes, 250,000 edges, 767 dense columns": ("dense", "cross_hcm"),
    "HCM.authors, BlogCatalog": ("BlogCatalog", "authors"),
}


def main() -> None:
    """Let the versions take turns, print the ratios and store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True, help="the folder src of the older version")
    parser.add_argument("--only", default="")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    from hopsight.system.machine import machine

    rows: dict[str, Any] = {}
    warm: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        for name, (graph, detector) in CASES.items():
            if options.only not in name:
                continue
            file = Path(folder) / graph
            if not file.exists():
                save(graph, file)
            fit = str(file), detector, options.precision
            rows[name] = compared(options.source, fit, options.repeats, warm=detector in warm)
            warm.add(detector)
            print(f"{name}: {rows[name]}", flush=True)
    if options.only in "demo":
        rows |= demo(options.source, options.repeats)
    if options.out:
        known = {"repeats": options.repeats, "precision": options.precision, "cores": len(os.sched_getaffinity(0))}
        before = json.loads(options.out.read_text()) if options.out.exists() else {"rows": {}}
        rows = before["rows"] | rows
        options.out.write_text(json.dumps({"machine": machine(), **known, "rows": rows}, indent=1))


def save(graph: str, file: Path) -> None:
    """Write the arrays of a graph for both versions."""
    import hopsight as hs
    from evidence import Cell, make

    if graph == "dense":
        made: Any = hs.make_graph(14_000, n_edges=250_000, n_attributes=767, seed=0)
    else:
        made = make(Cell("dev", graph, 0, 0, "", "cpu"))
    file.write_bytes(pickle.dumps((np.asarray(made.edges), made.attributes, [str(node) for node in made.node_ids])))


def demo(older: Path, repeats: int) -> dict[str, Any]:
    """Return the median seconds of the demo, with an empty cache and once more."""
    spent: dict[str, dict[str, list[float]]] = {turn: {"older": [], "ours": []} for turn in ("first", "second")}
    for _ in range(repeats):
        for name, source in versions(older):
            with tempfile.TemporaryDirectory() as folder:
                environment = {**os.environ, "PYTHONPATH": str(source.resolve()), "NUMBA_CACHE_DIR": folder}
                environment["PYTHONDONTWRITEBYTECODE"] = ""  # as on a user's machine
                for turn, times in spent.items():
                    command = [sys.executable, "-c", COMMAND, "detect", "--out", f"{folder}/{turn}"]
                    start = time.perf_counter()
                    subprocess.run(command, env=environment, check=True, capture_output=True)
                    times[name].append(time.perf_counter() - start)
                    print(f"demo, {turn} run, {name}: {times[name][-1]:.1f} s", flush=True)
    return {f"demo, {turn} run": ratio(times) for turn, times in spent.items()}


def versions(older: Path) -> tuple[tuple[str, Path], ...]:
    """Return the folders of both versions by name."""
    return ("older", older), ("ours", HERE.parents[1] / "src")


def compared(older: Path, fit: tuple[str, str, str], repeats: int, *, warm: bool) -> dict[str, Any]:
    """Return the median seconds of both versions, and their ratio."""
    spent: dict[str, list[float]] = {"older": [], "ours": []}
    for turn in range(int(warm), repeats + 1):
        for name, source in versions(older):
            environment = {**os.environ, "PYTHONPATH": str(source.resolve())}
            n_epochs = "6" if turn == 0 else ""
            command = [sys.executable, str(HERE.with_name("older_fit.py")), *fit, n_epochs]
            done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            if turn:
                spent[name].append(float(done.stdout.split()[-1]))
    return ratio(spent)


def ratio(spent: dict[str, list[float]]) -> dict[str, Any]:
    """Return the median seconds of both versions, how many times as fast ours is, and the day."""
    seconds = {name: round(median(values), 2) for name, values in spent.items()}
    return {**seconds, "ratio": round(seconds["older"] / seconds["ours"], 2), "at": time.strftime("%Y-%m-%d")}


if __name__ == "__main__":
    main()
