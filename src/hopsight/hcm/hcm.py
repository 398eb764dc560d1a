"""HCM, the hop-count model of the paper: GCN on the whole graph, both of its scores, and two named presets."""

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
from hopsight.hcm.hop_detector import HopDetector, adjacency_of
from hopsight.hcm.network import GCNHopNetwork
from hopsight.hcm.training import Fold
from hopsight.nn.gcn import Propagation, normalized_adjacency, propagation, torch_csr


@dataclass(kw_only=True)
class HCM(HopDetector):
    """Hop-Count based Model (Huang et al. 2022).

    Learns how many hops apart two nodes should be, then reports nodes whose own neighbors look far away (AHP)
    and uncertain (HAV = AHP / max AHP + IV / max IV).

    Parameters
    ----------
    n_layers, n_units, mlp_units
        Graph convolutions, their width, and the width of the MLP's hidden layer.
    dropout, dropout_at_prediction
        Share of hidden units dropped in training, and whether predicting drops them too.
    n_components, scaling
        Principal components that attributes are reduced to (None: all columns), and their scaling before:
        auto, none, row, standard, rank.
    drop_ratio, similarity
        R: share of edges removed before hop counts are taken, those with the smallest similarity (auto, jaccard,
        cosine, euclidean) of the reduced attributes.
    n_classes, sampling_ratio, max_pairs, min_class_pairs
        C; S; most pairs in an epoch; the size under which a hop class is merged.
    optimizer, lr, lr_decay, weight_decay, temperature
        psgld, sgld, adam or sgd; step size at epoch t is lr · t^(−lr_decay); prior; Langevin temperature.
    n_epochs, burn_in, n_samples
        Epochs in all, those before the first posterior sample, and T, the samples spread over the rest.
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
    lr: float = 0.005  # at 0.01 training swings so widely that rounding alone changes the ranking
    prediction: str = "argmax"
    score: str = "ahp"

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """Return the paper's sizes and formulas, with preconditioned SGLD and steps that shrink (its own diverge).

        The paper uses ``n_layers=4`` for Amazon and Enron.
        """
        settings: dict[str, Any] = {
            "max_pairs": 1_000_000, "similarity": "auto", "score": "hav", "optimizer": "psgld", "lr": 0.03,
            "lr_decay": 0.5, "temperature": 1e-3, "n_epochs": 300, "burn_in": 100, "n_samples": 200,
        }  # fmt: skip
        return cls(**(settings | changes))

    @classmethod
    def authors(cls, **changes: Any) -> Self:
        """Return the settings of the authors' script: Adam, dropout also while predicting, Euclidean, argmax, std."""
        settings: dict[str, Any] = {
            "max_pairs": 1_000_000, "optimizer": "adam", "lr": 0.01, "weight_decay": 5e-8, "dropout": 0.5,
            "dropout_at_prediction": True, "n_epochs": 100, "burn_in": 40, "n_samples": 60,
            "deviation": "std",
        }  # fmt: skip
        return cls(**(settings | changes))

    def _check(self) -> None:
        super()._check()
        check_count("n_layers", self.n_layers)

    def _network(self, n_inputs: int, n_classes: int, directed: bool, generator: torch.Generator) -> GCNHopNetwork:
        return GCNHopNetwork(
            n_inputs,
            n_units=self.n_units,
            n_layers=self.n_layers,
            mlp_units=self.mlp_units,
            n_classes=n_classes,
            directed=directed,
            generator=generator,
        )

    def _folds(self, graph: AttributedGraph, attributes: FloatArray, device: torch.device) -> list[Fold]:
        """Return one fold that sees, and judges, every edge."""
        propagate = propagation(graph.adjacency, directed=graph.directed, device=device)
        propagated = propagate(torch.from_numpy(attributes.astype(np.float32)).to(device))
        return [self._fold(propagated, propagate, graph.n_edges)]

    def _local_folds(
        self,
        graph: AttributedGraph,
        stays: NDArray[np.bool_],
        rows: NDArray[np.int64],
        mine: NDArray[np.int64],
        device: torch.device,
    ) -> list[Fold]:
        """Return the view of the rows and of all that can reach them through the remaining layers."""
        operator = normalized_adjacency(adjacency_of(graph, stays, directed=graph.directed))
        ball = np.zeros(graph.n_nodes)
        ball[rows] = 1.0
        for _ in range(self.n_layers - 1):
            ball = (operator.T @ ball > 0).astype(np.float64)
        others = np.setdiff1d(np.flatnonzero(ball), rows)
        around = np.concatenate([rows, others])  # the rows come first, so their numbers stay
        inner = operator[around][:, around]
        forward = torch_csr(inner, device)
        propagate = Propagation(forward, forward)
        propagated = (operator[around] @ self._transformed(graph)).astype(np.float32)
        return [self._fold(torch.from_numpy(propagated).to(device), propagate, mine.size)]

    def _fold(self, propagated: Tensor, propagate: Propagation, n_edges: int) -> Fold:
        view = (propagated, *[propagate] * (self.n_layers - 1))
        return Fold(view, torch.arange(n_edges, device=propagated.device))
