"""Fit another detector, or an older hopsight, to the graphs of ``evidence.py``.

    git worktree add ../first afb7e4c
    python experiments/others.py --source ../first/src --detector cross_hcm --name "cross_hcm afb7e4c" --out first.json
    python experiments/others.py --detector dominant --graphs BlogCatalog Flickr … --out dominant.json

The graphs are made by this version and handed over as arrays, so that both see the same. ``evidence_others.json`` under
``experiments/results/`` holds the rows of both commands.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import pickle
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from evidence import DEVELOPMENT, INJECTED, RESERVED, Cell, make

SEEDS = 10


def main() -> None:
    """Make the graphs, then fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, default=Path(__file__).resolve().parents[1] / "src")
    parser.add_argument("--detector", default="dominant")
    parser.add_argument("--name")
    parser.add_argument("--graphs", nargs="*", default=[*DEVELOPMENT, *RESERVED])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(options.workers, context) as pool:
        jobs = []
        for graph in options.graphs:
            for number in range(SEEDS):
                injection, seed = divmod(number, 2) if graph in INJECTED else (0, number)
                file = Path(folder) / f"{graph}-{injection}"
                if not file.exists():
                    save(graph, injection, file)
                jobs.append((str(options.source), str(file), graph, injection, seed, options.detector, options.device))
        rows = list(pool.map(fit, jobs))
    for row in rows:
        row["detector"] = options.name or options.detector
    options.out.write_text(json.dumps(sorted(rows, key=json.dumps), indent=0))


def save(graph: str, injection: int, file: Path) -> None:
    """Write the arrays of a graph for the other process."""
    made = make(Cell("dev", graph, injection, 0, "", "cpu"))
    ids = [str(node) for node in made.node_ids]
    file.write_bytes(pickle.dumps((made.edges, made.attributes, np.asarray(made.labels), ids)))


def fit(job: tuple[Any, ...]) -> dict[str, Any]:
    """Fit and return one row; the source folder decides which hopsight is imported."""
    source, file, name, injection, seed, detector, device = job
    sys.path.insert(0, source)
    import torch
    from sklearn.metrics import roc_auc_score

    import hopsight as hs
    from hopsight.detectors import DETECTORS

    torch.set_num_threads(1)
    edges, attributes, labels, ids = pickle.loads(Path(file).read_bytes())
    graph = hs.AttributedGraph.from_edges(edges[0], edges[1], attributes, node_ids=ids)
    start = time.perf_counter()
    scores = DETECTORS[detector](seed=seed, device=device).fit(graph).decision_score_
    known = labels >= 0
    return {
        "what": "others", "graph": name, "injection": injection, "seed": seed,
        "seconds": round(time.perf_counter() - start, 2),
        "auc": round(float(roc_auc_score(labels[known] == 1, scores[known])), 4),
    }  # fmt: skip


if __name__ == "__main__":
    main()
