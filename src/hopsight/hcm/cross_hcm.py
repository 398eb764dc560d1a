"""CrossHCM: hop counts of edges that were hidden from the views, and rings of strangers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from hopsight.checks import check_count
from hopsight.detectors.base import FloatArray
from hopsight.graph import AttributedGraph
from hopsight.hcm.checkpoint import Checkpoint
from hopsight.hcm.edge_posterior import EdgePosterior
from hopsight.hcm.folds import HALF_PRECISION_NODES, Fold, hidden_edges, node_hashes, pool_seed
from hopsight.hcm.hop_detector import HopDetector, adjacency_of, as_float64
from hopsight.hcm.locality import edges_at, local_operator
from hopsight.hcm.network import ViewHopNetwork
from hopsight.hcm.scores import beyond_degree, degree_trend, fill_unjudged, neighbor_mean, rings
from hopsight.hops.pool import PairPool, pair_pool
from hopsight.nn.gcn import smoothed
from hopsight.preprocess.scale import choose_scaling


@dataclass(kw_only=True)
class CrossHCM(HopDetector):
    """HCM that judges each edge from a view of the graph that leaves the edge out, and looks for rings of strangers.

    CrossHCM differs from :class:`HCM` in four ways. Edges are hidden from the views while they are judged: every
    repeat splits them into ``n_folds`` parts by a hash of (seed, edge), and a part is judged from a view of the
    others. (The training pairs of one hop are these same edges.) A node keeps its own attributes beside those of
    its neighborhood (X and ÂX, mapped linearly, without message passing), and many principal components of them.
    A node's edges are read twice, as expected hop counts and as surprise, −log p(one hop). And edges that close
    triangles of strangers count extra: see :func:`hopsight.hcm.scores.rings`.

    ``decision_score_`` (``score="cross"``) is the larger of two numbers, each in robust standard deviations above
    nodes of similar degree: how far the node's edges look (the mean of hop count and surprise), and how much of a
    ring they form. ``"far"`` leaves the rings out. ``"ahp"`` and ``"hav"`` are the paper's two scores, from the same
    predictions.

    Parameters
    ----------
    n_folds, n_repeats
        Number of parts that the edges are split into (one is hidden at a time), and number of splits.
    scaling, similarity
        ``"auto"``: a bag of words is left as it is and compared by cosine; other attributes are ``"mixed"``
        (standardized and clipped, beside their ranks at half weight) and compared by distance.
    n_units, mlp_units, …
        As in :class:`HCM`; ``n_units`` is the width of each of the two views.

    Examples
    --------
    >>> import hopsight as hs
    >>> model = hs.CrossHCM(n_epochs=20, burn_in=10, seed=0).fit(hs.make_demo())
    >>> model.edge_probability_.shape == model.edge_hop_.shape
    True
    """

    scores: ClassVar[tuple[str, ...]] = ("cross", "far", "hav", "ahp")
    meaning: ClassVar[str] = (
        "how far away its neighbors look to a model that has not seen the edges it judges, or how much they form a "
        "ring of strangers, whichever is more unusual for its number of edges"
    )
    quick: ClassVar[Mapping[str, Any]] = {
        "n_units": 8, "mlp_units": 16, "n_epochs": 24, "burn_in": 12, "n_samples": 12, "min_class_pairs": 20,
    }  # fmt: skip

    n_folds: int = 3
    n_repeats: int = 4
    n_units: int = 64
    n_components: int | None = 256
    drop_ratio: float = 0.4
    n_samples: int = 40
    score: str = "cross"

    def check(self) -> None:
        """Refuse a parameter outside its range."""
        super().check()
        check_count("n_folds", self.n_folds, low=2)
        check_count("n_epochs", self.n_epochs, low=self.n_folds)  # every edge is judged at least once
        check_count("n_repeats", self.n_repeats)

    def expected_need(self, graph: AttributedGraph) -> tuple[float, float]:
        """Return bytes and operations: every fold keeps a view per node, in half precision in large graphs."""
        width = min(2 * graph.n_attributes, self.n_components or 2 * graph.n_attributes)
        views = 1 + self.n_folds * self.n_repeats
        bytes_per_number = 2 if graph.n_nodes > HALF_PRECISION_NODES else 4
        return self._need(
            graph,
            memory=graph.n_nodes * width * (24 + views * bytes_per_number),
            product=2 * (width * self.n_units + self.n_units * self.mlp_units),
            per_epoch=0.0,
            judged=graph.n_edges / self.n_folds,
        )

    def resolve_scaling(self, graph: AttributedGraph) -> str:
        """Return the scaling: ``"auto"`` leaves a bag of words as it is and takes ``"mixed"`` for the rest."""
        if self.scaling != "auto":
            return self.scaling
        return "none" if choose_scaling(graph.attributes) == "none" else "mixed"

    def resolve_similarity(self, scaling: str) -> str:
        """Return the similarity: ``"auto"`` is cosine for unscaled attributes and Euclidean for the rest."""
        if self.similarity != "auto":
            return self.similarity
        return "cosine" if scaling in ("none", "row") else "euclidean"

    def build_network(
        self, n_inputs: int, n_classes: int, *, directed: bool, generator: torch.Generator
    ) -> ViewHopNetwork:
        """Return the network of two views with its initial weights."""
        return ViewHopNetwork(
            [n_inputs, n_inputs],
            n_units=self.n_units,
            mlp_units=self.mlp_units,
            n_classes=n_classes,
            directed=directed,
            generator=generator,
        )

    def _fit_transform(self, graph: AttributedGraph, rng: np.random.Generator) -> FloatArray:
        """Also fix the unit of the views, which stays the same for new graphs."""
        attributes = super()._fit_transform(graph, rng)
        self.unit_ = float(attributes.std()) or 1.0
        return attributes

    def _folds(self, graph: AttributedGraph, attributes: FloatArray, device: torch.device) -> list[Fold]:
        """Return a fold for every hidden part: views of the other edges, and the edges it judges."""
        scaled = torch.from_numpy((attributes / self.unit_).astype(np.float32)).to(device)
        dtype = torch.float16 if graph.n_nodes > HALF_PRECISION_NODES else torch.float32
        own = scaled.to(dtype)
        folds = []
        for hidden in self._hidden(graph):
            around = smoothed(adjacency_of(graph, ~hidden, directed=False), scaled)
            folds.append(Fold([own, around.to(dtype)], torch.from_numpy(np.flatnonzero(hidden)).to(device)))
        return folds

    def _hidden(self, graph: AttributedGraph, edges: NDArray[np.int64] | None = None) -> list[NDArray[np.bool_]]:
        return hidden_edges(graph, self.split_seed_, self.n_folds, self.n_repeats, edges)

    def _local_folds(
        self,
        graph: AttributedGraph,
        present: NDArray[np.bool_],
        rows: NDArray[np.int64],
        mine: NDArray[np.int64],
        device: torch.device,
    ) -> list[Fold]:
        """Return the views of the rows: their neighborhoods without the absent edges."""
        around = np.union1d(rows, graph.edges[:, edges_at(graph, rows)])
        near = edges_at(graph, around)
        edges, visible, judged = graph.edges[:, near], present[near], np.searchsorted(near, mine)
        scaled = self._transformed(graph, around) / self.unit_
        own = torch.from_numpy(scaled[np.searchsorted(around, rows)].astype(np.float32)).to(device)
        folds = []
        for hidden in self._hidden(graph, near):
            operator = local_operator(edges[:, ~hidden & visible], rows, around, directed=graph.directed)
            propagated = torch.from_numpy((operator @ scaled).astype(np.float32)).to(device)
            folds.append(Fold([own, propagated], torch.from_numpy(np.flatnonzero(hidden[judged])).to(device)))
        return folds

    def _hop_pairs(
        self, graph: AttributedGraph, kept: NDArray[np.bool_], rng: np.random.Generator, checkpoint: Checkpoint
    ) -> PairPool:
        """Return the pool, and keep it in the checkpoint: in a large graph it takes a minute to find."""
        known = checkpoint.load_prepared()
        if known is not None:
            return PairPool.of(known)
        pool = self._pool(graph, kept, pool_seed(self.split_seed_))
        checkpoint.save_prepared(pool.arrays())
        return pool

    def _pool(self, graph: AttributedGraph, kept: NDArray[np.bool_], seed: np.uint64) -> PairPool:
        """Return the pairs to learn from, chosen by hashes; the one-hop pairs are edges that a fold hides."""
        return pair_pool(
            adjacency_of(graph, kept, directed=graph.directed),
            [mask[kept] for mask in self._hidden(graph)],
            graph.edges[:, kept],
            node_hashes(graph.node_ids),
            seed,
            n_classes=self.n_classes,
            sampling_ratio=self.sampling_ratio,
            max_pairs=self.max_pairs,
            min_class_pairs=self.min_class_pairs,
            directed=graph.directed,
        )

    def _node_scores(self, graph: AttributedGraph, posterior: EdgePosterior) -> dict[str, FloatArray]:
        scores = super()._node_scores(graph, posterior)
        n_nodes, edges, degrees = graph.n_nodes, graph.edges, graph.degrees
        strange = _strangeness(as_float64(posterior.probability))
        hop = neighbor_mean(edges, as_float64(posterior.hop), n_nodes)
        surprise = neighbor_mean(edges, as_float64(posterior.surprise), n_nodes)
        ring = np.sqrt(neighbor_mean(edges, rings(edges, strange, n_nodes), n_nodes))
        trends = np.stack([degree_trend(values, degrees) for values in (hop, surprise, ring)])
        far, cross = _combined((hop, surprise, ring), degrees, trends)
        return scores | {"far": fill_unjudged(far), "cross": fill_unjudged(cross), "trends": trends}

    def _score_again(self, graph: AttributedGraph, node: int, mine: NDArray[np.int64], again: EdgePosterior) -> float:
        if self.score not in ("far", "cross"):
            return super()._score_again(graph, node, mine, again)
        side = np.zeros(graph.n_nodes)  # strangeness of the edge to each neighbor
        side[graph.edges[:, mine].sum(axis=0) - node] = _strangeness(as_float64(again.probability))
        first, second = graph.edges
        closing = np.flatnonzero((side[first] > 0) & (side[second] > 0))
        third = _strangeness(self.edge_probability_[closing])
        ring = 2.0 * np.sum(side[first[closing]] * side[second[closing]] * third) / mine.size
        values = as_float64(again.hop).mean(), as_float64(again.surprise).mean(), np.sqrt(ring)
        far, cross = _combined([np.array([value]) for value in values], np.array([mine.size]), self.trends_)
        return float((cross if self.score == "cross" else far)[0])


def _strangeness(probability: FloatArray) -> FloatArray:
    return (1.0 - probability) ** 2


def _combined(
    values: Sequence[FloatArray], degrees: NDArray[np.int64], trends: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return "far", the mean of hop count and surprise beyond degree, and "cross", its maximum with the ring."""
    hop, surprise, ring = (beyond_degree(value, degrees, trend) for value, trend in zip(values, trends, strict=True))
    far = (hop + surprise) / 2
    return far, np.maximum(far, ring)
