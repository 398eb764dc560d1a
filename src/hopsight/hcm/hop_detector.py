"""What HCM and CrossHCM do alike, in the order of the paper: preprocess, count hops, train, score."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from hopsight.detectors.base import Callback, FloatArray, alone
from hopsight.graph import AttributedGraph
from hopsight.hcm.checkpoint import Checkpoint
from hopsight.hcm.network import HopNetwork
from hopsight.hcm.parameters import HopParameters
from hopsight.hcm.posterior import (
    SINGLE_PRECISION_EDGES,
    EdgePosterior,
    ahp,
    as_tensor,
    edge_values,
    fill_unjudged,
    hav,
    inferred_variance,
)
from hopsight.hcm.splits import Fold, Sight, split_seed
from hopsight.hcm.train import (
    Generators,
    HopTask,
    Observer,
    Schedule,
    StageClock,
    Trained,
    judge_edges,
    predict,
    sample_weights,
    smaller_blocks,
    torch_generator,
)
from hopsight.hcm.views import edges_at, fit_inputs, inputs_of
from hopsight.io import graph_of
from hopsight.nn.device import resolve_device
from hopsight.preprocess import drop_edges, edge_similarity
from hopsight.system.machine import release_memory
from hopsight.system.threads import safe_in_forks, torch_threads

STATE = 2  # grows when a state of an earlier version would be continued differently
NO_EDGES = "the graph has no edges, so there are no neighbors to judge a node by"


@dataclass(kw_only=True)
class HopDetector(HopParameters):
    """Base of the hop-count models: a subclass provides the network, the folds, the pairs and the score."""

    @safe_in_forks
    def fit(
        self,
        source: Any,
        label: Any = None,
        *,
        callback: Callback | None = None,
        checkpoint: Path | None = None,
        scratch: Path | None = None,
    ) -> Self:
        """Learn from a graph and score it.

        Parameters
        ----------
        source, label, callback
            As for every detector.
        checkpoint
            A file that holds the state of the fit, renewed every ten seconds. Where it exists the fit resumes from
            it and gives the same result as if it had never been interrupted. The caller removes it.
        scratch
            A folder for temporary files, where attributes and CrossHCM's views of the graph are instead of in memory.
        """
        with alone(self):
            self._checkpoint, self._scratch = checkpoint, scratch
            self._held: dict[str, tuple[AttributedGraph, Any]] = {}  # what several stages of this fit need
            try:
                return self._fit_where_it_fits(source, callback)
            finally:
                del self._checkpoint, self._scratch, self._held

    def _fit_where_it_fits(self, source: Any, callback: Callback | None) -> Self:
        """Fit; where the memory of the GPU runs out, again in smaller blocks, and then on the CPU."""
        device = self.device
        attempts = (
            (nullcontext(), "the GPU's memory ran out: fitting again in smaller blocks"),
            (smaller_blocks(), "the GPU's memory ran out again: fitting on the CPU"),
        )
        for blocks, then in attempts:
            try:
                with blocks:
                    return self._fit_with(self._fit, graph_of(source), callback)
            except torch.OutOfMemoryError:
                warnings.warn(then, stacklevel=4)
            self._held.clear()  # once the error, which holds tensors, is gone
            torch.cuda.empty_cache()
        try:
            self.device, self._checkpoint = "cpu", None  # a checkpoint of the GPU is not one of the CPU
            return self._fit_with(self._fit, graph_of(source), callback)
        finally:
            self.device = device

    @abstractmethod
    def build_network(self, n_inputs: int, n_classes: int, *, directed: bool, generator: torch.Generator) -> HopNetwork:
        """Return the network with its initial weights."""

    @abstractmethod
    def _sight(self, graph: AttributedGraph, attributes: FloatArray, device: torch.device) -> Sight:
        """Return what each network sees of the graph."""

    @abstractmethod
    def _local_folds(
        self,
        graph: AttributedGraph,
        present: NDArray[np.bool_],
        rows: NDArray[np.int64],
        mine: NDArray[np.int64],
        device: torch.device,
    ) -> list[list[Fold]]:
        """Return the folds as some rows see them, in a graph that has only the edges marked as present.

        ``judged`` of a fold counts within ``mine``, positions in ``graph.edges``.
        """

    @abstractmethod
    def _hop_pairs(
        self, graph: AttributedGraph, kept: NDArray[np.bool_], rng: np.random.Generator, checkpoint: Checkpoint
    ) -> Any:
        """Return the pairs to draw from, given the edges that hops are counted along."""

    def resolve_scaling(self, graph: AttributedGraph) -> str:
        """Return the scaling of the attributes for a graph."""
        return self.scaling

    def resolve_similarity(self, scaling: str) -> str:
        """Return the similarity by which edges are dropped, for attributes that were scaled in this way."""
        return self.similarity

    def _check_graph(self, graph: AttributedGraph) -> None:
        if graph.n_edges == 0:
            raise ValueError(NO_EDGES)

    def _fit(self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callback | None) -> FloatArray:
        self.check()
        device = resolve_device(self.device)
        self._check_graph(graph)
        self.split_seed_ = split_seed(self.seed)
        for_transform, for_drop, for_pairs, for_weights, for_dropout, for_noise = rng.spawn(6)
        clock = StageClock(callback)
        clock.begin("attributes")
        attributes = self._fit_transform(graph, for_transform)
        self._held["attributes"] = graph, attributes
        clock.begin("hops")
        checkpoint = Checkpoint(self._checkpoint, self._key(graph))
        alike = edge_similarity(attributes, graph.edges, self.resolve_similarity(self.transform_.scaling))
        kept = drop_edges(alike, self.drop_ratio, rng=for_drop, chances=self._chances_of(graph))
        pairs = self._hop_pairs(graph, kept, for_pairs, checkpoint)
        self.class_sizes_, self.class_errors_, self.n_pairs_ = pairs.sizes, pairs.errors, pairs.n_pairs
        self.n_inputs_, self.n_classes_, self.directed_ = attributes.shape[1], pairs.n_classes, graph.directed
        clock.begin("views")
        sight = self._sight(graph, attributes, device)
        del attributes  # it is large, and the networks need no more than they see
        rngs = (for_pairs, for_weights, for_dropout, for_noise)
        judged = [self._learn(graph, sight, pairs, rngs, callback, clock, checkpoint)]
        del sight, pairs
        self._held.pop("placed", None)
        if graph.n_edges > SINGLE_PRECISION_EDGES:
            release_memory()  # what judging leaves in reference cycles is large
        clock.begin("scores")
        scores = self._keep(graph, judged.pop())  # what was large is gone once it has been read
        self.seconds_ = clock.end()
        return scores

    def _learn(
        self,
        graph: AttributedGraph,
        sight: Sight,
        pairs: Any,
        rngs: tuple[np.random.Generator, ...],
        callback: Callback | None,
        clock: StageClock,
        checkpoint: Checkpoint,
    ) -> EdgePosterior:
        """Train the networks, calibrate them, and let them judge the edges of the graph."""
        device, (_, for_weights, _, _) = resolve_device(self.device), rngs
        seen, drawn = sight.training(pairs)
        edges = as_tensor(graph.edges).to(device)
        networks = self.build_networks(len(seen), self.n_inputs_, pairs.n_classes, for_weights, device)
        observer = Observer(callback, lambda: self._current_scores(graph, networks, sight.judging(), edges), clock)
        self.samples_, self.loss_ = self.train(networks, seen, drawn, rngs, observer=observer, checkpoint=checkpoint)
        del seen, drawn  # large, too
        clock.begin("judge")
        for_calibration = np.random.default_rng(self.judging_seed_)  # the same if a checkpoint held the samples
        self.calibrations_ = self._calibrate(sight, networks, pairs, for_calibration)
        return self._judge_edges(networks, sight.judging(), edges, checkpoint)

    def build_networks(
        self, n_networks: int, n_inputs: int, n_classes: int, rng: np.random.Generator, device: torch.device
    ) -> list[HopNetwork]:
        """Return the networks on a device, with initial weights drawn by ``rng``."""
        return [
            self.build_network(
                n_inputs, n_classes, directed=getattr(self, "directed_", False), generator=torch_generator(rng, "cpu")
            ).to(device)
            for _ in range(n_networks)
        ]

    def train(
        self,
        networks: Sequence[HopNetwork],
        folds: Sequence[Sequence[Fold]],
        pairs: Any,
        rngs: tuple[np.random.Generator, ...],
        *,
        observer: Observer | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Trained:
        """Train the networks and return their posterior samples; ``rngs`` are for pairs, weights, dropout and noise.

        A checkpoint that holds the samples of a finished training is used as it is.
        """
        labels = torch.from_numpy(pairs.labels).to(next(networks[0].parameters()).device)
        for_pairs, _, for_dropout, for_noise = rngs
        generators = Generators.spawn((for_pairs, for_dropout, for_noise), labels.device)
        self.judging_seed_ = generators.judging_seed
        known = {} if checkpoint is None else checkpoint.prepared("trained")
        if checkpoint is not None and known:
            with checkpoint.taking_up():
                return Trained(known["samples"], known["losses"])
        with torch_threads(1) as hold, warnings.catch_warnings():  # each block of pairs has a thread of its own
            warnings.filterwarnings("ignore", message="mkldnn_matmul failed")  # bfloat16 on a CPU without it

            def draw(epoch: int, n_epochs: int) -> Tensor:
                drawn = torch.from_numpy(pairs.draw(epoch, n_epochs, rng=for_pairs))
                hold()
                if labels.device.type == "cpu":
                    return drawn
                return drawn.pin_memory().to(labels.device, non_blocking=True)  # while it works on epochs before

            task = HopTask(networks, folds, draw, labels)
            schedule = self._training_schedule(pairs)
            trained = sample_weights(task, schedule, generators, observer=observer, checkpoint=checkpoint)
        if checkpoint is not None:
            checkpoint.prepare("trained", trained._asdict())
        return trained

    def _training_schedule(self, pairs: Any) -> Schedule:
        """Return the schedule of training, given the pairs to learn from."""
        return self.schedule()

    def _calibrate(
        self, sight: Any, networks: Sequence[HopNetwork], pairs: Any, rng: np.random.Generator
    ) -> FloatArray:
        """Return the calibration of each network, or nothing: the paper's probabilities are used as they are."""
        return np.empty((0, 0))

    def _judge_edges(
        self,
        networks: Sequence[HopNetwork],
        folds: Sequence[Sequence[Fold]],
        edges: Tensor,
        checkpoint: Checkpoint | None = None,
        samples: NDArray[np.float32] | None = None,
    ) -> EdgePosterior:
        """Judge edges with the posterior samples of the fit, or with others."""
        samples = self.samples_ if samples is None else samples
        with torch_threads(1):
            return judge_edges(
                networks,
                folds,
                edges,
                samples,
                self.schedule(len(samples)),
                judging_seed=self.judging_seed_,
                calibrations=self.calibrations_ if self.calibrations_.size else None,
                checkpoint=checkpoint,
            )

    def _fit_transform(self, graph: AttributedGraph, rng: np.random.Generator) -> FloatArray:
        """Learn how to transform the attributes, and return them transformed."""
        self.transform_, attributes, self.magnitude_ = fit_inputs(
            graph,
            getattr(self, "_scratch", None),
            scaling=self.resolve_scaling(graph),
            n_components=self.n_components,
            rng=rng,
        )
        return attributes

    def _transformed(self, graph: AttributedGraph, rows: NDArray[np.int64] | None = None) -> FloatArray:
        """Return dense attributes (of some rows), in a unit that single precision can hold."""
        held = getattr(self, "_held", {}).get("attributes")
        if held is not None and held[0] is graph:
            return held[1] if rows is None else held[1][rows]
        return inputs_of(graph, self.transform_, self.magnitude_, rows)

    def _chances_of(self, graph: AttributedGraph) -> Callable[[NDArray[np.int64]], NDArray[Any]] | None:
        """Return what decides which of equally similar edges are dropped; None leaves it to chance."""
        return None

    def _once(self, name: str, graph: AttributedGraph, make: Callable[[], Any]) -> Any:
        """Return what several stages of a fit need, made by the first of them; outside a fit it is made each time."""
        held = getattr(self, "_held", {})
        if name not in held or held[name][0] is not graph:
            held[name] = graph, make()
        return held[name][1]

    def _key(self, graph: AttributedGraph) -> str:
        """Return what a checkpoint belongs to: these parameters on this graph, to the last value."""
        if self._checkpoint is None:
            return ""
        content = graph.attributes
        values = [content.data, content.indices, content.indptr] if sp.issparse(content) else [content]
        digest = sha256(f"{self!r} {torch.__version__} {STATE}".encode())
        weights = [] if graph.edge_weight is None else [graph.edge_weight]
        for part in (graph.edges, graph.node_hashes, *values, *weights):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    def _keep(self, graph: AttributedGraph, posterior: EdgePosterior, *, refit: bool = True) -> FloatArray:
        """Set the values of edges and nodes and return the chosen score; ``refit`` fits what they are compared with."""
        self.edge_index_ = graph.edges
        self.edge_hop_ = edge_values(posterior.hop)
        self.edge_variance_ = self._deviation(posterior)
        self.edge_probability_ = edge_values(posterior.probability)
        self.edge_surprise_ = edge_values(posterior.surprise)
        mean = ahp(graph.edges, self.edge_hop_, graph.n_nodes)
        spread = inferred_variance(graph.edges, self.edge_variance_, graph.n_nodes)
        self.ahp_, self.iv_, self.hav_ = map(fill_unjudged, (mean, spread, hav(mean, spread)))
        self.judged_ = graph.degrees > 0
        return self.hav_ if self.score == "hav" else self.ahp_

    def _deviation(self, posterior: EdgePosterior) -> FloatArray:
        variance = edge_values(posterior.variance)
        return np.sqrt(variance) if self.deviation == "std" else variance

    def _current_scores(
        self, graph: AttributedGraph, networks: Sequence[HopNetwork], folds: Sequence[Sequence[Fold]], edges: Tensor
    ) -> FloatArray:
        """Return the scores by the current weights alone, without calibration."""
        posterior = EdgePosterior(edges.shape[1], edges.device)
        schedule = self.schedule()
        for network, mine in zip(networks, folds, strict=True):
            for part, logits in predict(network, mine[0].view, edges, mine[0].judged, schedule):
                posterior.add(part, logits, schedule.prediction)
        return copy.copy(self)._keep(graph, posterior)

    @safe_in_forks
    def judge(self, source: Any) -> Self:
        """Return a copy of this detector whose scores are those of another graph, judged with the same weights."""
        graph = graph_of(source)
        if not hasattr(self, "samples_"):
            raise ValueError(f"{type(self).__name__} is not fitted yet: call fit first")
        self._check_graph(graph)
        device = resolve_device(self.device)
        edges = as_tensor(graph.edges).to(device)
        copied = copy.copy(self)
        vars(copied).pop("without_graph_", None)  # the copy has the scores of a graph
        copied.graph_ = graph
        posterior = self._replay(self._sight(graph, self._transformed(graph), device).judging(), edges)
        return copied._finish(copied._keep(graph, posterior, refit=False), keep_threshold=True)

    def decision_function(self, source: Any, label: Any = None) -> FloatArray:
        """Score a graph with the posterior samples and the attribute transformation of the fit."""
        return self.judge(source).decision_score_

    @safe_in_forks
    def score_without(self, graph: AttributedGraph, node: int, edges: NDArray[np.int64]) -> float:
        """Return the score a node would have if some edges (positions in ``graph.edges``) were absent.

        Every posterior sample judges the node's other edges again, in a graph without the absent ones. Edges
        elsewhere, and what the node is compared with, are those of the fit.
        """
        present = np.ones(graph.n_edges, dtype=np.bool_)
        present[edges] = False
        mine = np.setdiff1d(edges_at(graph, np.array([node])), edges)
        if mine.size == 0:
            raise ValueError("a node without edges cannot be judged")
        rows, ends = np.unique(graph.edges[:, mine], return_inverse=True)
        device = resolve_device(self.device)
        with torch_threads(mine.size):
            folds = self._local_folds(graph, present, rows, mine, device)
            again = self._replay(folds, torch.from_numpy(ends.reshape(2, -1)).to(device))
        return self._score_again(graph, node, mine, again)

    def _score_again(self, graph: AttributedGraph, node: int, mine: NDArray[np.int64], again: EdgePosterior) -> float:
        """Return the chosen score of a node from its edges' new predictions."""
        mean, spread = float(edge_values(again.hop).mean()), float(self._deviation(again).mean())
        if self.score == "ahp":
            return mean
        return mean / (self.ahp_.max() or 1.0) + spread / (self.iv_.max() or 1.0)

    def _replay(self, folds: Sequence[Sequence[Fold]], edges: Tensor) -> EdgePosterior:
        """Judge edges with fresh networks that take the posterior samples of the fit."""
        networks = self.build_networks(
            len(folds), self.n_inputs_, self.n_classes_, np.random.default_rng(0), edges.device
        )
        return self._judge_edges(networks, folds, edges)
