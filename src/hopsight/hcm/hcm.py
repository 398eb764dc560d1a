"""HCM, the hop-count model of the paper: a GCN on the whole graph, both scores, and two presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hopsight.checks import check_count
from hopsight.detectors.base import FloatArray
from hopsight.graph import AttributedGraph
from hopsight.hcm.checkpoint import Checkpoint
from hopsight.hcm.hop_detector import HopDetector
from hopsight.hcm.network import GCNHopNetwork
from hopsight.hcm.splits import Fold, Sight
from hopsight.hcm.views import adjacency_of
from hopsight.hops.pool import HopPairs, hop_pairs
from hopsight.nn.gcn import Propagation, normalized_adjacency, propagation, torch_csr


@dataclass(kw_only=True)
class HCM(HopDetector):
    """The hop-count model of Huang et al. (2022).

    It learns how many hops apart two nodes should be, and scores the nodes whose own neighbors look far away (AHP)
    and uncertain (HAV = AHP / max AHP + IV / max IV). With the default optimizer, Adam, the posterior samples are
    iterates after the burn-in; ``optimizer="psgld"`` makes them samples of Langevin dynamics, as in the paper.

    Parameters
    ----------
    n_layers, n_units, mlp_units
        Number of graph convolutions, their width, and the width of the MLP's hidden layer.
    dropout, dropout_at_prediction
        Share of hidden units dropped in training, and whether units are dropped in prediction, too.
    n_components, scaling
        Number of principal components of the attributes (None: all columns), and how columns are scaled before:
        auto, none, row, standard, rank.
    drop_ratio, similarity
        R: share of edges removed before hops are counted, those with the smallest similarity (auto, jaccard,
        cosine, euclidean) of the reduced attributes.
    n_classes, sampling_ratio, max_pairs, min_class_pairs
        C; S; largest number of pairs per epoch; smallest hop class that is not merged with its neighbor.
    optimizer, lr, lr_decay, weight_decay, temperature
        psgld, sgld, adam or sgd; step size at epoch t is lr · t^(−lr_decay); prior; Langevin temperature.
    n_epochs, burn_in, n_samples
        Number of epochs, number before the first posterior sample, and T, the samples spread over the rest.
    prediction, deviation, score
        argmax or expected hop count; variance or std of the samples; hav or ahp as ``decision_score_``.

    Examples
    --------
    >>> import hopsight as hs
    >>> model = hs.HCM(n_epochs=20, burn_in=10, seed=0).fit(hs.make_demo())
    >>> model.decision_score_.shape == model.ahp_.shape
    True

    References
    ----------
    Huang, Pei, Menkovski, Pechenizkiy: Hop-Count Based Self-Supervised Anomaly Detection on Attributed Networks.
    """

    meaning: ClassVar[str] = "how far away its neighbors look to a model that learned hop counts"
    presets: ClassVar[tuple[str, ...]] = ("paper", "authors")
    quick: ClassVar[Mapping[str, Any]] = {
        "n_units": 16, "mlp_units": 16, "n_epochs": 30, "burn_in": 10, "n_samples": 10, "min_class_pairs": 20,
    }  # fmt: skip

    n_layers: int = 2
    similarity: str = "euclidean"
    lr: float = 0.005  # at 0.01 the loss oscillates so much that rounding alone changes the ranking
    prediction: str = "argmax"
    score: str = "ahp"

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """Return the paper's sizes and formulas, with preconditioned SGLD and decaying steps (its own diverge).

        The paper uses ``n_layers=4`` for Amazon and Enron.
        """
        settings: dict[str, Any] = {
            "max_pairs": 1_000_000, "similarity": "auto", "score": "hav", "optimizer": "psgld", "lr": 0.03,
            "lr_decay": 0.5, "temperature": 1e-3, "n_epochs": 300, "burn_in": 100, "n_samples": 200,
        }  # fmt: skip
        return cls(**(settings | changes))

    @classmethod
    def authors(cls, **changes: Any) -> Self:
        """Return the settings of the authors' script: Adam, dropout also in prediction, Euclidean, argmax, std.

        Four things of the script are not settings of this class. It counts hop classes from 0, so that its AHP is one
        smaller and HAV, which divides AHP by its maximum, weighs AHP a little more. It draws other initial weights. It
        reads the stored half of each edge as a directed one, while edges are undirected here. And it has C, S and the
        number of epochs per network, with rows divided by their sum on Amazon: ``n_classes``, ``sampling_ratio``,
        ``n_epochs=300`` and ``scaling="row"`` do so here.
        """
        settings: dict[str, Any] = {
            "max_pairs": 1_000_000, "optimizer": "adam", "lr": 0.01, "weight_decay": 5e-8, "dropout": 0.5,
            "dropout_at_prediction": True, "n_epochs": 100, "burn_in": 40, "n_samples": 60,
            "deviation": "std",
        }  # fmt: skip
        return cls(**(settings | changes))

    def check(self) -> None:
        """Refuse a parameter outside its range."""
        super().check()
        check_count("n_layers", self.n_layers)

    def expected_need(self, graph: AttributedGraph) -> tuple[float, float]:
        """Return bytes and operations: the GCN keeps n_units numbers per node and layer, and passes over every edge."""
        n_nodes, n_edges, units = graph.n_nodes, graph.n_edges, self.n_units
        width = min(graph.n_attributes, self.n_components or graph.n_attributes)
        per_node = 2 * units * (self.n_layers + 1) + 3 * width
        return self._need(
            graph,
            memory=4 * n_nodes * per_node,
            weights=units * (width + (self.n_layers - 1) * units + self.mlp_units) + self.mlp_units * self.n_classes,
            per_pair=3 * units + 4 * self.mlp_units,
            product=units * self.mlp_units,
            per_epoch=n_nodes * width * units + 2 * n_edges * units * self.n_layers,
            judged=n_edges,
        )

    def build_network(
        self, n_inputs: int, n_classes: int, *, directed: bool, generator: torch.Generator
    ) -> GCNHopNetwork:
        """Return the GCN and the MLP with their initial weights."""
        return GCNHopNetwork(
            n_inputs,
            n_units=self.n_units,
            n_layers=self.n_layers,
            mlp_units=self.mlp_units,
            n_classes=n_classes,
            directed=directed,
            generator=generator,
        )

    def _hop_pairs(
        self, graph: AttributedGraph, kept: NDArray[np.bool_], rng: np.random.Generator, checkpoint: Checkpoint
    ) -> HopPairs:
        """Return all pairs of the graph by hop class."""
        return hop_pairs(
            adjacency_of(graph, kept, directed=graph.directed),
            n_classes=self.n_classes,
            sampling_ratio=self.sampling_ratio,
            max_pairs=self.max_pairs,
            min_class_pairs=self.min_class_pairs,
            directed=graph.directed,
            rng=rng,
        )

    def _sight(self, graph: AttributedGraph, attributes: FloatArray, device: torch.device) -> Sight:
        """Return one fold of one network that sees, and judges, every edge."""
        propagate = propagation(graph.adjacency, directed=graph.directed, device=device)
        propagated = propagate(torch.from_numpy(attributes.astype(np.float32)).to(device))
        return Sight([[self._fold(propagated, propagate, graph.n_edges)]])

    def _local_folds(
        self,
        graph: AttributedGraph,
        present: NDArray[np.bool_],
        rows: NDArray[np.int64],
        mine: NDArray[np.int64],
        device: torch.device,
    ) -> list[list[Fold]]:
        """Return the view of the rows and of all nodes that can reach them through the remaining layers."""
        operator = normalized_adjacency(adjacency_of(graph, present, directed=graph.directed))
        ball = np.zeros(graph.n_nodes)
        ball[rows] = 1.0
        for _ in range(self.n_layers - 1):
            ball = (operator.T @ ball > 0).astype(np.float64)
        others = np.setdiff1d(np.flatnonzero(ball), rows)
        around = np.concatenate([rows, others])  # the rows come first, so that their positions do not change
        inner = operator[around][:, around]
        forward = torch_csr(inner, device)
        propagate = Propagation(forward, forward)
        propagated = (operator[around] @ self._transformed(graph)).astype(np.float32)
        return [[self._fold(torch.from_numpy(propagated).to(device), propagate, mine.size)]]

    def _fold(self, propagated: Tensor, propagate: Propagation, n_edges: int) -> Fold:
        view = (propagated, *[propagate] * (self.n_layers - 1))
        return Fold(view, torch.arange(n_edges, device=propagated.device))
