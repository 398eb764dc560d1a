"""Measure a fixed set of speed ratios in one run, and show how they changed since the last commit.

    python experiments/speed.py            # or: make bench-speed

Every ratio is the other form's time over ours, so larger is better: the straightforward HCM with the same model, epochs
and pairs; scikit-learn's randomized PCA; SciPy's ARPACK; PyGOD's and PyOD's detectors, which `make bench-speed`
installs. Both forms take turns on the same generated data and the median of each counts, so that other work on the
machine affects both alike. The ratios are stored in experiments/results/speed.json, with processor and versions.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds
from sklearn.decomposition import PCA

import hopsight as hs
from hcm_speed import DROP, N_CLASSES, SHARE, straightforward
from hopsight.preprocess import principal_axes
from hopsight.system.machine import machine, versions
from peers_speed import scores_of

RESULTS = Path(__file__).parent / "results" / "speed.json"
EPOCHS, BURN_IN = 20, 8
NOTICEABLE = 0.15  # relative change that is pointed out

Pair = tuple[str, Callable[[], Any], Callable[[], Any]]


def main() -> None:
    """Measure, print a table and store the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", help="measure only the ratios whose names contain this, and store nothing")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    before = committed()
    rows = {}
    for name, theirs, ours in pairs():
        if options.only and options.only not in name:
            continue
        rows[name] = measured(theirs, ours, options.repeats)
        print(line(name, rows[name]["ratio"], before.get(name, {}).get("ratio")), flush=True)
    if not options.only:
        result = {"machine": machine(), "versions": versions(), "repeats": options.repeats, "rows": rows}
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def pairs() -> Iterator[Pair]:
    """Yield a name, the other form and ours for every ratio."""
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(7000, 300)) @ rng.normal(size=(300, 1534)) + rng.standard_t(4, size=(7000, 1534))
    yield (
        "dense PCA, 7,000 x 1,534 to 256: scikit-learn's randomized",
        lambda: PCA(256, svd_solver="randomized", random_state=0).fit(dense),
        lambda: axes(dense, 256),
    )
    words = sp.random_array((3000, 4000), density=0.01, rng=rng, format="csr")
    words = sp.csr_array(words @ sp.diags_array(np.linspace(3.0, 0.1, 4000)))
    yield (
        "sparse PCA, 3,000 x 4,000 to 64: SciPy's ARPACK",
        lambda: svds(words, k=64, v0=np.ones(3000), solver="arpack"),
        lambda: axes(words, 64),
    )
    graph = hs.make_graph(3000, n_edges=60_000, seed=0)
    schedule: dict[str, Any] = {"n_epochs": EPOCHS, "burn_in": BURN_IN, "n_samples": EPOCHS - BURN_IN}
    same = {"max_pairs": 10_000_000, "sampling_ratio": SHARE, "drop_ratio": DROP, "n_classes": N_CLASSES, **schedule}
    yield (
        "HCM, 3,000 nodes, 60,000 edges: straightforward form",
        lambda: straightforward(graph, EPOCHS, BURN_IN),
        lambda: hs.HCM(seed=0, device="cpu", **same).fit(graph),
    )
    yield from peer_pairs(hs.make_graph(1500, n_edges=6000, n_attributes=16, seed=0))


def peer_pairs(graph: hs.AttributedGraph) -> Iterator[Pair]:
    """Yield a pair for each detector that we share with a library that is installed here."""
    from paper.peers import peer_recipes

    installed = set(peer_recipes())
    for library in ("pygod", "pyod"):
        for detector in ("DOMINANT", "Radar", "ANOMALOUS", "LOF"):
            if f"paper.{library}:{detector}" in installed:
                theirs, ours = (partial(scores_of, graph, detector, each, 0) for each in (library, "hopsight"))
                yield f"{detector}, 1,500 nodes: {library}'s", theirs, ours


def axes(matrix: Any, n_components: int) -> Any:
    """Return our principal axes."""
    center = np.asarray(matrix.mean(axis=0), dtype=np.float64).ravel()
    return principal_axes(matrix, center, np.ones(center.size), n_components, rng=np.random.default_rng(0))


def measured(theirs: Callable[[], Any], ours: Callable[[], Any], repeats: int) -> dict[str, float]:
    """Return the median seconds of both, which take turns, and their ratio; the first turn loads code and is left out.

    >>> measured(lambda: time.sleep(0.02), lambda: time.sleep(0.01), 1)["ratio"] > 1
    True
    """
    spent: dict[str, list[float]] = {"theirs": [], "ours": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn in range(repeats + 1):
            for name, work in (("theirs", theirs), ("ours", ours)):
                start = time.perf_counter()
                work()
                if turn:
                    spent[name].append(time.perf_counter() - start)
    seconds = {name: median(values) for name, values in spent.items()}
    return {**seconds, "ratio": seconds["theirs"] / seconds["ours"]}


def committed() -> dict[str, Any]:
    """Return the rows of the last committed results, or nothing."""
    command = ["git", "show", f"HEAD:./{RESULTS.name}"]
    try:
        found = subprocess.run(command, cwd=RESULTS.parent, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return {}
    return dict(json.loads(found)["rows"])


def line(name: str, ratio: float, before: float | None) -> str:
    """Return a line of the table.

    >>> line("PCA", 3.0, 4.0)
    'PCA: 3.0 times our time, 4.0 in the last commit (-25%): SLOWER'
    """
    text = f"{name}: {ratio:.1f} times our time"
    if before is None:
        return text
    change = ratio / before - 1.0
    verdict = ": SLOWER" if change < -NOTICEABLE else ": faster" if change > NOTICEABLE else ""
    return f"{text}, {before:.1f} in the last commit ({change:+.0%}){verdict}"


if __name__ == "__main__":
    main()
