"""Measure time and memory of ``hopsight detect`` on generated graphs of 10^4, 10^5 and 10^6 nodes, for every stage.

    python experiments/growth.py --out growth.json                    # CrossHCM
    python experiments/growth.py --detector hcm --out growth_hcm.json

Graphs have 10 edges per node and 32 attributes and are read from Parquet. Each run is a process of its own; the results
are those in its run.json. The slope of a stage is that of log seconds over log nodes by least squares, for stages that
take at least a second.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hopsight.datasets import make_graph
from hopsight.system.machine import machine
from hopsight.system.versions import versions


def main() -> None:
    """Run all sizes and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--edges", type=int, default=10, help="edges per node")
    parser.add_argument("--detector", default="cross_hcm")
    parser.add_argument("--out", type=Path, default=Path("growth.json"))
    options = parser.parse_args()
    result: dict[str, Any] = {"machine": machine(), "versions": versions(), "runs": {}}
    for n_nodes in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            run = detect(Path(folder), n_nodes, options.edges * n_nodes, options.detector)
        result["runs"][n_nodes] = run
        print(n_nodes, json.dumps(run), flush=True)
        options.out.write_text(json.dumps(result, indent=1), encoding="utf-8")
    result["slopes"] = slopes(result["runs"])
    print(json.dumps(result["slopes"], indent=1))
    options.out.write_text(json.dumps(result, indent=1), encoding="utf-8")


def detect(folder: Path, n_nodes: int, n_edges: int, detector: str) -> dict[str, Any]:
    """Write a graph as two Parquet files, run ``hopsight detect`` on it, and return what the run recorded."""
    graph = make_graph(n_nodes, n_edges=n_edges, seed=0)
    pl.DataFrame({"source": graph.edges[0], "target": graph.edges[1]}).write_parquet(folder / "edges.parquet")
    columns = {name: graph.attributes[:, i] for i, name in enumerate(graph.attribute_names)}
    nodes = pl.DataFrame({"id": graph.node_ids, **columns, "truth": graph.labels.astype(np.int8)})
    nodes.write_parquet(folder / "nodes.parquet")
    command = [
        sys.executable, "-c", "from hopsight.cli import main; raise SystemExit(main())", "detect",
        str(folder / "edges.parquet"), "--nodes", str(folder / "nodes.parquet"), "--label", "truth",
        "--detector", detector, "--out", str(folder / "out"), "--quiet",
    ]  # fmt: skip
    del graph, nodes, columns
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - start
    record = json.loads((folder / "out" / "run.json").read_text(encoding="utf-8"))
    return {
        "wall": wall,
        "seconds": record["seconds"],
        "fit": record["fit_seconds"],
        "peak_gb": record["peak_memory_bytes"] / 1e9,
        "expected": record["expected"],
        "roc_auc": record["labels"]["roc_auc"],
    }


def slopes(runs: dict[int, Any]) -> dict[str, float]:
    """Return the slope of every stage of at least a second, of the whole command, and of memory."""
    largest = runs[max(runs)]
    values = {f"fit: {name}": [run["fit"][name] for run in runs.values()] for name in largest["fit"]}
    values |= {name: [run["seconds"][name] for run in runs.values()] for name in largest["seconds"]}
    values |= {"wall": [run["wall"] for run in runs.values()], "memory": [run["peak_gb"] for run in runs.values()]}
    sizes = np.log10(list(runs))
    return {
        name: round(float(np.polyfit(sizes, np.log10(np.maximum(row, 1e-9)), 1)[0]), 2)
        for name, row in values.items()
        if row[-1] >= 1
    }


if __name__ == "__main__":
    main()
