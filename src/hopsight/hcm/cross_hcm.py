"""CrossHCM: hop counts judged by a model that has not seen the edge, and rings of strangers."""

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
from hopsight.hcm.folds import MANY_NODES, hidden_edges, node_hashes, pool_seed
from hopsight.hcm.hop_detector import HopDetector, adjacency_of, as_float64
from hopsight.hcm.locality import edges_at, local_operator
from hopsight.hcm.network import ViewHopNetwork
from hopsight.hcm.scores import beyond_degree, degree_trend, fill_unjudged, neighbor_mean, rings
from hopsight.hcm.training import Fold
from hopsight.hops.pool import PairPool, pair_pool
from hopsight.nn.gcn import smoothed
from hopsight.preprocess.scale import choose_scaling


@dataclass(kw_only=True)
class CrossHCM(HopDetector):
    """HCM's question asked fairly: how far apart should two connected nodes be, if you cannot see the edge.

    Four things differ from :class:`HCM`. Edges are hidden while they are judged: every repeat splits them into
    ``n_folds`` parts by a hash of (seed, edge), and a part is judged from what the others show. A node keeps its
    own attributes beside those of its neighborhood (X and ÂX, mapped linearly, no message passing), and many
    principal components of them. A node's edges are read twice, as expected hop counts and as −log p(one hop).
    And edges that close triangles of strangers count extra: see :func:`hopsight.hcm.scores.rings`.

    ``decision_score_`` (``score="cross"``) is the larger of two numbers, each in robust standard deviations beyond
    what nodes of like degree have: how far the node's edges look (the mean of its hop counts and of its surprise),
    and how much of a ring they form. ``"far"`` leaves the rings out; ``"ahp"`` and ``"hav"`` are the paper's two
    scores, from the same hidden-edge predictions.

    Parameters
    ----------
    n_folds, n_repeats
        Parts the edges are split into (one is hidden at a time), and how many splits there are.
    scaling, similarity
        ``"auto"``: a bag of words is left as it is and compared by cosine; other attributes are ``"mixed"``
        (standardized and clipped, and their ranks at half weight beside them) and compared by distance.
    n_units, mlp_units, …
        As in :class:`HCM`; ``n_units`` is the width of each of the two views.

    Examples
    --------
    >>> import hopsight as hs
    >>> model = hs.CrossHCM(n_epochs=20, burn_in=10, seed=0).fit(hs.make_demo())
    >>> model.edge_probability_.shape == model.edge_hop_.shape
    True
    """

    _SCORES: ClassVar[tuple[str, ...]] = ("cross", "far", "hav", "ahp")
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

    def _check(self) -> None:
        super()._check()
        check_count("n_folds", self.n_folds, low=2)
        check_count("n_epochs", self.n_epochs, low=self.n_folds)  # every edge is judged once at least
        check_count("n_repeats", self.n_repeats)

    def _scaling(self, graph: AttributedGraph) -> str:
        if self.scaling != "auto":
            return self.scaling
        return "none" if choose_scaling(graph.attributes) == "none" else "mixed"

    def _similarity(self) -> str:
        if self.similarity != "auto":
            return self.similarity
        return "cosine" if self.transform_.scaling in ("none", "row") else "euclidean"

    def _network(self, n_inputs: int, n_classes: int, directed: bool, generator: torch.Generator) -> ViewHopNetwork:
        return ViewHopNetwork(
            [n_inputs, n_inputs],
            n_units=self.n_units,
            mlp_units=self.mlp_units,
            n_classes=n_classes,
            directed=directed,
            generator=generator,
        )

    def _prepare(self, graph: AttributedGraph, attributes: FloatArray) -> None:
        """Fix the unit of the views, which must stay the same for new graphs."""
        self.unit_ = float(attributes.std()) or 1.0

    def _folds(self, graph: AttributedGraph, attributes: FloatArray, device: torch.device) -> list[Fold]:
        """Return a fold for every hidden part: views of what is left, and the edges it judges."""
        scaled = torch.from_numpy((attributes / self.unit_).astype(np.float32)).to(device)
        dtype = torch.float16 if graph.n_nodes > MANY_NODES else torch.float32
        own = scaled.to(dtype)
        folds = []
        for hidden in hidden_edges(graph, self.seed, self.n_folds, self.n_repeats):
            around = smoothed(adjacency_of(graph, ~hidden, directed=False), scaled)
            folds.append(Fold([own, around.to(dtype)], torch.from_numpy(np.flatnonzero(hidden)).to(device)))
        return folds

    def _local_folds(
        self,
        graph: AttributedGraph,
        stays: NDArray[np.bool_],
        rows: NDArray[np.int64],
        mine: NDArray[np.int64],
        device: torch.device,
    ) -> list[Fold]:
        """Return the views of the rows: their neighborhoods without the absent edges."""
        around = np.union1d(rows, graph.edges[:, edges_at(graph, rows)])
        near = edges_at(graph, around)
        edges, stay, judged = graph.edges[:, near], stays[near], np.searchsorted(near, mine)
        scaled = self._transformed(graph, around) / self.unit_
        own = torch.from_numpy(scaled[np.searchsorted(around, rows)].astype(np.float32)).to(device)
        folds = []
        for hidden in hidden_edges(graph, self.seed, self.n_folds, self.n_repeats, near):
            operator = local_operator(edges[:, ~hidden & stay], rows, around, directed=graph.directed)
            propagated = torch.from_numpy((operator @ scaled).astype(np.float32)).to(device)
            folds.append(Fold([own, propagated], torch.from_numpy(np.flatnonzero(hidden[judged])).to(device)))
        return folds

    def _hop_pairs(
        self,
        graph: AttributedGraph,
        attributes: FloatArray,
        for_drop: np.random.Generator,
        for_pairs: np.random.Generator,
        checkpoint: Checkpoint,
    ) -> PairPool:
        """Return the pool, and keep it in the checkpoint: in a large network it takes a minute."""
        known = checkpoint.recall()
        if known is not None:
            return PairPool.of(known)
        pool = self._pool(graph, self._kept(graph, attributes, for_drop), pool_seed(self.seed))
        checkpoint.remember(pool.arrays())
        return pool

    def _pool(self, graph: AttributedGraph, kept: NDArray[np.bool_], seed: np.uint64) -> PairPool:
        """Return the pairs to learn from, chosen by hashes, those of one hop from the edges that a fold hides."""
        hidden = [mask[kept] for mask in hidden_edges(graph, self.seed, self.n_folds, self.n_repeats)]
        return pair_pool(
            adjacency_of(graph, kept, directed=graph.directed),
            hidden,
            graph.edges[:, kept],
            node_hashes(graph.node_ids),
            seed,
            n_classes=self.n_classes,
            sampling_ratio=self.sampling_ratio,
            max_pairs=self.max_pairs,
            min_class_pairs=self.min_class_pairs,
            directed=graph.directed,
        )

    def _draw(self, pairs: PairPool, rng: np.random.Generator, epoch: int, n_epochs: int) -> NDArray[np.int64]:
        return pairs.draw(epoch, n_epochs, rng=rng)

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
