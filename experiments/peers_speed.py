"""Time DOMINANT, Radar and ANOMALOUS against PyGOD's and PyOD's, and compare what they find.

    python experiments/peers_speed.py --out peers_speed.json

Every fit has a process of its own and sees the same graph; each library keeps its defaults. DOMINANT.pygod is ours with
PyGOD's settings, so that both do the same work. Libraries take turns and the fastest repeat counts, so that other work
on the machine affects all of them alike. A fit that exceeds the time or memory limit is ended and gives a lower bound.
BlogCatalog and Amazon come from the catalog (``HOPSIGHT_DATA`` names a folder with copies); a library that is not
installed is reported as absent.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.datasets import inject, make_graph
from hopsight.detectors.registry import get_detector, load_class
from hopsight.graph import AttributedGraph
from hopsight.io.npz import read_npz, write_npz
from hopsight.loading import load
from hopsight.metrics import roc_auc
from hopsight.preprocess import AttributeTransform
from hopsight.system.machine import first_to_go, machine, peak_memory, resident_memory, total_memory, versions

DETECTORS = ("DOMINANT", "DOMINANT.pygod", "Radar", "ANOMALOUS")
LIBRARIES = ("hopsight", "pygod", "pyod")
GRAPHS = ("amazon", "blogcatalog-20", "blogcatalog-raw", "tiny")


def main() -> None:
    """Run all fits, print the ratios and write everything measured."""
    options = _options()
    if options.child:
        print(json.dumps(fit(Path(options.child), options.detectors[0], options.libraries[0], options.seed)))
        return
    rows: list[dict[str, Any]] = []
    result = {
        "machine": machine(),
        "versions": versions(),
        "threads": options.threads,
        "repeats": options.repeats,
        "seed": options.seed,
        "rows": rows,
    }
    with tempfile.TemporaryDirectory() as folder:
        for name in options.graphs:
            path = Path(folder) / f"{name}.npz"
            write_npz(make(name, options.seed), path)
            for detector in options.detectors:
                rows += compare(path, detector, options)
                options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def make(name: str, seed: int) -> AttributedGraph:
    """Return one of the graphs, with labels."""
    if name == "amazon":
        return load("amazon")
    if name == "tiny":
        return make_graph(300, n_edges=1500, n_attributes=8, seed=seed)
    graph = inject(load("blogcatalog"), n_cliques=10, clique_size=15, seed=seed)
    if name == "blogcatalog-raw":
        return graph
    transform = AttributeTransform.fit(
        graph.attributes, graph.attribute_names, scaling="none", n_components=20, rng=np.random.default_rng(seed)
    )
    reduced = transform.apply(graph.attributes, graph.attribute_names)
    return AttributedGraph(graph.adjacency, reduced, labels=graph.labels, kinds=graph.kinds, name=name)


def compare(path: Path, detector: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return one row per library: all its fits, the fastest, and how many times longer it took than ours."""
    fits: dict[str, list[dict[str, Any]]] = {library: [] for library in options.libraries}
    for _ in range(options.repeats):
        for library, done in fits.items():
            if not done or done[-1]["status"] == "ok":  # a fit that failed is not repeated
                done.append(run(path, detector, library, options))
    rows: list[dict[str, Any]] = []
    for library, done in fits.items():
        row = {"graph": path.stem, "detector": detector, "library": library, "status": done[-1]["status"]}
        row["seconds"] = min((entry["seconds"] for entry in done if "seconds" in entry), default=None)
        row["auc"] = next((entry["auc"] for entry in done if "auc" in entry), None)
        ours = rows[0] if rows else row
        if row["seconds"] and ours["library"] == "hopsight" and ours["status"] == "ok":
            row["times_ours"] = row["seconds"] / ours["seconds"]
        rows.append({**row, "fits": done})
        print(_line(row), flush=True)
    return rows


def run(path: Path, detector: str, library: str, options: argparse.Namespace) -> dict[str, Any]:
    """Fit in a new process, and end it if it exceeds the time or memory limit."""
    command = [sys.executable, __file__, "--child", str(path), "--detectors", detector, "--libraries", library]
    command += ["--seed", str(options.seed)]
    environment = {**os.environ, **({"OMP_NUM_THREADS": str(options.threads)} if options.threads else {})}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, env=environment)
        limit = options.memory_limit * 1e9 if options.memory_limit else 0.8 * total_memory()
        start, status = time.monotonic(), ""
        while process.poll() is None:
            if time.monotonic() - start > options.time_limit:
                status = "too long"
            elif resident_memory(process.pid) > limit:
                status = "too much memory"
            if status:
                process.kill()
                process.wait()
                return {"status": status, "seconds": time.monotonic() - start}
            time.sleep(0.05)
        out.seek(0)
        err.seek(0)
        lines, complaint = out.read().splitlines(), err.read().strip().splitlines()
    if process.returncode == 0 and lines:
        return dict(json.loads(lines[-1]))
    return {"status": "failed", "reason": complaint[-1] if complaint else f"ended with {process.returncode}"}


def fit(path: Path, detector: str, library: str, seed: int) -> dict[str, Any]:
    """Return the seconds, ROC-AUC and peak memory of one fit; a tiny fit before it does the imports."""
    first_to_go()
    graph = read_npz(path)
    if library != "hopsight":
        from paper.peers import peer_recipes

        if f"paper.{library}:{detector.partition('.')[0]}" not in peer_recipes():
            return {"status": "absent"}
    scores_of(make_graph(60, n_edges=200, n_attributes=4, seed=0), detector, library, seed)
    start, start_cpu = time.perf_counter(), time.process_time()
    scores = scores_of(graph, detector, library, seed)
    return {
        "status": "ok",
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - start_cpu,
        "auc": roc_auc(graph.labels, scores) if np.isfinite(scores).all() else None,
        "peak_mb": peak_memory() / 1e6,
    }


def scores_of(graph: AttributedGraph, detector: str, library: str, seed: int) -> Any:
    """Return the scores of one library's detector with its defaults, or of ours with a preset."""
    name, _, preset = detector.partition(".")
    cls = get_detector(name) if library == "hopsight" else load_class(f"paper.{library}:{name}")
    make = getattr(cls, preset) if preset and library == "hopsight" else cls
    return make(seed=seed, device="cpu").fit(graph).decision_score_


def _line(row: dict[str, Any]) -> str:
    seconds = "" if row["seconds"] is None else f"{row['seconds']:8.2f} s"
    auc = "" if row["auc"] is None else f"AUC {row['auc']:.3f}"
    bound = "at least " if row["status"] != "ok" else ""
    times = f"{bound}{row['times_ours']:.1f} x ours" if "times_ours" in row else ""
    name = f"{row['graph']:15} {row['detector']:14} {row['library']:9}"
    return f"{name} {row['status']:6} {seconds:>11}  {auc:9}  {times}".rstrip()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time our detectors against PyGOD's and PyOD's.")
    parser.add_argument("--out", type=Path, default=Path("peers_speed.json"))
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=["amazon", "blogcatalog-20"])
    parser.add_argument("--detectors", nargs="+", choices=DETECTORS, default=list(DETECTORS))
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, help="threads per fit; default: all processors")
    parser.add_argument("--time-limit", type=float, default=900.0, help="seconds per fit")
    parser.add_argument("--memory-limit", type=float, help="GB per fit; default: 80%% of the machine")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
