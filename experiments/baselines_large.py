"""Measure time and peak memory of the seven baselines on graphs with many attributes and many nodes.

    python experiments/baselines_large.py --out baselines_large.json

The graphs are BlogCatalog with its 8,189 raw attributes (from the catalog; ``HOPSIGHT_DATA`` names a folder with
copies), a generated graph with 100,000 nodes and a million edges, and one with 100,000 nodes and 8,000 words. Each
detector keeps its defaults and gets a process of its own; its peak memory includes Python, libraries and the graph.
ANOMALOUS and MADAN may refuse the generated graphs; their message is then reported. Rows above a limit are marked.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hopsight.datasets import inject, make_graph
from hopsight.graph import AttributedGraph
from hopsight.io.npz import read_npz, write_npz
from hopsight.loading import load
from hopsight.metrics import roc_auc
from hopsight.system.machine import first_to_go, machine, versions

DETECTORS = ("LOF", "AMEN", "Radar", "ANOMALOUS", "DOMINANT", "MADAN", "ResGCN")
GRAPHS = ("blogcatalog-raw", "generated", "generated-wide")
REFUSE = {"generated": ("MADAN",), "generated-wide": ("ANOMALOUS", "MADAN")}  # these may refuse
LIMITS = {"blogcatalog-raw": (None, 3.0), "generated": (1200.0, 8.0)}  # seconds, GB
LEFT_OUT = {"blogcatalog-raw": ("ANOMALOUS",)}  # 8,189 columns take hours


def main() -> None:
    """Run all fits one after another, print one line for each and write all measurements."""
    options = _options()
    if options.child:
        print(json.dumps(fit(Path(options.child), options.detectors[0], options.seed, options.epochs)))
        return
    rows: list[dict[str, Any]] = []
    result = {
        "machine": machine(),
        "versions": versions(),
        "threads": options.threads,
        "epochs": options.epochs,
        "seed": options.seed,
    }
    result["rows"] = rows
    with tempfile.TemporaryDirectory() as folder:
        for name in options.graphs:
            path = Path(folder) / f"{name}.npz"
            write_npz(make(name, options), path)
            for detector in options.detectors:
                if detector in LEFT_OUT.get(name, ()):
                    continue
                if name == "generated-wide" and detector not in REFUSE[name]:
                    continue
                rows.append({"graph": name, "detector": detector} | run(path, detector, options))
                rows[-1]["met"] = met(rows[-1])
                print(_line(rows[-1]), flush=True)
                options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def make(name: str, options: argparse.Namespace) -> AttributedGraph:
    """Return one of the graphs."""
    if name == "blogcatalog-raw":
        return inject(load("blogcatalog"), n_cliques=10, clique_size=15, seed=options.seed)
    graph = make_graph(options.nodes, n_edges=options.edges, n_attributes=options.attributes, seed=options.seed)
    if name == "generated":
        return graph
    rng = np.random.default_rng(options.seed)
    words = sp.random_array((options.nodes, 8_000), density=0.005, format="csr", dtype=np.float32, rng=rng)
    words.data[:] = 1.0
    return AttributedGraph(graph.adjacency, words, labels=graph.labels, kinds=graph.kinds, name=name)


def run(path: Path, detector: str, options: argparse.Namespace) -> dict[str, Any]:
    """Fit in a new process, and end it if it exceeds the time limit."""
    command = [sys.executable, __file__, "--child", str(path), "--detectors", detector, "--seed", str(options.seed)]
    command += ["--epochs", str(options.epochs)] if options.epochs else []
    environment = {**os.environ, **({"OMP_NUM_THREADS": str(options.threads)} if options.threads else {})}
    asked = detector in REFUSE.get(path.stem, ())
    limit = min(options.time_limit, 120.0) if asked else options.time_limit  # a refusal is immediate
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"status": "too long", "seconds": limit}
    lines, complaint = done.stdout.splitlines(), done.stderr.strip().splitlines()
    if done.returncode == 0 and lines:
        return dict(json.loads(lines[-1]))
    return {"status": "failed", "reason": complaint[-1] if complaint else f"ended with {done.returncode}"}


def fit(path: Path, detector: str, seed: int, n_epochs: int | None) -> dict[str, Any]:
    """Return the time, memory and ROC-AUC of one fit, or the message if the detector refused the graph."""
    from hopsight.detectors import get_detector

    first_to_go()
    graph = read_npz(path)
    sizes = {"nodes": graph.n_nodes, "edges": graph.n_edges, "attributes": graph.n_attributes}
    fewer = {"n_epochs": n_epochs} if n_epochs and detector in ("DOMINANT", "ResGCN") else {}
    model = get_detector(detector)(seed=seed, device="cpu", **fewer)
    before, start, start_cpu = peak_gb(), time.perf_counter(), time.process_time()
    found: dict[str, Any] = {"status": "ok"}
    try:
        scores = model.fit(graph).decision_score_
        found["auc"] = roc_auc(graph.labels, scores)
    except ValueError as error:
        found |= {"status": "refused", "reason": str(error)}
    return found | {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - start_cpu,
        "gb_before": before,
        "gb": peak_gb(),
        **sizes,
    }


def peak_gb() -> float:
    """Return the most memory this process has held, in GB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most * (1 if sys.platform == "darwin" else 1024) / 1e9


def met(row: dict[str, Any]) -> bool:
    """Return whether a fit kept the limits of its graph, or was refused where that is allowed."""
    if row["status"] == "refused":
        return row["detector"] in REFUSE.get(row["graph"], ()) and row["seconds"] < 60
    seconds, gigabytes = LIMITS.get(row["graph"], (None, None))
    return (
        row["status"] == "ok"
        and (seconds is None or row["seconds"] <= seconds)
        and (gigabytes is None or row["gb"] <= gigabytes)
    )


def _line(row: dict[str, Any]) -> str:
    name = f"{row['graph']:15} {row['detector']:10} {row['status']:8}"
    figures = [f"{row['seconds']:8.1f} s"] if "seconds" in row else []
    figures += [f"{row['gb']:5.2f} GB"] if "gb" in row else []
    figures += [f"AUC {row['auc']:.3f}"] if "auc" in row else []
    return "  ".join([name, *figures, "" if row["met"] else "NOT MET", row.get("reason", "")]).rstrip()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time and memory of the baselines on large graphs.")
    parser.add_argument("--out", type=Path, default=Path("baselines_large.json"))
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--detectors", nargs="+", choices=DETECTORS, default=list(DETECTORS))
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--attributes", type=int, default=32, help="of the generated graph")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, help="threads per fit; default: all processors")
    parser.add_argument("--epochs", type=int, help="epochs of DOMINANT and ResGCN; fewer suffice to measure memory")
    parser.add_argument("--time-limit", type=float, default=1800.0, help="seconds per fit")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
