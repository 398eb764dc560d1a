"""CrossHCM with each ingredient removed in turn, on every graph.

    python experiments/ablation.py --workers 2 --out ablation.json

Injected graphs get ``--injections`` injections with one seed each, the others ``--seeds`` seeds; with ``--leak-free``
neither degree nor attribute norm reveals the anomalies. Prints a table of mean ROC-AUC.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

import numpy as np
import torch

from hopsight.datasets import inject
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.folds import Fold
from hopsight.hcm.scores import fill_unjudged, neighbor_mean, rings
from hopsight.loading import load
from hopsight.metrics import roc_auc
from paper.setups import SETUPS

GRAPHS = ("flickr", "blogcatalog", "inj_cora", "disney", "amazon", "enron")


class SeesItsEdges(CrossHCM):
    """Judges edges that message passing uses."""

    def _folds(self, graph: AttributedGraph, attributes: Any, device: torch.device) -> list[Fold]:
        folds = super()._folds(graph, attributes, device)
        whole = _whole_view(graph, attributes / self.unit_, device)
        return [Fold([fold.view[0], whole], fold.judged) for fold in folds]


class WithoutOwn(CrossHCM):
    """Sees only the neighborhood."""

    def _folds(self, graph: AttributedGraph, attributes: Any, device: torch.device) -> list[Fold]:
        folds = super()._folds(graph, attributes, device)
        return [Fold([torch.zeros_like(fold.view[0]), fold.view[1]], fold.judged) for fold in folds]


class WithoutNeighbors(CrossHCM):
    """Sees only the node's own attributes."""

    def _folds(self, graph: AttributedGraph, attributes: Any, device: torch.device) -> list[Fold]:
        folds = super()._folds(graph, attributes, device)
        return [Fold([fold.view[0], torch.zeros_like(fold.view[1])], fold.judged) for fold in folds]


class WithoutRanks(CrossHCM):
    """Clips values and adds no ranks."""

    def resolve_scaling(self, graph: AttributedGraph) -> str:
        """Return the usual scaling without ranks."""
        scaling = super().resolve_scaling(graph)
        return "clipped" if scaling == "mixed" else scaling


class WithoutDegrees(CrossHCM):
    """Combines the scores in robust standard deviations, regardless of degree."""

    def _node_scores(self, graph: AttributedGraph, posterior: Any) -> dict[str, Any]:
        scores = super()._node_scores(graph, posterior)
        strange = (1.0 - posterior.probability.cpu().numpy().astype(float)) ** 2
        values = [posterior.hop, posterior.surprise]
        hop, surprise = (neighbor_mean(graph.edges, v.cpu().numpy().astype(float), graph.n_nodes) for v in values)
        ring = np.sqrt(neighbor_mean(graph.edges, rings(graph.edges, strange, graph.n_nodes), graph.n_nodes))
        far = (_robust(hop) + _robust(surprise)) / 2
        return scores | {"cross": fill_unjudged(np.maximum(far, _robust(ring)))}


VARIANTS: dict[str, Any] = {
    "CrossHCM": CrossHCM,
    "edges shown while judged": SeesItsEdges,
    "without the node's own attributes": WithoutOwn,
    "without its neighborhood": WithoutNeighbors,
    "20 components": lambda **k: CrossHCM(n_components=20, **k),
    "without ranks": WithoutRanks,
    "without rings": lambda **k: CrossHCM(score="far", **k),
    "without the correction for degree": WithoutDegrees,
    "one split instead of four": lambda **k: CrossHCM(n_repeats=1, **k),
    "one posterior sample per fold": lambda **k: CrossHCM(n_samples=1, **k),
    "no edges dropped": lambda **k: CrossHCM(drop_ratio=0.0, **k),
    "argmax hops": lambda **k: CrossHCM(prediction="argmax", **k),
    "AHP of the paper": lambda **k: CrossHCM(score="ahp", **k),
    "HAV of the paper": lambda **k: CrossHCM(score="hav", **k),
}


def main() -> None:
    """Fit every variant to every graph and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS), choices=GRAPHS)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--injections", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--leak-free", action="store_true")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--data-dir")
    parser.add_argument("--out", type=Path, default=Path("ablation.json"))
    options = parser.parse_args()
    jobs = [
        (name, number, variant, options.leak_free, options.device, options.data_dir)
        for name in options.graphs
        for number in range(options.injections if SETUPS[name].n_cliques else options.seeds)
        for variant in options.variants
    ]
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(fit, *job) for job in jobs]):
            rows.append(done.result())
            options.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print_table(rows, options.variants, options.graphs)


def fit(name: str, number: int, variant: str, leak_free: bool, device: str, data_dir: str | None) -> dict[str, Any]:
    """Fit one variant to one graph and return its ROC-AUC."""
    graph, setup = load(name, data_dir=data_dir), SETUPS[name]
    if setup.n_cliques:
        protocol = "leak-free" if leak_free else "dominant"
        graph = inject(graph, n_cliques=setup.n_cliques, clique_size=15, protocol=protocol, seed=number)
    seed = 0 if setup.n_cliques else number
    model = VARIANTS[variant](seed=seed, device=device)
    model.fit(graph)
    auc = float(roc_auc(graph.labels, model.decision_score_))
    return {"graph": name, "number": number, "variant": variant, "roc_auc": auc}


def print_table(rows: list[dict[str, Any]], variants: Sequence[str], names: Sequence[str]) -> None:
    """Print mean ± sd as markdown."""
    print("| |", " | ".join(SETUPS[name].title for name in names), "|")
    print("|---|" + "---|" * len(names))
    for variant in variants:
        cells = []
        for name in names:
            values = [row["roc_auc"] for row in rows if (row["variant"], row["graph"]) == (variant, name)]
            cells.append(f"{mean(values):.3f} ± {pstdev(values):.3f}")
        print(f"| {variant} |", " | ".join(cells), "|")


def _whole_view(graph: AttributedGraph, scaled: Any, device: torch.device) -> Any:
    from hopsight.nn.gcn import propagation

    symmetric = graph.adjacency if not graph.directed else graph.adjacency.maximum(graph.adjacency.T)
    propagate = propagation(symmetric, directed=False, device=device)
    return propagate(torch.from_numpy(scaled.astype(np.float32)).to(device))


def _robust(values: Any) -> Any:
    low, middle, high = np.nanquantile(values, [0.25, 0.5, 0.75])
    return (values - middle) / ((high - low) / 1.349 or 1.0)


if __name__ == "__main__":
    main()
