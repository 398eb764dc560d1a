"""CrossHCM with each ingredient removed in turn, on every network.

    python experiments/ablation.py --workers 2 --out ablation.json

Injected networks get ``--injections`` injections with one seed each, the others ``--seeds`` seeds; with ``--leak-free``
neither degree nor attribute norm gives the anomalies away. Prints a table of mean ROC-AUC.
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

from hopsight.benchmark.graphs import SETUPS
from hopsight.datasets import inject
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.scores import fill_unjudged, neighbor_mean, rings
from hopsight.hcm.training import Fold
from hopsight.load import load
from hopsight.metrics import roc_auc

NETWORKS = ("flickr", "blogcatalog", "inj_cora", "disney", "amazon", "enron")


class SeesItsEdges(CrossHCM):
    """Judges edges in a network that shows them."""

    def _folds(self, graph: AttributedGraph, attributes: Any, device: torch.device) -> list[Fold]:
        folds = super()._folds(graph, attributes, device)
        whole = _whole_view(graph, attributes / self.unit_, device)
        return [Fold([fold.view[0], whole], fold.judged) for fold in folds]


class WithoutOwn(CrossHCM):
    """Sees the neighborhood only."""

    def _folds(self, graph: AttributedGraph, attributes: Any, device: torch.device) -> list[Fold]:
        folds = super()._folds(graph, attributes, device)
        return [Fold([torch.zeros_like(fold.view[0]), fold.view[1]], fold.judged) for fold in folds]


class WithoutNeighbors(CrossHCM):
    """Sees the node's own attributes only."""

    def _folds(self, graph: AttributedGraph, attributes: Any, device: torch.device) -> list[Fold]:
        folds = super()._folds(graph, attributes, device)
        return [Fold([fold.view[0], torch.zeros_like(fold.view[1])], fold.judged) for fold in folds]


class WithoutRanks(CrossHCM):
    """Clips values and puts no ranks beside them."""

    def _scaling(self, graph: AttributedGraph) -> str:
        return {"mixed": "clipped"}.get(super()._scaling(graph), super()._scaling(graph))


class WithoutDegrees(CrossHCM):
    """Combines the readings in their own robust deviations, whatever a node's degree."""

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
    "one posterior sample a fold": lambda **k: CrossHCM(n_samples=1, **k),
    "no edges dropped": lambda **k: CrossHCM(drop_ratio=0.0, **k),
    "argmax hops": lambda **k: CrossHCM(prediction="argmax", **k),
    "AHP of the paper": lambda **k: CrossHCM(score="ahp", **k),
    "HAV of the paper": lambda **k: CrossHCM(score="hav", **k),
}


def main() -> None:
    """Fit every variant to every network and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=NETWORKS)
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
        (network, number, variant, options.leak_free, options.device, options.data_dir)
        for network in options.networks
        for number in range(options.injections if SETUPS[network].n_cliques else options.seeds)
        for variant in options.variants
    ]
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(fit, *job) for job in jobs]):
            rows.append(done.result())
            options.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print_table(rows, options.variants, options.networks)


def fit(network: str, number: int, variant: str, leak_free: bool, device: str, data_dir: str | None) -> dict[str, Any]:
    """Fit one variant to one network and return its ROC-AUC."""
    graph, setup = load(network, data_dir=data_dir), SETUPS[network]
    if setup.n_cliques:
        protocol = "leak-free" if leak_free else "dominant"
        graph = inject(graph, n_cliques=setup.n_cliques, clique_size=15, protocol=protocol, seed=number)
    seed = 0 if setup.n_cliques else number
    model = VARIANTS[variant](seed=seed, device=device)
    model.fit(graph)
    auc = float(roc_auc(graph.labels, model.decision_score_))
    return {"network": network, "number": number, "variant": variant, "roc_auc": auc}


def print_table(rows: list[dict[str, Any]], variants: Sequence[str], networks: Sequence[str]) -> None:
    """Print mean ± sd as markdown."""
    print("| |", " | ".join(SETUPS[network].title for network in networks), "|")
    print("|---|" + "---|" * len(networks))
    for variant in variants:
        cells = []
        for network in networks:
            values = [row["roc_auc"] for row in rows if (row["variant"], row["network"]) == (variant, network)]
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
