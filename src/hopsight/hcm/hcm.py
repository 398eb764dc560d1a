"""HCM, the hop-count model of the paper: a GCN on the whole graph, both scores, and two presets."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hopsight.checks import check_count
from hopsight.detectors.base import Callback, Detector, FloatArray
from hopsight.graph import AttributedGraph
from hopsight.hcm.checkpoint import Checkpoint
from hopsight.hcm.counterfactual import around
from hopsight.hcm.network import GCNHopNetwork
from hopsight.hcm.posterior import NODE_VALUES, EdgePosterior, JudgedEdges, as_tensor, judge_edges, node_scores, predict
from hopsight.hcm.splits import chances, pool_seed, split_seed
from hopsight.hcm.train import (
    Generators,
    Observer,
    Schedule,
    StageClock,
    check_edges,
    check_training,
    fit_with_checkpoint,
    fit_with_fallback,
    kept_pool,
    schedule_of,
    torch_generator,
    train,
    training_need,
)
from hopsight.hcm.views import adjacency_of, fit_inputs, inputs_of
from hopsight.hops.pool import PairPool, pair_pool
from hopsight.io import graph_of
from hopsight.nn.device import resolve_device
from hopsight.nn.gcn import propagation
from hopsight.preprocess import drop_edges, edge_similarity
from hopsight.system.threads import safe_in_forks


@dataclass(kw_only=True)
class HCM(Detector):
    """The hop-count model of Huang et al. (2022).

    It learns how many hops apart two nodes should be, and scores the nodes whose own neighbors look far away (AHP)
    and uncertain (HAV = AHP / max AHP + IV / max IV). With the default optimizer, Adam, the posterior samples are
    iterates after the burn-in; ``optimizer="psgld"`` makes them samples of Langevin dynamics, as in the paper.

    Parameters
    ----------
    n_layers, n_units, mlp_units
        Number of graph convolutions, their width, and the width of the MLP's hidden layer.
    dropout, dropout_at_prediction
        Share of hidden units dropped in training, and whether units are dropped in prediction as well.
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

    scores: ClassVar[tuple[str, ...]] = ("hav", "ahp")
    transferable: ClassVar[bool] = True
    order_matters: ClassVar[bool] = True
    node_values: ClassVar[Mapping[str, str]] = NODE_VALUES
    meaning: ClassVar[str] = "how far away its neighbors look to a model that learned hop counts"
    presets: ClassVar[tuple[str, ...]] = ("paper", "authors")
    quick: ClassVar[Mapping[str, Any]] = {
        "n_units": 16, "mlp_units": 16, "n_epochs": 30, "burn_in": 10, "n_samples": 10, "min_class_pairs": 20,
    }  # fmt: skip

    n_layers: int = 2
    n_units: int = 128
    mlp_units: int = 256
    dropout: float = 0.0
    n_components: int | None = 20
    scaling: str = "auto"
    drop_ratio: float = 0.2
    similarity: str = "euclidean"
    n_classes: int = 4
    sampling_ratio: float = 0.3
    max_pairs: int = 16_384
    min_class_pairs: int = 200
    optimizer: str = "adam"
    lr: float = 0.005  # at 0.01 the loss oscillates so much that rounding alone changes the ranking
    lr_decay: float = 0.0
    weight_decay: float = 5e-8
    temperature: float = 1e-3
    n_epochs: int = 200
    burn_in: int = 100
    n_samples: int = 25
    prediction: str = "argmax"
    dropout_at_prediction: bool = False
    deviation: str = "variance"
    precision: str = "auto"
    score: str = "ahp"

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """Return the paper's sizes and formulas, with preconditioned SGLD and decaying steps (its own diverge).

        The paper uses ``n_layers=4`` for Amazon and Enron. Attributes that are reduced to principal components are no
        longer 0/1, so that they are compared by cosine, never by Jaccard similarity.
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
        check_training(self)
        check_count("n_samples", self.n_samples)
        check_count("n_layers", self.n_layers)

    def expected_need(self, graph: AttributedGraph) -> tuple[float, float]:
        """Return bytes and operations: the GCN keeps n_units numbers per node and layer, and passes over every edge."""
        n_nodes, n_edges, units = graph.n_nodes, graph.n_edges, self.n_units
        width = min(graph.n_attributes, self.n_components or graph.n_attributes)
        memory, operations = training_need(
            self,
            graph,
            n_samples=self.n_samples,
            weights=units * (width + (self.n_layers - 1) * units + self.mlp_units) + self.mlp_units * self.n_classes,
            per_pair=3 * units + 4 * self.mlp_units,
            product=units * self.mlp_units,
            per_epoch=n_nodes * width * units + 2 * n_edges * units * self.n_layers,
            judged=n_edges,
        )
        return memory + 4 * n_nodes * (2 * units * (self.n_layers + 1) + 3 * width), operations

    fit, _fit = fit_with_checkpoint, fit_with_fallback

    def _fit_on(
        self,
        device: torch.device,
        graph: AttributedGraph,
        rngs: Sequence[np.random.Generator],
        callback: Callback | None,
        saved: Checkpoint,
    ) -> FloatArray:
        for_transform, for_drop, for_pairs, for_weights, for_dropout, for_noise = rngs
        clock = StageClock(callback)

        # Preprocess: scale the attributes and reduce their dimensions.
        clock.begin("attributes")
        self.split_seed_, self.directed_ = split_seed(self.seed), graph.directed
        self.transform_, attributes, self.magnitude_ = fit_inputs(
            graph, scaling=self.scaling, n_components=self.n_components, rng=for_transform
        )
        # Drop the least similar edges, and label pairs of nodes with the hops between them.
        clock.begin("hops")
        pairs = kept_pool(saved, lambda: self._hop_pairs(graph, attributes, for_drop))
        self.class_sizes_, self.class_errors_, self.n_pairs_ = pairs.sizes, pairs.errors, pairs.n_pairs
        self.n_inputs_, self.n_classes_ = attributes.shape[1], pairs.n_classes
        # The network sees the whole graph.
        clock.begin("views")
        view = self._view(graph.adjacency, attributes, device)
        edges = as_tensor(graph.edges).to(device)
        # Learn to tell the hop classes apart, and keep the weights along the way.
        network, schedule = self._network(for_weights, device), schedule_of(self, self.n_samples, device)
        generators = Generators.spawn((for_pairs, for_dropout, for_noise), device)
        self.judging_seed_ = generators.judging_seed
        observer = Observer(callback, lambda: self._scores_by(network, view, edges, schedule, graph), clock)
        self.samples_, self.loss_ = train(
            [network], [[view]], pairs, schedule, generators, observer=observer, checkpoint=saved
        )
        # Every posterior sample predicts the hop count of every edge.
        clock.begin("judge")
        judged = self._judge(view, edges, saved)
        # Average over the edges of each node.
        clock.begin("scores")
        scores = self._score(graph, judged)
        self.seconds_ = clock.end()
        return scores

    def _hop_pairs(self, graph: AttributedGraph, attributes: FloatArray, rng: np.random.Generator) -> PairPool:
        """Return pairs of every hop class; hops are counted along the edges that are not dropped."""
        seed = pool_seed(self.split_seed_)
        alike = edge_similarity(attributes, graph.edges, self.similarity)
        kept = drop_edges(alike, self.drop_ratio, rng=rng, chances=lambda edges: chances(graph, edges, seed))
        return pair_pool(
            [adjacency_of(graph.edges[:, kept], graph.n_nodes, directed=graph.directed)],
            [kept],
            graph.edges,
            graph.edges[:, :0],
            graph.node_hashes,
            seed,
            n_classes=self.n_classes,
            sampling_ratio=self.sampling_ratio,
            max_pairs=self.max_pairs,
            min_class_pairs=self.min_class_pairs,
            directed=graph.directed,
        )

    def _network(self, rng: np.random.Generator, device: torch.device) -> GCNHopNetwork:
        """Return the GCN and the MLP with their initial weights."""
        return GCNHopNetwork(
            self.n_inputs_,
            n_units=self.n_units,
            n_layers=self.n_layers,
            mlp_units=self.mlp_units,
            n_classes=self.n_classes_,
            directed=self.directed_,
            generator=torch_generator(rng, "cpu"),
        ).to(device)

    def _view(self, adjacency: Any, attributes: NDArray[Any], device: torch.device) -> Sequence[Any]:
        """Return what the network sees: ÂX, and Â for every further layer."""
        propagate = propagation(adjacency, directed=self.directed_, device=device)
        propagated = propagate(torch.from_numpy(attributes.astype(np.float32)).to(device))
        return (propagated, *[propagate] * (self.n_layers - 1))

    def _judge(self, view: Sequence[Any], edges: Tensor, checkpoint: Checkpoint | None = None) -> JudgedEdges:
        """Let every posterior sample judge some edges."""
        return judge_edges(
            [self._network(np.random.default_rng(0), edges.device)],
            lambda _: [view],
            [torch.arange(edges.shape[1], device=edges.device)],
            edges,
            self.samples_,
            schedule_of(self, len(self.samples_), edges.device),
            judging_seed=self.judging_seed_,
            checkpoint=checkpoint,
        ).judged(self.deviation)

    def _score(self, graph: AttributedGraph, judged: JudgedEdges) -> FloatArray:
        """Set the values of edges and nodes and return the chosen score."""
        self.edge_index_ = graph.edges
        self.edge_hop_, self.edge_variance_, self.edge_probability_, self.edge_surprise_ = judged
        self.ahp_, self.iv_, self.hav_ = node_scores(graph.edges, judged, graph.n_nodes)
        self.judged_ = graph.degrees > 0
        return self.hav_ if self.score == "hav" else self.ahp_

    def _scores_by(
        self,
        network: GCNHopNetwork,
        view: Sequence[Any],
        edges: Tensor,
        schedule: Schedule,
        graph: AttributedGraph,
    ) -> FloatArray:
        """Return the scores by the current weights of a network alone."""
        posterior = EdgePosterior(edges.shape[1], edges.device)
        for part, logits in predict(network, view, edges, torch.arange(edges.shape[1], device=edges.device), schedule):
            posterior.add(part, logits, schedule.prediction)
        return copy.copy(self)._score(graph, posterior.judged(self.deviation))

    @safe_in_forks
    def judge(self, source: Any) -> Self:
        """Return a copy of this detector whose scores are those of another graph, judged with the same weights."""
        if hasattr(self, "models_"):
            return super().judge(source)
        graph, device = graph_of(source), resolve_device(self.device)
        copied = self._copy_for(graph)
        check_edges(graph)
        view = self._view(graph.adjacency, inputs_of(graph, self.transform_, self.magnitude_), device)
        judged = self._judge(view, as_tensor(graph.edges).to(device))
        return copied._finish(copied._score(graph, judged), keep_threshold=True)

    def decision_function(self, source: Any, label: Any = None) -> FloatArray:
        """Score a graph with the posterior samples and the attribute transformation of the fit."""
        return self.judge(source).decision_score_

    @safe_in_forks
    def score_without(self, graph: AttributedGraph, node: int, edges: NDArray[np.int64]) -> float:
        """Return the score a node would have if some edges (positions in ``graph.edges``) were absent.

        Every posterior sample judges the node's other edges again, in a graph without the absent ones. Edges
        elsewhere, and the maxima that HAV divides by, are those of the fit.
        """
        device, part = resolve_device(self.device), around(graph, node, edges, radius=self.n_layers)
        adjacency = adjacency_of(part.edges, part.nodes.size, directed=graph.directed)
        attributes = part.with_zeros(inputs_of(graph, self.transform_, self.magnitude_, part.inner))
        view = self._view(adjacency, attributes, device)
        judged = self._judge(view, torch.from_numpy(part.places_of(part.judged)).to(device))
        mean, spread = float(judged.hop.mean()), float(judged.variance.mean())
        if self.score == "ahp":
            return mean
        return mean / (self.ahp_.max() or 1.0) + spread / (self.iv_.max() or 1.0)
