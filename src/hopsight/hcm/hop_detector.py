"""What HCM and its relatives share: hyperparameters, preprocessing, sampling, and the scores of edges and nodes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from hopsight.checks import check_choice, check_count, check_not_negative, check_positive, check_ratio
from hopsight.detectors.base import Callback, Detector, FloatArray
from hopsight.graph import AttributedGraph
from hopsight.hcm.checkpoint import Checkpoint, Generators
from hopsight.hcm.edge_posterior import PREDICTIONS, EdgePosterior
from hopsight.hcm.folds import node_hashes
from hopsight.hcm.network import HopNetwork
from hopsight.hcm.scores import ahp, fill_unjudged, hav, inferred_variance
from hopsight.hcm.stage_clock import StageClock
from hopsight.hcm.training import OPTIMIZERS, Fold, Schedule, replay, sample_posterior
from hopsight.hops.pairs import hop_pairs
from hopsight.io import as_graph
from hopsight.nn.device import resolve_device, training_dtype
from hopsight.preprocess import AttributeTransform, drop_edges, edge_similarity
from hopsight.preprocess.scale import unit_of
from hopsight.system.threads import torch_threads


@dataclass(kw_only=True)
class HopDetector(Detector):
    """Base of the hop-count models; a subclass gives the network, what it sees, and its default parameters."""

    _SCORES: ClassVar[tuple[str, ...]] = ("hav", "ahp")
    transferable: ClassVar[bool] = True
    draws_by_position: ClassVar[bool] = True
    node_values: ClassVar[Mapping[str, str]] = {
        "ahp": "mean number of hops its neighbors look away",
        "iv": "mean variance of these hop counts over the posterior",
        "hav": "both, each divided by its maximum",
    }

    n_units: int = 128
    mlp_units: int = 256
    dropout: float = 0.0
    n_components: int | None = 20
    scaling: str = "auto"
    drop_ratio: float = 0.2
    similarity: str = "auto"
    n_classes: int = 4
    sampling_ratio: float = 0.3
    max_pairs: int = 16_384
    min_class_pairs: int = 200
    optimizer: str = "adam"
    lr: float = 0.01
    lr_decay: float = 0.0
    weight_decay: float = 5e-8
    temperature: float = 1e-3
    n_epochs: int = 200
    burn_in: int = 100
    n_samples: int = 25
    prediction: str = "expected"
    dropout_at_prediction: bool = False
    deviation: str = "variance"
    precision: str = "auto"
    score: str = "hav"

    def fit(
        self, source: Any, label: Any = None, *, callback: Callback | None = None, checkpoint: Path | None = None
    ) -> Self:
        """Learn from a graph and score it.

        Parameters
        ----------
        source, label, callback
            As for every detector.
        checkpoint
            A file that holds the state of the fit, renewed every ten seconds. Where it exists the fit resumes from
            it and gives the same result as if it had never been interrupted. The caller removes it.
        """
        self._checkpoint = checkpoint
        try:
            return super().fit(source, callback=callback)
        finally:
            del self._checkpoint

    @abstractmethod
    def _network(self, n_inputs: int, n_classes: int, directed: bool, generator: torch.Generator) -> HopNetwork:
        """Return the network with its initial weights."""

    @abstractmethod
    def _folds(self, graph: AttributedGraph, attributes: FloatArray, device: torch.device) -> list[Fold]:
        """Return what the network sees of the graph."""

    @abstractmethod
    def _local_folds(
        self,
        graph: AttributedGraph,
        stays: NDArray[np.bool_],
        rows: NDArray[np.int64],
        mine: NDArray[np.int64],
        device: torch.device,
    ) -> list[Fold]:
        """Return the folds as some rows see them, in a graph that has only the edges that stay.

        ``judged`` of a fold counts within ``mine``, edges of ``graph``.
        """

    def _prepare(self, graph: AttributedGraph, attributes: FloatArray) -> None:
        """Set what a subclass must remember of the training graph."""

    def _scaling(self, graph: AttributedGraph) -> str:
        return self.scaling

    def _similarity(self) -> str:
        return self.similarity

    def _draw(self, pairs: Any, rng: np.random.Generator, epoch: int, n_epochs: int) -> NDArray[np.int64]:
        """Return the pairs of the epochs from ``epoch`` on."""
        return pairs.draw(n_epochs, rng=rng)

    def _check(self) -> None:
        for name in ("n_units", "mlp_units", "n_epochs", "n_samples", "max_pairs", "min_class_pairs"):
            check_count(name, getattr(self, name))
        check_count("burn_in", self.burn_in, low=0, high=self.n_epochs - 1)
        check_count("n_classes", self.n_classes, low=2)
        check_ratio("dropout", self.dropout)
        check_ratio("drop_ratio", self.drop_ratio)
        check_ratio("sampling_ratio", self.sampling_ratio, high=1.0 + 1e-12)
        check_positive("sampling_ratio", self.sampling_ratio)
        check_positive("lr", self.lr)
        for name in ("lr_decay", "weight_decay", "temperature"):
            check_not_negative(name, getattr(self, name))
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        check_choice("prediction", self.prediction, PREDICTIONS)
        check_choice("deviation", self.deviation, ("variance", "std"))
        training_dtype(self.precision, torch.device("cpu"))
        check_choice("score", self.score, self._SCORES)

    def _fit(self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callback | None) -> FloatArray:
        self._check()
        device = resolve_device(self.device)
        if graph.n_edges == 0:
            raise ValueError("the network has no edge, so there is no neighbor to judge a node by")
        for_transform, for_drop, for_pairs, for_weights, for_dropout, for_noise = rng.spawn(6)
        clock = StageClock(callback)
        clock.begin("attributes")
        attributes = self._fit_transform(graph, for_transform)
        self._prepare(graph, attributes)
        clock.begin("hops")
        checkpoint = Checkpoint(self._checkpoint, self._key(graph))
        pairs = self._hop_pairs(graph, attributes, for_drop, for_pairs, checkpoint)
        self.class_sizes_, self.class_errors_ = pairs.sizes, pairs.errors
        self.n_classes_, self.n_pairs_, self.directed_ = pairs.n_classes, pairs.n_pairs, graph.directed
        self.n_inputs_ = attributes.shape[1]
        clock.begin("views")
        folds = self._folds(graph, attributes, device)
        del attributes  # large, and the folds have what they need of it
        clock.begin("train")
        posterior = self._train(
            folds,
            pairs,
            torch.from_numpy(graph.edges.copy()).to(device),
            (for_pairs, for_weights, for_dropout, for_noise),
            node_scores=lambda found: self._node_scores(graph, found)[self.score],
            callback=callback,
            checkpoint=checkpoint,
            clock=clock,
        )
        clock.begin("scores")
        scores = self._keep(graph, posterior)
        self.seconds_ = clock.end()
        return scores

    def _train(
        self,
        folds: list[Fold],
        pairs: Any,
        edges: Tensor,
        rngs: tuple[np.random.Generator, ...],
        **watched: Any,
    ) -> EdgePosterior:
        """Sample the posterior, set ``loss_`` and ``samples_``, and return what is known of the edges.

        ``rngs`` are for pairs, weights, dropout and noise; ``watched`` goes to :func:`sample_posterior`.
        """
        device = edges.device
        for_pairs, for_weights, for_dropout, for_noise = rngs
        network = self._network(self.n_inputs_, self.n_classes_, self.directed_, _generator(for_weights, "cpu"))
        with torch_threads(1) as hold:  # blocks of pairs have a thread each

            def draw(epoch: int, n_epochs: int) -> Tensor:
                drawn = self._draw(pairs, for_pairs, epoch, n_epochs)
                hold()
                return torch.from_numpy(drawn).to(device)

            posterior, self.loss_, self.samples_ = sample_posterior(
                network.to(device),
                folds,
                draw,
                torch.from_numpy(pairs.labels).to(device),
                edges,
                self._schedule(),
                Generators(for_pairs, _generator(for_dropout, device), _generator(for_noise, device)),
                **watched,
            )
        return posterior

    def _fit_transform(self, graph: AttributedGraph, rng: np.random.Generator) -> FloatArray:
        """Learn how attributes are transformed, and return them so."""
        self.transform_ = AttributeTransform.fit(
            graph.attributes,
            graph.attribute_names,
            scaling=self._scaling(graph),
            n_components=self.n_components,
            rng=rng,
        )
        self.magnitude_ = 1.0
        attributes = self._transformed(graph)
        self.magnitude_ = unit_of(attributes)
        return attributes / self.magnitude_

    def _kept(self, graph: AttributedGraph, attributes: FloatArray, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return which edges are alike enough to count hops along."""
        return drop_edges(edge_similarity(attributes, graph.edges, self._similarity()), self.drop_ratio, rng=rng)

    def _hop_pairs(
        self,
        graph: AttributedGraph,
        attributes: FloatArray,
        for_drop: np.random.Generator,
        for_pairs: np.random.Generator,
        checkpoint: Checkpoint,
    ) -> Any:
        """Return what pairs are drawn from: counts of the hop classes, and :meth:`_draw`'s argument."""
        return hop_pairs(
            adjacency_of(graph, self._kept(graph, attributes, for_drop), directed=graph.directed),
            n_classes=self.n_classes,
            sampling_ratio=self.sampling_ratio,
            max_pairs=self.max_pairs,
            min_class_pairs=self.min_class_pairs,
            directed=graph.directed,
            rng=for_pairs,
        )

    def _schedule(self) -> Schedule:
        return Schedule(
            self.optimizer, self.lr, self.lr_decay, self.weight_decay, self.temperature, self.n_epochs, self.burn_in,
            self.n_samples, self.dropout, self.dropout_at_prediction, self.prediction,
            training_dtype(self.precision, resolve_device(self.device)),
        )  # fmt: skip

    def _key(self, graph: AttributedGraph) -> str:
        """Return what a checkpoint belongs to: these parameters on this network, to the last value."""
        if self._checkpoint is None:
            return ""
        content = graph.attributes
        values = [content.data, content.indices, content.indptr] if sp.issparse(content) else [content]
        digest = sha256(f"{self!r} {torch.__version__}".encode())
        for part in (graph.edges, node_hashes(graph.node_ids), *values):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    def _transformed(self, graph: AttributedGraph, rows: NDArray[np.int64] | None = None) -> FloatArray:
        """Return dense attributes (of some rows), in a unit that single precision can hold."""
        chosen = graph.attributes if rows is None else graph.attributes[rows]
        attributes = self.transform_.apply(chosen, graph.attribute_names)
        dense = attributes.toarray() if sp.issparse(attributes) else attributes
        return dense if self.magnitude_ == 1.0 else dense / self.magnitude_

    def _keep(self, graph: AttributedGraph, posterior: EdgePosterior) -> FloatArray:
        """Set the fitted values of edges and nodes and return the chosen score."""
        self.edge_index_ = graph.edges
        self.edge_hop_ = as_float64(posterior.hop)
        self.edge_variance_ = self._deviation(posterior)
        self.edge_probability_ = as_float64(posterior.probability)
        self.edge_surprise_ = as_float64(posterior.surprise)
        nodes = self._node_scores(graph, posterior)
        self.ahp_, self.iv_, self.hav_ = nodes["ahp"], nodes["iv"], nodes["hav"]
        if "trends" in nodes:
            self.trends_ = nodes["trends"]
        self.judged_ = graph.degrees > 0
        return nodes[self.score]

    def _node_scores(self, graph: AttributedGraph, posterior: EdgePosterior) -> dict[str, FloatArray]:
        mean = ahp(graph.edges, as_float64(posterior.hop), graph.n_nodes)
        spread = inferred_variance(graph.edges, self._deviation(posterior), graph.n_nodes)
        return {
            "ahp": fill_unjudged(mean),
            "iv": fill_unjudged(spread),
            "hav": fill_unjudged(hav(mean, spread)),
        }

    def _deviation(self, posterior: EdgePosterior) -> FloatArray:
        variance = as_float64(posterior.variance)
        return np.sqrt(variance) if self.deviation == "std" else variance

    def decision_function(self, source: Any, label: Any = None) -> FloatArray:
        """Score a new graph with the posterior samples and the attribute transformation of the fit."""
        graph = as_graph(source)
        if graph.n_edges == 0:
            raise ValueError("the network has no edge, so there is no neighbor to judge a node by")
        return self._node_scores(graph, self._replay(graph))[self.score]

    def score_without(self, graph: AttributedGraph, node: int, edges: NDArray[np.int64]) -> float:
        """Return the score a node would have if some edges (positions in ``graph.edges``) were absent.

        The node's other edges are judged again by every posterior sample, in a network without the absent ones;
        edges elsewhere, and what the node is compared with, stay as in the fit.
        """
        stays = np.ones(graph.n_edges, dtype=np.bool_)
        stays[edges] = False
        mine = np.flatnonzero(((graph.edges[0] == node) | (graph.edges[1] == node)) & stays)
        if mine.size == 0:
            raise ValueError("a node without edges cannot be judged")
        rows, ends = np.unique(graph.edges[:, mine], return_inverse=True)
        device = resolve_device(self.device)
        network = self._network(self.n_inputs_, self.n_classes_, self.directed_, torch.Generator()).to(device)
        with torch_threads(mine.size):
            folds = self._local_folds(graph, stays, rows, mine, device)
            local = torch.from_numpy(ends.reshape(2, -1)).to(device)
            again = replay(network, folds, local, self.samples_, self._schedule())
        return self._score_again(graph, node, mine, again)

    def _score_again(self, graph: AttributedGraph, node: int, mine: NDArray[np.int64], again: EdgePosterior) -> float:
        """Return the chosen score of a node from its edges' new predictions."""
        mean, spread = float(as_float64(again.hop).mean()), float(self._deviation(again).mean())
        if self.score == "ahp":
            return mean
        return mean / (self.ahp_.max() or 1.0) + spread / (self.iv_.max() or 1.0)

    def _replay(self, graph: AttributedGraph) -> EdgePosterior:
        if not hasattr(self, "samples_"):
            raise ValueError(f"{type(self).__name__} is not fitted yet: call fit first")
        device = resolve_device(self.device)
        attributes = self._transformed(graph)
        network = self._network(self.n_inputs_, self.n_classes_, self.directed_, torch.Generator())
        network.to(device)
        edges = torch.from_numpy(graph.edges.copy()).to(device)
        return replay(network, self._folds(graph, attributes, device), edges, self.samples_, self._schedule())


def adjacency_of(graph: AttributedGraph, edges: NDArray[np.bool_], *, directed: bool) -> Any:
    """Return the 0/1 CSR matrix of some of a graph's edges."""
    source, target = graph.edges[:, edges]
    if not directed:
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
    ones = np.ones(source.size, dtype=np.float32)
    adjacency = sp.coo_array((ones, (source, target)), shape=(graph.n_nodes, graph.n_nodes)).tocsr()
    adjacency.data[:] = 1.0  # arcs both ways are one edge
    return adjacency


def _generator(rng: np.random.Generator, device: torch.device | str) -> torch.Generator:
    return torch.Generator(device=device).manual_seed(int(rng.integers(2**63)))


def as_float64(values: Tensor) -> FloatArray:
    """Bring a tensor home."""
    return values.cpu().numpy().astype(np.float64)
