"""Measure time and memory of ``hopsight detect`` on generated graphs of 10^4, 10^5 and 10^6 nodes, for every stage.

    python experiments/growth.py --out growth.json                    # CrossHCM
    python experiments/growth.py --detector hcm --out growth_hcm.json
    python experiments/growth.py --sizes 10000000 --graphs FOLDER --out growth_large.json
    python experiments/growth.py --sizes 100000 1000000 --graphs FOLDER --out growth_large.json    # adds to it
    python experiments/growth.py --sizes 1000000 --memory-limit 2GB --out growth_limited.json

Graphs have 10 edges per node and 32 attributes and are read from Parquet. Each run is a process of its own; the results
are those in its run.json, and the bytes that it read from and wrote to disk. The slope of a stage is that of log
seconds over log nodes by least squares, for stages that take at least a second.
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
import psutil

from hopsight.datasets import make_graph
from hopsight.system.machine import machine, versions


def main() -> None:
    """Run all sizes and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--edges", type=int, default=10, help="edges per node")
    parser.add_argument("--detector", default="cross_hcm")
    parser.add_argument("--memory-limit", help="passed on to the command")
    parser.add_argument("--graphs", type=Path, help="folder to keep the generated graphs in, and to find them again")
    parser.add_argument("--out", type=Path, default=Path("growth.json"))
    options = parser.parse_args()
    result: dict[str, Any] = {"machine": machine(), "versions": versions(), "runs": {}}
    if options.out.exists():
        result["runs"] = json.loads(options.out.read_text(encoding="utf-8"))["runs"]
    for n_nodes in options.sizes:
        with tempfile.TemporaryDirectory(dir=options.graphs) as folder:
            graphs = Path(folder) if options.graphs is None else options.graphs / str(n_nodes)
            write_graph(graphs, n_nodes, options.edges * n_nodes)
            run = detect(graphs, Path(folder) / "out", options.detector, options.memory_limit)
        result["runs"] = dict(sorted({**result["runs"], str(n_nodes): run}.items(), key=lambda each: int(each[0])))
        print(n_nodes, json.dumps(run), flush=True)
        options.out.write_text(json.dumps(result, indent=1), encoding="utf-8")
    result["slopes"] = slopes(result["runs"]) if len(result["runs"]) > 1 else {}
    print(json.dumps(result["slopes"], indent=1))
    options.out.write_text(json.dumps(result, indent=1), encoding="utf-8")


def write_graph(folder: Path, n_nodes: int, n_edges: int) -> None:
    """Write a graph as two Parquet files, unless they are there."""
    folder.mkdir(exist_ok=True)
    if (folder / "nodes.parquet").exists():
        return
    graph = make_graph(n_nodes, n_edges=n_edges, seed=0)
    pl.DataFrame({"source": graph.edges[0], "target": graph.edges[1]}).write_parquet(folder / "edges.parquet")
    columns = {name: graph.attributes[:, i] for i, name in enumerate(graph.attribute_names)}
    nodes = pl.DataFrame({"id": graph.node_ids, **columns, "truth": graph.labels.astype(np.int8)})
    nodes.write_parquet(folder / "nodes.parquet")


def detect(graphs: Path, out: Path, detector: str, memory_limit: str | None) -> dict[str, Any]:
    """Run ``hopsight detect`` on the two files, and return what the run recorded and its disk traffic."""
    command = [
        sys.executable, "-c", "from hopsight.cli import main; raise SystemExit(main())", "detect",
        str(graphs / "edges.parquet"), "--nodes", str(graphs / "nodes.parquet"), "--label", "truth",
        "--detector", detector, "--out", str(out), "--quiet",
        *([] if memory_limit is None else ["--memory-limit", memory_limit]),
    ]  # fmt: skip
    start, traffic = time.perf_counter(), {"read_gb": 0.0, "written_gb": 0.0}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            traffic = disk_traffic(process.pid) or traffic
            time.sleep(0.2)
    wall = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"the command ended with {process.returncode}")
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    return {
        "wall": wall,
        "seconds": record["seconds"],
        "fit": record["fit_seconds"],
        "peak_gb": record["peak_memory_bytes"] / 1e9,
        "expected": record["expected"],
        "roc_auc": record["labels"]["roc_auc"],
        **traffic,
    }


def disk_traffic(pid: int) -> dict[str, float] | None:
    """Return the bytes that a process has read from and written to disk so far, without what the cache held."""
    try:
        counters = psutil.Process(pid).io_counters()
    except psutil.Error:
        return None
    return {"read_gb": counters.read_bytes / 1e9, "written_gb": counters.write_bytes / 1e9}


def slopes(runs: dict[str, Any]) -> dict[str, float]:
    """Return the slope of every stage of at least a second, of the whole command, and of memory."""
    largest = list(runs.values())[-1]
    values = {f"fit: {name}": [run["fit"][name] for run in runs.values()] for name in largest["fit"]}
    values |= {name: [run["seconds"][name] for run in runs.values()] for name in largest["seconds"]}
    values |= {"wall": [run["wall"] for run in runs.values()], "memory": [run["peak_gb"] for run in runs.values()]}
    sizes = np.log10([int(size) for size in runs])
    return {
        name: round(float(np.polyfit(sizes, np.log10(np.maximum(row, 1e-9)), 1)[0]), 2)
        for name, row in values.items()
        if row[-1] >= 1
    }


if __name__ == "__main__":
    main()
