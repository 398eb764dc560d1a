"""Detect in edge lists as they come: seconds of each stage, and how well labeled traders of Bitcoin Alpha are ranked.

``python experiments/edge_lists.py [--seeds 3] [NAME]...`` reads ``links/*.parquet`` in the folder HOPSIGHT_DATA.
The labels of Bitcoin Alpha were derived from the ratings that a trader received, so that only the structure and what
was sent may be used.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from scipy.io import loadmat

from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.loading import load
from hopsight.metrics import roc_auc
from hopsight.runs.detect import detect
from hopsight.runs.request import Request, Source

DATA = Path(os.environ.get("HOPSIGHT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
LINKS = DATA / "links"
NAMES = ("bitcoin_alpha", "uci_messages", "enron_email", "darpa_slice", "darpa")
SLICE = 200_000  # first rows of darpa


def source_of(name: str, folder: Path) -> Source:
    """Return one of the edge lists, written to ``folder`` if it is a part of another."""
    if name == "darpa_slice":
        pl.read_parquet(LINKS / "darpa.parquet").head(SLICE).write_parquet(folder / "darpa_slice.parquet")
        return Source(path=str(folder / "darpa_slice.parquet"))
    nodes = str(LINKS / "enron_employees.tsv") if name == "enron_email" else None
    return Source(path=str(LINKS / f"{name}.parquet"), nodes=nodes)


def time_detection(name: str) -> None:
    """Print the seconds of a whole detection with the default settings; half the CPU time is that of two idle cores."""
    before = os.times()
    with tempfile.TemporaryDirectory() as folder:
        result = detect(Request(detector="cross_hcm", source=source_of(name, Path(folder))), Path(folder) / "out")
    seconds = {stage: round(value, 1) for stage, value in result.record["seconds"].items()}
    fit = {stage: round(value, 1) for stage, value in result.record["fit_seconds"].items()}
    sizes = {key: result.record["graph"][key] for key in ("n_nodes", "n_edges", "n_attributes")}
    after = os.times()
    cpu = sum(after[:4]) - sum(before[:4])
    print(f"{name}: {sizes}, {sum(seconds.values()):.0f} s, CPU {cpu:.0f} s: {seconds}; fit: {fit}", flush=True)


def rank_traders(n_seeds: int) -> None:
    """Print the ROC-AUC of labeled traders by attributes of the structure and of the ratings that they sent."""
    truth = loadmat(DATA / "bitcoin_alpha.mat")
    labels = dict(zip(truth["SnapId"].ravel().tolist(), truth["Label"].ravel().tolist(), strict=True))
    graph = load(LINKS / "bitcoin_alpha.parquet", derive="structure,sent", notices=[])
    truths = np.array([labels[node] for node in graph.node_ids.tolist()])
    for seed in range(n_seeds):
        model = CrossHCM(seed=seed).fit(graph)
        known = truths >= 0
        kinds = {kind: round(roc_auc(truths[known], values[known]), 3) for kind, values in model.evidence_.items()}
        print(f"seed {seed}: ROC-AUC {roc_auc(truths[known], model.decision_score_[known]):.3f}, {kinds}", flush=True)


def main() -> None:
    """Time the detections and rank the traders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    names = options.names or NAMES
    for name in names:
        time_detection(name)
    if "bitcoin_alpha" in names:
        rank_traders(options.seeds)


if __name__ == "__main__":
    main()
