"""Fit one detector of whichever hopsight is on the path, and print the seconds; used by ``older.py``."""

from __future__ import annotations

import pickle
import sys
import time
import warnings
from pathlib import Path


def main(file: str, detector: str, precision: str, n_epochs: str) -> None:
    """Fit on the CPU; ``n_epochs`` shortens the training."""
    warnings.simplefilter("ignore")
    import hopsight as hs

    edges, attributes, ids = pickle.loads(Path(file).read_bytes())
    graph = hs.AttributedGraph.from_edges(edges[0], edges[1], attributes, node_ids=ids)
    model = hs.HCM.authors() if detector == "authors" else hs.CrossHCM()
    model.seed, model.device, model.precision = 0, "cpu", precision
    if n_epochs:
        model.n_epochs, model.burn_in, model.n_samples = int(n_epochs), int(n_epochs) // 2, 1
    start = time.perf_counter()
    model.fit(graph)
    print(time.perf_counter() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
