"""Check how well CrossHCM's probability of one hop is calibrated, on edges that the fold hides.

    python experiments/reliability.py --out reliability.json --figure docs/reliability.svg

CrossHCM is fitted; then another pool of pairs is drawn in every fold, the same number from each hop class. The pairs of
one hop are edges that the fold hides from message passing and that were not dropped. Their probabilities, averaged over
the posterior samples of the fold, are put into ten bins; the share of true edges in a bin is compared with its mean
probability. The training pairs of the fold are edges of the same kind, so this is an optimistic estimate.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hopsight.datasets import inject
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.folds import pool_seed
from hopsight.loading import load
from paper.setups import SETUPS

GRAPHS = ("flickr", "blogcatalog", "inj_cora", "amazon", "enron")


class RecordingCrossHCM(CrossHCM):
    """Keeps what is needed to draw other pairs."""

    def _pool(self, graph: AttributedGraph, kept: Any, seed: np.uint64) -> Any:
        self.pairs = super()._pool(graph, kept, pool_seed(self.seed + 1000))  # for the test, not for training
        return super()._pool(graph, kept, seed)

    def _folds(self, graph: AttributedGraph, attributes: Any, device: torch.device) -> Any:
        self.folds = super()._folds(graph, attributes, device)
        return self.folds


def main() -> None:
    """Fit, draw, bin, plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS), choices=list(SETUPS))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--data-dir")
    parser.add_argument("--out", type=Path, default=Path("reliability.json"))
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    curves = {}
    for name in options.graphs:
        curves[name] = reliability(name, options.device, options.data_dir)
        print(name, f"expected calibration error {curves[name]['error']:.3f}", flush=True)
        options.out.write_text(json.dumps(curves, indent=1), encoding="utf-8")
    if options.figure:
        plot(curves, options.figure)


def reliability(name: str, device: str, data_dir: str | None) -> dict[str, Any]:
    """Return the mean probability, the share of true edges and the number of pairs of each bin."""
    graph, setup = load(name, data_dir=data_dir), SETUPS[name]
    if setup.n_cliques:
        graph = inject(graph, n_cliques=setup.n_cliques, clique_size=15, seed=0)
    model = RecordingCrossHCM(seed=0, device=device).fit(graph)
    probability, truth = probabilities(model)
    bins = np.clip((probability * 10).astype(int), 0, 9)
    count = np.bincount(bins, minlength=10)
    filled = np.maximum(count, 1)
    mean = np.bincount(bins, probability, 10) / filled
    share = np.bincount(bins, truth, 10) / filled
    error = float(np.sum(count * abs(mean - share)) / count.sum())
    return {"probability": mean.tolist(), "share": share.tolist(), "pairs": count.tolist(), "error": error}


@torch.no_grad()
def probabilities(model: RecordingCrossHCM) -> tuple[Any, Any]:
    """Return p(one hop) and whether it is true, for new pairs of every fold."""
    epochs = model.schedule().sample_epochs(len(model.folds))
    place = model.folds[0].judged.device
    network = model.build_network(
        model.n_inputs_, model.n_classes_, directed=model.directed_, generator=torch.Generator()
    ).to(place)
    found, truth = [], []
    for number, fold in enumerate(model.folds):
        drawn = model.pairs.draw(number, 1, rng=np.random.default_rng(1000 + number))[0]
        total, count = 0.0, 0
        for epoch, weights in zip(epochs, model.samples_, strict=True):
            if epoch % len(model.folds) == number:
                network.set_flat_weights(weights)
                logits = network(network.represent(fold.view), torch.from_numpy(drawn).to(place))
                total, count = total + torch.softmax(logits, dim=1)[:, 0].cpu().numpy(), count + 1
        found.append(total / count)
        truth.append(model.pairs.labels == 0)
    return np.concatenate(found), np.concatenate(truth)


def plot(curves: dict[str, Any], path: Path) -> None:
    """Draw one line per graph beside the diagonal."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(4.2, 4.0))
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--", label="perfect")
    colors, markers = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"], "osD^v"
    for (name, curve), color, marker in zip(curves.items(), colors, markers, strict=False):
        filled = [i for i, n in enumerate(curve["pairs"]) if n >= 50]
        points = [[curve[key][i] for i in filled] for key in ("probability", "share")]
        axes.plot(*points, marker=marker, color=color, markersize=4, linewidth=1.2, label=SETUPS[name].title)
    axes.set_xlabel("predicted probability of one hop")
    axes.set_ylabel("share of pairs that are connected (hidden)")
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
