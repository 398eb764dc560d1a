"""Measure how often contamination="auto" is wrong on generated graphs: false alarms and missed anomalies.

    python experiments/threshold_error.py --detectors cross_hcm hcm dominant lof --seeds 5 --out threshold_error.json

The graphs are generated, with 1,000 nodes and a share of planted anomalies from none to a fifth, and the demo graph.
For comparison, the same scores are thresholded at the true share of anomalies, which is unknown in practice.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hopsight as hs
from hopsight.detectors import DETECTORS
from hopsight.detectors.predict import threshold
from hopsight.metrics import roc_auc

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
N_NODES = 1_000


def main() -> None:
    """Fit every detector to every graph and print the errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--detectors", nargs="+", default=["cross_hcm", "hcm"], choices=list(DETECTORS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--no-demo", action="store_true", help="leave out the demo graph")
    parser.add_argument("--out", type=Path, default=Path("threshold_error.json"))
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for detector in options.detectors:
        for name, make in graphs(demo=not options.no_demo).items():
            for seed in range(options.seeds):
                rows.append({"detector": detector, "graph": name, "seed": seed} | measure(detector, make(seed), seed))
                print(json.dumps(rows[-1]), flush=True)
                options.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    summarize(rows)


def graphs(*, demo: bool) -> dict[str, Callable[[int], hs.AttributedGraph]]:
    """Return name -> function of a seed; half of the anomalies are structural, half in the attributes."""

    def generated(share: float) -> Callable[[int], hs.AttributedGraph]:
        half = round(share * N_NODES / 2)
        return lambda seed: hs.make_graph(N_NODES, n_structural=half, n_attribute_anomalies=half, seed=seed)

    found = {f"{share:.0%} planted": generated(share) for share in SHARES}
    return found | ({"demo (2%)": hs.make_demo} if demo else {})


def measure(detector: str, graph: hs.AttributedGraph, seed: int) -> dict[str, Any]:
    """Fit with contamination="auto" and compare the flagged nodes with the labels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DETECTORS[detector](seed=seed, contamination="auto").fit(graph)
    truth, scores = graph.labels == 1, model.decision_score_
    known = scores > threshold(scores, float(truth.mean()))
    any_planted = bool(truth.any())
    return errors(model.label_ == 1, truth) | {
        "error_with_true_share": errors(known, truth)["error"],
        "roc_auc": roc_auc(graph.labels, scores) if any_planted else None,
    }


def errors(flagged: NDArray[np.bool_], truth: NDArray[np.bool_]) -> dict[str, Any]:
    """Return shares: flagged among normal nodes, found among anomalies, true among flagged, and wrong among all."""
    n_flagged = int(flagged.sum())
    return {
        "n_flagged": n_flagged,
        "false_alarms": float(flagged[~truth].mean()),
        "recall": float(flagged[truth].mean()) if truth.any() else None,
        "precision": float(truth[flagged].mean()) if n_flagged else None,
        "error": float((flagged != truth).mean()),
    }


def summarize(rows: Sequence[dict[str, Any]]) -> None:
    """Print a table of means over seeds."""
    columns = ("n_flagged", "false_alarms", "recall", "precision", "error", "error_with_true_share", "roc_auc")
    print("| detector | graph | " + " | ".join(name.replace("_", " ") for name in columns) + " |")
    print("|---" * (2 + len(columns)) + "|")
    for key in dict.fromkeys((row["detector"], row["graph"]) for row in rows):
        group = [row for row in rows if (row["detector"], row["graph"]) == key]
        print(f"| {key[0]} | {key[1]} | " + " | ".join(mean(name, group) for name in columns) + " |")


def mean(name: str, group: Sequence[dict[str, Any]]) -> str:
    """Return the mean over the runs that have this value, as text."""
    values = [row[name] for row in group if row[name] is not None]
    if not values:
        return "–"
    return f"{statistics.fmean(values):.0f}" if name == "n_flagged" else f"{statistics.fmean(values):.3f}"


if __name__ == "__main__":
    main()
