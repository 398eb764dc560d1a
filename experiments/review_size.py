"""Measure how quickly the review answers on a large run: the queue, the reasons for any node, a search, learning.

    python experiments/review_size.py make FOLDER --nodes 300000
    python experiments/review_size.py time FOLDER

``make`` writes a run of a random graph with communities, three edges per node and 16 attributes, with few epochs: what
is timed does not depend on how well the model is trained. ``time`` prints wall and CPU seconds of each answer.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SETTINGS = {"n_epochs": "4", "burn_in": "2", "n_samples": "2", "n_units": "8", "mlp_units": "16", "max_pairs": "2048"}
N_GROUPS = 50


def main() -> None:
    """Make the run, or time the answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("make", "time"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nodes", type=int, default=300_000)
    options = parser.parse_args()
    (make if options.what == "make" else measure)(options)


def make(options: argparse.Namespace) -> None:
    """Write the graph and a run of it."""
    import hopsight as hs
    from hopsight.io import write
    from hopsight.runs.detect import detect
    from hopsight.runs.request import Request, Source

    rng, n = np.random.default_rng(0), options.nodes
    group = np.sort(rng.integers(0, N_GROUPS, n))
    starts = np.searchsorted(group, np.arange(N_GROUPS + 1))
    source = rng.integers(0, n, 3 * n)
    sizes = np.diff(starts)[group[source]]
    inside = starts[group[source]] + (rng.random(3 * n) * sizes).astype(np.int64)
    target = np.where(rng.random(3 * n) < 0.9, inside, rng.integers(0, n, 3 * n))
    kept = source != target
    attributes = rng.normal(size=(N_GROUPS, 16))[group] * 1.5 + rng.normal(size=(n, 16))
    names = [f"account-{i}" for i in range(n)]
    graph = hs.AttributedGraph.from_edges(source[kept], target[kept], attributes, node_ids=names, name="large")
    options.folder.mkdir(parents=True, exist_ok=True)
    write(graph, options.folder / "graph.npz")
    source_file = Source(path=str(options.folder / "graph.npz"))
    detect(Request(detector="cross_hcm", source=source_file, settings=SETTINGS, top=5), options.folder / "run")


def measure(options: argparse.Namespace) -> None:
    """Print how long each answer takes."""
    from hopsight.review.session import open_session
    from hopsight.review.storage import FILE

    for file in (options.folder / "run").glob(f"{FILE}*"):
        file.unlink()
    session = timed("open the run", lambda: open_session(options.folder / "run"))
    queue = timed("queue", lambda: session.listed("queue"))
    timed("first node", lambda: session.node(queue[0]["place"]))
    for place in np.random.default_rng(0).integers(0, session.graph.n_nodes, 3).tolist():
        timed(f"node {place}", lambda place=place: session.node(place))
    timed("search", lambda: session.search("account-29"))
    for number, row in enumerate(queue[:20]):
        session.decide(f"r{number}", row["place"], ("anomalous", "normal")[number % 2], "", "ann")
    timed("learn", session.learn)
    timed("queue after learning", lambda: session.listed("queue"))


def timed(what: str, call: Callable[[], Any]) -> Any:
    """Call, print the seconds, and return the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = call()
    print(f"{what}: {time.perf_counter() - wall:.2f} s, {time.process_time() - cpu:.2f} s of CPU time", flush=True)
    return found


if __name__ == "__main__":
    main()
