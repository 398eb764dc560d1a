"""Time HCM and CrossHCM on a GPU against lower bounds, and compare their results with the CPU's.

    python experiments/gpu_speed.py --out gpu_speed.json

HCM (100 epochs, 60 posterior samples) and CrossHCM (its defaults) are fitted four times; "fits" has the seconds of
each, and everything else is of the second. "loop" is the part on the GPU (training and judging); "all" includes the
part on the CPU around it (attributes, hop counts, views, drawing pairs, scores). The lower bounds are the operations of
all matrix products at the GPU's float32 peak, and the bytes of gathered rows and activations at its bandwidth.
Agreement: the same weights judge on CPU and GPU; then both train from the same seed.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr

import hopsight as hs
from hopsight.metrics import roc_auc
from hopsight.system.machine import machine, versions

CLIQUES = {"blogcatalog": 10, "flickr": 15}
SETTINGS = {"HCM": {"n_epochs": 100, "burn_in": 40, "n_samples": 60}, "CrossHCM": {}}
FITS = 4
FLOPS, BANDWIDTH = 67e12, 4.8e12  # of an H200: float32 operations and bytes per second


def main() -> None:
    """Time every graph, then compare CPU and GPU."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", default=["blogcatalog", "flickr", "enron", "million"])
    parser.add_argument("--detectors", nargs="+", default=list(SETTINGS))
    parser.add_argument("--data-dir")
    parser.add_argument("--out", type=Path, default=Path("gpu_speed.json"))
    parser.add_argument("--agreement", nargs="*", default=["blogcatalog"])
    options = parser.parse_args()
    result: dict[str, Any] = {"machine": machine(), "versions": versions(), "rows": []}
    for name in options.graphs:
        graph = load_graph(name, options.data_dir)
        for detector in (getattr(hs, each) for each in options.detectors):
            result["rows"].append({"graph": name} | timed(detector, graph))
            print(json.dumps(result["rows"][-1]), flush=True)
            options.out.write_text(json.dumps(result, indent=1), encoding="utf-8")
    for name in options.agreement:
        result.setdefault("agreement", {})[name] = agreement(load_graph(name, options.data_dir))
        print(json.dumps(result["agreement"]), flush=True)
        options.out.write_text(json.dumps(result, indent=1), encoding="utf-8")


def load_graph(name: str, data_dir: str | None) -> hs.AttributedGraph:
    """Return a graph of the catalog with anomalies, or a generated one of a million nodes."""
    if name == "million":
        return hs.make_graph(1_000_000, n_edges=10_000_000, seed=0)
    graph = hs.load(name, data_dir=data_dir)
    return hs.inject(graph, n_cliques=CLIQUES[name], clique_size=15, seed=0) if name in CLIQUES else graph


def timed(detector: Any, graph: hs.AttributedGraph) -> dict[str, Any]:
    """Fit several times and measure the second fit."""
    models, fits = [detector(seed=0, device="cuda", **SETTINGS[detector.__name__]) for _ in range(FITS)], []
    for model in models:
        torch.cuda.synchronize()
        start = time.perf_counter()
        model.fit(graph)
        torch.cuda.synchronize()
        fits.append(time.perf_counter() - start)
    model = models[1]
    seconds = {stage: round(value, 3) for stage, value in model.seconds_.items()}
    operations, moved = floors(model, graph)
    return {
        "detector": detector.__name__,
        "loop": round(model.seconds_["train"] + model.seconds_["judge"], 3),
        "all": round(fits[1], 2),
        "fits": [round(each, 2) for each in fits],
        "floor_operations": operations / FLOPS,
        "floor_bytes": moved / BANDWIDTH,
        "memory_gb": torch.cuda.max_memory_allocated() / 1e9,
        "roc_auc": float(roc_auc(graph.labels, model.decision_score_)),
        "seconds": seconds,
    }


def floors(model: Any, graph: hs.AttributedGraph) -> tuple[float, float]:
    """Return the operations of the matrix products and the bytes that they read and write in float32."""
    pairs, edges = model.n_pairs_ * model.n_classes_ * model.n_epochs, graph.n_edges
    hidden, classes = model.mlp_units, model.n_classes_
    if isinstance(model, hs.CrossHCM):
        rows, width = 2 * model.n_inputs_, 2 * model.n_units
        judged = edges / model.n_folds * len(model.samples_)
        node, mapped = 0.0, rows * model.n_units
        gathered = 2 * rows
    else:
        width, judged = model.n_units, edges * len(model.samples_)
        steps = model.n_epochs * 3 + len(model.samples_)
        node = steps * (graph.n_nodes * width * (model.n_inputs_ + width) + 2 * edges * width)
        mapped, gathered = 0.0, 2 * width
    pair = mapped + width * hidden + hidden * classes
    operations = 2 * (node + (3 * pairs + judged) * pair)
    moved = 4 * (3 * pairs + judged) * (gathered + width + hidden + classes)
    return operations, moved


def agreement(graph: hs.AttributedGraph) -> dict[str, Any]:
    """Compare the predictions of the same weights, and of models trained separately."""
    found = {}
    for detector in (hs.HCM, hs.CrossHCM):
        gpu, cpu = (detector(seed=0, device=device).fit(graph) for device in ("cuda", "cpu"))
        here = gpu.judge(graph)
        gpu.device = "cpu"
        there = gpu.judge(graph)
        hop, probability = abs(here.edge_hop_ - there.edge_hop_), abs(here.edge_probability_ - there.edge_probability_)
        aucs = [float(roc_auc(graph.labels, model.decision_score_)) for model in (gpu, cpu)]
        found[detector.__name__] = {
            "same_weights_hop": float(hop.max()),
            "same_weights_hop_999": float(np.quantile(hop, 0.999)),
            "same_weights_probability": float(probability.max()),
            "spearman": float(spearmanr(gpu.decision_score_, cpu.decision_score_).statistic),
            "roc_auc": aucs,
        }
    return found


if __name__ == "__main__":
    main()
